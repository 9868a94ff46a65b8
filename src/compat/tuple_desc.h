/*-------------------------------------------------------------------------
 *
 * tuple_desc.h
 *	  That all columns of a tuple descriptor are there, which version 19 must
 *	  be told.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_TUPLE_DESC_H
#define CITUS_COMPAT_TUPLE_DESC_H

#include "postgres.h"

#include "access/tupdesc.h"

#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc) ((void) (desc))
#endif

#endif							/* CITUS_COMPAT_TUPLE_DESC_H */
