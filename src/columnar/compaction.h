/*-------------------------------------------------------------------------
 *
 * compaction.h
 *	  Moving rows into new stripes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_COMPACTION_H
#define CITUS_COLUMNAR_COMPACTION_H

#include "postgres.h"

#include "utils/rel.h"

/* What is worth moving. */
typedef enum CompactionGoal
{
	COMPACT_WORTHWHILE,			/* many rows of the row-wise part, stripes
								 * with many deleted rows, many small ones */
	COMPACT_ALL					/* all rows of the row-wise part, stripes with
								 * deleted rows, small ones */
} CompactionGoal;

/*
 * Moves rows, some stripe's worth, by this transaction, which other sessions'
 * writers wait for only at the rows that are moved.  Returns how many; 0:
 * nothing is left to do.  The caller has locked the table against other
 * compactions and DDL (ShareUpdateExclusiveLock), and acts as its owner.
 */
extern uint64 columnar_compact(Relation table, CompactionGoal goal);

/*
 * Whether so many rows were moved, since their index entries were last
 * removed, that these take much room.
 */
extern bool columnar_has_uncleaned_rows(Relation table);

/* columnar.compaction_naptime, in milliseconds. */
extern int	columnar_compaction_naptime;

/*
 * The daemon's job: moves rows of one table that needs it, the next one's at
 * the next call.
 */
extern void columnar_compaction_job(void);

/* Whether the job's round over all tables isn't complete. */
extern bool columnar_compaction_goes_on(void);

extern void columnar_compaction_init(void);

#endif							/* CITUS_COLUMNAR_COMPACTION_H */
