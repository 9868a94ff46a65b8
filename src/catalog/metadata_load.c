/*-------------------------------------------------------------------------
 *
 * metadata_load.c
 *	  Reads the pg_dist_* rows of a table, and which commands fire its
 *	  triggers.
 *
 * All rows are read under one catalog snapshot, newer than the lock on
 * pg_dist_partition: a change that another transaction commits meanwhile is
 * seen wholly or not at all, and the transaction's own changes are seen from
 * the next command on.  The snapshot is never the query's, because metadata
 * must be current, like PostgreSQL's catalogs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/hash.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata_load.h"
#include "catalog/relations.h"
#include "lib/index_columns.h"

#define PARTITION_HASH 'h'
#define PARTITION_NONE 'n'
#define REPLICATION_REFERENCE 't'

/* The catalogs while they are being read. */
typedef struct MetadataReader
{
	Relation	partition;
	Relation	shard;
	Relation	placement;
	Snapshot	snapshot;
} MetadataReader;

/* The column that a partkey names; 0 if it is none. */
static AttrNumber
read_partkey(const char *partkey)
{
	static const char field[] = " :varattno ";
	const char *found = strncmp(partkey, "{VAR ", 5) == 0 ? strstr(partkey, field) : NULL;
	char	   *end = NULL;
	long		attno = found == NULL ? 0 : strtol(found + strlen(field), &end, 10);

	return attno <= 0 || attno > MaxAttrNumber || *end != ' ' ? 0 : (AttrNumber) attno;
}

/*
 * The server's reader of node strings trusts its input, and its format has
 * changed between versions; only one number is needed.
 */
AttrNumber
metadata_parse_partkey(const char *partkey)
{
	AttrNumber	attno = read_partkey(partkey);

	if (attno == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a column in the form of pg_dist_partition.partkey", partkey)));
	return attno;
}

char *
metadata_format_partkey(Oid relid, AttrNumber attno)
{
	Oid			type,
				collation;
	int32		typmod;

	get_atttypetypmodcoll(relid, attno, &type, &typmod, &collation);
	return nodeToString(makeVar(1, attno, type, typmod, collation, 0));
}

/* Notes an active placement: a shard's own is the oldest one. */
static void
add_active(ShardInfo *shard, int64 id, int32 groupid, TransactionId made)
{
	if (shard->placementid != 0 && shard->placementid < id)
	{
		shard->others = lappend_int(shard->others, groupid);
		return;
	}
	if (shard->placementid != 0)
		shard->others = lappend_int(shard->others, shard->groupid);
	shard->placementid = id;
	shard->groupid = groupid;
	shard->moved = made;
}

/* Processes a row of pg_dist_placement. */
static void
add_placement(HeapTuple tuple, TupleDesc desc, ShardInfo *shard)
{
	Datum		values[Natts_placement];
	bool		nulls[Natts_placement];
	int64		id;
	int32		groupid;

	heap_deform_tuple(tuple, desc, values, nulls);
	id = DatumGetInt64(values[Anum_placement_placementid - 1]);
	groupid = DatumGetInt32(values[Anum_placement_groupid - 1]);
	switch (DatumGetInt32(values[Anum_placement_shardstate - 1]))
	{
		case PLACEMENT_ACTIVE:
			add_active(shard, id, groupid, HeapTupleHeaderGetXmin(tuple->t_data));
			break;
		case PLACEMENT_ARRIVING:
			shard->leaving = true;
			break;
		case PLACEMENT_LEFT:
			shard->leaving = true;
			shard->former_group = groupid;
			shard->former_placementid = id;
			break;
		default:
			break;
	}
}

/*
 * Reads the placements of shards whose ids are successive numbers, by one
 * scan.
 */
static void
load_placements(MetadataReader *reader, ShardInfo *shards, int count)
{
	TupleDesc	desc = RelationGetDescr(reader->placement);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_placement_shardid, BTGreaterEqualStrategyNumber, F_INT8GE,
				Int64GetDatum(shards[0].shardid));
	ScanKeyInit(&keys[1], Anum_placement_shardid, BTLessEqualStrategyNumber, F_INT8LE,
				Int64GetDatum(shards[count - 1].shardid));
	scan = systable_beginscan(reader->placement, dist_relid(PG_DIST_PLACEMENT_SHARDID_INDEX), true,
							  reader->snapshot, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		shardid = heap_getattr(tuple, Anum_placement_shardid, desc, &isnull);

		add_placement(tuple, desc, &shards[DatumGetInt64(shardid) - shards[0].shardid]);
	}
	systable_endscan(scan);
}

/*
 * Reads the placements of all shards, which are in the order of their ids: in
 * a table whose shards were made together, these are successive.
 */
static void
load_all_placements(MetadataReader *reader, DistTable *table)
{
	for (int first = 0, next; first < table->nshards; first = next)
	{
		next = first + 1;
		while (next < table->nshards && table->shards[next].shardid == table->shards[next - 1].shardid + 1)
			next++;
		load_placements(reader, &table->shards[first], next - first);
	}
}

/*
 * A hash value as the catalog stores it, in text; notes the damage if it isn't
 * one.
 */
static int32
hash_bound(DistTable *table, Datum value, bool isnull)
{
	text	   *bound = isnull ? NULL : DatumGetTextPP(value);
	char		number[16] = "0";
	char	   *end;
	long		result;

	if (bound != NULL)
	{
		size_t		length = Min(VARSIZE_ANY_EXHDR(bound), sizeof(number) - 1);

		memcpy(number, VARDATA_ANY(bound), length);
		number[length] = '\0';
	}
	errno = 0;
	result = strtol(number, &end, 10);
	if (errno != 0 || end == number || *end != '\0' || result < PG_INT32_MIN || result > PG_INT32_MAX)
	{
		table->damage = "The limit of a shard in pg_dist_shard is not a hash value.";
		return 0;
	}
	return (int32) result;
}

static int
compare_shardids(const void *a, const void *b)
{
	const ShardInfo *left = a;
	const ShardInfo *right = b;

	return left->shardid < right->shardid ? -1 : left->shardid > right->shardid;
}

static int
compare_shards(const void *a, const void *b)
{
	const ShardInfo *left = a;
	const ShardInfo *right = b;

	if (left->range.min != right->range.min)
		return left->range.min < right->range.min ? -1 : 1;
	if (left->shardid != right->shardid)
		return left->shardid < right->shardid ? -1 : 1;
	return 0;
}

/*
 * Removes the shards to which no task is sent from a table's shards: a split
 * or merge is making them, or has replaced them.
 */
static void
set_idle_aside(DistTable *table)
{
	int			nshards = 0;

	table->idle = palloc(Max(table->nshards, 1) * sizeof(ShardInfo));
	for (int i = 0; i < table->nshards; i++)
	{
		ShardInfo  *shard = &table->shards[i];

		if (shard->groupid < 0 && shard->leaving)
			table->idle[table->nidle++] = *shard;
		else
			table->shards[nshards++] = *shard;
	}
	table->nshards = nshards;
}

/* Sets the fields of other shards that depend on idle ones. */
static void
mark_reshaped(DistTable *table)
{
	for (int i = 0; i < table->nidle; i++)
	{
		const ShardInfo *idle = &table->idle[i];

		for (int j = 0; j < table->nshards; j++)
		{
			ShardInfo  *shard = &table->shards[j];

			if (shard->range.max < idle->range.min || shard->range.min > idle->range.max)
				continue;
			shard->leaving = true;
			if (idle->former_group < 0)
				continue;
			shard->former_group = idle->former_group;
			shard->reshaped = true;
		}
	}
}

/* Reads the shards into the table, in the order of their hash values. */
static void
load_shards(MetadataReader *reader, DistTable *table)
{
	int			capacity = 32;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	table->shards = palloc(capacity * sizeof(ShardInfo));
	ScanKeyInit(&key, Anum_shard_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table->relid));
	scan = systable_beginscan(reader->shard, dist_relid(PG_DIST_SHARD_RELID_INDEX), true,
							  reader->snapshot, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum		values[Natts_shard];
		bool		nulls[Natts_shard];
		ShardInfo  *shard;

		if (table->nshards == capacity)
		{
			capacity *= 2;
			table->shards = repalloc(table->shards, capacity * sizeof(ShardInfo));
		}
		shard = &table->shards[table->nshards++];
		memset(shard, 0, sizeof(ShardInfo));
		shard->groupid = shard->former_group = -1;

		heap_deform_tuple(tuple, RelationGetDescr(reader->shard), values, nulls);
		shard->shardid = DatumGetInt64(values[Anum_shard_shardid - 1]);
		shard->range.min = hash_bound(table, values[Anum_shard_shardminvalue - 1], nulls[Anum_shard_shardminvalue - 1]);
		shard->range.max = hash_bound(table, values[Anum_shard_shardmaxvalue - 1], nulls[Anum_shard_shardmaxvalue - 1]);
	}
	systable_endscan(scan);

	if (table->kind != DIST_REFERENCE)
	{
		qsort(table->shards, table->nshards, sizeof(ShardInfo), compare_shardids);
		load_all_placements(reader, table);
	}
	qsort(table->shards, table->nshards, sizeof(ShardInfo), compare_shards);
	if (table->kind == DIST_HASH)
	{
		set_idle_aside(table);
		mark_reshaped(table);
	}
}

/* Checks that each hash value belongs to exactly one shard. */
static void
check_bounds(DistTable *table)
{
	int64		next = PG_INT32_MIN;

	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].range.min != next || table->shards[i].range.max < next)
		{
			table->damage = "Its shards in pg_dist_shard don't cover each hash value once.";
			return;
		}
		next = (int64) table->shards[i].range.max + 1;
	}
	if (next != (int64) PG_INT32_MAX + 1)
		table->damage = "Its shards in pg_dist_shard don't cover each hash value once.";
}

/*
 * Finds out type and hash function of the distribution column; false if it is
 * gone.
 */
static bool
load_hash_function(DistTable *table)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table->relid), Int16GetDatum(table->dist_attno));
	Oid			opclass;
	Oid			function = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return false;
	table->dist_type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
	table->dist_typmod = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypmod;
	table->dist_collation = ((Form_pg_attribute) GETSTRUCT(tuple))->attcollation;
	ReleaseSysCache(tuple);
	opclass = GetDefaultOpClass(table->dist_type, HASH_AM_OID);
	if (OidIsValid(opclass))
	{
		table->hash_opfamily = get_opclass_family(opclass);
		table->hash_opcintype = get_opclass_input_type(opclass);
		function = get_opfamily_proc(table->hash_opfamily, table->hash_opcintype, table->hash_opcintype,
									 HASHSTANDARD_PROC);
	}
	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s", format_type_be(table->dist_type))));

	fmgr_info(function, &table->hash_fn);
	return true;
}

/*
 * Reads the table's own row.  Returns false if it has none, or one that only
 * notes a local table.
 */
static bool
load_partition(MetadataReader *reader, DistTable *table)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		distributed = false;

	ScanKeyInit(&key, Anum_partition_logicalrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table->relid));
	scan = systable_beginscan(reader->partition, dist_relid(PG_DIST_PARTITION_RELID_INDEX), true,
							  reader->snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Datum		values[Natts_partition];
		bool		nulls[Natts_partition];
		char		method;

		heap_deform_tuple(tuple, RelationGetDescr(reader->partition), values, nulls);
		method = DatumGetChar(values[Anum_partition_partmethod - 1]);
		table->colocation_id = DatumGetInt32(values[Anum_partition_colocationid - 1]);

		if (method == PARTITION_HASH && !nulls[Anum_partition_partkey - 1])
		{
			table->kind = DIST_HASH;
			table->dist_attno = read_partkey(TextDatumGetCString(values[Anum_partition_partkey - 1]));
			if (table->dist_attno == 0)
				table->damage = "Its partkey in pg_dist_partition is not a column.";
			distributed = true;
		}
		else if (method == PARTITION_NONE &&
				 DatumGetChar(values[Anum_partition_repmodel - 1]) == REPLICATION_REFERENCE)
		{
			table->kind = DIST_REFERENCE;
			distributed = true;
		}
		else if (method == PARTITION_NONE && table->colocation_id != 0)
		{
			table->kind = DIST_SINGLE;
			distributed = true;
		}
	}
	systable_endscan(scan);
	return distributed;
}

/*
 * Notes the columns that a global index is about.  An UPDATE of others need
 * not fire its trigger.
 */
static void
load_global_index(DistTable *table, Oid index)
{
	table->global_columns = bms_union(table->global_columns, index_columns(index));
	if (index_is_marked_global(index))	/* its entries have the primary key */
		foreach_ptr(CatalogRow, row, catalog_rows_by_oid(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, table->relid))
			if (((Form_pg_index) GETSTRUCT(row->tuple))->indisprimary)
				table->global_columns = bms_union(table->global_columns,
												  index_columns(((Form_pg_index) GETSTRUCT(row->tuple))->indexrelid));
	table->global_columns = bms_add_member(table->global_columns, table->dist_attno);
	table->triggers |= COMMAND_BIT(CMD_INSERT) | COMMAND_BIT(CMD_DELETE);
	table->row_triggers |= COMMAND_BIT(CMD_INSERT) | COMMAND_BIT(CMD_UPDATE) | COMMAND_BIT(CMD_DELETE);
}

/*
 * The same for a foreign key between rows of different nodes, of which the
 * table is one side, or both.
 */
static void
load_global_key(DistTable *table, Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	AttrNumber	columns[INDEX_MAX_KEYS];
	AttrNumber	referenced[INDEX_MAX_KEYS];
	int			count;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	DeconstructFkConstraintRow(tuple, &count, columns, referenced, NULL, NULL, NULL, NULL, NULL);
	for (int i = 0; i < count; i++)
	{
		if (form->conrelid == table->relid)
			table->global_columns = bms_add_member(table->global_columns, columns[i]);
		if (form->confrelid == table->relid)
			table->global_columns = bms_add_member(table->global_columns, referenced[i]);
	}
	if (form->conrelid == table->relid)
		table->triggers |= COMMAND_BIT(CMD_INSERT);
	if (form->confrelid == table->relid)
		table->triggers |= COMMAND_BIT(CMD_DELETE);
	table->row_triggers |= table->triggers | COMMAND_BIT(CMD_UPDATE);
	ReleaseSysCache(tuple);
}

/* The constraint that a partition's is inherited from; InvalidOid: none. */
static Oid
inherited_from(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Oid			result = HeapTupleIsValid(tuple) ? ((Form_pg_constraint) GETSTRUCT(tuple))->conparentid : InvalidOid;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* Whether a foreign key, or the one it is inherited from, is global. */
static bool
has_key_triggers(Oid constraint)
{
	while (OidIsValid(constraint) && global_key_triggers(constraint) == NIL)
		constraint = inherited_from(constraint);
	return OidIsValid(constraint);
}

/*
 * Commands on rows of a table whose partitions have global indexes, or foreign
 * keys to rows of other nodes.
 */
static void
load_partitioned_keys(DistTable *table)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, table->relid))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(row->tuple);

		if (table->dist_attno != 0 && index_is_global(form, table->dist_attno))
			load_global_index(table, form->indexrelid);
	}
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
													 Anum_pg_constraint_conrelid, table->relid))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);

		if (form->contype != CONSTRAINT_FOREIGN || !has_key_triggers(form->oid))
			continue;
		table->global_keys = list_append_unique_oid(table->global_keys, form->oid);
		load_global_key(table, form->oid);
	}
}

/*
 * Notes which commands fire triggers of users, and of global indexes; triggers
 * that are disabled don't count.
 */
static void
load_triggers(DistTable *table)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table->relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		int			commands = 0;

		if (trigger_is_of_global_key(form->tgisinternal, NameStr(form->tgname)))
			table->global_keys = list_append_unique_oid(table->global_keys, form->tgconstraint);
		if (form->tgenabled == TRIGGER_DISABLED)
			continue;
		if (trigger_is_of_global_index(form->tgisinternal, NameStr(form->tgname)))
			load_global_index(table, form->tgconstrindid);
		if (trigger_is_of_global_key(form->tgisinternal, NameStr(form->tgname)))
			load_global_key(table, form->tgconstraint);
		if (form->tgisinternal)
			continue;
		commands |= TRIGGER_FOR_INSERT(form->tgtype) ? COMMAND_BIT(CMD_INSERT) : 0;
		commands |= TRIGGER_FOR_UPDATE(form->tgtype) ? COMMAND_BIT(CMD_UPDATE) : 0;
		commands |= TRIGGER_FOR_DELETE(form->tgtype) ? COMMAND_BIT(CMD_DELETE) : 0;
		table->triggers |= commands;
		if (TRIGGER_FOR_ROW(form->tgtype) ||
			!heap_attisnull(tuple, Anum_pg_trigger_tgoldtable, RelationGetDescr(rel)) ||
			!heap_attisnull(tuple, Anum_pg_trigger_tgnewtable, RelationGetDescr(rel)))
			table->row_triggers |= commands;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

/*
 * Adds what fires for rows of a partitioned table because their partition has
 * triggers of its own, of a global index for instance.
 */
static void
load_triggers_of_partitions(DistTable *table)
{
	foreach_oid(member, find_all_inheritors(table->relid, NoLock, NULL))
	{
		DistTable	part = {.relid = member};

		if (member == table->relid)
			continue;
		if (table->dist_attno != 0)
			part.dist_attno = get_attnum(member, get_attname(table->relid, table->dist_attno, false));
		load_triggers(&part);
		table->triggers |= part.triggers & part.row_triggers;
		table->row_triggers |= part.row_triggers;
		table->global_columns = bms_union(table->global_columns, columns_by_name(table->relid, member, part.global_columns));
	}
}

/* metadata_load, which leaves also what it needed meanwhile in memory. */
static bool
load_all(Oid relid, DistTable *table)
{
	MetadataReader reader;
	bool		distributed;

	reader.partition = try_table_open(dist_relid(PG_DIST_PARTITION), AccessShareLock);
	if (reader.partition == NULL)
		return false;			/* the extension was dropped just now */
	reader.snapshot = RegisterSnapshot(GetCatalogSnapshot(RelationGetRelid(reader.partition)));

	table->relid = relid;
	distributed = load_partition(&reader, table);

	/*
	 * a relation that is being dropped may be gone before its rows; here or
	 * later
	 */
	if (distributed && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		distributed = false;
	if (distributed)
	{
		reader.shard = table_open(dist_relid(PG_DIST_SHARD), AccessShareLock);
		reader.placement = table_open(dist_relid(PG_DIST_PLACEMENT), AccessShareLock);
		load_shards(&reader, table);
		table_close(reader.placement, AccessShareLock);
		table_close(reader.shard, AccessShareLock);

		if (table->kind == DIST_HASH && table->damage == NULL && table->nshards > 0)
			check_bounds(table);
		distributed = table->kind != DIST_HASH || table->dist_attno == 0 || load_hash_function(table);
		load_triggers(table);
		if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		{
			load_partitioned_keys(table);
			load_triggers_of_partitions(table);
		}
	}

	UnregisterSnapshot(reader.snapshot);
	table_close(reader.partition, AccessShareLock);
	return distributed;
}

/* A copy of shards in CurrentMemoryContext; NULL of none. */
static ShardInfo *
copy_loaded_shards(const ShardInfo *shards, int n)
{
	ShardInfo  *copies = n == 0 ? NULL : palloc(sizeof(ShardInfo) * n);

	for (int i = 0; i < n; i++)
	{
		copies[i] = shards[i];
		copies[i].others = list_copy(shards[i].others);
	}
	return copies;
}

bool
metadata_load(Oid relid, DistTable *table)
{
	MemoryContext loading = AllocSetContextCreate(CurrentMemoryContext, "citus metadata loading", ALLOCSET_DEFAULT_SIZES);
	MemoryContext context = MemoryContextSwitchTo(loading);
	bool		distributed = load_all(relid, table);

	MemoryContextSwitchTo(context);
	if (distributed)
	{
		fmgr_info_copy(&table->hash_fn, &table->hash_fn, context);
		table->other_hash = palloc0(sizeof(OtherHash));
		table->shards = copy_loaded_shards(table->shards, table->nshards);
		table->idle = copy_loaded_shards(table->idle, table->nidle);
		table->global_columns = bms_copy(table->global_columns);
		table->global_keys = list_copy(table->global_keys);
	}
	MemoryContextDelete(loading);
	return distributed;
}
