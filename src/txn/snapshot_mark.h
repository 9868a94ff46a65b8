/*-------------------------------------------------------------------------
 *
 * snapshot_mark.h
 *	  Marks in the WAL, as of whose times standbys can be read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_SNAPSHOT_MARK_H
#define CITUS_TXN_SNAPSHOT_MARK_H

#include "postgres.h"

#include "txn/commit_timestamp.h"

extern void snapshot_mark_init(void);

/*
 * For a process that is connected to no database, in a loop: writes the next
 * mark if it is due, which takes a moment.  Returns after how many
 * milliseconds to call it again.
 */
extern long snapshot_mark_write(void);

/* This node has secondaries: marks are written for a while. */
extern void snapshot_mark_want(void);

/* The time of the first mark after the given time, on all nodes. */
extern CommitTimestamp snapshot_mark_after(CommitTimestamp ts);

/*
 * On a standby, of a session without a snapshot: waits, interruptibly, for
 * citus.follower_wait_timeout at most, until the mark of time ts is replayed.
 * If so, replay stands still until snapshot_mark_taken, for a moment at most.
 * False if the mark was passed, can't be used, or didn't come.
 */
extern bool snapshot_mark_await(CommitTimestamp ts);

/*
 * Lets replay go on; whether it has stood still since snapshot_mark_await, so
 * that a snapshot taken in between is as of the mark.  To be called after an
 * error, too.
 */
extern bool snapshot_mark_taken(void);

#endif							/* CITUS_TXN_SNAPSHOT_MARK_H */
