/*-------------------------------------------------------------------------
 *
 * statement_snapshot.h
 *	  Which point in time a statement reads as of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H
#define CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H

#include "postgres.h"

#include "executor/execdesc.h"

#include "txn/snapshot.h"

/*
 * Puts the right snapshot into the description of a statement that is about to
 * start; given says that it is a task with its initiator's.  Whether the
 * statement then has one of its own.
 */
extern bool statement_snapshot_choose(QueryDesc *query_desc, int eflags, bool given);

/*
 * At READ COMMITTED, has a statement that has waited for a lock see what was
 * committed meanwhile.
 */
extern void statement_snapshot_renew(QueryDesc *query_desc);

/*
 * The statement has started: the snapshot of its own goes with it.  outer was
 * the current one before it was chosen.
 */
extern void statement_snapshot_started(QueryDesc *query_desc, bool own, DistSnapshot *outer);

/*
 * Has the nodes asked for the point in time of a snapshot that they were only
 * offered, and the statement run as of that.  Nothing of it may have run, or
 * had an effect.  refused: the offer was made.
 */
extern void statement_snapshot_settle(DistSnapshot *snapshot, bool refused);

/*
 * This transaction has taken the snapshot of that id from another session.  If
 * that is one of this node alone, it can't use distributed tables.
 */
extern void statement_snapshot_imported(const char *id);

/* The snapshot of the statement that is being started, or NULL. */
extern DistSnapshot *statement_snapshot_current(void);

#endif							/* CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H */
