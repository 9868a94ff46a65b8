/*-------------------------------------------------------------------------
 *
 * analyze.h
 *	  Statistics of logical tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_ANALYZE_H
#define CITUS_DDL_ANALYZE_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* After the shards of these tables have been analyzed: gives the logical tables their statistics, on all nodes. */
extern void analyze_logical_tables(List *relids);

#endif							/* CITUS_DDL_ANALYZE_H */
