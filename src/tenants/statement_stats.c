/*-------------------------------------------------------------------------
 *
 * statement_stats.c
 *	  How often statements over shards ran, by tenant: citus_stat_statements.
 *
 * The node that a client is connected to counts the client's statements by
 * the query id of pg_stat_statements, which has their texts.  There is room
 * for citus.stat_statements_max of them.  When it is full, the half that ran
 * least is forgotten.
 *
 * The area's lightweight lock protects entries, their keys and buckets; the
 * number of calls is incremented under the shared lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "lib/shared_area.h"
#include "tenants/statement_stats.h"
#include "tenants/tenant_key.h"

SQL_FUNCTION(citus_internal_stat_statements);
SQL_FUNCTION(citus_internal_stat_statements_reset);

/* Without padding, since it is compared and hashed as bytes. */
typedef struct StatementKey
{
	uint64		query_id;
	TenantKey	tenant;			/* its group is 0: no one value */
	Oid			user;
} StatementKey;

StaticAssertDecl(sizeof(StatementKey) == sizeof(uint64) + sizeof(TenantKey) + sizeof(Oid), "StatementKey has no padding");

typedef struct StatementEntry
{
	StatementKey key;
	pg_atomic_uint64 calls;
	int			next;			/* in its bucket; -1: the last one */
} StatementEntry;

typedef struct StatementShared
{
	SharedHeader header;
	int			nentries;
	StatementEntry entries[FLEXIBLE_ARRAY_MEMBER];	/* and then the buckets */
} StatementShared;

static StatementShared *statement_shared = NULL;

static const struct config_enum_entry track_statements_options[] = {
	{"none", 0, false},
	{"all", 1, false},
	{NULL, 0, false},
};

int			stat_statements_track = 0;
static int	stat_statements_max = 5000;

static int *
statement_buckets(void)
{
	return (int *) &statement_shared->entries[stat_statements_max];
}

static int *
statement_bucket(const StatementKey *key)
{
	uint32		hash = hash_combine(hash_combine(tenant_key_hash(&key->tenant), (uint32) key->query_id), key->user);

	return &statement_buckets()[hash % stat_statements_max];
}

/* NULL if there is none; the caller holds the lock. */
static StatementEntry *
find_statement_entry(const StatementKey *key)
{
	for (int i = *statement_bucket(key); i >= 0; i = statement_shared->entries[i].next)
	{
		if (memcmp(&statement_shared->entries[i].key, key, sizeof(StatementKey)) == 0)
			return &statement_shared->entries[i];
	}
	return NULL;
}

/* Adds an entry to its bucket; the caller holds the lock exclusively. */
static void
link_statement(StatementEntry *entry)
{
	int		   *bucket = statement_bucket(&entry->key);

	entry->next = *bucket;
	*bucket = entry - statement_shared->entries;
}

static void
empty_statement_buckets(void)
{
	for (int i = 0; i < stat_statements_max; i++)
		statement_buckets()[i] = -1;
}

/* Orders by the number of calls, the most first. */
static int
compare_calls(const void *a, const void *b)
{
	uint64		left = pg_atomic_read_u64(&((StatementEntry *) a)->calls);
	uint64		right = pg_atomic_read_u64(&((StatementEntry *) b)->calls);

	return left > right ? -1 : left < right ? 1 : 0;
}

/* Makes room; the caller holds the lock exclusively. */
static void
drop_rare_statements(void)
{
	qsort(statement_shared->entries, statement_shared->nentries, sizeof(StatementEntry), compare_calls);
	statement_shared->nentries /= 2;
	empty_statement_buckets();
	for (int i = 0; i < statement_shared->nentries; i++)
		link_statement(&statement_shared->entries[i]);
}

/* A new entry; the caller holds the lock exclusively. */
static StatementEntry *
make_statement(const StatementKey *key)
{
	StatementEntry *entry;

	if (statement_shared->nentries >= stat_statements_max)
		drop_rare_statements();
	entry = &statement_shared->entries[statement_shared->nentries++];
	entry->key = *key;
	pg_atomic_init_u64(&entry->calls, 0);
	link_statement(entry);
	return entry;
}

void
statement_stats_count(uint64 query_id, const ParamExternData *value)
{
	StatementKey key = {.query_id = query_id, .user = GetUserId()};
	StatementEntry *entry;

	if (query_id == 0)
		return;
	key.tenant = value == NULL || value->isnull ? tenant_key(0, NULL) : tenant_key_of_value(1, value);
	LWLockAcquire(statement_shared->header.lock, LW_SHARED);
	entry = find_statement_entry(&key);
	if (entry != NULL)
		pg_atomic_fetch_add_u64(&entry->calls, 1);
	LWLockRelease(statement_shared->header.lock);
	if (entry != NULL)
		return;

	LWLockAcquire(statement_shared->header.lock, LW_EXCLUSIVE);
	entry = find_statement_entry(&key);
	if (entry == NULL)
		entry = make_statement(&key);
	pg_atomic_fetch_add_u64(&entry->calls, 1);
	LWLockRelease(statement_shared->header.lock);
}

/* Whether the caller may see what a user has done. */
static bool
may_see_statements(Oid user)
{
	return has_privs_of_role(GetUserId(), user) || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/*
 * citus_internal.stat_statements(OUT queryid bigint, OUT userid oid, OUT
 * partition_key text, OUT calls bigint): the counts of this database, for its
 * users' own statements unless the caller may read all statistics.
 */
Datum
citus_internal_stat_statements(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	StatementEntry *entries = palloc_extended(sizeof(StatementEntry) * stat_statements_max, MCXT_ALLOC_HUGE);
	int			nentries;

	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(statement_shared->header.lock, LW_SHARED);
	nentries = statement_shared->nentries;
	memcpy(entries, statement_shared->entries, nentries * sizeof(StatementEntry));
	LWLockRelease(statement_shared->header.lock);
	for (int i = 0; i < nentries; i++)
	{
		const StatementKey *key = &entries[i].key;
		Datum		values[4] = {Int64GetDatum((int64) key->query_id), ObjectIdGetDatum(key->user),
			CStringGetTextDatum(key->tenant.attribute), Int64GetDatum((int64) pg_atomic_read_u64(&entries[i].calls))};
		bool		nulls[4] = {false, false, key->tenant.colocation_id == 0, false};

		if (key->tenant.database == MyDatabaseId && may_see_statements(key->user))
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * citus_internal.stat_statements_reset(): forgets all counts of this node, of
 * all databases.
 */
Datum
citus_internal_stat_statements_reset(PG_FUNCTION_ARGS)
{
	LWLockAcquire(statement_shared->header.lock, LW_EXCLUSIVE);
	statement_shared->nentries = 0;
	empty_statement_buckets();
	LWLockRelease(statement_shared->header.lock);
	PG_RETURN_VOID();
}

static Size
statement_shared_size(void)
{
	return offsetof(StatementShared, entries) + (Size) stat_statements_max * (sizeof(StatementEntry) + sizeof(int));
}

void
statement_stats_init(void)
{
	static SharedArea area = {
		.name = "citus_statements",
		.more = statement_shared_size,
		.memory = (SharedHeader **) &statement_shared,
		.fill = empty_statement_buckets,
	};

	shared_area_add(&area);
	DefineCustomEnumVariable("citus.stat_statements_track",
							 "Selects whether statements over shards are counted, by tenant.",
							 "Each node counts those of its clients; see the view citus_stat_statements, which needs "
							 "pg_stat_statements.",
							 &stat_statements_track, 0, track_statements_options, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.stat_statements_max",
							"Sets how many statements a node counts.",
							"A statement counts once for each user and tenant. Those that ran least make room for others.",
							&stat_statements_max, 5000, 100, 10000000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
}
