/*-------------------------------------------------------------------------
 *
 * commit.c
 *	  Commit and abort on all nodes.
 *
 * commit_remote runs in the pre-commit callback: any failure there aborts the
 * transaction everywhere.
 *
 * With one writer, and no remaining local work that can fail
 * (commit_can_fail_here), that node's COMMIT is the decision.  After it
 * interrupts are held, so that a committed transaction isn't reported as
 * failed.  Otherwise the decision is the local commit, which includes the
 * commit records, and commit_prepared commits on the other nodes.  If it can't
 * reach a node, or this server fails, recovery commits there.  The memory for
 * commit_prepared is allocated before the decision.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/async.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "storage/sinval.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/trace.h"
#include "txn/commit_ring.h"
#include "txn/dist_transaction.h"
#include "txn/private.h"
#include "txn/transaction.h"

#define COMMAND_SIZE 256

/*
 * Milliseconds that other nodes may take to answer when this process is
 * terminated.
 */
#define EXIT_TIMEOUT 5000

/*
 * And that they may take to prepare, and the only writer to commit, whatever
 * statement_timeout is.
 */
#define PREPARE_PATIENCE 1000
#define COMMIT_PATIENCE 5000

/*
 * Whether the transaction has executed LISTEN, UNLISTEN or NOTIFY.  Only
 * async.c knows; it refuses to prepare such a transaction.
 */
static bool
has_notifications(void)
{
	const CatchPoint point = catch_point();
	volatile bool has = false;

	PG_TRY();
	{
		AtPrepare_Notify();
	}
	PG_CATCH();
	{
		catch_end(&point);
		has = true;
	}
	PG_END_TRY();
	return has;
}

/*
 * After its pre-commit callbacks (CommitTransaction), the server queues
 * notifications and empties temporary tables, also for a transaction without
 * an id.  commit_one_phase handles serializable transactions.
 */
bool
commit_can_fail_here(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		(MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE) != 0 || has_notifications();
}

static RemoteAnswer *
make_answers(int n)
{
	return MemoryContextAllocZero(TopTransactionContext, sizeof(RemoteAnswer) * Max(n, 1));
}

static const char *
make_command(const char *verb, const char *gid)
{
	char	   *command = MemoryContextAlloc(TopTransactionContext, COMMAND_SIZE);

	snprintf(command, COMMAND_SIZE, "%s '%s'", verb, gid);
	return command;
}

static int
count_connections(void)
{
	int			n = 0;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		n++;
	return n;
}

/*
 * Brings a connection to rest before its transaction ends: reads all
 * outstanding answers.  Raises what went wrong on it.
 */
static void
finish_reading(RemoteConn *conn)
{
	if (conn->state == REMOTE_BUSY)
		remote_finish(conn);
	if (conn->state != REMOTE_IDLE && (conn->xact_wrote || IsolationIsSerializable()))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to node %s:%d was lost", conn->nodename, conn->nodeport)));
}

static void
raise_failed(RemoteAnswer *answer)
{
	RemoteConn *conn = answer->conn;

	if (conn->state == REMOTE_DEAD && conn->xact_wrote && !conn->participant->prepared)
	{
		remote_error_free(answer->error);
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("connection to node %s:%d was lost while it committed", conn->nodename, conn->nodeport),
				 errdetail("Whether the transaction was committed is not known."),
				 errhint("When the node answers again, look at the rows that the transaction would have changed.")));
	}
	if (answer->error != NULL)
		remote_raise(ERROR, conn, answer->error);
	if (conn->state == REMOTE_DEAD)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to node %s:%d was lost", conn->nodename, conn->nodeport)));
	ereport(ERROR,
			(errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
			 errmsg("transaction was rolled back on node %s:%d", conn->nodename, conn->nodeport)));
}

/*
 * Records which transactions the commands have ended, and raises the error of
 * one, if there is any, but for the first ignored ones.  Frees all errors.
 */
static void
end_participants(RemoteAnswer *answers, int n, int ignored)
{
	RemoteAnswer *failed = NULL;

	for (int i = 0; i < n; i++)
	{
		RemoteAnswer *answer = &answers[i];
		RemoteConn *conn = answer->conn;
		bool		prepares = conn->participant->prepared;
		bool		ended = conn->state == REMOTE_IDLE && !remote_in_xact(conn);
		bool		done = strcmp(answer->tag, prepares ? "PREPARE TRANSACTION" : "COMMIT") == 0 ||
			(conn->xact == REMOTE_XACT_LONE && answer->error == NULL);

		if (ended)
		{
			conn->xact = REMOTE_XACT_NONE;
			conn->participant->prepared = prepares && done;
		}
		if (i >= ignored && !done && failed == NULL)
			failed = answer;
		else
		{
			remote_error_free(answer->error);
			answer->error = NULL;
		}
	}
	if (failed != NULL)
		raise_failed(failed);
}

/*
 * How long nodes may take to commit or prepare.  The server stops the clock of
 * statement_timeout before it commits, but a client that has set it doesn't
 * want to wait forever for a node that doesn't answer.  patience: the least
 * time before a node is given up.
 */
static long
commit_timeout(int patience)
{
	return StatementTimeout > 0 ? Max(StatementTimeout, Min(remote_connection_timeout(), patience)) : -1;
}

/*
 * How long nodes may take to commit what is prepared; recovery does it
 * otherwise.
 */
static long
decided_timeout(void)
{
	long		timeout = commit_timeout(PREPARE_PATIENCE);

	return timeout < 0 ? remote_connection_timeout() : Min(timeout, remote_connection_timeout());
}

static void
broadcast_and_end(RemoteAnswer *answers, int n, const char *between)
{
	remote_broadcast(answers, n, commit_timeout(PREPARE_PATIENCE), between);
	end_participants(answers, n, 0);
}

/*
 * COMMIT on the only writer, answers[n - 1], and on readers.  A cancel request
 * that arrives after the node's commit has no effect.  Nor has the loss of a
 * reader's connection, since the decision has been made then.
 */
static void
commit_on_writer(RemoteAnswer *answers, int n)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		remote_broadcast(answers, n, commit_timeout(COMMIT_PATIENCE), NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		remote_stop_broadcast(answers, n, remote_undo_timeout());
		if (answers[n - 1].error != NULL && answers[n - 1].conn->state != REMOTE_DEAD)
		{
			remote_error_free(answers[n - 1].error);
			catch_rethrow(error);
		}
	}
	PG_END_TRY();
	end_participants(answers, n, n - 1);
	remote_hold_interrupts();
}

/*
 * What ends the remote transactions, on connections without outstanding
 * answers: readers, then writers, that of txn_commit_last as the last.  Until
 * commit_first_phase, each is COMMIT.
 */
typedef struct Participants
{
	RemoteAnswer *answers;		/* in TopTransactionContext */
	RemoteAnswer *writers;		/* of these */
	int			n;
	int			nwriters;
} Participants;

static void
find_participants(Participants *all)
{
	int			nreaders = 0;

	all->n = 0;
	all->answers = make_answers(count_connections());
	for (int writes = 0; writes <= 1; writes++)
	{
		nreaders = all->n;
		for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		{
			if (conn->xact == REMOTE_XACT_NONE || conn->xact_wrote != (writes == 1))
				continue;
			finish_reading(conn);
			if (conn->state == REMOTE_IDLE)
				all->answers[all->n++] = (RemoteAnswer) {.conn = conn, .sql = "COMMIT"};
		}
	}
	all->writers = all->answers + nreaders;
	all->nwriters = all->n - nreaders;
	for (int i = 0; i < all->nwriters - 1; i++)
	{
		RemoteConn *conn = all->writers[i].conn;

		if (conn->groupid != dist_transaction.last_group)
			continue;
		all->writers[i].conn = all->writers[all->nwriters - 1].conn;
		all->writers[all->nwriters - 1].conn = conn;
	}
}

/* With one writer at most. */
static void
commit_one_phase(Participants *all)
{
	TraceSpan	span;

	/* a serializable reader may be refused, so the writer comes after it */
	if (all->n > 1 && all->nwriters > 0 && IsolationIsSerializable())
	{
		broadcast_and_end(all->answers, all->n - 1, NULL);
		all->answers = all->writers;
		all->n = 1;
	}

	/* the server checks this after us, when it is too late to roll back */
	if (all->nwriters > 0 && IsolationIsSerializable())
		PreCommit_CheckForSerializationFailure();
	DEBUG_POINT("commit-before-one-phase");
	span = trace_begin();
	if (all->nwriters > 0)
		commit_on_writer(all->answers, all->n);
	else
		broadcast_and_end(all->answers, all->n, NULL);
	trace_end(&span, TRACE_COMMIT, all->n == 1 ? all->answers[0].conn->groupid : TRACE_NO_NODE, all->n, NULL);
	DEBUG_POINT("commit-after-one-phase");
}

/*
 * Gives the transaction its timestamp, later than all participants' clocks;
 * COMMIT PREPARED sends it to them.  If it will be prepared itself, the clock
 * that it reports is later than theirs.
 */
static void
decide_timestamp(const Participants *all)
{
	CommitTimestamp latest = 0;
	CommitTimestamp ts;

	for (int i = 0; i < all->nwriters; i++)
	{
		CommitTimestamp clock = remote_reported_clock(all->writers[i].conn);

		latest = Max(latest, clock);
	}
	if (dist_transaction.ndecided == 0)
	{
		dist_transaction.children_clock = latest;
		return;
	}
	ts = commit_ring_decide(latest);
	for (int i = 0; i < dist_transaction.ndecided; i++)
	{
		char	   *command = MemoryContextAlloc(TopTransactionContext, COMMAND_SIZE);

		snprintf(command, COMMAND_SIZE, TIMESTAMP_TAG "COMMIT PREPARED '%s'", ts, dist_transaction.decided[i].conn->participant->gid);
		dist_transaction.decided[i].sql = command;
	}
}

void
commit_waits_for_standbys(void)
{
	if (synchronous_commit <= SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		(void) set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
								 true, 0, false);
}

/*
 * Prepares all writers, and commits on readers.  parent: this transaction if
 * it will be prepared too, else invalid.
 */
static void
commit_first_phase(Participants *all, FullTransactionId parent)
{
	const char *verb = prepared_ring_parks() ? PARKED_TAG "PREPARE TRANSACTION" : PREPARE_TAG "PREPARE TRANSACTION";
	uint64		number = active_begin();
	int32		group = metadata_local_group();
	TraceSpan	span;

	dist_transaction.decided = make_answers(all->nwriters);
	dist_transaction.ndecided = FullTransactionIdIsValid(parent) ? 0 : all->nwriters;
	for (int i = 0; i < all->nwriters; i++)
	{
		RemoteConn *conn = all->writers[i].conn;
		char	   *gid = conn->participant->gid;

		/* its owner must be the role that COMMIT PREPARED comes as */
		if (!remote_is_direct(conn))
			remote_queue_command(conn, "SET LOCAL role = none");
		remote_prove_again(conn);
		gid_make(gid, group, number, i, parent);
		dist_transaction.decided[i].conn = conn;
		all->writers[i].sql = make_command(verb, gid);
	}
	commit_record_insert(all->writers, all->nwriters, parent);

	/* after COMMIT PREPARED, our own commit must not get lost in a crash */
	ForceSyncCommit();
	commit_waits_for_standbys();

	DEBUG_POINT("commit-before-prepare");
	for (int i = 0; i < all->nwriters; i++)
		all->writers[i].conn->participant->prepared = true;
	span = trace_begin();
	broadcast_and_end(all->answers, all->n, "commit-between-prepares");
	trace_end(&span, TRACE_PREPARE, TRACE_NO_NODE, all->n, NULL);
	decide_timestamp(all);
	dist_transaction.phase = TXN_PREPARED;
	DEBUG_POINT("commit-after-prepare");
}

void
txn_commit_last(int32 groupid, List *relids)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

	dist_transaction.last_group = groupid;
	dist_transaction.last_relids = list_copy(relids);
	MemoryContextSwitchTo(old_context);
}

void
commit_remote(void)
{
	Participants all;

	find_participants(&all);
	if (all.nwriters > 1 || (all.nwriters == 1 && commit_can_fail_here()))
		commit_first_phase(&all, InvalidFullTransactionId);
	else if (all.n > 0)
		commit_one_phase(&all);
}

void
prepare_remote(void)
{
	Participants all;

	find_participants(&all);
	if (all.nwriters > 0)
		commit_first_phase(&all, GetTopFullTransactionId());
	else if (all.n > 0)
		commit_one_phase(&all);
}

void
commit_warn_unfinished(const char *gid, const char *reason)
{
	active_left_unfinished();
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("could not finish prepared transaction \"%s\"", gid),
			 errdetail_internal("%s", reason),
			 errhint("It will be finished by recovery.")));
}

/*
 * If a prepared transaction doesn't exist, it was never prepared, or another
 * session has finished it.
 */
void
commit_note_finished(RemoteAnswer *answers, int n, const char *tag)
{
	for (int i = 0; i < n; i++)
	{
		RemoteConn *conn = answers[i].conn;
		char		reason[512];

		if (strcmp(answers[i].tag, tag) == 0)
			continue;
		if (answers[i].error == NULL || remote_error_sqlstate(answers[i].error) != ERRCODE_UNDEFINED_OBJECT)
		{
			snprintf(reason, sizeof(reason), "Node %s:%d: %s", conn->nodename, conn->nodeport,
					 answers[i].error != NULL ? remote_error_message(conn, answers[i].error) : "no answer");
			commit_warn_unfinished(conn->participant->gid, reason);
		}
		remote_error_free(answers[i].error);
		answers[i].error = NULL;
	}
}

/*
 * Sends invalidation messages for the tables of txn_commit_last to other
 * sessions of this server.  The server's own messages are sent only after all
 * nodes have answered.
 */
void
commit_tell_sessions(void)
{
	foreach_oid(relid, dist_transaction.last_relids)
	{
		SharedInvalidationMessage message;

		memset(&message, 0, sizeof(message));
		message.rc.id = SHAREDINVALRELCACHE_ID;
		message.rc.dbId = MyDatabaseId;
		message.rc.relId = relid;
		SendSharedInvalidMessages(&message, 1);
	}
}

void
commit_prepared(void)
{
	int			n = dist_transaction.ndecided;
	TraceSpan	span;
	int			first = n > 1 && dist_transaction.decided[n - 1].conn->groupid == dist_transaction.last_group ? n - 1 : n;

	if (n == 0)
		return;

	/*
	 * when the server dies, it stops waiting for a standby, which may not have
	 * the decision
	 */
	if (ProcDiePending && !PostmasterIsAlive())
		return;
	DEBUG_POINT("commit-after-decision");
	span = trace_begin();
	remote_broadcast(dist_transaction.decided, first, decided_timeout(), "commit-between-commits");
	if (first < n)
		remote_broadcast(dist_transaction.decided + first, n - first, decided_timeout(), NULL);
	trace_end(&span, TRACE_COMMIT_PREPARED, TRACE_NO_NODE, n, NULL);
	DEBUG_POINT("commit-after-second-phase");
	commit_note_finished(dist_transaction.decided, n, "COMMIT PREPARED");
}

static bool
is_prepared(const RemoteConn *conn)
{
	return conn->participant != NULL && conn->participant->prepared;
}

/*
 * The commands that undo the work on other nodes, after outstanding answers
 * were read.
 */
static int
undo_commands(RemoteAnswer *answers, bool prepared)
{
	int			n = 0;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
	{
		bool		idle;

		if (conn->state != REMOTE_IDLE)
			continue;
		idle = !remote_in_xact(conn);
		if (prepared != (is_prepared(conn) && idle) || (!prepared && idle))
			continue;
		answers[n].conn = conn;
		answers[n].sql = prepared ? make_command("ROLLBACK PREPARED", conn->participant->gid) : "ROLLBACK";
		n++;
	}
	return n;
}

void
abort_remote(void)
{
	long		timeout = proc_exit_inprogress ? EXIT_TIMEOUT : remote_undo_timeout();
	RemoteAnswer *answers;
	int			n;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->xact != REMOTE_XACT_NONE)
			remote_settings_rolled_back(conn);
	remote_settle_all(timeout);
	DEBUG_POINT("abort-before-rollback");

	answers = make_answers(count_connections());
	n = undo_commands(answers, false);
	remote_broadcast(answers, n, timeout, NULL);
	for (int i = 0; i < n; i++)
		remote_error_free(answers[i].error);

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->state == REMOTE_DEAD && is_prepared(conn))
			active_left_unfinished();
	n = undo_commands(answers, true);
	remote_broadcast(answers, n, timeout, NULL);
	commit_note_finished(answers, n, "ROLLBACK PREPARED");
}
