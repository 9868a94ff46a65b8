/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Starts the maintenance worker of each database that has the extension.
 *
 * One background worker, started with the server, stays connected to no
 * database.  It can't see whether a database has the extension, so at first it
 * starts a worker in each one, which exits at once if the extension is
 * missing.  Later, a session that uses other nodes requests a worker, if its
 * database has none, which it checks in shared memory once per transaction.
 *
 * The same process writes the marks for standbys (txn/snapshot_mark.c).
 *
 * A worker that fails, or exits because another session drops or copies its
 * database, is started again after a while.  One lightweight lock covers the
 * list of databases; nothing else is locked under it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "daemon/private.h"
#include "lib/shared_area.h"
#include "lib/wait_event.h"
#include "remote/connection.h"
#include "txn/snapshot_mark.h"
#include "txn/transaction.h"

#define MAX_DATABASES 1024

/* A worker is not started again before this time has passed. */
#define RESTART_DELAY_MS 5000

/* Between two reports that workers are lacking. */
#define REPORT_INTERVAL_MS (10 * 60 * 1000)

typedef struct DatabaseEntry
{
	Oid			database;		/* InvalidOid: entry is free */
	bool		wanted;			/* a worker should run */
	pid_t		pid;			/* of the worker; 0: none */
	TimestampTz started;		/* when one was last started */
} DatabaseEntry;

typedef struct LauncherShared
{
	SharedHeader header;
	Latch	   *latch;			/* the launcher's, or NULL */
	uint32		generation;		/* changes when an entry stops being wanted */
	DatabaseEntry entries[MAX_DATABASES];
} LauncherShared;

extern PGDLLEXPORT void citus_launcher_main(Datum arg);

static LauncherShared *launcher_shared = NULL;

static void
fill_launcher_shared(void)
{
	launcher_shared->generation = 1;
}

/*
 * The entry of a database, or a free one if create; NULL if there is none.
 * Under the lock.
 */
static DatabaseEntry *
find_entry(Oid database, bool create)
{
	DatabaseEntry *unused = NULL;

	for (int i = 0; i < MAX_DATABASES; i++)
	{
		if (launcher_shared->entries[i].database == database)
			return &launcher_shared->entries[i];
		if (unused == NULL && !OidIsValid(launcher_shared->entries[i].database))
			unused = &launcher_shared->entries[i];
	}
	if (!create || unused == NULL)
		return NULL;
	memset(unused, 0, sizeof(DatabaseEntry));
	unused->database = database;
	return unused;
}

/*
 * Notes that a database wants a worker; returns whether that is news.  Under
 * the lock, exclusively.
 */
static bool
want_worker(Oid database)
{
	DatabaseEntry *entry = find_entry(database, true);

	if (entry == NULL || entry->wanted)
		return false;
	entry->wanted = true;
	entry->started = 0;
	return true;
}

/* Asks for a worker in this session's database, if it has none. */
static void
request_worker(void)
{
	static uint32 seen = 0;

	if (seen == launcher_shared->generation || MyBackendType != B_BACKEND)
		return;
	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	seen = launcher_shared->generation;
	if (want_worker(MyDatabaseId) && launcher_shared->latch != NULL)
		SetLatch(launcher_shared->latch);
	LWLockRelease(launcher_shared->header.lock);
}

bool
launcher_worker_starts(Oid database)
{
	DatabaseEntry *entry;
	bool		first = false;

	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	entry = find_entry(database, false);
	if (entry != NULL && entry->pid == 0)
	{
		entry->pid = MyProcPid;
		first = true;
	}
	LWLockRelease(launcher_shared->header.lock);
	return first;
}

void
launcher_worker_ends(Oid database, bool final)
{
	DatabaseEntry *entry;

	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	entry = find_entry(database, false);
	if (entry != NULL && entry->pid == MyProcPid)
	{
		entry->pid = 0;
		if (final)
		{
			entry->database = InvalidOid;
			launcher_shared->generation++;
		}
	}
	LWLockRelease(launcher_shared->header.lock);
}

/* Asks for a worker in each database that sessions may connect to. */
static void
want_all(void)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	launcher_shared->latch = MyLatch;
	LWLockRelease(launcher_shared->header.lock);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (!database->datallowconn || database->datistemplate)
			continue;
		LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
		want_worker(database->oid);
		LWLockRelease(launcher_shared->header.lock);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
}

/* Whether sessions may connect to a database. */
static bool
database_usable(Oid database)
{
	HeapTuple	tuple;
	bool		usable = false;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	if (HeapTupleIsValid(tuple))
	{
		usable = ((Form_pg_database) GETSTRUCT(tuple))->datallowconn;
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
	return usable;
}

/* False if no slot for a background worker is free. */
static bool
start_worker(Oid database)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "citus_maintenance_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "citus maintenance", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "citus maintenance", BGW_MAXLEN);
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* The next database, from position on, whose worker is due; or InvalidOid. */
static Oid
next_launch_due(int *position, TimestampTz now)
{
	Oid			database = InvalidOid;

	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	for (; *position < MAX_DATABASES && !OidIsValid(database); (*position)++)
	{
		DatabaseEntry *entry = &launcher_shared->entries[*position];

		if (!OidIsValid(entry->database) || !entry->wanted || entry->pid != 0 ||
			!TimestampDifferenceExceeds(entry->started, now, RESTART_DELAY_MS))
			continue;
		entry->started = now;
		database = entry->database;
	}
	LWLockRelease(launcher_shared->header.lock);
	return database;
}

static void
forget_database(Oid database)
{
	DatabaseEntry *entry;

	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	entry = find_entry(database, false);
	if (entry != NULL && entry->pid == 0)
	{
		entry->database = InvalidOid;
		launcher_shared->generation++;
	}
	LWLockRelease(launcher_shared->header.lock);
}

/* Reports that there are too few background workers, but not repeatedly. */
static void
report_no_worker(void)
{
	static TimestampTz reported = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(reported, now, REPORT_INTERVAL_MS))
		return;
	reported = now;
	ereport(LOG,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no background worker is free for maintenance of a database"),
			 errhint("Raise max_worker_processes.")));
}

static void
start_due_workers(void)
{
	int			position = 0;
	Oid			database;

	while (OidIsValid(database = next_launch_due(&position, GetCurrentTimestamp())))
	{
		if (!database_usable(database))
			forget_database(database);
		else if (!start_worker(database))
		{
			report_no_worker();
			break;
		}
	}
}

static void
launcher_exits(int code, Datum arg)
{
	LWLockAcquire(launcher_shared->header.lock, LW_EXCLUSIVE);
	launcher_shared->latch = NULL;
	LWLockRelease(launcher_shared->header.lock);
}

void
citus_launcher_main(Datum arg)
{
	TimestampTz swept = 0;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	on_shmem_exit(launcher_exits, 0);
	want_all();

	for (;;)
	{
		TimestampTz now = GetCurrentTimestamp();

		start_due_workers();
		if (TimestampDifferenceExceeds(swept, now, RESTART_DELAY_MS))
		{
			remote_sweep_kept();
			swept = now;
		}
		wait_pause(snapshot_mark_write(), WAIT_DAEMON);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

void
launcher_init(void)
{
	static SharedArea area = {
		.name = "citus_launcher",
		.fixed = sizeof(LauncherShared),
		.memory = (SharedHeader **) &launcher_shared,
		.fill = fill_launcher_shared,
	};
	BackgroundWorker worker = {0};

	shared_area_add(&area);
	txn_use_hook = request_worker;
	if (IsBinaryUpgrade)
		return;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "citus_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "citus launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "citus launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
