/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  Snapshots as of a commit timestamp, on one node and on all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_SNAPSHOT_H
#define CITUS_TXN_SNAPSHOT_H

#include "postgres.h"

#include "lib/ilist.h"
#include "nodes/bitmapset.h"
#include "utils/snapshot.h"

#include "compat/noreturn.h"
#include "remote/connection.h"
#include "txn/commit_ring.h"

/* Setting citus.distributed_snapshots. */
extern bool distributed_snapshots;

extern void snapshot_init(void);

/*
 * This node's part (snapshot.c).
 */

/*
 * Takes a snapshot of the transactions committed up to timestamp ts.  From
 * before the timestamp was chosen until now, this backend, or another one of
 * the database, must have held a snapshot that is older than the timestamp, so
 * that old versions of rows are still there.  Returns it unregistered, in
 * CurrentMemoryContext, valid as a template for RegisterSnapshot or
 * PushCopiedSnapshot; its command id is that of like.  Errors with
 * ERRCODE_T_R_SERIALIZATION_FAILURE if the ring has overflowed since the
 * timestamp.
 */
extern Snapshot snapshot_as_of(CommitTimestamp ts, Snapshot like);

/* The same, but NULL, and why, if the ring has overflowed. */
extern Snapshot snapshot_try_as_of(CommitTimestamp ts, Snapshot like, const char **reason);

/* Errors with ERRCODE_T_R_SERIALIZATION_FAILURE. */
pg_noreturn extern void snapshot_refuse(const char *detail);

/*
 * Makes the snapshot of this REPEATABLE READ transaction one as of timestamp,
 * in place.
 */
extern void snapshot_move_transaction(CommitTimestamp ts);

/*
 * At READ COMMITTED, waits as prepared_ring_await_left, and then makes the
 * active snapshot a new one, in place: for the server's code that reads a
 * table by it without an executor.
 */
extern void snapshot_await_left(Oid relid);

/*
 * On a node that runs a task for a statement on another one: the snapshot that
 * the statement requested, registered until the end of the transaction or
 * until no statement needs it.
 */
extern Snapshot snapshot_for_task(void);

/*
 * To be called after a statement that set citus.snapshot: a standby waits for
 * that time, and takes the snapshot at once, if it can, the transaction's own
 * one at REPEATABLE READ.
 */
extern void snapshot_setting_changed(void);

/*
 * Whether it was offered; then it fails if this node may already have
 * committed a later transaction.
 */
extern bool snapshot_is_offered(void);

/* The timestamp that a REPEATABLE READ transaction was moved to; 0: none. */
extern CommitTimestamp snapshot_moved_to(void);

/*
 * The initiator's part (dist_snapshot.c).
 */

/* A statement's snapshot over all nodes. */
typedef struct DistSnapshot
{
	dlist_node	link;			/* in the list of live snapshots */
	CommitTimestamp ts;
	Bitmapset  *groups;			/* other nodes that were asked */
	Snapshot	snapshot;		/* this node's; registered by the executor of
								 * the statement */
	bool		offered;		/* the other nodes have not accepted it yet */
	struct QueryDesc *statement;	/* for its executor */
	MemoryContextCallback callback;
} DistSnapshot;

/*
 * Chooses a point in time, asking the other nodes with those group ids.  like
 * is the statement's own snapshot, registered.  late: tasks may be sent much
 * later, when rings may have overflowed, so the nodes take their snapshots
 * now.  The result lives in context, and goes with it.
 */
extern DistSnapshot *dist_snapshot_take(Bitmapset *groups, Snapshot like, bool late, MemoryContext context);

/*
 * The same, but without asking: the nodes accept the point in time with the
 * statement's first tasks, or refuse it.  NULL if that is likely to fail.
 */
extern DistSnapshot *dist_snapshot_offer(Bitmapset *groups, Snapshot like, MemoryContext context);

/* All nodes have accepted it. */
extern void dist_snapshot_accepted(DistSnapshot *snapshot);

/* A node has refused it: the next statements don't try. */
extern void dist_snapshot_offer_refused(void);

/*
 * Chooses the point in time of a snapshot that was offered, asking the other
 * nodes with those group ids, which live as long as the snapshot.
 */
extern void dist_snapshot_settle(DistSnapshot *snapshot, Bitmapset *groups, Snapshot like);

/*
 * The statement's snapshot that is, on this node, the registered one; or NULL.
 */
extern DistSnapshot *dist_snapshot_find(Snapshot registered);

/*
 * A statement's snapshot is released.  With the last one, ends the
 * transactions that were opened only for such statements.
 */
extern void dist_snapshot_end(void);

/*
 * Queues, before a task with the corresponding tag, the commands that make the
 * node run it as of the snapshot.
 */
extern void dist_snapshot_queue(DistSnapshot *snapshot, RemoteConn *conn);

/*
 * The same for a snapshot that is offered, and the only task that the node
 * runs as of it.  There is no transaction block, before or after.
 */
extern void dist_snapshot_queue_offer(DistSnapshot *snapshot, RemoteConn *conn);

/*
 * After a task's error: makes the connection ready for another task, if
 * possible; otherwise false, without effect.
 */
extern bool dist_snapshot_restart(RemoteConn *conn);

/*
 * Whether a connection to the group can't join in reading as of the
 * statement's snapshot: a standby has taken it, which has replayed more since.
 */
extern bool dist_snapshot_is_closed(int32 groupid);

/*
 * Whether the node was asked for its clock on this connection, whose snapshot
 * others join.
 */
extern bool dist_snapshot_held(const RemoteConn *conn);

/*
 * Whether an error means that a connection that joined later can't read as of
 * the statement's snapshot.
 */
extern bool dist_snapshot_refused(RemoteConn *conn, const ErrorData *error);

/*
 * This node's snapshot for distributed statements of the present REPEATABLE
 * READ transaction.  The first call fixes its point in time, on all nodes.
 * fresh: the transaction has read nothing before.
 */
extern Snapshot dist_snapshot_of_transaction(bool fresh);

/* The point in time that it has fixed, and the other nodes that were asked. */
extern CommitTimestamp dist_snapshot_fixed(const Bitmapset **groups);

/*
 * This transaction has imported snapshots of another session, on this node and
 * on those in groups (in TopTransactionContext): makes these import theirs.
 */
extern void dist_snapshot_adopt(CommitTimestamp ts, Bitmapset *groups);

/*
 * A transaction is being opened on a node: queues the commands that make it
 * read as of our transaction's point in time, if there is one.
 */
extern void dist_snapshot_join(RemoteConn *conn);

/*
 * A subtransaction was rolled back: snapshots that are asked for again are
 * taken anew, if possible, so that scans see that its rows are dead, and not
 * that it is still running, and can remove their index entries.
 */
extern void snapshot_subtransaction_aborted(void);

/* To be called before a transaction is committed or prepared. */
extern void snapshot_before_end(void);
extern void dist_snapshot_before_end(void);

#endif							/* CITUS_TXN_SNAPSHOT_H */
