/*-------------------------------------------------------------------------
 *
 * statement_snapshot.h
 *	  Chooses the point in time that a statement reads as of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H
#define CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H

#include "postgres.h"

#include "executor/execdesc.h"

#include "resolve/tag.h"
#include "txn/snapshot.h"

/*
 * Sets the snapshot of a statement that is about to start, whose tag is given.
 * Returns whether the statement has a snapshot of its own.
 */
extern bool statement_snapshot_choose(QueryDesc *query_desc, int eflags, const TaskTag *tag);

/*
 * Has the next statement, at READ COMMITTED, read as of a point in time that
 * is not before the clock of any node, whatever it reads.  It must not be sent
 * to one shard as a whole.
 */
extern void statement_snapshot_force(void);

/*
 * At READ COMMITTED, renews the snapshot of a statement that has waited for a
 * lock.
 */
extern void statement_snapshot_renew(QueryDesc *query_desc);

/*
 * At READ COMMITTED, has a statement that reads as of no point in time wait
 * for transactions that have written its tables and were left prepared
 * (prepared_ring_await_left); its plan is of tables of this node.
 */
extern void statement_snapshot_await_left(QueryDesc *query_desc);

/*
 * Called when the statement has started: it becomes the owner of its snapshot.
 * outer was the current one before it was chosen.
 */
extern void statement_snapshot_started(QueryDesc *query_desc, bool own, DistSnapshot *outer);

/*
 * Asks the nodes for a point in time, in the place of the one that was only
 * offered, and makes the statement run as of it.  No part of the statement may
 * have run.  refused: the offer was made.
 */
extern void statement_snapshot_settle(DistSnapshot *snapshot, bool refused);

/*
 * Called when this transaction has imported the snapshot with that id.  If it
 * is of this node only, the transaction can't use distributed tables.
 */
extern void statement_snapshot_imported(const char *id);

/* The snapshot of the statement that is being started, or NULL. */
extern DistSnapshot *statement_snapshot_current(void);

#endif							/* CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H */
