/*-------------------------------------------------------------------------
 *
 * column_sample.h
 *	  Computes statistics of the columns of a distributed table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_ANALYZE_COLUMN_SAMPLE_H
#define CITUS_ANALYZE_COLUMN_SAMPLE_H

#include "postgres.h"

#include "storage/block.h"

#include "compat/foreach.h"

/* One column's statistics. */
typedef struct ColumnStatistics
{
	const char *column;
	struct VacAttrStats *stats; /* with stats_valid */
} ColumnStatistics;

/*
 * Reads a sample of the rows of a distributed table, whose shards have so many
 * pages and about so many rows, with its owner's rights, and computes
 * statistics from it.  A List of ColumnStatistics in CurrentMemoryContext; NIL
 * if there are no rows, or the owner has no right to read them.  Needs an
 * active snapshot.
 */
extern List *column_sample_statistics(Oid relid, int64 pages, double tuples);

#endif							/* CITUS_ANALYZE_COLUMN_SAMPLE_H */
