/*-------------------------------------------------------------------------
 *
 * changes_block.c
 *	  citus_cluster_changes_block(): holds off the decisions of transactions
 *	  over several nodes while the disks of all servers are copied.
 *
 * A background worker holds the locks that a restore point needs
 * (restore_point_lock) until it is told to release them, or until a time limit
 * has passed.  It looks once a second whether the other nodes still hold
 * theirs: if one doesn't, the block has failed, and unblocking says so, since
 * the copies may not fit together.
 *
 * There is one block per server, in shared memory.  The worker alone changes
 * its state, except that the function that starts the worker takes the slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat/sql_function.h"
#include "compat/varlena.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/shared_area.h"
#include "lib/wait_event.h"
#include "remote/connection.h"
#include "txn/private.h"

SQL_FUNCTION(citus_cluster_changes_block);
SQL_FUNCTION(citus_cluster_changes_unblock);
SQL_FUNCTION(citus_cluster_changes_block_status);

extern PGDLLEXPORT void citus_changes_block_main(Datum arg);

/* Milliseconds between two looks at the other nodes, and for a session. */
#define LOOK_MS 1000
#define POLL_MS 20

typedef enum BlockState
{
	BLOCK_NONE,					/* there was none since the server started */
	BLOCK_STARTING,				/* the worker takes the locks */
	BLOCK_HELD,
	BLOCK_RELEASED,				/* the last one, on request */
	BLOCK_TIMED_OUT,
	BLOCK_FAILED,
} BlockState;

static const char *const block_state_names[] = {
	[BLOCK_NONE] = "inactive",
	[BLOCK_STARTING] = "starting",
	[BLOCK_HELD] = "blocked",
	[BLOCK_RELEASED] = "released",
	[BLOCK_TIMED_OUT] = "timed out",
	[BLOCK_FAILED] = "failed",
};

typedef struct BlockShared
{
	SharedHeader header;
	BlockState	state;
	bool		release;		/* the worker is to end the block */
	pid_t		worker;			/* 0 before it has begun */
	pid_t		requestor;
	TimestampTz since;			/* when all locks were held; 0 before */
	int			timeout_ms;
	int			nodes;
	char		problem[256];	/* why it has failed */
} BlockShared;

static BlockShared *block_shared = NULL;

static bool
block_is_active(BlockState state)
{
	return state == BLOCK_STARTING || state == BLOCK_HELD;
}

static BlockShared
block_read(void)
{
	BlockShared copy;

	LWLockAcquire(block_shared->header.lock, LW_SHARED);
	copy = *block_shared;
	LWLockRelease(block_shared->header.lock);
	return copy;
}

/* Ends the block, with a problem or NULL, if it hasn't ended yet. */
static void
block_end(BlockState state, const char *problem)
{
	LWLockAcquire(block_shared->header.lock, LW_EXCLUSIVE);
	if (block_is_active(block_shared->state))
	{
		block_shared->state = state;
		strlcpy(block_shared->problem, problem == NULL ? "" : problem, sizeof(block_shared->problem));
	}
	LWLockRelease(block_shared->header.lock);
}

/* on_shmem_exit: whatever ends the worker ends the block. */
static void
block_worker_exit(int code, Datum arg)
{
	block_end(BLOCK_FAILED, "The process that held the block was terminated.");
}

/* The connections (List of RemoteConn *) hold the locks: waits for the end. */
static void
block_hold(List *conns)
{
	TimestampTz end;

	LWLockAcquire(block_shared->header.lock, LW_EXCLUSIVE);
	block_shared->nodes = list_length(conns) + 1;
	block_shared->since = GetCurrentTimestamp();
	block_shared->state = BLOCK_HELD;
	end = TimestampTzPlusMilliseconds(block_shared->since, block_shared->timeout_ms);
	LWLockRelease(block_shared->header.lock);
	pgstat_report_activity(STATE_RUNNING, "holding changes of the cluster");
	while (!block_read().release)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

		if (left <= 0)
		{
			block_end(BLOCK_TIMED_OUT, NULL);
			return;
		}
		foreach_ptr(RemoteConn, conn, conns)
			(void) remote_plain_exec(conn, "SELECT 1", ERROR);
		wait_pause(Min(left, LOOK_MS), WAIT_CHANGES_BLOCK);
	}
	/* they must have been held up to now */
	foreach_ptr(RemoteConn, conn, conns)
		(void) remote_plain_exec(conn, "SELECT 1", ERROR);
	block_end(BLOCK_RELEASED, NULL);
}

/* The worker, in the database whose Oid is arg. */
void
citus_changes_block_main(Datum arg)
{
	const CatchPoint point = catch_point();

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	before_shmem_exit(block_worker_exit, (Datum) 0);
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	LWLockAcquire(block_shared->header.lock, LW_EXCLUSIVE);
	block_shared->worker = MyProcPid;
	LWLockRelease(block_shared->header.lock);
	PG_TRY();
	{
		List	   *conns;

		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		conns = restore_point_lock();
		DEBUG_POINT("changes-block-locked");
		block_hold(conns);
		foreach_ptr(RemoteConn, conn, conns)
			remote_plain_close(conn);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		HOLD_INTERRUPTS();
		EmitErrorReport();
		error = catch_copy(&point);
		AbortOutOfAnyTransaction();
		catch_end(&point);
		block_end(BLOCK_FAILED, error->message);
	}
	PG_END_TRY();
}

/* Takes the slot for this session; errors if there is a block. */
static void
block_claim(int timeout_ms)
{
	BlockState	state;

	LWLockAcquire(block_shared->header.lock, LW_EXCLUSIVE);
	state = block_shared->state;
	if (!block_is_active(state))
	{
		block_shared->state = BLOCK_STARTING;
		block_shared->release = false;
		block_shared->worker = 0;
		block_shared->requestor = MyProcPid;
		block_shared->since = 0;
		block_shared->timeout_ms = timeout_ms;
		block_shared->nodes = 0;
		block_shared->problem[0] = '\0';
	}
	LWLockRelease(block_shared->header.lock);
	if (block_is_active(state))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("changes of the cluster are blocked already"),
				 errhint("End that block by citus_cluster_changes_unblock().")));
}

/* Starts the worker of a claimed block. */
static BackgroundWorkerHandle *
block_start_worker(void)
{
	BackgroundWorker registration = {0};
	BackgroundWorkerHandle *handle;

	registration.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	registration.bgw_start_time = BgWorkerStart_RecoveryFinished;
	registration.bgw_restart_time = BGW_NEVER_RESTART;
	registration.bgw_notify_pid = MyProcPid;
	registration.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	strlcpy(registration.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "citus_changes_block_main", BGW_MAXLEN);
	strlcpy(registration.bgw_name, "citus changes block", BGW_MAXLEN);
	strlcpy(registration.bgw_type, "citus changes block", BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&registration, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no free background worker to block changes of the cluster"),
				 errhint("Consider increasing max_worker_processes.")));
	return handle;
}

/* Waits while the block is in a state, and its process, if given, lives. */
static BlockShared
block_wait_while(BlockState state, BackgroundWorkerHandle *handle)
{
	BlockShared block;
	pid_t		pid;

	while ((block = block_read()).state == state)
	{
		if (handle != NULL && GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED)
			block_end(BLOCK_FAILED, "The process that was to hold the block has not started.");
		else
			wait_pause(POLL_MS, WAIT_CHANGES_BLOCK);
	}
	return block;
}

/*
 * citus_cluster_changes_block(timeout_ms integer) returns boolean: true, once
 * decisions of transactions over several nodes, and changes of nodes, wait.
 */
Datum
citus_cluster_changes_block(PG_FUNCTION_ARGS)
{
	int			timeout_ms = PG_GETARG_INT32(0);
	BackgroundWorkerHandle *volatile handle = NULL;
	BlockShared block;

	if (timeout_ms <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time limit of a block of changes must be greater than zero")));
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Block changes from a primary server.")));

	block_claim(timeout_ms);
	PG_TRY();
	{
		handle = block_start_worker();
		block = block_wait_while(BLOCK_STARTING, handle);
	}
	PG_CATCH();
	{
		if (handle != NULL)
			TerminateBackgroundWorker(handle);
		else
			block_end(BLOCK_FAILED, NULL);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (block.since == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not block changes of the cluster"),
				 errdetail_internal("%s", block.problem)));
	PG_RETURN_BOOL(true);
}

/*
 * citus_cluster_changes_unblock() returns boolean: ends the block; true if it
 * has held on all nodes.  Otherwise, an error.
 */
Datum
citus_cluster_changes_unblock(PG_FUNCTION_ARGS)
{
	BlockShared block = block_read();

	if (block_is_active(block.state))
	{
		LWLockAcquire(block_shared->header.lock, LW_EXCLUSIVE);
		block_shared->release = true;
		LWLockRelease(block_shared->header.lock);
		block = block_wait_while(BLOCK_STARTING, NULL);
		if (block.state == BLOCK_HELD)
			block = block_wait_while(BLOCK_HELD, NULL);
		if (block.state == BLOCK_RELEASED)
			PG_RETURN_BOOL(true);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("changes of the cluster are not blocked"),
			 block.state == BLOCK_TIMED_OUT ? errdetail("The block ended after its time limit of %d ms.", block.timeout_ms) :
			 block.state == BLOCK_FAILED ? errdetail("The block has failed: %s", block.problem) :
			 errdetail("This node holds no block."),
			 errhint("Snapshots that were taken meanwhile may not fit together.")));
}

/*
 * citus_cluster_changes_block_status(): one row about this node's block, or
 * its last one.
 */
Datum
citus_cluster_changes_block_status(PG_FUNCTION_ARGS)
{
	BlockShared block = block_read();
	Datum		values[7];
	bool		nulls[7] = {0};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != lengthof(values))
		elog(ERROR, "citus_cluster_changes_block_status has other columns");
	values[0] = CStringGetTextDatum(block_state_names[block.state]);
	values[1] = Int32GetDatum(block.worker);
	values[2] = Int32GetDatum(block.requestor);
	values[3] = TimestampTzGetDatum(block.since);
	values[4] = Int32GetDatum(block.timeout_ms);
	values[5] = Int32GetDatum(block.nodes);
	values[6] = CStringGetTextDatum(block.problem);
	nulls[1] = block.worker == 0 || !block_is_active(block.state);
	nulls[2] = nulls[4] = block.state == BLOCK_NONE;
	nulls[3] = nulls[5] = block.since == 0;
	nulls[6] = block.problem[0] == '\0';
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

void
changes_block_init(void)
{
	static SharedArea area = {
		.name = "citus_changes_block",
		.fixed = sizeof(BlockShared),
		.memory = (SharedHeader **) &block_shared,
	};

	shared_area_add(&area);
}
