/*-------------------------------------------------------------------------
 *
 * types.h
 *	  Types that distributed tables use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_TYPES_H
#define CITUS_DDL_TYPES_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Whether a distributed or reference table has a column of the type that these names mean, or of one that contains it. */
extern bool type_name_is_distributed(List *names);

#endif							/* CITUS_DDL_TYPES_H */
