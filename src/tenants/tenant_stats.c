/*-------------------------------------------------------------------------
 *
 * tenant_stats.c
 *	  Counts of each tenant's statements and CPU time.
 *
 * There is room for a few times citus.stat_tenants_limit tenants.  Each has a
 * score, to which each statement adds, and which is halved after each period.
 * When the array is full, tenants with the lowest scores are removed, so busy
 * tenants stay in it, however many others there are.
 *
 * CPU time that a tenant has used beyond its share is a debt, which decreases
 * with time at the tenant's rate.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "lib/shared_area.h"
#include "tenants/tenant_stats.h"

SQL_FUNCTION(citus_internal_stat_tenants);
SQL_FUNCTION(citus_stat_tenants_local_reset);

#define STATEMENT_SCORE INT64CONST(1000000000)

/*
 * Entries for each tenant that is shown; half of them may be removed at once.
 */
#define ROOM_FACTOR 3
#define KEPT_FACTOR 2

typedef enum StatTenantsTrack
{
	STAT_TENANTS_NONE,
	STAT_TENANTS_ALL,
} StatTenantsTrack;

/* Counts of this and the last period. */
typedef struct TenantCounts
{
	int			reads[2];
	int			queries[2];
	double		cpu[2];			/* s */
	int64		score;
} TenantCounts;

typedef struct TenantEntry
{
	TenantKey	key;
	int			next;			/* in its bucket; -1: the last one */
	slock_t		mutex;			/* protects what follows */
	int64		period;			/* which one "this" is */
	int32		hash;			/* of the shard group in which it was seen
								 * last */
	TenantCounts counts;
	double		debt;			/* s of CPU time used too much, */
	TimestampTz debt_since;		/* at this time */
} TenantEntry;

/*
 * The lightweight lock protects entries, their keys and buckets: adding or
 * removing an entry requires it exclusively.
 */
typedef struct TenantShared
{
	SharedHeader header;
	int			nentries;
	TenantEntry entries[FLEXIBLE_ARRAY_MEMBER]; /* and then the buckets */
} TenantShared;

static TenantShared *tenant_shared = NULL;

static const struct config_enum_entry track_options[] = {
	{"none", STAT_TENANTS_NONE, false},
	{"all", STAT_TENANTS_ALL, false},
	{NULL, 0, false},
};

static int	stat_tenants_track = STAT_TENANTS_NONE;
static int	stat_tenants_limit = 100;
static int	stat_tenants_period = 60;	/* s */
static double stat_tenants_untracked_sample_rate = 1;

bool
tenant_stats_on(void)
{
	return stat_tenants_track != STAT_TENANTS_NONE;
}

static int
tenant_room(void)
{
	return ROOM_FACTOR * stat_tenants_limit;
}

static int *
bucket_of(const TenantKey *key)
{
	int		   *buckets = (int *) &tenant_shared->entries[tenant_room()];

	return &buckets[tenant_key_hash(key) % tenant_room()];
}

/* NULL if there is none; the caller holds the lock. */
static TenantEntry *
find_tenant(const TenantKey *key)
{
	for (int i = *bucket_of(key); i >= 0; i = tenant_shared->entries[i].next)
	{
		if (memcmp(&tenant_shared->entries[i].key, key, sizeof(TenantKey)) == 0)
			return &tenant_shared->entries[i];
	}
	return NULL;
}

/* Adds an entry to its bucket; the caller holds the lock exclusively. */
static void
link_entry(TenantEntry *entry)
{
	int		   *bucket = bucket_of(&entry->key);

	entry->next = *bucket;
	*bucket = entry - tenant_shared->entries;
}

static int64
period_of(TimestampTz time)
{
	return time / (stat_tenants_period * USECS_PER_SEC);
}

/* Counts as they are in a period. */
static TenantCounts
counts_in(TenantCounts counts, int64 passed)
{
	if (passed <= 0)
		return counts;
	counts.reads[1] = passed == 1 ? counts.reads[0] : 0;
	counts.queries[1] = passed == 1 ? counts.queries[0] : 0;
	counts.cpu[1] = passed == 1 ? counts.cpu[0] : 0;
	counts.reads[0] = counts.queries[0] = 0;
	counts.cpu[0] = 0;
	counts.score = passed < 63 ? counts.score >> passed : 0;
	return counts;
}

/* Orders by priority for keeping: tenants with debts, and then by score. */
static int
compare_worth(const void *a, const void *b)
{
	const TenantEntry *left = a;
	const TenantEntry *right = b;

	if ((left->debt > 0) != (right->debt > 0))
		return left->debt > 0 ? -1 : 1;
	if (left->counts.score != right->counts.score)
		return left->counts.score > right->counts.score ? -1 : 1;
	return 0;
}

static void
empty_buckets(void)
{
	int		   *buckets = (int *) &tenant_shared->entries[tenant_room()];

	for (int i = 0; i < tenant_room(); i++)
		buckets[i] = -1;
}

/* Makes room; the caller holds the lock exclusively. */
static void
drop_least(int64 period)
{
	for (int i = 0; i < tenant_shared->nentries; i++)
	{
		TenantEntry *entry = &tenant_shared->entries[i];

		entry->counts = counts_in(entry->counts, period - entry->period);
		entry->period = Max(period, entry->period);
	}
	qsort(tenant_shared->entries, tenant_shared->nentries, sizeof(TenantEntry), compare_worth);
	tenant_shared->nentries = KEPT_FACTOR * stat_tenants_limit;
	empty_buckets();
	for (int i = 0; i < tenant_shared->nentries; i++)
		link_entry(&tenant_shared->entries[i]);
}

/* A new entry; the caller holds the lock exclusively. */
static TenantEntry *
make_entry(const TenantKey *key, int64 period)
{
	TenantEntry *entry;

	if (tenant_shared->nentries == tenant_room())
		drop_least(period);
	entry = &tenant_shared->entries[tenant_shared->nentries++];
	memset(entry, 0, sizeof(TenantEntry));
	entry->key = *key;
	entry->period = period;
	SpinLockInit(&entry->mutex);
	link_entry(entry);
	return entry;
}

static void
count_statement(TenantEntry *entry, TimestampTz now, int32 hash, bool read, double cpu, bool limited)
{
	int64		period = period_of(now);

	SpinLockAcquire(&entry->mutex);
	entry->counts = counts_in(entry->counts, period - entry->period);
	entry->period = Max(period, entry->period);
	entry->hash = hash;
	entry->counts.reads[0] += read;
	entry->counts.queries[0]++;
	entry->counts.cpu[0] += cpu;
	if (entry->counts.score < PG_INT64_MAX - STATEMENT_SCORE)
		entry->counts.score += STATEMENT_SCORE;
	if (limited)
	{
		if (entry->debt == 0)
			entry->debt_since = now;
		entry->debt += cpu;
	}
	SpinLockRelease(&entry->mutex);
}

void
tenant_stats_add(const TenantKey *key, int32 hash, bool read, double cpu, bool limited)
{
	TimestampTz now = GetCurrentTimestamp();
	TenantEntry *entry;

	LWLockAcquire(tenant_shared->header.lock, LW_SHARED);
	entry = find_tenant(key);
	if (entry != NULL)
		count_statement(entry, now, hash, read, cpu, limited);
	LWLockRelease(tenant_shared->header.lock);
	if (entry != NULL || (!limited && pg_prng_double(&pg_global_prng_state) >= stat_tenants_untracked_sample_rate))
		return;

	LWLockAcquire(tenant_shared->header.lock, LW_EXCLUSIVE);
	entry = find_tenant(key);
	if (entry == NULL)
		entry = make_entry(key, period_of(now));
	count_statement(entry, now, hash, read, cpu, limited);
	LWLockRelease(tenant_shared->header.lock);
}

double
tenant_stats_delay(const TenantKey *key, double rate)
{
	TimestampTz now = GetCurrentTimestamp();
	TenantEntry *entry;
	double		delay = 0;

	LWLockAcquire(tenant_shared->header.lock, LW_SHARED);
	entry = find_tenant(key);
	if (entry != NULL)
	{
		SpinLockAcquire(&entry->mutex);
		if (now > entry->debt_since)
		{
			entry->debt = Max(entry->debt - rate * (now - entry->debt_since) / USECS_PER_SEC, 0);
			entry->debt_since = now;
		}
		delay = entry->debt / rate;
		SpinLockRelease(&entry->mutex);
	}
	LWLockRelease(tenant_shared->header.lock);
	return delay;
}

/* Copies the entries of this database; returns their number. */
static int
copy_entries(TenantEntry *copies)
{
	int64		period = period_of(GetCurrentTimestamp());
	int			ncopies = 0;

	LWLockAcquire(tenant_shared->header.lock, LW_SHARED);
	for (int i = 0; i < tenant_shared->nentries; i++)
	{
		TenantEntry *entry = &tenant_shared->entries[i];
		TenantEntry *copy = &copies[ncopies];

		if (entry->key.database != MyDatabaseId)
			continue;
		SpinLockAcquire(&entry->mutex);
		*copy = *entry;
		SpinLockRelease(&entry->mutex);
		copy->counts = counts_in(copy->counts, period - copy->period);
		copy->debt = 0;			/* shown by score alone */
		ncopies++;
	}
	LWLockRelease(tenant_shared->header.lock);
	return ncopies;
}

/*
 * citus_internal.stat_tenants(return_all boolean, OUT colocation_id integer,
 * OUT tenant_attribute text, OUT read_count_in_this_period integer, .., OUT
 * score bigint, OUT hash integer): the tenants with the highest scores,
 * citus.stat_tenants_limit of them unless all are asked for.
 */
Datum
citus_internal_stat_tenants(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TenantEntry *entries = palloc(sizeof(TenantEntry) * tenant_room());
	int			nentries = copy_entries(entries);

	InitMaterializedSRF(fcinfo, 0);
	qsort(entries, nentries, sizeof(TenantEntry), compare_worth);
	for (int i = 0; i < nentries && (PG_GETARG_BOOL(0) || i < stat_tenants_limit); i++)
	{
		const TenantEntry *entry = &entries[i];
		const TenantCounts *counts = &entry->counts;
		bool		nulls[10] = {false};
		Datum		values[10] = {Int32GetDatum(entry->key.colocation_id), CStringGetTextDatum(entry->key.attribute),
			Int32GetDatum(counts->reads[0]), Int32GetDatum(counts->reads[1]),
			Int32GetDatum(counts->queries[0]), Int32GetDatum(counts->queries[1]),
			Float8GetDatum(counts->cpu[0]), Float8GetDatum(counts->cpu[1]), Int64GetDatum(counts->score),
			Int32GetDatum(entry->hash)};

		nulls[1] = entry->key.attribute[0] == '\0';
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * citus_stat_tenants_local_reset(): forgets all counts of this node, of all
 * databases.
 */
Datum
citus_stat_tenants_local_reset(PG_FUNCTION_ARGS)
{
	LWLockAcquire(tenant_shared->header.lock, LW_EXCLUSIVE);
	tenant_shared->nentries = 0;
	empty_buckets();
	LWLockRelease(tenant_shared->header.lock);
	PG_RETURN_VOID();
}

static Size
tenant_shared_size(void)
{
	return offsetof(TenantShared, entries) + (Size) tenant_room() * (sizeof(TenantEntry) + sizeof(int));
}

void
tenant_stats_init(void)
{
	static SharedArea area = {
		.name = "citus_tenants",
		.more = tenant_shared_size,
		.memory = (SharedHeader **) &tenant_shared,
		.fill = empty_buckets,
	};

	shared_area_add(&area);
	DefineCustomEnumVariable("citus.stat_tenants_track",
							 "Selects whether the statements of each tenant are counted.",
							 "Each node counts what it runs for single values of distribution columns, and for "
							 "distributed schemas; see the view citus_stat_tenants.",
							 &stat_tenants_track, STAT_TENANTS_NONE, track_options, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.stat_tenants_limit",
							"Sets how many tenants citus_stat_tenants shows for a node.",
							NULL,
							&stat_tenants_limit, 100, 1, 10000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.stat_tenants_period",
							"Sets the length of the periods in which the statements of tenants are counted.",
							NULL,
							&stat_tenants_period, 60, 1, 60 * 60 * 24, PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomRealVariable("citus.stat_tenants_untracked_sample_rate",
							 "Sets which share of the statements of tenants that are not counted yet has them counted.",
							 NULL,
							 &stat_tenants_untracked_sample_rate, 1, 0, 1, PGC_SUSET, 0, NULL, NULL, NULL);
}
