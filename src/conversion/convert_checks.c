/*-------------------------------------------------------------------------
 *
 * convert_checks.c
 *	  Checks that a table can be a distributed or reference table.
 *
 * The checks of indexes and foreign keys are also made after ALTER TABLE and
 * CREATE INDEX: they read the catalogs, not the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_subscription_rel.h"
#include "catalog/pg_trigger.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "compat/acl.h"
#include "compat/noreturn.h"
#include "compat/table_am.h"
#include "conversion/convert_checks.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "lib/index_columns.h"
#include "table/table_definition.h"

/* Errors unless the relation is a plain table that stays. */
static void
check_kind(Relation rel, bool as_partition)
{
	const char *name = RelationGetRelationName(rel);
	char		relkind = rel->rd_rel->relkind;

	if (rel->rd_rel->relispartition && !as_partition)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", name),
				 errdetail("It is a partition of \"%s\".",
						   get_rel_name(get_partition_parent(RelationGetRelid(rel), true))),
				 errhint("Distribute the partitioned table, and its partitions follow.")));
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot distribute relation \"%s\"", name),
				 errdetail("Only ordinary and partitioned tables can be distributed.")));
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", name),
				 errdetail("Temporary tables exist in one session only.")));
	if (IsCatalogRelation(rel) || IsCatalogNamespace(RelationGetNamespace(rel)) ||
		RelationGetNamespace(rel) == get_namespace_oid("information_schema", true) ||
		(RelationGetNamespace(rel) == get_namespace_oid(SHARD_SCHEMA, true) && !global_index_makes_entries()))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", name),
				 errdetail("Tables of schema \"%s\" belong to the system.",
						   get_namespace_name(RelationGetNamespace(rel)))));
	if ((relkind != RELKIND_PARTITIONED_TABLE && find_inheritance_children(RelationGetRelid(rel), NoLock) != NIL) ||
		(!as_partition && has_superclass(RelationGetRelid(rel))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", name),
				 errdetail("Tables that inherit, or are inherited from, are not supported."),
				 errhint("Use a partitioned table, or CREATE TABLE .. (LIKE ..) for tables of the same columns.")));
}

static void
check_rules(Relation rel)
{
	if (rel->rd_rules != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Rules on distributed tables are not supported."),
				 errhint("Drop the rules with DROP RULE.")));
}

/* Errors if a subscription writes the table. */
static void
check_not_subscribed(Relation rel)
{
	if (catalog_rows_by_oid(SubscriptionRelRelationId, SubscriptionRelSrrelidSrsubidIndexId,
							Anum_pg_subscription_rel_srrelid, RelationGetRelid(rel)) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", RelationGetRelationName(rel)),
				 errdetail("It is the target of a subscription, whose rows would be stored on this node, not in shards."),
				 errhint("Take it out of the subscription first.")));
}

/*
 * The foreign keys whose column attno of pg_constraint is relid: copies of
 * their rows.
 */
static List *
foreign_keys_by(Oid relid, AttrNumber attno, Oid indexid)
{
	List	   *keys = NIL;

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, indexid, attno, relid))
	{
		if (((Form_pg_constraint) GETSTRUCT(row->tuple))->contype == CONSTRAINT_FOREIGN)
			keys = lappend(keys, row->tuple);
	}
	return keys;
}

static List *
foreign_keys_from(Oid relid)
{
	return foreign_keys_by(relid, Anum_pg_constraint_conrelid, ConstraintRelidTypidNameIndexId);
}

static List *
foreign_keys_to(Oid relid)
{
	return foreign_keys_by(relid, Anum_pg_constraint_confrelid, InvalidOid);
}

static void
check_trigger(Relation rel, const Trigger *trigger)
{
	const char *name = RelationGetRelationName(rel);

	/* a write fires the triggers of the table that it names */
	if (rel->rd_rel->relispartition && !trigger->tgisclone)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition \"%s\" of a distributed table cannot have a trigger of its own", name),
				 errdetail("It has trigger \"%s\", which its partitioned table does not have.", trigger->tgname),
				 errhint("Create the trigger on the partitioned table, with a condition (WHEN) if need be.")));
}

void
check_triggers(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		if (rel->trigdesc->triggers[i].tgisinternal)
			continue;
		check_trigger(rel, &rel->trigdesc->triggers[i]);
	}
	table_close(rel, NoLock);
}

/* Whether a type is, or contains, an enum below its top level. */
static bool
contains_enum(Oid type, bool top)
{
	Oid			base = getBaseType(type);
	Oid			element = get_element_type(base);

	if (OidIsValid(element))
		return contains_enum(element, false);
	if (type_is_enum(base))
		return !top;
	if (get_typtype(base) == TYPTYPE_COMPOSITE)
	{
		TupleDesc	desc = lookup_rowtype_tupdesc_copy(base, -1);

		for (int i = 0; i < desc->natts; i++)
		{
			if (!TupleDescAttr(desc, i)->attisdropped && contains_enum(TupleDescAttr(desc, i)->atttypid, false))
				return true;
		}
	}
	return false;
}

/* Errors if a table's rows would go to other partitions on other nodes. */
static void
check_partition_key(Relation rel)
{
	PartitionKey key = RelationGetPartitionKey(rel);

	for (int i = 0; key != NULL && key->strategy == PARTITION_STRATEGY_HASH && i < key->partnatts; i++)
	{
		if (contains_enum(key->parttypid[i], false))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot distribute relation \"%s\"", RelationGetRelationName(rel)),
					 errdetail("It is partitioned by hash values of type %s, which differ between nodes.",
							   format_type_be(key->parttypid[i])),
					 errhint("Partition it by list or range.")));
	}
}

Relation
open_table_by_oid(Oid relid, LOCKMODE mode)
{
	Relation	rel = try_relation_open(relid, mode);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relid)));
	return rel;
}

void
check_convertible(Relation rel, bool as_partition)
{
	Oid			relid = RelationGetRelid(rel);

	check_kind(rel, as_partition);
	check_partition_key(rel);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
	if (metadata_lookup(relid) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("table \"%s\" is already distributed", RelationGetRelationName(rel)),
				 errhint("Use undistribute_table() first to distribute it in another way.")));
	check_rules(rel);
	check_triggers(relid);
	check_not_subscribed(rel);
}

void
check_no_extension(Oid relid)
{
	if (table_of_extension(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", get_rel_name(relid)),
				 errdetail("It belongs to extension \"%s\".",
						   get_extension_name(getExtensionOfObject(RelationRelationId, relid))),
				 errhint("Use create_reference_table() to have the same rows on all nodes.")));
}

void
check_no_typed_tables(Oid typerel)
{
	Oid			type = OidIsValid(typerel) ? get_rel_type_id(typerel) : InvalidOid;
	Relation	rel = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	TableScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_class_reloftype, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = table_beginscan_catalog(rel, 1, &key);
	while (OidIsValid(type) && (tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (metadata_lookup(form->oid) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot alter type \"%s\" with the typed tables that are distributed", get_rel_name(typerel)),
					 errdetail("\"%s\" is a distributed or reference table.", NameStr(form->relname)),
					 errhint("Use ALTER TABLE .. NOT OF, and alter the table and the type.")));
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
}

AttrNumber
check_distribution_column(Relation rel, const char *name)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), name);
	Form_pg_attribute att;
	TypeCacheEntry *type;

	if (attno == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name, RelationGetRelationName(rel))));
	if (attno < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("cannot distribute relation \"%s\" by system column \"%s\"",
						RelationGetRelationName(rel), name)));
	att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	if (att->attgenerated)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Distribution column \"%s\" must not be a generated column.", name)));

	type = lookup_type_cache(att->atttypid, TYPECACHE_HASH_OPFAMILY | TYPECACHE_HASH_PROC);
	if (!OidIsValid(type->hash_opf) || !OidIsValid(type->hash_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("data type %s has no default operator class for access method \"hash\"",
						format_type_be(att->atttypid)),
				 errdetail("The type of distribution column \"%s\" must have a hash function.", name)));
	if (contains_enum(att->atttypid, true))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot distribute relation \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Values of type %s contain an enum, whose hash value differs between nodes.",
						   format_type_be(att->atttypid))));
	return attno;
}

void
check_unique_indexes(Relation rel, AttrNumber dist_attno)
{
	ListCell   *cell;

	if (dist_attno == 0)
		return;
	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index_is_global(index->rd_index, dist_attno) ||
			(index->rd_index->indisexclusion && !index_has_column(index, dist_attno)))
			global_index_check(rel, index, dist_attno);
		index_close(index, AccessShareLock);
	}
}

/* Reads the column numbers of a foreign key; returns their count. */
static int
foreign_key_columns(HeapTuple tuple, AttrNumber *conkey, AttrNumber *confkey)
{
	int			count;

	DeconstructFkConstraintRow(tuple, &count, conkey, confkey, NULL, NULL, NULL, NULL, NULL);
	return count;
}

pg_noreturn static void
foreign_key_error(Form_pg_constraint con, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot create foreign key constraint \"%s\" between \"%s\" and \"%s\"",
					NameStr(con->conname), get_rel_name(con->conrelid), get_rel_name(con->confrelid)),
			 errdetail_internal("%s", detail),
			 hint ? errhint("%s", hint) : 0));
}

/*
 * A foreign key between two tables that aren't reference tables: same shard
 * group, by the same column.
 */
static void
check_colocated_key(HeapTuple tuple, const DistTable *from, const DistTable *to)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	AttrNumber	conkey[INDEX_MAX_KEYS];
	AttrNumber	confkey[INDEX_MAX_KEYS];
	int			count;

	if (from->colocation_id != to->colocation_id)
		foreign_key_error(con, "Foreign keys between distributed tables need tables of the same colocation group.",
						  psprintf("Distribute the tables with the colocate_with option, make \"%s\" a reference table, or set citus.global_indexes to \"notice\".",
								   get_rel_name(to->relid)));
	if (from->kind == DIST_SINGLE)
		return;
	count = foreign_key_columns(tuple, conkey, confkey);
	for (int i = 0; i < count; i++)
	{
		if (conkey[i] == from->dist_attno && confkey[i] == to->dist_attno)
			return;
	}
	foreign_key_error(con, "The distribution columns of both tables must be matched by the key.",
					  psprintf("Have columns \"%s\" of \"%s\" and \"%s\" of \"%s\" in the key, and in the unique constraint that it references; make \"%s\" a reference table; or set citus.global_indexes to \"notice\".",
							   get_attname(from->relid, from->dist_attno, false), get_rel_name(from->relid),
							   get_attname(to->relid, to->dist_attno, false), get_rel_name(to->relid),
							   get_rel_name(to->relid)));
}

static bool
has_attnum(const AttrNumber *attnums, int count, AttrNumber attnum)
{
	for (int i = 0; i < count; i++)
	{
		if (attnums[i] == attnum)
			return true;
	}
	return false;
}

/* Errors if an action would change the distribution column. */
static void
check_key_actions(HeapTuple tuple, const DistTable *from)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	AttrNumber	conkey[INDEX_MAX_KEYS];
	AttrNumber	confkey[INDEX_MAX_KEYS];
	AttrNumber	set_on_delete[INDEX_MAX_KEYS];
	int			nset;
	int			count;

	DeconstructFkConstraintRow(tuple, &count, conkey, confkey, NULL, NULL, NULL, &nset, set_on_delete);
	if (from->kind != DIST_HASH)
		return;
	if ((con->confdeltype == FKCONSTR_ACTION_SETNULL || con->confdeltype == FKCONSTR_ACTION_SETDEFAULT) &&
		has_attnum(nset > 0 ? set_on_delete : conkey, nset > 0 ? nset : count, from->dist_attno))
		foreign_key_error(con, "ON DELETE SET NULL or SET DEFAULT would change the distribution column.",
						  "Name the columns that are to change: ON DELETE SET NULL (column).");
	if ((con->confupdtype == FKCONSTR_ACTION_SETNULL || con->confupdtype == FKCONSTR_ACTION_SETDEFAULT ||
		 con->confupdtype == FKCONSTR_ACTION_CASCADE) && has_attnum(conkey, count, from->dist_attno))
		foreign_key_error(con, "ON UPDATE CASCADE, SET NULL or SET DEFAULT would change the distribution column.",
						  "Leave out the action: rows of both tables can be updated in one transaction if the key is "
						  "DEFERRABLE INITIALLY DEFERRED.");
}

/* Errors if a key can't be one of a distributed table; its parts are as it. */
static void
check_foreign_key(HeapTuple tuple)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	const DistTable *from = metadata_lookup(con->conrelid);
	const DistTable *to = metadata_lookup(con->confrelid);

	if (foreign_key_whole(con->oid) != con->oid)
		return;
	if ((from == NULL && to == NULL) || (foreign_key_becomes_global(tuple) && global_key_check(tuple)))
		return;
	if (to == NULL)
		foreign_key_error(con, psprintf("Table \"%s\" is a local table.", get_rel_name(con->confrelid)),
						  "Distribute it, or make it a reference table with create_reference_table(), first; or have "
						  "both stay on this node with citus_add_local_table_to_metadata().");
	if (to->kind != DIST_REFERENCE)
	{
		if (from == NULL)
			foreign_key_error(con, psprintf("Local table \"%s\" cannot reference a distributed table.",
											get_rel_name(con->conrelid)),
							  global_indexes_allowed() ? "Use citus_add_local_table_to_metadata() for it before." :
							  "Distribute both tables, colocated, and add it then.");
		if (from->kind == DIST_REFERENCE)
			foreign_key_error(con, "A reference table cannot reference a distributed table.",
							  psprintf("Make \"%s\" a reference table, too, or distribute both tables, colocated.",
									   get_rel_name(to->relid)));
		check_colocated_key(tuple, from, to);
	}
	if (from != NULL && from->kind != DIST_REFERENCE)
		check_key_actions(tuple, from);
	if (foreign_key_becomes_global(tuple))
		foreign_key_error(con, "Its action would change what a global index, or a foreign key between nodes, is about, or fire a trigger.",
						  "Have the foreign key take no action, a trigger fire for UPDATE OF other columns, or set citus.global_indexes to \"notice\".");
}

/*
 * Whether a table is a local one that may be distributed later, as a partition
 * with its partitioned table.
 */
static bool
may_be_distributed(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	return metadata_lookup(relid) == NULL && (relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE);
}

bool
has_foreign_keys(Oid relid)
{
	return foreign_keys_from(relid) != NIL || foreign_keys_to(relid) != NIL;
}

List *
referenced_tables(Oid relid, const char *constraint, AttrNumber attno)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, foreign_keys_from(relid))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(cell));
		AttrNumber	conkey[INDEX_MAX_KEYS];
		AttrNumber	confkey[INDEX_MAX_KEYS];
		int			count = foreign_key_columns(lfirst(cell), conkey, confkey);
		bool		meant = (constraint == NULL || strcmp(NameStr(con->conname), constraint) == 0) && attno == 0;

		for (int i = 0; attno != 0 && i < count; i++)
			meant = meant || conkey[i] == attno;
		if (meant && con->confrelid != relid && metadata_find(con->confrelid) != NULL)
			tables = list_append_unique_oid(tables, con->confrelid);
	}
	list_sort(tables, list_oid_cmp);
	return tables;
}

/* Whether a table has a foreign key to another one in a list. */
static bool
references_any(Oid relid, List *tables)
{
	ListCell   *cell;

	foreach(cell, foreign_keys_from(relid))
	{
		Oid			other = ((Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(cell)))->confrelid;

		if (other != relid && list_member_oid(tables, other))
			return true;
	}
	return false;
}

List *
order_by_keys(List *tables)
{
	List	   *ordered = NIL;

	while (tables != NIL)
	{
		Oid			next = linitial_oid(tables);

		foreach_oid(relid, tables)
		{
			if (references_any(relid, tables))
				continue;
			next = relid;
			break;
		}
		ordered = lappend_oid(ordered, next);
		tables = list_delete_oid(tables, next);
	}
	return ordered;
}

List *
tables_connected_by_keys(Oid relid)
{
	bool		distributed = metadata_lookup(relid) != NULL;
	List	   *tables = list_make1_oid(relid);
	ListCell   *key;

	foreach_oid(table, tables)
	{
		List	   *keys = list_concat(foreign_keys_from(table), foreign_keys_to(table));

		foreach(key, keys)
		{
			Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(key));
			Oid			other = con->conrelid == table ? con->confrelid : con->conrelid;

			if (!get_rel_relispartition(other) && (metadata_lookup(other) != NULL) == distributed)
				tables = list_append_unique_oid(tables, other);
		}
	}
	return order_by_keys(tables);
}

/* Whether a table that has rows of its own has none that is visible. */
static bool
storage_is_empty(Relation rel)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
	bool		result = !table_scan_getnextslot(scan, ForwardScanDirection, slot);

	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return result;
}

bool
relation_is_empty(Oid relid)
{
	bool		result = true;

	LockRelationOid(relid, AccessShareLock);
	foreach_oid(table, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation	rel = table_open(table, NoLock);

		if (rel->rd_rel->relkind == RELKIND_RELATION)
			result = result && storage_is_empty(rel);
		else
			result = result && rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
		table_close(rel, NoLock);
	}
	return result;
}

/*
 * The same as check_foreign_keys, of the table's own keys that aren't known.
 */
static void
check_keys_from(Oid relid, List *known)
{
	ListCell   *cell;

	foreach(cell, foreign_keys_from(relid))
	{
		if (!list_member_oid(known, ((Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(cell)))->oid))
			check_foreign_key(lfirst(cell));
	}
}

void
check_added_foreign_keys(Oid relid, List *known)
{
	if (!may_be_distributed(relid) || !relation_is_empty(relid))
		check_keys_from(relid, known);
}

void
check_keys_of_trigger(Oid relid, const char *trigger)
{
	foreach_ptr(HeapTupleData, tuple, foreign_keys_from(relid))
		if (foreign_key_becomes_global(tuple) && !global_key_check(tuple))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot create trigger \"%s\" on distributed or reference table \"%s\"", trigger, get_rel_name(relid)),
					 errdetail("The action of foreign key \"%s\" fires it, and so would have to be a statement of the initiator.",
							   NameStr(((Form_pg_constraint) GETSTRUCT(tuple))->conname)),
					 errhint("Have the foreign key take no action, the trigger fire for UPDATE OF other columns, or set citus.global_indexes to \"notice\".")));
}

/*
 * Keys to the table of one that may be distributed later are left out: a table
 * that others reference is distributed before them.
 */
void
check_foreign_keys(Oid relid)
{
	ListCell   *cell;

	check_keys_from(relid, NIL);
	foreach(cell, foreign_keys_to(relid))
	{
		if (!may_be_distributed(((Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(cell)))->conrelid))
			check_foreign_key(lfirst(cell));
	}
}

void
check_keys_stay(Oid relid, const List *global)
{
	foreach_ptr(HeapTupleData, tuple, list_concat(foreign_keys_from(relid), foreign_keys_to(relid)))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);

		if (foreign_key_is_global(tuple) != list_member_oid(global, con->oid))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot change the colocation of table \"%s\"", get_rel_name(relid)),
					 errdetail("Foreign key \"%s\" would be between rows of different nodes.", NameStr(con->conname)),
					 errhint("Drop the foreign key, and add it again afterwards.")));
	}
}

List *
global_keys_of(Oid relid)
{
	List	   *result = NIL;

	foreach_ptr(HeapTupleData, tuple, list_concat(foreign_keys_from(relid), foreign_keys_to(relid)))
	{
		if (foreign_key_is_global(tuple))
			result = lappend_oid(result, ((Form_pg_constraint) GETSTRUCT(tuple))->oid);
	}
	return result;
}

void
notice_local_foreign_keys(Oid relid)
{
	ListCell   *cell;

	foreach(cell, foreign_keys_to(relid))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT((HeapTuple) lfirst(cell));

		if (!OidIsValid(con->conparentid) && may_be_distributed(con->conrelid) && !relation_is_empty(con->conrelid))
			ereport(NOTICE,
					(errmsg("foreign key \"%s\" of local table \"%s\" is not enforced until the table is distributed",
							NameStr(con->conname), get_rel_name(con->conrelid)),
					 errhint("Use create_distributed_table() to distribute \"%s\", colocated with \"%s\".",
							 get_rel_name(con->conrelid), get_rel_name(relid))));
	}
}

/*
 * Whether an expression about rows of a relation, as in the catalogs, uses
 * tableoid.
 */
static bool
uses_tableoid(const char *expression)
{
	Bitmapset  *columns = NULL;

	pull_varattnos(stringToNode(expression), 1, &columns);
	return bms_is_member(TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber, columns);
}

void
check_no_tableoid(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	TupleConstr *rules = desc->constr;
	bool		found = false;

	if (rules == NULL)
		return;
	for (int i = 0; i < rules->num_check; i++)
		found = found || uses_tableoid(rules->check[i].ccbin);
	for (int i = 0; i < rules->num_defval; i++)
		found = found || (TupleDescAttr(desc, rules->defval[i].adnum - 1)->attgenerated &&
						  uses_tableoid(rules->defval[i].adbin));
	if (found)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a check constraint or generated column of distributed table \"%s\" cannot use tableoid",
						RelationGetRelationName(rel)),
				 errdetail("The rows are stored in shards, which have object ids of their own.")));
}
