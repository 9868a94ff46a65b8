/*-------------------------------------------------------------------------
 *
 * stat_counters.c
 *	  How often connections were made and statements ran, by database.
 *
 * Shared memory has the counters of each database in which something was
 * counted, up to MAX_DATABASES.  An entry is created under the area's lock,
 * and never removed; a backend looks up its own once.  Counters are
 * incremented without a lock.  They are zero when the server starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/stat_counters.h"
#include "compat/sql_function.h"
#include "lib/shared_area.h"

#define MAX_DATABASES 256

SQL_FUNCTION(citus_stat_counters);
SQL_FUNCTION(citus_stat_counters_reset);

typedef struct DatabaseCounters
{
	Oid			database;
	TimestampTz reset;			/* 0: never */
	pg_atomic_uint64 values[STAT_COUNTERS];
} DatabaseCounters;

typedef struct StatCounters
{
	SharedHeader header;		/* its lock: of all but values */
	int			count;
	DatabaseCounters databases[MAX_DATABASES];
} StatCounters;

static bool enable_stat_counters = false;
static StatCounters *stat_counters = NULL;

static void
fill_stat_counters(void)
{
	for (int i = 0; i < MAX_DATABASES; i++)
		for (int j = 0; j < STAT_COUNTERS; j++)
			pg_atomic_init_u64(&stat_counters->databases[i].values[j], 0);
}

void
stat_counters_init(void)
{
	static SharedArea area = {
		.name = "citus_stat_counters",
		.fixed = sizeof(StatCounters),
		.memory = (SharedHeader **) &stat_counters,
		.fill = fill_stat_counters,
	};

	DefineCustomBoolVariable("citus.enable_stat_counters",
							 "Counts connections to other nodes and statements over shards, for citus_stat_counters.",
							 NULL, &enable_stat_counters, false, PGC_SUSET, 0, NULL, NULL, NULL);
	shared_area_add(&area);
}

/* Under the lock: the counters of a database, or NULL. */
static DatabaseCounters *
find_counters(Oid database)
{
	for (int i = 0; i < stat_counters->count; i++)
		if (stat_counters->databases[i].database == database)
			return &stat_counters->databases[i];
	return NULL;
}

/* This database's counters; NULL if there are too many databases. */
static DatabaseCounters *
own_counters(void)
{
	static DatabaseCounters *own = NULL;

	if (likely(own != NULL) || !OidIsValid(MyDatabaseId))
		return own;
	LWLockAcquire(stat_counters->header.lock, LW_EXCLUSIVE);
	own = find_counters(MyDatabaseId);
	if (own == NULL && stat_counters->count < MAX_DATABASES)
	{
		own = &stat_counters->databases[stat_counters->count++];
		own->database = MyDatabaseId;
	}
	LWLockRelease(stat_counters->header.lock);
	return own;
}

void
stat_counter_add(StatCounter counter)
{
	DatabaseCounters *counters;

	if (!enable_stat_counters)
		return;
	counters = own_counters();
	if (counters != NULL)
		pg_atomic_fetch_add_u64(&counters->values[counter], 1);
}

/* citus_stat_counters(database_id): of all databases if that is 0. */
Datum
citus_stat_counters(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			database = PG_GETARG_OID(0);

	InitMaterializedSRF(fcinfo, 0);
	(void) own_counters();
	LWLockAcquire(stat_counters->header.lock, LW_SHARED);
	for (int i = 0; i < stat_counters->count; i++)
	{
		DatabaseCounters *counters = &stat_counters->databases[i];
		Datum		values[STAT_COUNTERS + 2];
		bool		nulls[STAT_COUNTERS + 2] = {false};

		if (OidIsValid(database) && counters->database != database)
			continue;
		values[0] = ObjectIdGetDatum(counters->database);
		for (int j = 0; j < STAT_COUNTERS; j++)
			values[j + 1] = Int64GetDatum((int64) pg_atomic_read_u64(&counters->values[j]));
		values[STAT_COUNTERS + 1] = TimestampTzGetDatum(counters->reset);
		nulls[STAT_COUNTERS + 1] = counters->reset == 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	LWLockRelease(stat_counters->header.lock);
	return (Datum) 0;
}

/* citus_stat_counters_reset(database_oid): of this database if that is 0. */
Datum
citus_stat_counters_reset(PG_FUNCTION_ARGS)
{
	Oid			database = PG_GETARG_OID(0);
	DatabaseCounters *counters;

	(void) own_counters();
	LWLockAcquire(stat_counters->header.lock, LW_EXCLUSIVE);
	counters = find_counters(OidIsValid(database) ? database : MyDatabaseId);
	for (int i = 0; counters != NULL && i < STAT_COUNTERS; i++)
		pg_atomic_write_u64(&counters->values[i], 0);
	if (counters != NULL)
		counters->reset = GetCurrentTimestamp();
	LWLockRelease(stat_counters->header.lock);
	PG_RETURN_VOID();
}
