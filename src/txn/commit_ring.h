/*-------------------------------------------------------------------------
 *
 * commit_ring.h
 *	  The node's clock, and the timestamps of the transactions that committed last.
 *
 * A timestamp is a time in microseconds, as TimestampTz has it, that only
 * grows: each commit gets one later than all that the node has given or
 * received.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_COMMIT_RING_H
#define CITUS_TXN_COMMIT_RING_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/snapshot.h"

#include "txn/commit_timestamp.h"

extern void commit_ring_init(void);

/*
 * To be called last before a commit, and first when the transaction has ended.
 */
extern void commit_ring_before_commit(void);
extern void commit_ring_after_end(void);

/* The latest timestamp given or received. */
extern CommitTimestamp commit_ring_clock(void);

/*
 * The present time: the time of day, or a later timestamp that was given or
 * received.
 */
extern CommitTimestamp commit_ring_now(void);

/*
 * A new timestamp, later than the given one and than all that the node has
 * given or received.
 */
extern CommitTimestamp commit_ring_advance(CommitTimestamp later_than);

/*
 * Errors, with ERRCODE_INVALID_PARAMETER_VALUE, if a timestamp that a client
 * sent can't be one.
 */
extern void commit_ring_check(CommitTimestamp ts);

/*
 * The same for a timestamp that may not be a node's (COMMIT PREPARED through a
 * pooler): it may be ahead of the time of day only slightly.
 */
extern void commit_ring_check_stranger(CommitTimestamp ts);

/*
 * Gives this transaction, which is about to commit, a timestamp later than its
 * participants' clocks.
 */
extern CommitTimestamp commit_ring_decide(CommitTimestamp later_than);

/*
 * The timestamp of a transaction of this node that committed, or 0 if that is
 * not known (any more).
 */
extern CommitTimestamp commit_ring_timestamp_of(TransactionId xid);

/*
 * Advances the clock to ts, and waits, interruptibly, for the
 * transactions of this database that may still commit with an earlier one.
 */
extern void commit_ring_await(CommitTimestamp ts);

/*
 * The transactions of this database that committed after ts and that
 * snapshot shows, as an array in CurrentMemoryContext; *count is set.  False
 * if that is not known (any more).
 */
extern bool commit_ring_later(CommitTimestamp ts, Snapshot snapshot, LaterCommit **later, int *count);

/*
 * Prepared transactions (prepared_ring.c).
 */

/*
 * To be called last before a transaction is prepared, when it has been, and
 * when a transaction has failed.
 */
extern void prepared_ring_before_prepare(void);
extern void prepared_ring_after_prepare(void);
extern void prepared_ring_after_abort(void);

extern void prepared_ring_init(void);

/*
 * Whether a transaction of this database is prepared that gets a timestamp
 * later than the given one, and may be committed elsewhere already.
 */
extern bool prepared_ring_has_later(CommitTimestamp ts);

/*
 * Whether transactions may be left here that were prepared for other nodes, by
 * sessions that have ended; not in recovery.
 */
extern bool prepared_ring_has_left(void);

/*
 * Waits for such transactions that have written a table; false if there are
 * none.  Errors with ERRCODE_LOCK_NOT_AVAILABLE after snapshot_timeout.
 */
extern bool prepared_ring_await_left(Oid relid);

/*
 * To be called before the server runs PREPARE TRANSACTION, COMMIT PREPARED or
 * ROLLBACK PREPARED, and after it has run one of the latter two.  Returns the
 * timestamp of what was committed, or 0 if that is not known.
 */
extern void prepared_ring_before(const TransactionStmt *stmt, const char *query);
extern CommitTimestamp prepared_ring_after(void);

/*
 * The tag before COMMIT PREPARED: the transaction's timestamp.  The tags
 * before PREPARE TRANSACTION: a node requests it, which will decide soon; or
 * whose client will decide.
 */
#define NODE_TAG_START "/*citus:"
#define TIMESTAMP_TAG NODE_TAG_START "stamp " UINT64_FORMAT "*/ "
#define PREPARE_TAG NODE_TAG_START "prepare*/ "
#define PARKED_TAG NODE_TAG_START "parked*/ "

/*
 * Whether a client will decide on the transaction that is about to be
 * prepared.
 */
extern bool prepared_ring_parks(void);

#endif							/* CITUS_TXN_COMMIT_RING_H */
