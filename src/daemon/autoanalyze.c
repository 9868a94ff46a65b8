/*-------------------------------------------------------------------------
 *
 * autoanalyze.c
 *	  Statistics of logical tables follow those of their shards.
 *
 * Autovacuum analyzes shards like any table, when enough of their rows have
 * changed; the logical table doesn't change.  So the maintenance worker of the
 * coordinator regularly starts another one, which asks all nodes about the
 * statistics of their shards, computes those of tables that have fallen
 * behind, and exits.  It is a separate process because a sample can take long.
 * So settings of autovacuum, also of single tables, apply to the logical
 * table, too.
 *
 * It waits for no lock: a table that another session alters or analyzes is
 * left to the next run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "analyze/analyze.h"
#include "catalog/metadata.h"
#include "cluster/node_query.h"
#include "daemon/private.h"

extern PGDLLEXPORT void citus_autoanalyze_main(Datum arg);

/*
 * A table has fallen behind when shards with this part of its rows have been
 * analyzed since it was ...
 */
#define NEW_SHARE 0.5

/*
 * ... or the number of rows in its shards differs from its statistics by this
 * part and by this number; also if that is because the server has vacuumed the
 * empty logical table, against wraparound.
 */
#define GROWTH_SHARE 0.1
#define GROWTH_ROWS 50

#define SHARDS_QUERY "SELECT first_shardid, rows, new_rows FROM citus_internal.analyzed_shards()"

/* Sums over a table's shards on all nodes. */
typedef struct TableRows
{
	uint64		first_shardid;	/* hash key: all nodes know it */
	double		rows;
	double		new_rows;		/* in shards that were analyzed after the
								 * table */
} TableRows;

static int	autoanalyze_naptime = 60000;
static BackgroundWorkerHandle *autoanalyze_worker = NULL;

/* In the worker. */
static List *stale_tables = NIL;	/* Oids */
static Oid	current_table;

/* NodeRowCallback: adds a node's numbers. */
static void
add_rows(int32 groupid, int ncolumns, char **values, void *arg)
{
	uint64		first_shardid = strtoull(values[0], NULL, 10);
	bool		found;
	TableRows  *table = hash_search(arg, &first_shardid, HASH_ENTER, &found);

	if (!found)
		table->rows = table->new_rows = 0;
	table->rows += strtod(values[1], NULL);
	table->new_rows += strtod(values[2], NULL);
}

/*
 * A hash table of TableRows, filled by all nodes; NULL, with a warning, if one
 * of them does not answer.
 */
static HTAB *
collect_analyzed(void)
{
	HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(TableRows), .hcxt = CurrentMemoryContext};
	HTAB	   *tables = hash_create("citus analyzed tables", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	if (!node_query_all(SHARDS_QUERY, add_rows, tables))
		return NULL;
	return tables;
}

/*
 * Whether a table with this number of rows by its statistics (-1: unknown) has
 * fallen behind.
 */
static bool
is_stale(double known_rows, const TableRows *now)
{
	if (now->new_rows > 0 && (known_rows < 0 || now->new_rows >= NEW_SHARE * now->rows))
		return true;
	return known_rows >= 0 &&
		fabs(now->rows - known_rows) > GROWTH_SHARE * known_rows + GROWTH_ROWS;
}

/* Rows of a table as its statistics have them; -1 if it has none. */
static double
rows_in_statistics(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		rows = -1;

	if (HeapTupleIsValid(tuple))
	{
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return rows;
}

static uint64
lowest_shardid(const DistTable *table)
{
	uint64		lowest = PG_UINT64_MAX;

	for (int i = 0; i < table->nshards; i++)
		lowest = Min(lowest, (uint64) table->shards[i].shardid);
	return lowest;
}

/* Sets stale_tables. */
static void
find_stale_tables(void)
{
	HTAB	   *collected = collect_analyzed();

	if (collected == NULL)
		return;
	foreach_oid(relid, metadata_tables(0))
	{
		const DistTable *table = metadata_lookup(relid);
		TableRows  *now;
		uint64		key;

		if (table == NULL || table->kind == DIST_REFERENCE)
			continue;
		key = lowest_shardid(table);
		now = hash_search(collected, &key, HASH_FIND, NULL);
		if (now != NULL && is_stale(rows_in_statistics(relid), now))
		{
			MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

			stale_tables = lappend_oid(stale_tables, relid);
			MemoryContextSwitchTo(old_context);
		}
	}
}

/* Analyzes current_table, if its lock is available. */
static void
analyze_current_table(void)
{
	if (ConditionalLockRelationOid(current_table, ShareUpdateExclusiveLock) && lock_for_statistics(current_table))
		analyze_logical_table(current_table);
}

void
citus_autoanalyze_main(Datum arg)
{
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	SetConfigOption("application_name", "citus autoanalyze", PGC_USERSET, PGC_S_SESSION);
	SetConfigOption("search_path", "", PGC_SUSET, PGC_S_OVERRIDE);
	daemon_in_transaction(find_stale_tables, "looking for tables to analyze");
	foreach_oid(relid, stale_tables)
	{
		current_table = relid;
		daemon_in_transaction(analyze_current_table, psprintf("autoanalyze of table %u", current_table));
		CHECK_FOR_INTERRUPTS();
	}
}

/* Starts the worker, unless it is still running. */
static void
start_analyze_worker(void)
{
	BackgroundWorker registration = {0};
	MemoryContext old_context;
	pid_t		pid;

	if (metadata_local_group() != 0)
		return;
	if (autoanalyze_worker != NULL)
	{
		if (GetBackgroundWorkerPid(autoanalyze_worker, &pid) != BGWH_STOPPED)
			return;
		pfree(autoanalyze_worker);
		autoanalyze_worker = NULL;
	}
	registration.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	registration.bgw_start_time = BgWorkerStart_RecoveryFinished;
	registration.bgw_restart_time = BGW_NEVER_RESTART;
	registration.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	strlcpy(registration.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "citus_autoanalyze_main", BGW_MAXLEN);
	strlcpy(registration.bgw_name, "citus autoanalyze", BGW_MAXLEN);
	strlcpy(registration.bgw_type, "citus autoanalyze", BGW_MAXLEN);

	/* without a free slot, another time */
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	if (!RegisterDynamicBackgroundWorker(&registration, &autoanalyze_worker))
		autoanalyze_worker = NULL;
	MemoryContextSwitchTo(old_context);
}

static const DaemonJob autoanalyze_job = {"autoanalyze", &autoanalyze_naptime, NULL, start_analyze_worker, NULL, NULL, metadata_was_worker};

void
autoanalyze_stop(void)
{
	if (autoanalyze_worker != NULL)
		TerminateBackgroundWorker(autoanalyze_worker);
}

void
autoanalyze_init(void)
{
	DefineCustomIntVariable("citus.autoanalyze_naptime",
							"Sets how often the coordinator looks for distributed tables whose shards have new statistics.",
							"Autovacuum analyzes the shards. -1 means never.",
							&autoanalyze_naptime, 60000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	daemon_add_job(&autoanalyze_job);
}
