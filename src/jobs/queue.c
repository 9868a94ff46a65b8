/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Starts processes for the tasks that may run.
 *
 * The maintenance worker of the coordinator looks at the queue every
 * citus.background_task_queue_interval, and at once when one of its processes
 * has ended or a session has made a job (a counter in shared memory that only
 * grows).
 *
 * All state that must survive this process is in the catalog: a task is
 * running if its row says so and the lock of its process is held.  If the lock
 * isn't held, the process has died, for instance with the server, and the task
 * has failed in a way that a retry can cure.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "compat/sql_function.h"
#include "jobs/job.h"
#include "jobs/private.h"
#include "lib/shared_area.h"
#include "lib/transaction_end.h"

SQL_FUNCTION(citus_internal_tasks_changed);

/*
 * The message of a task whose process has died (SQLSTATE: the server shuts
 * down, or crashed).
 */
#define LOST_SQLSTATE "57P02"
#define LOST_MESSAGE "The process that ran the task has ended."

#define NO_LOGIN_SQLSTATE "28000"
#define NO_LOGIN_MESSAGE "The owner of the task is not permitted to log in."

typedef struct QueueShared
{
	SharedHeader header;
	pg_atomic_uint64 changes;	/* how often sessions have changed jobs */
} QueueShared;

/* A process that this one has started; in TopMemoryContext. */
typedef struct StartedTask
{
	int64		task_id;
	BackgroundWorkerHandle *handle;
} StartedTask;

int			jobs_queue_interval = 5000;

static int	max_task_executors = 4;
static int	max_task_executors_per_node = 1;
static QueueShared *queue_shared = NULL;
static List *started_tasks = NIL;
static uint64 changes_seen = 0;

static void
queue_shared_fill(void)
{
	pg_atomic_init_u64(&queue_shared->changes, 1);
}

static void
count_change(void)
{
	pg_atomic_fetch_add_u64(&queue_shared->changes, 1);
}

/*
 * Trigger on pg_dist_background_task: has the queue checked at the end of this
 * transaction.
 */
Datum
citus_internal_tasks_changed(PG_FUNCTION_ARGS)
{
	static TransactionEnd end = {count_change};

	at_transaction_end(&end);
	PG_RETURN_POINTER(NULL);
}

/* Whether a process that we have started has ended. */
static bool
has_ended(const StartedTask *task)
{
	pid_t		pid;

	return GetBackgroundWorkerPid(task->handle, &pid) == BGWH_STOPPED;
}

bool
jobs_queue_changed(void)
{
	ListCell   *cell;

	if (pg_atomic_read_u64(&queue_shared->changes) != changes_seen)
		return true;
	foreach(cell, started_tasks)
	{
		if (has_ended(lfirst(cell)))
			return true;
	}
	return false;
}

bool
jobs_queue_needless(void)
{
	return metadata_was_worker() && !jobs_queue_changed();
}

static void
forget_ended(void)
{
	ListCell   *cell;

	foreach(cell, started_tasks)
	{
		StartedTask *task = lfirst(cell);

		if (!has_ended(task))
			continue;
		started_tasks = foreach_delete_current(started_tasks, cell);
		pfree(task->handle);
		pfree(task);
	}
}

/*
 * Whether we have started a process for the task that has not ended; it may
 * not hold its lock yet.
 */
static bool
is_started(int64 task_id)
{
	foreach_ptr(StartedTask, task, started_tasks)
	{
		if (task->task_id == task_id)
			return true;
	}
	return false;
}

static void
task_failed(int64 task_id, const char *sqlstate, const char *message)
{
	(void) jobs_call("SELECT citus_internal.task_finish($1, $2, $3)", 3, (Oid[]) {INT8OID, TEXTOID, TEXTOID},
					 (Datum[]) {Int64GetDatum(task_id), CStringGetTextDatum(sqlstate), CStringGetTextDatum(message)});
}

/* Finds running tasks that have no process. */
static void
finish_lost(void)
{
	char	   *running = jobs_call("SELECT array_agg(task_id)::text FROM pg_dist_background_task "
									"WHERE status IN ('running', 'cancelling')",
									0, NULL, NULL);
	char	   *rest = running == NULL ? NULL : running + 1;

	while (rest != NULL && *rest != '\0')
	{
		int64		task_id = strtoll(rest, &rest, 10);

		rest++;					/* the comma, or the brace */
		if (!is_started(task_id) && task_process_lock(task_id, false))
			task_failed(task_id, LOST_SQLSTATE, LOST_MESSAGE);
	}
}

/*
 * Starts the process of a task; false if no slot for a background worker is
 * free.
 */
static bool
start_process(int64 task_id, Oid owner)
{
	TaskProcess process = {MyDatabaseId, owner, task_id};
	BackgroundWorker registration = {0};
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);
	StartedTask *task = palloc0(sizeof(StartedTask));
	bool		registered;

	StaticAssertStmt(sizeof(process) <= BGW_EXTRALEN, "a task's process has too much to be told");
	registration.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	registration.bgw_start_time = BgWorkerStart_RecoveryFinished;
	registration.bgw_restart_time = BGW_NEVER_RESTART;
	registration.bgw_notify_pid = MyProcPid;
	memcpy(registration.bgw_extra, &process, sizeof(process));
	strlcpy(registration.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "citus_task_main", BGW_MAXLEN);
	snprintf(registration.bgw_name, BGW_MAXLEN, "citus background task " INT64_FORMAT, task_id);
	strlcpy(registration.bgw_type, TASK_PROCESS_TYPE, BGW_MAXLEN);

	task->task_id = task_id;
	registered = RegisterDynamicBackgroundWorker(&registration, &task->handle);
	if (registered)
		started_tasks = lappend(started_tasks, task);
	else
		pfree(task);
	MemoryContextSwitchTo(old_context);
	return registered;
}

/* Starts the next task.  False if no other one can start in this turn. */
static bool
start_next(void)
{
	Oid			types[] = {INT4OID, INT4OID};
	Datum		values[] = {Int32GetDatum(max_task_executors), Int32GetDatum(max_task_executors_per_node)};
	char	   *found = jobs_call("SELECT concat_ws(' ', task_id, owner, can_login::int4) "
								  "FROM citus_internal.next_task($1, $2) WHERE task_id IS NOT NULL", 2, types, values);
	int64		task_id;
	Oid			owner;
	int			can_login;

	if (found == NULL || sscanf(found, INT64_FORMAT " %u %d", &task_id, &owner, &can_login) != 3)
		return false;
	if (!task_process_lock(task_id, false))
		return false;			/* its last process is still ending */
	if (strcmp(jobs_call("SELECT citus_internal.task_start($1)", 1, (Oid[]) {INT8OID},
						 (Datum[]) {Int64GetDatum(task_id)}), "t") != 0)
		return true;			/* it was cancelled */
	if (!can_login)
		task_failed(task_id, NO_LOGIN_SQLSTATE, NO_LOGIN_MESSAGE);
	else if (!start_process(task_id, owner))
	{
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no free background worker for background task " INT64_FORMAT, task_id),
				 errhint("Consider increasing max_worker_processes.")));
		task_failed(task_id, "53000", "No background worker was free.");
		return false;
	}
	return true;
}

void
jobs_run_queue(void)
{
	changes_seen = pg_atomic_read_u64(&queue_shared->changes);
	forget_ended();
	if (metadata_local_group() != COORDINATOR_GROUP)
		return;
	(void) jobs_call("SELECT citus_internal.settle_jobs()", 0, NULL, NULL);
	finish_lost();
	while (start_next())
		CHECK_FOR_INTERRUPTS();
}

void
jobs_stop(void)
{
	foreach_ptr(StartedTask, task, started_tasks)
		TerminateBackgroundWorker(task->handle);
}

void
jobs_init(void)
{
	static SharedArea area = {
		.name = "citus_background_tasks",
		.fixed = sizeof(QueueShared),
		.memory = (SharedHeader **) &queue_shared,
		.fill = queue_shared_fill,
	};

	shared_area_add(&area);
	DefineCustomIntVariable("citus.background_task_queue_interval",
							"Sets how often the coordinator looks for background tasks to run.",
							"New jobs start at once. -1 means never.",
							&jobs_queue_interval, 5000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_background_task_executors",
							"Sets how many background tasks run at the same time.", NULL,
							&max_task_executors, 4, 1, 1000, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_background_task_executors_per_node",
							"Sets how many background tasks that involve the same node run at the same time.", NULL,
							&max_task_executors_per_node, 1, 1, 128, PGC_SIGHUP, 0, NULL, NULL, NULL);
}
