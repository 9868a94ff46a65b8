/*-------------------------------------------------------------------------
 *
 * metadata.c
 *	  The per-backend cache of pg_dist_* rows.
 *
 * A hash table by relid has an entry for each relation that was looked up,
 * also for those that are not distributed; an array before it has most of the
 * latter.  The relcache callback removes the entry of an invalidated relation
 * from the table; the next lookup reads it again.
 *
 * Memory: what an entry points to lies in its own context below
 * CacheMemoryContext.  Callers may hold pointers until the end of the
 * transaction, so the memory of a removed entry is kept until then
 * (metadata_let_go).
 *
 * Races: if an invalidation arrives while an entry is being read, the reader
 * may use the entry, since its lock on the relation protects what the entry
 * says, but later lookups read a new one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/extension_version.h"
#include "catalog/metadata.h"
#include "catalog/metadata_load.h"
#include "catalog/node_cache.h"
#include "catalog/relations.h"

/* A distributed table and the memory that it occupies. */
typedef struct CachedTable
{
	DistTable	table;
	MemoryContext context;		/* holds this struct and all below it */
} CachedTable;

typedef struct CacheEntry
{
	Oid			relid;			/* hash key */
	bool		loading;		/* being read; must stay in the hash table */
	bool		stale;			/* invalidated while loading */
	CachedTable *cached;		/* NULL: not distributed */
} CacheEntry;

static HTAB *table_cache = NULL;

/*
 * The last relations that were found not to be distributed, by relid modulo
 * their number: no probe for those.
 */
#define NUM_PLAIN 64
static Oid	plain_tables[NUM_PLAIN];

static uint64 table_generation = 0;	/* see metadata_generation */
static Oid	cache_catalog = InvalidOid; /* pg_dist_partition when it was
										 * filled */

void
metadata_let_go(MemoryContext context)
{
	if (TopTransactionContext != NULL)
		MemoryContextSetParent(context, TopTransactionContext);
	else
		MemoryContextDelete(context);
}

/*
 * Removes an entry from the cache; its memory is kept until the transaction
 * ends.
 */
static void
remove_entry(CacheEntry *entry)
{
	if (entry->loading)
	{
		entry->stale = true;
		return;
	}
	if (entry->cached != NULL)
		metadata_let_go(entry->cached->context);
	hash_search(table_cache, &entry->relid, HASH_REMOVE, NULL);
}

static void
remove_all_entries(void)
{
	HASH_SEQ_STATUS status;
	CacheEntry *entry;

	if (table_cache == NULL)
		return;
	hash_seq_init(&status, table_cache);
	while ((entry = hash_seq_search(&status)) != NULL)
		remove_entry(entry);
}

/* The relcache callback: must not raise errors or read catalogs. */
static void
relation_invalidated(Datum arg, Oid relid)
{
	DistRelation catalog = dist_relations_invalidated(relid);

	if (!OidIsValid(relid))
	{
		memset(plain_tables, 0, sizeof(plain_tables));
		remove_all_entries();
		table_generation++;
	}
	else if (table_cache != NULL)
	{
		CacheEntry *entry = hash_search(table_cache, &relid, HASH_FIND, NULL);

		plain_tables[relid % NUM_PLAIN] = InvalidOid;
		if (entry != NULL)
		{
			if (entry->cached != NULL)
				table_generation++;
			remove_entry(entry);
		}
	}
	node_cache_invalidated(relid, catalog);
}

uint64
metadata_generation(void)
{
	return table_generation;
}

void
metadata_init(void)
{
	CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);
}

bool
metadata_available(void)
{
	return IsTransactionState() && dist_relations_available();
}

static void
create_cache(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(CacheEntry)};

	if (CacheMemoryContext == NULL)
		CreateCacheMemoryContext();
	control.hcxt = CacheMemoryContext;
	table_cache = hash_create("citus tables", 128, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * Reads a relation's rows into memory of their own; NULL if it isn't
 * distributed.
 */
static CachedTable *
load_table(Oid relid)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus table", ALLOCSET_SMALL_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	CachedTable *cached = palloc0(sizeof(CachedTable));
	bool		distributed = metadata_load(relid, &cached->table);

	MemoryContextSwitchTo(old_context);
	if (!distributed)
	{
		MemoryContextDelete(context);
		return NULL;
	}
	extension_version_check();
	cached->context = context;
	MemoryContextSetParent(context, CacheMemoryContext);
	return cached;
}

/* Adds the entry of a relation that isn't in the cache. */
static const DistTable *
load_entry(Oid relid)
{
	CachedTable *cached = NULL;
	CacheEntry *entry = hash_search(table_cache, &relid, HASH_ENTER, NULL);

	entry->loading = true;
	entry->stale = false;
	entry->cached = NULL;

	PG_TRY();
	{
		cached = load_table(relid);
	}
	PG_CATCH();
	{
		entry->loading = false;
		remove_entry(entry);
		PG_RE_THROW();
	}
	PG_END_TRY();

	entry->cached = cached;
	entry->loading = false;
	if (entry->stale)
		remove_entry(entry);
	return cached == NULL ? NULL : &cached->table;
}

const DistTable *
metadata_find(Oid relid)
{
	CacheEntry *entry;
	Oid			catalog;

	/* relations made by initdb are never distributed */
	if (relid < FirstNormalObjectId || !metadata_available())
		return NULL;

	catalog = dist_relid(PG_DIST_PARTITION);
	if (unlikely(catalog != cache_catalog))
	{
		/* the extension was dropped, and created again */
		memset(plain_tables, 0, sizeof(plain_tables));
		remove_all_entries();
		cache_catalog = catalog;
	}
	if (plain_tables[relid % NUM_PLAIN] == relid)
		return NULL;
	if (unlikely(table_cache == NULL))
		create_cache();

	entry = hash_search(table_cache, &relid, HASH_FIND, NULL);
	if (likely(entry != NULL && !entry->loading))
	{
		if (entry->cached != NULL)
			return &entry->cached->table;
		plain_tables[relid % NUM_PLAIN] = relid;
		return NULL;
	}
	if (entry != NULL)
		return NULL;			/* looked up recursively, while it is being
								 * read */
	return load_entry(relid);
}

static void
report_damage(const DistTable *table)
{
	char	   *name = get_rel_name(table->relid);

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("metadata of table \"%s\" is damaged", name == NULL ? "" : name),
			 errdetail("%s", table->damage),
			 errhint("A superuser can correct the rows of pg_dist_partition, pg_dist_shard and pg_dist_placement.")));
}

const DistTable *
metadata_lookup(Oid relid)
{
	const DistTable *table = metadata_find(relid);

	if (unlikely(table != NULL && table->damage != NULL))
		report_damage(table);
	return table;
}

const DistTable *
metadata_require(Oid relid)
{
	const DistTable *table = metadata_lookup(relid);

	if (table == NULL)
	{
		char	   *name = get_rel_name(relid);

		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist", relid)));
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed", name),
				 errhint("Distribute it with create_distributed_table or create_reference_table.")));
	}
	return table;
}

/*
 * Oids of the tables of a colocation group, of all if colocation_id is 0, in
 * their order, without those whose metadata is damaged; only the first that
 * isn't a reference table if one_sharded.
 */
static List *
scan_partition(int colocation_id, bool one_sharded)
{
	Relation	partition;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *candidates = NIL;
	List	   *result = NIL;

	if (!metadata_available())
		return NIL;

	partition = table_open(dist_relid(PG_DIST_PARTITION), AccessShareLock);
	ScanKeyInit(&key, Anum_partition_colocationid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(colocation_id));
	scan = systable_beginscan(partition, dist_relid(PG_DIST_PARTITION_COLOCATION_INDEX), colocation_id != 0,
							  NULL, colocation_id != 0 ? 1 : 0, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;

		candidates = lappend_oid(candidates,
								 DatumGetObjectId(heap_getattr(tuple, Anum_partition_logicalrelid,
															   RelationGetDescr(partition), &isnull)));
	}
	systable_endscan(scan);
	table_close(partition, AccessShareLock);

	list_sort(candidates, list_oid_cmp);
	foreach_oid(relid, candidates)
	{
		const DistTable *table = metadata_find(relid);

		if (table == NULL || table->damage != NULL || (one_sharded && table->kind == DIST_REFERENCE))
			continue;
		result = lappend_oid(result, table->relid);
		if (one_sharded)
			break;
	}
	list_free(candidates);
	return result;
}

Oid
metadata_colocated_table(int colocation_id)
{
	List	   *tables = colocation_id == 0 ? NIL : scan_partition(colocation_id, true);

	return tables == NIL ? InvalidOid : linitial_oid(tables);
}

List *
metadata_tables(int colocation_id)
{
	return scan_partition(colocation_id, false);
}

bool
shard_is_here(const ShardInfo *shard)
{
	int32		group = metadata_local_group();

	return shard->groupid == group || unlikely(list_member_int(shard->others, group));
}

bool
shard_is_former_as_of(const ShardInfo *shard, Snapshot snapshot)
{
	return unlikely(shard->former_group >= 0) && snapshot != NULL &&
		!TransactionIdIsCurrentTransactionId(shard->moved) && XidInMVCCSnapshot(shard->moved, snapshot);
}

void
metadata_invalidate(Oid relid)
{
	/* dropping a relation has invalidated it already */
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return;
	CacheInvalidateRelcacheByRelid(relid);
	if (get_rel_relispartition(relid))
		foreach_oid(ancestor, get_partition_ancestors(relid))
			CacheInvalidateRelcacheByRelid(ancestor);
}
