/*-------------------------------------------------------------------------
 *
 * published.c
 *	  The relation under whose name the changes of a relation are published.
 *
 * Logical decoding reads catalogs as of the time of a change.  That includes
 * pg_dist_partition, pg_dist_shard and pg_dist_local_group, which are user
 * catalog tables; so they are read directly, not by the metadata cache, which
 * has the present state.  Results are cached until any relation changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata_rows.h"
#include "catalog/relations.h"
#include "decoding/published.h"

static MemoryContext published_context = NULL;
static HTAB *published_relations;	/* Published, in published_context */
static bool published_stale = true;

/* CacheRegisterRelcacheCallback */
static void
forget_published(Datum arg, Oid relid)
{
	published_stale = true;
}

/* Begins with nothing known. */
static void
published_reset(void)
{
	HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(Published)};

	if (published_context == NULL)
	{
		published_context = AllocSetContextCreate(CacheMemoryContext, "citus published relations", ALLOCSET_DEFAULT_SIZES);
		CacheRegisterRelcacheCallback(forget_published, (Datum) 0);
	}
	MemoryContextReset(published_context);
	info.hcxt = published_context;
	published_relations = hash_create("citus published relations", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	published_stale = false;
}

/* The id in the name of a shard; 0 if there is none. */
static int64
shardid_in_name(const char *name)
{
	const char *digits = strrchr(name, '_');

	return digits == NULL ? 0 : strtoll(digits + 1, NULL, 10);
}

static bool
is_coordinator(void)
{
	List	   *rows = catalog_rows("pg_dist_local_group", NULL, NULL);

	return rows == NIL || DatumGetInt32(((CatalogRow *) linitial(rows))->values[0]) == COORDINATOR_GROUP;
}

/*
 * Of a relation outside the schema of the shards.  Tables of extensions in
 * pg_catalog aren't users' tables; ours differ between nodes.
 */
static PublishedKind
kind_of_table(Oid relid, Oid schema)
{
	CatalogRow *row = catalog_row("pg_dist_partition", "pg_dist_partition_logical_relid_index",
								  Anum_partition_logicalrelid, F_OIDEQ, ObjectIdGetDatum(relid));

	if (row == NULL)
		return schema == PG_CATALOG_NAMESPACE ? PUBLISHED_ELSEWHERE : PUBLISHED_ITSELF;
	if (DatumGetChar(row->values[Anum_partition_repmodel - 1]) != REPMODEL_REFERENCE)
		return PUBLISHED_ELSEWHERE;
	return is_coordinator() ? PUBLISHED_ITSELF : PUBLISHED_ELSEWHERE;
}

/* Fills in what a shard is published as. */
static void
read_table_of_shard(Relation shard, Published *published)
{
	int64		shardid = shardid_in_name(RelationGetRelationName(shard));
	CatalogRow *row = catalog_row("pg_dist_shard", "pg_dist_shard_shardid_index",
								  Anum_shard_shardid, F_INT8EQ, Int64GetDatum(shardid));
	Relation	table;
	MemoryContext old_context;

	if (row == NULL)
		return;
	published->table = DatumGetObjectId(row->values[Anum_shard_logicalrelid - 1]);
	table = RelationIdGetRelation(published->table);
	if (!RelationIsValid(table))
		return;
	published->kind = PUBLISHED_AS_TABLE;
	old_context = MemoryContextSwitchTo(published_context);
	published->map = convert_tuples_by_name(CreateTupleDescCopyConstr(RelationGetDescr(shard)),
											CreateTupleDescCopyConstr(RelationGetDescr(table)));
	MemoryContextSwitchTo(old_context);
	RelationClose(table);
}

const Published *
published_as(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Published  *published;
	Published	made = {.relid = relid,.kind = PUBLISHED_ELSEWHERE};

	if (published_stale)
		published_reset();
	published = hash_search(published_relations, &relid, HASH_FIND, NULL);
	if (published != NULL)
		return published;
	if (RelationGetNamespace(rel) == get_namespace_oid(SHARD_SCHEMA, true))
		read_table_of_shard(rel, &made);
	else
		made.kind = kind_of_table(relid, RelationGetNamespace(rel));
	published = hash_search(published_relations, &relid, HASH_ENTER, NULL);
	*published = made;
	return published;
}
