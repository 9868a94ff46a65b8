/*-------------------------------------------------------------------------
 *
 * column_statistics.h
 *	  Rows of pg_statistic for a logical table, computed from a sample.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_ANALYZE_COLUMN_STATISTICS_H
#define CITUS_ANALYZE_COLUMN_STATISTICS_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Analyzes a sample of the rows of a distributed table that has so many pages
 * and about so many rows; returns the commands (List of char *) that store the
 * result on a node.  Needs an active snapshot.
 */
extern List *column_statistics_commands(Oid relid, int64 pages, double tuples);

#endif							/* CITUS_ANALYZE_COLUMN_STATISTICS_H */
