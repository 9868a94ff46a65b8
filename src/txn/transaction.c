/*-------------------------------------------------------------------------
 *
 * transaction.c
 *	  Remote transactions follow the local one.
 *
 * A participant's depth is the nesting level of its remote transaction: 1 is a
 * transaction, n savepoints up to level n.  A savepoint is named after its
 * level.  It is set together with the first statement of its level on the
 * connection (txn_begin_remote), released together with the next statement
 * after the end of the level, and rolled back at once, without waiting for the
 * answer.  If a cancel request hit one of these commands instead of the
 * following statement, the node's nesting would differ from ours: so it waits
 * for their answers (remote_queue_barrier).
 *
 * The savepoint of txn_guard, if the participant says that there is one, is
 * always the node's innermost: it is released before another one is set.
 *
 * The server calls xact_callback and subxact_callback.  Those that run before
 * the decision may raise errors; the others never do: their failures are
 * warnings, since an error after the local commit would be a PANIC, and one
 * during abort would repeat it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "catalog/backends.h"
#include "catalog/follower.h"
#include "catalog/node_session.h"
#include "catalog/standby_writes.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/trace.h"
#include "remote/free_slots.h"
#include "txn/deadlock.h"
#include "txn/deadlock_victim.h"
#include "txn/dist_transaction.h"
#include "txn/exported_snapshot.h"
#include "txn/notify.h"
#include "txn/private.h"
#include "txn/serializable.h"
#include "txn/snapshot.h"
#include "txn/snapshot_mark.h"
#include "txn/transaction.h"

void		(*txn_use_hook) (void) = NULL;

#define NO_TRANSACTION {.last_group = NO_GROUP, .only_group = NO_GROUP}

static const DistTransaction no_transaction = NO_TRANSACTION;
DistTransaction dist_transaction = NO_TRANSACTION;

TxnParticipant *
txn_participant(RemoteConn *conn)
{
	if (conn->participant == NULL)
		conn->participant = MemoryContextAllocZero(TopTransactionContext, sizeof(TxnParticipant));
	return conn->participant;
}

List *
txn_groups(void)
{
	List	   *groups = NIL;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
	{
		if (conn->primary && conn->xact != REMOTE_XACT_NONE)
			groups = lappend_int(groups, conn->groupid);
	}
	return groups;
}

bool
txn_reads_in_xact(void)
{
	if (IsTransactionBlock() || IsolationUsesXactSnapshot() || GetCurrentTransactionNestLevel() > 1)
		return true;
	return false;
}

void
txn_statement_begins(void)
{
	if (backend_show())
		free_slots_report();
	deadlock_victim_prepare();
}

static void
first_use(void)
{
	dist_transaction.phase = TXN_ACTIVE;
	deadlock_victim_prepare();
	if (txn_use_hook != NULL)
		txn_use_hook();
}

/*
 * Opens a remote transaction with the local one's characteristics.  If only a
 * subtransaction is read-only, that is set after its savepoint.
 */
static void
open_remote(RemoteConn *conn, int level)
{
	bool		read_only = follower_reads() || (level > 1 ? dist_transaction.top_read_only : standby_xact_read_only());
	const char *isolation = XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" :
		XactIsoLevel == XACT_REPEATABLE_READ ? "REPEATABLE READ" : "READ COMMITTED";
	char		command[128] = "BEGIN";

	if (XactIsoLevel != XACT_READ_COMMITTED || read_only || XactDeferrable || !remote_settings_known(conn))
		snprintf(command, sizeof(command), "BEGIN ISOLATION LEVEL %s, READ %s, %sDEFERRABLE",
				 isolation, read_only ? "ONLY" : "WRITE", XactDeferrable ? "" : "NOT ");
	remote_queue_command(conn, command);
	conn->xact = REMOTE_XACT_OPEN;
	conn->xact_fresh = true;
	*txn_participant(conn) = (TxnParticipant) {.depth = 1, .began = level, .read_only = read_only ? 1 : 0};
	constraint_modes_queue(conn, 1);
	dist_snapshot_join(conn);
}

static void
release_guard(RemoteConn *conn)
{
	if (conn->participant->guarded)
		remote_queue_command(conn, "RELEASE SAVEPOINT citus_guard");
	conn->participant->guarded = false;
}

/*
 * Opens the remote transaction, and sets savepoints, as far as the local
 * nesting has them.
 */
void
txn_begin_remote(RemoteConn *conn)
{
	int			level = GetCurrentTransactionNestLevel();
	TxnParticipant *participant;
	bool		savepoints;
	char		command[64];

	if (conn->xact == REMOTE_XACT_NONE)
		open_remote(conn, level);
	participant = conn->participant;
	participant->began = Min(participant->began, level);
	savepoints = participant->release > 0 || participant->depth < level;
	if (participant->release > 0)
	{
		snprintf(command, sizeof(command), "RELEASE SAVEPOINT citus_%d", participant->release);
		remote_queue_command(conn, command);
		participant->release = 0;
	}
	if (participant->depth < level)
		release_guard(conn);
	while (participant->depth < level)
	{
		snprintf(command, sizeof(command), "SAVEPOINT citus_%d", ++participant->depth);
		remote_queue_command(conn, command);
		constraint_modes_queue(conn, participant->depth);
	}
	if (savepoints)
		remote_queue_barrier(conn);
	if (standby_xact_read_only() && participant->read_only == 0)
	{
		remote_queue_command(conn, "SET TRANSACTION READ ONLY");
		participant->read_only = level;
	}
}

/*
 * Runs something that must not raise an error, at the end of a transaction.
 */
static void
run_safely(void (*what) (void *arg), void *arg)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		what(arg);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("could not end a transaction on other nodes: %s", error->message)));
		FreeErrorData(error);
		active_left_unfinished();
	}
	PG_END_TRY();
}

bool
txn_restart(RemoteConn *conn)
{
	if (dist_snapshot_restart(conn))
		return true;
	if (conn->state != REMOTE_IDLE || (conn->xact != REMOTE_XACT_NONE && !conn->xact_fresh))
		return false;
	if (conn->xact == REMOTE_XACT_NONE)
		return true;

	remote_send_rollback(conn);
	conn->xact = REMOTE_XACT_NONE;
	conn->xact_wrote = false;
	return true;
}

void
txn_guard(RemoteConn *conn)
{
	txn_begin_remote(conn);
	release_guard(conn);
	remote_queue_command(conn, "SAVEPOINT citus_guard");
	remote_queue_barrier(conn);
	conn->participant->guarded = true;
}

bool
txn_restart_guarded(RemoteConn *conn)
{
	if (conn->state != REMOTE_IDLE)
		return false;
	remote_settings_rolled_back(conn);
	conn->participant->snapshot_timestamp = 0;
	remote_send_silent(conn, "ROLLBACK TO SAVEPOINT citus_guard");
	return true;
}

/*
 * Debug points at the end of a transaction that wrote on this node, also of
 * one that another node has opened here.
 */
static void
debug_points_of(XactEvent event)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	if (event == XACT_EVENT_PRE_COMMIT)
		DEBUG_POINT("xact-before-commit");
	else if (event == XACT_EVENT_COMMIT)
		DEBUG_POINT("xact-after-commit");
	else if (event == XACT_EVENT_PRE_PREPARE)
		DEBUG_POINT("xact-before-prepare");
	else if (event == XACT_EVENT_PREPARE)
		DEBUG_POINT("xact-after-prepare");
}

/*
 * What happens at the end of a transaction, in order: what the server's
 * callbacks of these events run, from top to bottom.
 */
enum
{
	BEFORE_COMMIT = 1 << XACT_EVENT_PRE_COMMIT,
	BEFORE_PREPARE = 1 << XACT_EVENT_PRE_PREPARE,
	COMMITTED = 1 << XACT_EVENT_COMMIT,
	PREPARED = 1 << XACT_EVENT_PREPARE,
	ABORTED = 1 << XACT_EVENT_ABORT,
	BEFORE_END = BEFORE_COMMIT | BEFORE_PREPARE,
	ENDED = COMMITTED | PREPARED | ABORTED,
};

typedef struct EndStep
{
	int			events;			/* bits */
	void		(*run) (void);
	TxnPhase	phase;			/* only in this phase or a later one */
	bool		safely;			/* its errors become warnings */
} EndStep;

static void
release_interrupts_committed(void)
{
	remote_release_interrupts(true);
}

static void
release_interrupts_undone(void)
{
	remote_release_interrupts(false);
}

/*
 * README.md explains it.  The slot in the commit ring is freed before waiting
 * for other nodes.
 */
static const EndStep end_steps[] = {
	{BEFORE_COMMIT, node_session_call_ends},
	{BEFORE_COMMIT, notify_before_commit},
	{BEFORE_COMMIT, commit_remote, TXN_ACTIVE},
	{BEFORE_PREPARE, prepare_remote, TXN_ACTIVE},
	{BEFORE_END, dist_snapshot_before_end},
	{BEFORE_END, snapshot_before_end},
	{BEFORE_COMMIT, commit_ring_before_commit},
	{BEFORE_PREPARE, prepared_ring_before_prepare},
	{BEFORE_COMMIT, trace_local_commit_begins},
	/* the server commits, prepares or aborts */
	{COMMITTED, trace_local_commit_ended},
	{COMMITTED, commit_tell_sessions},
	{COMMITTED, notify_unlock},
	{ENDED, commit_ring_after_end},
	{ENDED, free_slots_report},
	{PREPARED, active_parent_prepared, TXN_PREPARED},
	{ABORTED, abort_remote, TXN_ACTIVE, true},
	{COMMITTED, commit_prepared, TXN_PREPARED, true},
	{COMMITTED, notify_after_commit, TXN_ACTIVE, true},
	{COMMITTED, release_interrupts_committed, TXN_ACTIVE},
	{PREPARED | ABORTED, release_interrupts_undone, TXN_ACTIVE},
	{ENDED, remote_end_transaction, TXN_ACTIVE, true},
	{ENDED, active_end},
	{ENDED, exported_snapshot_end},
	{PREPARED, prepared_ring_after_prepare},
	{ABORTED, prepared_ring_after_abort},
	{ABORTED, deadlock_victim_prepare_next},
};

static void
reset_transaction(void)
{
	if (dist_transaction.phase != TXN_LOCAL)
		for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
			conn->participant = NULL;
	dist_transaction = no_transaction;
}

static void
run_step(void *step)
{
	((const EndStep *) step)->run();
}

/* The only callback for the end of transactions. */
static void
xact_callback(XactEvent event, void *arg)
{
	debug_points_of(event);
	for (int i = 0; i < lengthof(end_steps); i++)
	{
		const EndStep *step = &end_steps[i];

		if ((step->events & (1 << event)) == 0 || dist_transaction.phase < step->phase)
			continue;
		if (step->safely)
			run_safely(run_step, (void *) step);
		else
			step->run();
	}
	if ((ENDED & (1 << event)) == 0)
		return;
	if (dist_transaction.phase == TXN_LOCAL)
		remote_end_unused_transaction();
	reset_transaction();
	trace_transaction_ended((ABORTED & (1 << event)) == 0);
}

static bool
has_level(const RemoteConn *conn, int level)
{
	return conn->xact != REMOTE_XACT_NONE && conn->participant->depth >= level;
}

static void
end_level(TxnParticipant *participant, int level)
{
	if (participant->read_only >= level)
		participant->read_only = 0;
	participant->depth = level - 1;
	participant->release = level;
	participant->guarded = false;
}

/*
 * The level is released: its savepoints are released with the next statement,
 * and its READ ONLY ends.
 */
static void
release_level(int level)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
	{
		TxnParticipant *participant = conn->participant;

		if (!has_level(conn, level))
			continue;
		end_level(participant, level);
		participant->began = Min(participant->began, level - 1);
	}
}

/*
 * The level is rolled back.  A statement that still runs in it is cancelled;
 * the savepoint's rollback is sent without waiting for the answer, which is
 * read before the next one.  A lost connection without work outside the level
 * is closed.
 */
static void
rollback_level(int level)
{
	char		command[64];

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
	{
		TxnParticipant *participant = conn->participant;

		if (!has_level(conn, level))
			continue;
		participant->snapshot_timestamp = 0;
		remote_settle(conn, remote_undo_timeout());
		remote_settings_rolled_back(conn);
		if (conn->state == REMOTE_DEAD && participant->began >= level)
		{
			conn->primary = false;
			conn->xact = REMOTE_XACT_NONE;
			conn->xact_wrote = false;
			continue;
		}
		snprintf(command, sizeof(command), "ROLLBACK TO SAVEPOINT citus_%d", level);
		remote_send_silent(conn, command);
		end_level(participant, level);
	}
}

/* The subtransaction that ends; the argument of abort_subtransaction. */
typedef struct EndingLevel
{
	int			level;
	SubTransactionId subid;
	SubTransactionId parent;
} EndingLevel;

static void
abort_subtransaction(void *arg)
{
	const EndingLevel *ending = arg;

	rollback_level(ending->level);
	remote_end_subtransaction(false, ending->subid, ending->parent);
}

static void
subxact_callback(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		DEBUG_POINT("subxact-before-commit");
	if (event == SUBXACT_EVENT_START_SUB)
		deadlock_victim_prepare();
	if (event == SUBXACT_EVENT_START_SUB && level == 2)
		dist_transaction.top_read_only = standby_xact_read_only();
	else if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB)
	{
		constraint_modes_end_level(level, event == SUBXACT_EVENT_COMMIT_SUB);
		notify_end_level(level, event == SUBXACT_EVENT_COMMIT_SUB);
		if (event == SUBXACT_EVENT_ABORT_SUB)
			snapshot_subtransaction_aborted();
	}
	if (dist_transaction.phase == TXN_LOCAL)
		return;

	switch (event)
	{
		case SUBXACT_EVENT_START_SUB:
			/* outstanding rows of an outer cursor must survive ROLLBACK TO */
			remote_yield_all();
			break;
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			break;
		case SUBXACT_EVENT_COMMIT_SUB:
			release_level(level);
			remote_end_subtransaction(true, subid, parent);
			break;
		case SUBXACT_EVENT_ABORT_SUB:
			run_safely(abort_subtransaction, &(EndingLevel) {level, subid, parent});
			break;
	}
}

void
txn_init(void)
{
	static const RemoteTxnHooks hooks = {
		.begin = txn_begin_remote,
		.reads_in_xact = txn_reads_in_xact,
		.first_use = first_use,
		.awaited = wait_edges_lead_here,
	};

	active_init();
	deadlock_init();
	commit_ring_init();
	snapshot_mark_init();
	snapshot_init();
	serializable_init();
	notify_init();
	changes_block_init();
	remote_set_txn_hooks(&hooks);
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}
