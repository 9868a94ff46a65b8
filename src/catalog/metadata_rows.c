/*-------------------------------------------------------------------------
 *
 * metadata_rows.c
 *	  Writes this node's pg_dist_* rows of tables.
 *
 * Rows are written as PostgreSQL writes its catalogs, without a query: the
 * tables have no constraints but unique indexes and NOT NULL, and a user who
 * may distribute a table needs no rights on the catalogs.
 *
 * Locking: RowExclusiveLock on the catalog, kept to the end of the
 * transaction.  The caller's lock on the table keeps two transactions from
 * changing its rows at the same time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata_load.h"
#include "catalog/metadata_rows.h"
#include "catalog/relations.h"
#include "compat/table_am.h"

/*
 * Deletes a row, unless another transaction deletes it and commits first:
 * clean-up after a move doesn't wait for the locks of whoever drops the table.
 */
static void
delete_catalog_row(Relation relation, HeapTuple row)
{
	TM_FailureData failure;
	TM_Result	result = heap_delete(relation, &row->t_self, GetCurrentCommandId(true), 0, InvalidSnapshot, true, &failure);

	if (result != TM_Ok && result != TM_Deleted)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("a row of \"%s\" was changed concurrently", RelationGetRelationName(relation))));
}

/* Deletes the rows of a scan; returns how many. */
static int
delete_matching(Relation relation, DistRelation index, int nkeys, ScanKey keys)
{
	SysScanDesc scan = systable_beginscan(relation, dist_relid(index), true, NULL, nkeys, keys);
	HeapTuple	tuple;
	int			count = 0;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		delete_catalog_row(relation, tuple);
		count++;
	}
	systable_endscan(scan);
	return count;
}

/* Adds a row to an open catalog. */
static void
insert_row(Relation relation, Datum *values, bool *nulls)
{
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(relation), values, nulls);

	CatalogTupleInsert(relation, tuple);
	heap_freetuple(tuple);
}

/*
 * Writes a row about a table in place of those that the keys find in the
 * index, and makes it known.
 */
static void
replace_row(Oid relid, DistRelation catalog, DistRelation index, int nkeys, ScanKey keys,
			Datum *values, bool *nulls)
{
	Relation	relation = table_open(dist_relid(catalog), RowExclusiveLock);

	delete_matching(relation, index, nkeys, keys);
	insert_row(relation, values, nulls);
	table_close(relation, NoLock);
	metadata_invalidate(relid);
	CommandCounterIncrement();
}

/* Sets values[i] to a text, or nulls[i]. */
static void
set_text_value(Datum *values, bool *nulls, int i, const char *text)
{
	nulls[i] = text == NULL;
	values[i] = text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}

int32
metadata_default_colocation(int shard_count, int replication_factor, Oid type, Oid collation)
{
	ScanKeyData keys[4];
	int32		oldest = 0;

	ScanKeyInit(&keys[0], Anum_colocation_shardcount, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(shard_count));
	ScanKeyInit(&keys[1], Anum_colocation_replicationfactor, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(replication_factor));
	ScanKeyInit(&keys[2], Anum_colocation_distributioncolumntype, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(type));
	ScanKeyInit(&keys[3], Anum_colocation_distributioncolumncollation, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(collation));
	foreach_ptr(CatalogRow, row, catalog_rows_by_keys(dist_relid(PG_DIST_COLOCATION),
													  dist_relid(PG_DIST_COLOCATION_CONFIGURATION_INDEX), 4, keys))
	{
		int32		id = DatumGetInt32(row->values[Anum_colocation_colocationid - 1]);

		if (oldest == 0 || id < oldest)
			oldest = id;
	}
	return oldest;
}

/* Whether a colocation group exists. */
static bool
colocation_exists(int32 colocation_id)
{
	return catalog_row("pg_dist_colocation", "pg_dist_colocation_pkey", Anum_colocation_colocationid, F_INT4EQ,
					   Int32GetDatum(colocation_id)) != NULL;
}

void
metadata_insert_colocation(int32 colocation_id, int shard_count, int replication_factor, Oid type, Oid collation)
{
	Relation	relation;
	Datum		values[Natts_colocation];
	bool		nulls[Natts_colocation] = {false};

	if (colocation_exists(colocation_id))
		return;
	/* another session may be adding it: its transaction's end decides */
	LockDatabaseObject(dist_relid(PG_DIST_COLOCATION), colocation_id, 0, ExclusiveLock);
	if (colocation_exists(colocation_id))
		return;

	values[Anum_colocation_colocationid - 1] = Int32GetDatum(colocation_id);
	values[Anum_colocation_shardcount - 1] = Int32GetDatum(shard_count);
	values[Anum_colocation_replicationfactor - 1] = Int32GetDatum(replication_factor);
	values[Anum_colocation_distributioncolumntype - 1] = ObjectIdGetDatum(type);
	values[Anum_colocation_distributioncolumncollation - 1] = ObjectIdGetDatum(collation);

	relation = table_open(dist_relid(PG_DIST_COLOCATION), RowExclusiveLock);
	insert_row(relation, values, nulls);
	table_close(relation, NoLock);
	CommandCounterIncrement();
}

/* Whether a table is in the group, including one that is being dropped. */
static bool
colocation_is_used(int32 colocation_id)
{
	return catalog_row("pg_dist_partition", "pg_dist_partition_colocationid_index", Anum_partition_colocationid, F_INT4EQ,
					   Int32GetDatum(colocation_id)) != NULL;
}

void
metadata_delete_colocation(int32 colocation_id)
{
	Relation	relation;
	ScanKeyData key;

	relation = table_open(dist_relid(PG_DIST_COLOCATION), RowExclusiveLock);
	ScanKeyInit(&key, Anum_colocation_colocationid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(colocation_id));
	delete_matching(relation, PG_DIST_COLOCATION_ID_INDEX, 1, &key);
	table_close(relation, NoLock);

	/* the first column is the group there, too */
	relation = table_open(dist_relid(PG_DIST_TENANT_LIMIT), RowExclusiveLock);
	if (delete_matching(relation, PG_DIST_TENANT_LIMIT_INDEX, 1, &key) > 0)
		CacheInvalidateRelcache(relation);
	table_close(relation, NoLock);
	CommandCounterIncrement();
}

/* A group if it has no table, else 0. */
static int32
colocation_if_empty(int32 colocation_id)
{
	return colocation_id == 0 || colocation_is_used(colocation_id) ? 0 : colocation_id;
}

void
metadata_insert_partition(Oid relid, char partmethod, const char *dist_column, int32 colocation_id, char repmodel)
{
	ScanKeyData key;
	Datum		values[Natts_partition];
	bool		nulls[Natts_partition] = {false};
	char	   *partkey = NULL;

	if (dist_column != NULL)
	{
		AttrNumber	attno = get_attnum(relid, dist_column);

		if (attno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist", dist_column, get_rel_name(relid))));
		partkey = metadata_format_partkey(relid, attno);
	}

	values[Anum_partition_logicalrelid - 1] = ObjectIdGetDatum(relid);
	values[Anum_partition_partmethod - 1] = CharGetDatum(partmethod);
	set_text_value(values, nulls, Anum_partition_partkey - 1, partkey);
	values[Anum_partition_colocationid - 1] = Int32GetDatum(colocation_id);
	values[Anum_partition_repmodel - 1] = CharGetDatum(repmodel);
	values[Anum_partition_autoconverted - 1] = BoolGetDatum(false);

	ScanKeyInit(&key, Anum_partition_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	replace_row(relid, PG_DIST_PARTITION, PG_DIST_PARTITION_RELID_INDEX, 1, &key, values, nulls);
}

void
metadata_insert_shard(Oid relid, int64 shardid, char storage, const char *min_value, const char *max_value)
{
	ScanKeyData key;
	Datum		values[Natts_shard];
	bool		nulls[Natts_shard] = {false};

	values[Anum_shard_logicalrelid - 1] = ObjectIdGetDatum(relid);
	values[Anum_shard_shardid - 1] = Int64GetDatum(shardid);
	values[Anum_shard_shardstorage - 1] = CharGetDatum(storage);
	set_text_value(values, nulls, Anum_shard_shardminvalue - 1, min_value);
	set_text_value(values, nulls, Anum_shard_shardmaxvalue - 1, max_value);

	ScanKeyInit(&key, Anum_shard_shardid, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(shardid));
	replace_row(relid, PG_DIST_SHARD, PG_DIST_SHARD_SHARDID_INDEX, 1, &key, values, nulls);
}

Oid
metadata_shard_relid(int64 shardid)
{
	CatalogRow *row = catalog_row("pg_dist_shard", "pg_dist_shard_shardid_index", Anum_shard_shardid, F_INT8EQ,
								  Int64GetDatum(shardid));

	return row == NULL ? InvalidOid : DatumGetObjectId(row->values[Anum_shard_logicalrelid - 1]);
}

Oid
metadata_require_shard(int64 shardid)
{
	Oid			relid = metadata_shard_relid(shardid);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("shard " INT64_FORMAT " does not exist", shardid)));
	return relid;
}

void
metadata_insert_placement(int64 shardid, int64 length, int32 groupid, int64 placementid)
{
	Oid			relid = metadata_require_shard(shardid);
	ScanKeyData keys[2];
	Datum		values[Natts_placement];
	bool		nulls[Natts_placement] = {false};

	values[Anum_placement_placementid - 1] = Int64GetDatum(placementid);
	values[Anum_placement_shardid - 1] = Int64GetDatum(shardid);
	values[Anum_placement_shardstate - 1] = Int32GetDatum(PLACEMENT_ACTIVE);
	values[Anum_placement_shardlength - 1] = Int64GetDatum(length);
	values[Anum_placement_groupid - 1] = Int32GetDatum(groupid);

	ScanKeyInit(&keys[0], Anum_placement_shardid, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(shardid));
	ScanKeyInit(&keys[1], Anum_placement_groupid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(groupid));
	replace_row(relid, PG_DIST_PLACEMENT, PG_DIST_PLACEMENT_SHARDID_INDEX, 2, keys, values, nulls);
}

/* Removes the shards of a table and their placements. */
static void
delete_shards(Oid relid)
{
	Relation	shards = table_open(dist_relid(PG_DIST_SHARD), RowExclusiveLock);
	Relation	placements = table_open(dist_relid(PG_DIST_PLACEMENT), RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_shard_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(shards, dist_relid(PG_DIST_SHARD_RELID_INDEX), true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		ScanKeyData placement_key;
		bool		isnull;

		ScanKeyInit(&placement_key, Anum_placement_shardid, BTEqualStrategyNumber, F_INT8EQ,
					heap_getattr(tuple, Anum_shard_shardid, RelationGetDescr(shards), &isnull));
		delete_matching(placements, PG_DIST_PLACEMENT_SHARDID_INDEX, 1, &placement_key);
		delete_catalog_row(shards, tuple);
	}
	systable_endscan(scan);
	table_close(placements, NoLock);
	table_close(shards, NoLock);
}

int32
metadata_delete_table(Oid relid)
{
	CatalogRow *row = catalog_row("pg_dist_partition", "pg_dist_partition_logical_relid_index",
								  Anum_partition_logicalrelid, F_OIDEQ, ObjectIdGetDatum(relid));
	Relation	relation;
	ScanKeyData key;

	delete_shards(relid);

	relation = table_open(dist_relid(PG_DIST_PARTITION), RowExclusiveLock);
	ScanKeyInit(&key, Anum_partition_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	delete_matching(relation, PG_DIST_PARTITION_RELID_INDEX, 1, &key);
	table_close(relation, NoLock);

	metadata_invalidate(relid);
	CommandCounterIncrement();
	return row == NULL ? 0 : colocation_if_empty(DatumGetInt32(row->values[Anum_partition_colocationid - 1]));
}

int32
metadata_update_colocation(Oid relid, int32 colocation_id)
{
	int32		old_colocation_id = metadata_require(relid)->colocation_id;
	Relation	relation;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	relation = table_open(dist_relid(PG_DIST_PARTITION), RowExclusiveLock);
	ScanKeyInit(&key, Anum_partition_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(relation, dist_relid(PG_DIST_PARTITION_RELID_INDEX), true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Datum		values[Natts_partition];
		bool		nulls[Natts_partition] = {false};
		bool		replace[Natts_partition] = {false};

		values[Anum_partition_colocationid - 1] = Int32GetDatum(colocation_id);
		replace[Anum_partition_colocationid - 1] = true;
		tuple = heap_modify_tuple(tuple, RelationGetDescr(relation), values, nulls, replace);
		CatalogTupleUpdate(relation, &tuple->t_self, tuple);
	}
	systable_endscan(scan);
	table_close(relation, NoLock);

	metadata_invalidate(relid);
	CommandCounterIncrement();
	return old_colocation_id == colocation_id ? 0 : colocation_if_empty(old_colocation_id);
}
