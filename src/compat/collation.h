/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  The options of CREATE COLLATION, from a row of pg_collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COLLATION_H
#define CITUS_COMPAT_COLLATION_H

#include "postgres.h"

#include "access/htup.h"

extern char *collation_options(HeapTuple tuple);

#endif							/* CITUS_COMPAT_COLLATION_H */
