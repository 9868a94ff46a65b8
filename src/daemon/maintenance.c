/*-------------------------------------------------------------------------
 *
 * maintenance.c
 *	  The maintenance worker of a database: runs jobs periodically.
 *
 * It connects as the bootstrap superuser, runs each job in a separate
 * transaction, and survives the job's errors.  It must not block other
 * commands:
 *
 * - it ends when the extension is dropped;
 * - it ends when a session waits to drop, rename or copy the database, which
 *   the server does only when no other session is connected.  The worker
 *   detects that by a lock on the database, which it tries to take every
 *   second; the server tries for five seconds.
 *
 * The launcher then starts it again, if the database is still there.
 *
 * Many servers may share a machine, and most are idle, so what is done every
 * second begins no transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "cluster/member_sync.h"
#include "columnar/compaction.h"
#include "daemon/private.h"
#include "jobs/job.h"
#include "lib/wait_event.h"
#include "rebalance/automatic.h"
#include "rebalance/move.h"
#include "remote/own_address.h"
#include "txn/deadlock.h"
#include "txn/snapshot_mark.h"
#include "txn/transaction.h"

#define MAX_JOBS 16
#define CYCLE_MS 1000

/* How often the worker looks whether the extension is still there. */
#define EXTENSION_CHECK_MS 5000

/* A job that is wanted runs, at most, this often. */
#define SOON_MS 5000

/* How often a server that is a copy of its node logs that. */
#define COPY_LOG_MS 60000

/* A job that is due runs, at most, this often. */
#define DUE_MS 10

extern PGDLLEXPORT void citus_maintenance_main(Datum arg);

static const DaemonJob *daemon_jobs[MAX_JOBS];
static int	ndaemon_jobs = 0;
static TimestampTz last_run[MAX_JOBS];
static bool ends_for_good = false;

static int	recover_2pc_interval = 60000;

static void
recover_2pc(void)
{
	(void) txn_recover(false);
}

static const DaemonJob recovery_job = {"recovery", &recover_2pc_interval, NULL, recover_2pc, txn_recovery_wanted};
static const DaemonJob members_job = {"changes of nodes", &metadata_sync_interval, NULL, members_sync, NULL, NULL, metadata_was_worker};
static const DaemonJob deadlocks_job = {"deadlocks across nodes", NULL, deadlock_interval, deadlock_job, NULL, NULL, deadlock_nobody_waits};
static const DaemonJob tasks_job = {"background tasks", &jobs_queue_interval, NULL, jobs_run_queue, NULL, jobs_queue_changed, jobs_queue_needless};
static const DaemonJob rebalance_job = {"automatic rebalance", NULL, automatic_rebalance_interval, automatic_rebalance, NULL, NULL, metadata_was_worker};

static const DaemonJob compaction_job = {"compaction of columnar tables", &columnar_compaction_naptime, NULL,
columnar_compaction_job, NULL, columnar_compaction_goes_on};

static void
mark_for_followers(void)
{
	if (follower_mark())
		snapshot_mark_want();
}

static const DaemonJob follower_job = {"mark for standbys", NULL, follower_mark_interval, mark_for_followers, NULL};

static const DaemonJob cleanup_of_moves = {"what moves left", &cleanup_interval, NULL, cleanup_job, NULL};

void
daemon_add_job(const DaemonJob *job)
{
	if (ndaemon_jobs == MAX_JOBS)
		elog(ERROR, "too many maintenance jobs");
	daemon_jobs[ndaemon_jobs++] = job;
}

void
daemon_init(void)
{
	DefineCustomIntVariable("citus.recover_2pc_interval",
							"Sets how often prepared transactions that have no end are looked for.",
							"-1 means never.",
							&recover_2pc_interval, 60000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP,
							GUC_UNIT_MS, NULL, NULL, NULL);
	daemon_add_job(&recovery_job);
	daemon_add_job(&members_job);
	daemon_add_job(&deadlocks_job);
	daemon_add_job(&tasks_job);
	daemon_add_job(&rebalance_job);
	daemon_add_job(&cleanup_of_moves);
	daemon_add_job(&compaction_job);
	daemon_add_job(&follower_job);
	autoanalyze_init();
	launcher_init();
}

/*
 * Runs a function in a transaction, and logs its error.
 */
static void
run_in_transaction(void (*what) (void), const char *name)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		pgstat_report_activity(STATE_RUNNING, name);
		what();
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	/* Autovacuum learns of rows that were deleted. */
	(void) pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
	MemoryContextSwitchTo(context);
}

/*
 * Locks the extension against DROP EXTENSION until the end of the transaction.
 * False if it is gone, or if a session holds or waits for a lock to drop it:
 * DROP EXTENSION locks the extension first, and then its tables one by one,
 * which could deadlock with our locks on these.
 */
static bool
lock_extension(void)
{
	Oid			extension = get_extension_oid("citus", true);
	LOCKTAG		tag;

	if (!OidIsValid(extension))
		return false;
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, extension, 0);
	if (LockAcquire(&tag, AccessShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return get_extension_oid("citus", true) == extension;
}

/* Whether that many milliseconds have passed since the last time. */
static bool
is_time(TimestampTz *last, int ms)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(*last, now, ms))
		return false;
	*last = now;
	return true;
}

/*
 * Whether this server is another one than its node, so that it may not work
 * for it; logged once in a while.
 */
static bool
is_copy_of_node(void)
{
	static TimestampTz logged_at = 0;

	if (own_address_answer() != OWN_ADDRESS_ORIGINAL)
		return false;
	if (is_time(&logged_at, COPY_LOG_MS))
		ereport(LOG,
				(errmsg("no maintenance is done, since the address of this node leads to another server with its data"),
				 errhint("If this server has a copy of a node's data, run citus_separate_copy on the copied coordinator.")));
	return true;
}

static void (*what_to_run) (void);

static void
run_unless_dropped(void)
{
	if (lock_extension() && !is_copy_of_node())
		what_to_run();
}

void
daemon_in_transaction(void (*what) (void), const char *name)
{
	what_to_run = what;
	run_in_transaction(run_unless_dropped, name);
}

static void
look_for_extension(void)
{
	ends_for_good = !OidIsValid(get_extension_oid("citus", true));
}

/* Ends the process if there is a reason. */
static void
check_now_and_then(void)
{
	static TimestampTz database_checked = 0;
	static TimestampTz extension_checked = 0;

	if (is_time(&database_checked, CYCLE_MS) && backend_database_is_wanted())
	{
		backend_end_resting(MyDatabaseId, MaxBackends);
		proc_exit(0);
	}
	if (is_time(&extension_checked, EXTENSION_CHECK_MS))
	{
		run_in_transaction(look_for_extension, "check");
		if (ends_for_good)
			proc_exit(0);
	}
}

/* Milliseconds between two runs of a job; not above 0: never. */
static int
interval_of(const DaemonJob *job)
{
	int			interval = job->interval_ms != NULL ? *job->interval_ms : job->interval();

	if (interval > 0 && job->due != NULL && job->due())
		return DUE_MS;
	if (interval > SOON_MS && job->wanted != NULL && job->wanted())
		interval = SOON_MS;
	return interval;
}

/*
 * Milliseconds until some job is due, or the reasons to end are looked at
 * again.
 */
static long
next_due(void)
{
	TimestampTz now = GetCurrentTimestamp();
	long		next = CYCLE_MS;

	for (int i = 0; i < ndaemon_jobs; i++)
	{
		int			interval = interval_of(daemon_jobs[i]);

		if (interval > 0)
			next = Min(next, TimestampDifferenceMilliseconds(now, TimestampTzPlusMilliseconds(last_run[i], interval)));
	}
	return next;
}

static void
run_due_jobs(void)
{
	for (int i = 0; i < ndaemon_jobs; i++)
	{
		TimestampTz now = GetCurrentTimestamp();
		int			interval = interval_of(daemon_jobs[i]);

		if (interval <= 0)
			continue;
		if (!TimestampDifferenceExceeds(last_run[i], now, interval))
			continue;
		last_run[i] = now;
		if (daemon_jobs[i]->needless != NULL && daemon_jobs[i]->needless())
			continue;
		daemon_in_transaction(daemon_jobs[i]->run, daemon_jobs[i]->name);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
worker_exits(int code, Datum arg)
{
	autoanalyze_stop();
	jobs_stop();
	launcher_worker_ends(DatumGetObjectId(arg), ends_for_good);
}

void
citus_maintenance_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	if (!launcher_worker_starts(database))
		proc_exit(0);
	before_shmem_exit(worker_exits, arg);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	SetConfigOption("application_name", "citus maintenance", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("search_path", "", PGC_SUSET, PGC_S_OVERRIDE);

	/* jobs wait for row locks, and then need the latest versions */
	SetConfigOption("default_transaction_isolation", "read committed", PGC_USERSET, PGC_S_SESSION);

	/*
	 * a connection that stays open would keep the other node's database from
	 * being dropped
	 */
	SetConfigOption("citus.max_cached_conns_per_worker", "0", PGC_USERSET, PGC_S_SESSION);

	for (;;)
	{
		check_now_and_then();
		run_due_jobs();

		wait_pause(next_due(), WAIT_DAEMON);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}
