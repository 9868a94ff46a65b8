/*-------------------------------------------------------------------------
 *
 * tenant_limit.c
 *	  Limits of tenants.
 *
 * A tenant with at most n transactions at a time has n slots on each node,
 * which are heavyweight locks: a transaction takes one with its first
 * statement for the tenant, and keeps it.  So both deadlock detectors see
 * these waits, they are interruptible and heed lock_timeout, and pg_locks
 * shows them.  A transaction that finds no free slot queues for
 * another lock, and the one that holds that waits for one of the slots, each
 * time the next one, since that was probably taken first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/acl.h"
#include "compat/lock_held.h"
#include "compat/sql_function.h"
#include "lib/wait_event.h"
#include "remote/node_call.h"
#include "tenants/tenant_limit.h"
#include "tenants/tenant_stats.h"

SQL_FUNCTION(citus_internal_record_tenant_limits);
SQL_FUNCTION(citus_internal_tenant_lock_number);

#define TENANT_LIMITS "pg_dist_tenant_limit"

/* The columns of pg_dist_tenant_limit. */
#define Anum_tenant_colocationid 1
#define Anum_tenant_attribute 2
#define Anum_tenant_max_concurrent 3
#define Anum_tenant_max_cpu_share 4
#define Natts_tenant_limit 4

/* Numbers of locks that are not slots; those count from 1. */
#define QUEUE_FOR_SLOTS 0xFFFF
#define QUEUE_FOR_TIME 0xFFFE

/* How long a waiter sleeps at most before it checks again; in s. */
#define LONGEST_SLEEP 1.0

/* The rows of pg_dist_tenant_limit; NULL if there are none. */
static HTAB *tenant_limits = NULL;
static bool tenant_limits_known = false;
static Oid	tenant_limits_relid = InvalidOid;

static void
forget_limits(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == tenant_limits_relid || tenant_limits_relid == InvalidOid)
		tenant_limits_known = false;
}

static TenantLimit
limit_of_row(const CatalogRow *row)
{
	char	   *attribute = TextDatumGetCString(row->values[Anum_tenant_attribute - 1]);
	TenantLimit limit = {.key = tenant_key(DatumGetInt32(row->values[Anum_tenant_colocationid - 1]), attribute)};

	if (!row->nulls[Anum_tenant_max_concurrent - 1])
		limit.max_concurrent = DatumGetInt32(row->values[Anum_tenant_max_concurrent - 1]);
	if (!row->nulls[Anum_tenant_max_cpu_share - 1])
		limit.max_cpu_share = DatumGetFloat8(row->values[Anum_tenant_max_cpu_share - 1]);
	return limit;
}

static void
load_limits(void)
{
	static bool callback_registered = false;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus tenant limits", ALLOCSET_SMALL_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	List	   *rows;
	ListCell   *cell;

	if (!callback_registered)
		CacheRegisterRelcacheCallback(forget_limits, (Datum) 0);
	callback_registered = true;
	tenant_limits_known = true;	/* unless it is invalidated from here on */
	tenant_limits_relid = dist_relid(PG_DIST_TENANT_LIMIT);
	rows = catalog_rows(TENANT_LIMITS, "pg_dist_tenant_limit_pkey", NULL);
	if (tenant_limits != NULL)
		hash_destroy(tenant_limits);
	tenant_limits = NULL;
	if (rows != NIL)
	{
		HASHCTL		control = {.keysize = sizeof(TenantKey), .entrysize = sizeof(TenantLimit)};

		tenant_limits = hash_create("citus tenant limits", list_length(rows), &control, HASH_ELEM | HASH_BLOBS);
	}
	foreach(cell, rows)
	{
		TenantLimit limit = limit_of_row(lfirst(cell));

		*(TenantLimit *) hash_search(tenant_limits, &limit.key, HASH_ENTER, NULL) = limit;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

bool
tenant_limits_exist(void)
{
	if (unlikely(!tenant_limits_known))
		load_limits();
	return tenant_limits != NULL;
}

const TenantLimit *
tenant_limit_find(const TenantKey *key)
{
	return tenant_limits_exist() ? hash_search(tenant_limits, key, HASH_FIND, NULL) : NULL;
}

/* A lock of a tenant: of a slot, or of a queue for slots or time. */
static LOCKTAG
tenant_lock(const TenantKey *key, int number)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, tenant_limits_relid,
					   DatumGetUInt32(hash_any((const unsigned char *) key, sizeof(TenantKey))), number);
	return tag;
}

/* Whether this transaction has one of a tenant's slots. */
static bool
holds_slot(const TenantLimit *limit)
{
	for (int slot = 1; slot <= limit->max_concurrent; slot++)
	{
		LOCKTAG		tag = tenant_lock(&limit->key, slot);

		if (compat_lock_held(&tag, ExclusiveLock))
			return true;
	}
	return false;
}

static bool
take_free_slot(const TenantLimit *limit)
{
	for (int slot = 1; slot <= limit->max_concurrent; slot++)
	{
		LOCKTAG		tag = tenant_lock(&limit->key, slot);

		if (LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
			return true;
	}
	return false;
}

static void
wait_for_tenant_slot(const TenantLimit *limit)
{
	static uint32 waits = 0;
	LOCKTAG		queue = tenant_lock(&limit->key, QUEUE_FOR_SLOTS);

	(void) LockAcquire(&queue, ExclusiveLock, false, false);
	if (!take_free_slot(limit))
	{
		LOCKTAG		tag = tenant_lock(&limit->key, 1 + (MyProcPid + waits++) % limit->max_concurrent);

		(void) LockAcquire(&tag, ExclusiveLock, false, false);
	}
	LockRelease(&queue, ExclusiveLock, false);
}

/* CPU seconds that a tenant may use in a second. */
static double
cpu_rate(const TenantLimit *limit)
{
	return limit->max_cpu_share * Max(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

static void
wait_for_time(const TenantLimit *limit)
{
	LOCKTAG		queue = tenant_lock(&limit->key, QUEUE_FOR_TIME);
	double		delay;

	if (tenant_stats_delay(&limit->key, cpu_rate(limit)) <= 0)
		return;
	(void) LockAcquire(&queue, ExclusiveLock, false, false);
	while ((delay = tenant_stats_delay(&limit->key, cpu_rate(limit))) > 0)
	{
		wait_pause(1 + (long) (Min(delay, LONGEST_SLEEP) * 1000), WAIT_TENANT_LIMIT);
	}
	LockRelease(&queue, ExclusiveLock, false);
}

void
tenant_limit_wait(const TenantLimit *limit)
{
	TenantLimit copy = *limit;	/* the wait may reload the rows */

	if (copy.max_concurrent > 0 && !holds_slot(&copy) && !take_free_slot(&copy))
		wait_for_tenant_slot(&copy);
	if (copy.max_cpu_share > 0)
		wait_for_time(&copy);
}

void
tenant_limit_check(const TenantLimit *limit)
{
	List	   *tables = metadata_tables(limit->key.colocation_id);

	if (tables == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("colocation group %d has no tables", limit->key.colocation_id)));
	foreach_oid(relid, tables)
	{
		if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	}
	if (limit->max_concurrent < 0 || limit->max_concurrent > TENANT_MAX_CONCURRENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_concurrent must be between 1 and %d", TENANT_MAX_CONCURRENT)));
	if (!(limit->max_cpu_share >= 0 && limit->max_cpu_share <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_cpu_share must be greater than 0 and at most 1"),
				 errdetail("It is the share of the CPU time of each node.")));
}

/* Removes a tenant's row, if there is one. */
static void
delete_row(Relation catalog, const TenantKey *key)
{
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_tenant_colocationid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(key->colocation_id));
	ScanKeyInit(&keys[1], Anum_tenant_attribute, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(key->attribute));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		CatalogTupleDelete(catalog, &tuple->t_self);
	systable_endscan(scan);
}

void
tenant_limit_record(const TenantLimit *limit)
{
	Relation	catalog = table_open(dist_relid(PG_DIST_TENANT_LIMIT), ShareRowExclusiveLock);
	Datum		values[Natts_tenant_limit] = {Int32GetDatum(limit->key.colocation_id),
		CStringGetTextDatum(limit->key.attribute), Int32GetDatum(limit->max_concurrent),
	Float8GetDatum(limit->max_cpu_share)};
	bool		nulls[Natts_tenant_limit] = {false, false, limit->max_concurrent == 0, limit->max_cpu_share == 0};

	delete_row(catalog, &limit->key);
	if (limit->max_concurrent > 0 || limit->max_cpu_share > 0)
		CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
	CacheInvalidateRelcache(catalog);
	table_close(catalog, NoLock);
	CommandCounterIncrement();
}

char *
tenant_limit_command(const TenantLimit *limit)
{
	return node_call(NODE_record_tenant_limits, node_int(limit->key.colocation_id), node_text(limit->key.attribute),
					 node_int(limit->max_concurrent), node_float(limit->max_cpu_share));
}

List *
tenant_limit_commands(void)
{
	List	   *commands = NIL;
	ListCell   *cell;

	foreach(cell, catalog_rows(TENANT_LIMITS, "pg_dist_tenant_limit_pkey", NULL))
	{
		TenantLimit limit = limit_of_row(lfirst(cell));

		if (metadata_tables(limit.key.colocation_id) != NIL)
			commands = lappend(commands, tenant_limit_command(&limit));
	}
	return commands;
}

/*
 * citus_internal.record_tenant_limits(colocationid integer, tenant text,
 * max_concurrent integer, max_cpu_share float8): another node's row.
 */
Datum
citus_internal_record_tenant_limits(PG_FUNCTION_ARGS)
{
	TenantLimit limit = {0};

	node_function_check(fcinfo);
	limit.key = tenant_key(PG_GETARG_INT32(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	limit.max_concurrent = PG_GETARG_INT32(2);
	limit.max_cpu_share = PG_GETARG_FLOAT8(3);
	tenant_limit_check(&limit);
	tenant_limit_record(&limit);
	PG_RETURN_VOID();
}

/*
 * citus_internal.tenant_lock_number(colocationid integer, tenant text): what
 * pg_locks shows as the object of the tenant's locks.
 */
Datum
citus_internal_tenant_lock_number(PG_FUNCTION_ARGS)
{
	TenantKey	key = tenant_key(PG_GETARG_INT32(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	LOCKTAG		tag = tenant_lock(&key, 0);

	PG_RETURN_OID(tag.locktag_field3);
}
