/*-------------------------------------------------------------------------
 *
 * analyze.h
 *	  Statistics of logical tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_ANALYZE_ANALYZE_H
#define CITUS_ANALYZE_ANALYZE_H

#include "postgres.h"

/*
 * Locks a table against other sessions that write its statistics: on the
 * coordinator first, where sessions of all nodes meet, then here.  False if it
 * is no (longer a) distributed or reference table, or not the user's, of which
 * ANALYZE has warned.
 */
extern bool lock_for_statistics(Oid relid);

/*
 * After a table's shards have been analyzed: gives the logical table its
 * statistics, on all nodes. It is locked.
 */
extern void analyze_logical_table(Oid relid);

#endif							/* CITUS_ANALYZE_ANALYZE_H */
