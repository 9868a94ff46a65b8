/*-------------------------------------------------------------------------
 *
 * statement_stats.h
 *	  How often statements over shards ran, by tenant, in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TENANTS_STATEMENT_STATS_H
#define CITUS_TENANTS_STATEMENT_STATS_H

#include "postgres.h"

#include "nodes/params.h"

/* citus.stat_statements_track */
extern int	stat_statements_track;

/* Whether statements are to be counted. */
static inline bool
statement_stats_on(void)
{
	return unlikely(stat_statements_track != 0);
}

/*
 * Counts a statement with that query id, of the current user; value is that of
 * the distribution column if it is about one, else NULL.  A statement without
 * a query id (0) is not counted.
 */
extern void statement_stats_count(uint64 query_id, const ParamExternData *value);

extern void statement_stats_init(void);

#endif							/* CITUS_TENANTS_STATEMENT_STATS_H */
