/*-------------------------------------------------------------------------
 *
 * transaction.h
 *	  Distributed transactions: one remote transaction per node, ended with
 *	  the local one.
 *
 * Commit: with one writer node and no local write, its COMMIT is sent in the
 * pre-commit callback.  Otherwise two-phase commit: commit records into
 * pg_dist_transaction, PREPARE TRANSACTION on all writers in parallel, local
 * commit (the decision), COMMIT PREPARED.  After the decision nothing raises
 * an error.  Savepoints are sent lazily, with the next statement on a
 * connection.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_TRANSACTION_H
#define CITUS_TXN_TRANSACTION_H

#include "access/tupdesc.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

#include "remote/connection.h"

extern void txn_init(void);

/*
 * To be called when statements begin, distributed or not: makes this session
 * known to the deadlock detector.
 */
extern void txn_statement_begins(void);

/*
 * Whether a read must run inside the remote transaction of its node: in a
 * transaction block, in a subtransaction, at REPEATABLE READ, or after a
 * write.
 */
extern bool txn_reads_in_xact(void);

/*
 * Whether a statement, as the executor got it, is the whole transaction: the
 * client's own statement at the top level, outside a transaction block, at
 * READ COMMITTED, followed only by sending the answer's rows (NULL: it has
 * none), which can't fail.
 */
extern bool txn_is_one_statement(const PlannedStmt *statement, TupleDesc answer);

/*
 * DECLARE CURSOR has run: if the cursor is WITH HOLD, computing its rows can
 * make the commit fail.
 */
extern void txn_note_cursor(void);

/*
 * After a statement's error on an otherwise idle connection: resets it to the
 * state before this transaction.  False, without effect, if an earlier
 * statement has succeeded there.
 */
extern bool txn_restart(RemoteConn *conn);

/*
 * When this transaction has committed, first the other sessions of this server
 * learn of changes to the tables (Oids), then the other nodes commit, and last
 * the node of the group.
 */
extern void txn_commit_last(int32 groupid, List *relids);

/*
 * Sets a savepoint before the next statement, which the node may refuse before
 * any effect.  After such an error, txn_restart_guarded rolls back to it.
 */
extern void txn_guard(RemoteConn *conn);
extern bool txn_restart_guarded(RemoteConn *conn);

/*
 * Executes SET CONSTRAINTS, as text for other nodes, on the nodes that are in
 * this transaction, now or later.  Raises the error of a constraint that it
 * checks.
 */
extern void txn_set_constraints(const char *sql);

/*
 * Runs COMMIT PREPARED or ROLLBACK PREPARED by run(arg), and then ends what
 * the transaction has prepared on other nodes.
 */
extern void txn_finish_prepared(const TransactionStmt *stmt, void (*run) (void *arg), void *arg);

/*
 * Resolves unfinished prepared transactions that this node initiated, on all
 * other nodes, or on those only that may have any; returns how many.  Needs a
 * superuser.  A node that can't be reached is skipped with a warning.
 */
extern int	txn_recover(bool all);

/*
 * Whether something was left to recovery since txn_recover last ran in this
 * process.
 */
extern bool txn_recovery_wanted(void);

/*
 * Called once in each transaction that uses other nodes; the daemon (above
 * this module) wants to know.
 */
extern void (*txn_use_hook) (void);

#endif							/* CITUS_TXN_TRANSACTION_H */
