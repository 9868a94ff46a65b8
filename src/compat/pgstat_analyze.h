/*-------------------------------------------------------------------------
 *
 * pgstat_analyze.h
 *	  Reporting to the cumulative statistics that a table was analyzed.
 *
 * Since version 18 the report says when that began.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PGSTAT_ANALYZE_H
#define CITUS_COMPAT_PGSTAT_ANALYZE_H

#include "postgres.h"

#include "access/xact.h"
#include "pgstat.h"
#include "utils/rel.h"

/* All rows are live, and nothing has changed since. */
static inline void
compat_pgstat_report_analyze(Relation rel, int64 tuples)
{
#if PG_VERSION_NUM >= 180000
	pgstat_report_analyze(rel, tuples, 0, true, GetCurrentStatementStartTimestamp());
#else
	pgstat_report_analyze(rel, tuples, 0, true);
#endif
}

#endif							/* CITUS_COMPAT_PGSTAT_ANALYZE_H */
