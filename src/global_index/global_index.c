/*-------------------------------------------------------------------------
 *
 * global_index.c
 *	  Unique indexes without the distribution column: their entries.
 *
 * Each shard has the index as well, but rows with equal keys may be in two
 * shards.  So there is a table of entries, distributed by the key, whose own
 * unique index is the one that decides.  On every node, the table of entries
 * depends on the index internally, so it goes when the index goes, and four
 * internal triggers of the logical table name the index; write.c has their
 * function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "lib/index_columns.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_global_index_attach);

typedef enum GlobalIndexes
{
	GLOBAL_INDEXES_ON,
	GLOBAL_INDEXES_NOTICE,
	GLOBAL_INDEXES_REFUSE,
} GlobalIndexes;

/* citus.global_indexes */
static int	global_indexes = GLOBAL_INDEXES_NOTICE;

void
global_index_init(void)
{
	static const struct config_enum_entry choices[] = {
		{"on", GLOBAL_INDEXES_ON, false},
		{"notice", GLOBAL_INDEXES_NOTICE, false},
		{"refuse", GLOBAL_INDEXES_REFUSE, false},
		{NULL, 0, false}
	};

	global_key_methods = &global_keys;
	DefineCustomEnumVariable("citus.global_indexes",
							 "Whether unique indexes and constraints of a distributed table may lack its distribution column.",
							 "They are checked by a table of entries that is distributed by their first column. The same for foreign keys between rows of different nodes. \"notice\" says so each time.",
							 &global_indexes, GLOBAL_INDEXES_NOTICE, choices, PGC_USERSET, 0, NULL, NULL, NULL);
}

bool
global_indexes_allowed(void)
{
	return global_indexes != GLOBAL_INDEXES_REFUSE;
}

void
global_index_notice(const char *kind, const char *name, const char *detail)
{
	if (global_indexes == GLOBAL_INDEXES_NOTICE)
		ereport(NOTICE,
				(errmsg("%s \"%s\" becomes a global %s", kind, name, kind), errdetail_internal("%s", detail)));
}

Oid
global_index_entries(Oid index)
{
	foreach_ptr(CatalogRow, row, catalog_dependents(RelationRelationId, index))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (depend->classid == RelationRelationId && depend->objsubid == 0 &&
			depend->deptype == DEPENDENCY_INTERNAL && get_rel_relkind(depend->objid) == RELKIND_RELATION)
			return depend->objid;
	}
	return InvalidOid;
}

/*
 * Whether a unique or exclusion index includes the distribution column, with
 * an equality operator.
 */
bool
index_has_column(Relation index, AttrNumber dist_attno)
{
	Form_pg_index form = index->rd_index;
	Oid		   *operators;
	Oid		   *procs;
	uint16	   *strategies;

	if (form->indisexclusion)
		RelationGetExclusionInfo(index, &operators, &procs, &strategies);
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		Oid			left;
		Oid			right;

		if (form->indkey.values[i] != dist_attno)
			continue;
		if (!form->indisexclusion)
			return true;
		op_input_types(operators[i], &left, &right);
		if (op_hashjoinable(operators[i], left) || op_mergejoinable(operators[i], left))
			return true;
	}
	return false;
}

/* Entries are written as arrays of their columns. */
static bool
has_array_type(Oid type)
{
	return OidIsValid(get_array_type(getBaseType(type)));
}

/* Why a unique index can't be global, or NULL. */
static const char *
definition_refusal(Relation rel, Relation index, AttrNumber dist_attno)
{
	Form_pg_index form = index->rd_index;

	if (form->indisexclusion)
		return "It is an exclusion constraint.";
	if (!has_array_type(TupleDescAttr(RelationGetDescr(rel), dist_attno - 1)->atttypid))
		return "The distribution column has a type of which there are no arrays.";
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);

		if (!has_array_type(att->atttypid) || !OidIsValid(key_equality(att->atttypid)) ||
			get_opfamily_member(index->rd_opfamily[i], index->rd_opcintype[i], index->rd_opcintype[i],
								BTEqualStrategyNumber) != key_equality(att->atttypid))
			return "One of its columns has a type or operator class that is not the server's own.";
	}
	return NULL;
}

void
global_index_check(Relation rel, Relation index, AttrNumber dist_attno)
{
	const char *detail = definition_refusal(rel, index, dist_attno);
	AttrNumber	identity[INDEX_MAX_KEYS];

	if (detail == NULL && !index->rd_index->indisunique && entry_identity(rel, identity) == 0)
		detail = "The table has no primary key, by which its entries would tell rows apart.";
	if (detail == NULL && !entries_have_identity(rel, index))
		detail = "Its entries have the columns of another primary key. Drop the index first.";
	if (detail == NULL && index->rd_index->indisunique && !global_indexes_allowed() && !node_session() &&
		!OidIsValid(global_index_entries(RelationGetRelid(index))))
		detail = "";
	if (detail != NULL && !index->rd_index->indisunique && !index->rd_index->indisexclusion)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be a global one", RelationGetRelationName(index)),
				 errdetail_internal("%s", detail)));
	if (detail != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot create constraint on \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Distributed relations cannot have UNIQUE, EXCLUDE, or PRIMARY KEY constraints that "
						   "do not include the distribution column (with an equality operator if EXCLUDE); "
						   "index \"%s\" does not include column \"%s\".%s%s",
						   RelationGetRelationName(index), get_attname(RelationGetRelid(rel), dist_attno, false),
						   detail[0] == '\0' ? "" : " It can't be a global index: ", detail),
				 detail[0] == '\0' ?
				 errhint("Consider adding the distribution column to the constraint, or set citus.global_indexes to \"notice\".") :
				 errhint("Consider adding the distribution column to the constraint.")));
}

void
global_index_check_online(Relation rel, AttrNumber dist_attno)
{
	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(indexid, AccessShareLock);

		if (index_is_global(index->rd_index, dist_attno))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot distribute table \"%s\" concurrently", RelationGetRelationName(rel)),
					 errdetail("Index \"%s\" lacks the distribution column, and would become a global index.",
							   RelationGetRelationName(index)),
					 errhint("Use create_distributed_table(), or drop the index.")));
		index_close(index, AccessShareLock);
	}
}

/*
 * Whether keys of an index are checked at the end of transactions, at first.
 */
static bool
initially_deferred(Relation index)
{
	Oid			constraint = get_index_constraint(RelationGetRelid(index));
	HeapTuple	tuple;
	bool		deferred;

	if (index->rd_index->indimmediate || !OidIsValid(constraint))
		return false;
	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	deferred = ((Form_pg_constraint) GETSTRUCT(tuple))->condeferred;
	ReleaseSysCache(tuple);
	return deferred;
}

static bool makes_entries = false;

bool
global_index_makes_entries(void)
{
	return makes_entries;
}

/* Adds the definition of a column of entries to a list of them. */
static void
add_entry_column(StringInfo columns, const char *name, Form_pg_attribute att, bool required)
{
	int32		typmod = att->atttypmod;
	Oid			type = getBaseTypeAndTypmod(att->atttypid, &typmod);

	/* of a domain, the base type: the rows have been checked */
	appendStringInfo(columns, "%s%s %s%s%s%s", columns->len == 0 ? "" : ", ", name,
					 format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
					 OidIsValid(att->attcollation) ? " COLLATE " : "",
					 OidIsValid(att->attcollation) ? generate_collation_name(att->attcollation) : "",
					 required ? " NOT NULL" : "");
}

/* The columns of the table of an index's entries, and those of their key. */
static void
entry_columns_text(Relation rel, Relation index, StringInfo columns, StringInfo keys)
{
	TupleDesc	rel_desc = RelationGetDescr(rel);
	TupleDesc	index_desc = RelationGetDescr(index);
	EntryShape	shape;

	entry_shape(rel, index, &shape);
	for (int i = 0; i < shape.nkeys; i++)
	{
		Form_pg_attribute att = i < shape.nindex ? TupleDescAttr(index_desc, i) :
			TupleDescAttr(rel_desc, shape.identity[i - shape.nindex] - 1);
		const char *name = i < shape.nindex ? quote_identifier(NameStr(att->attname)) :
			quote_identifier(entry_identity_name(shape.identity[i - shape.nindex]));

		add_entry_column(columns, name, att, i < shape.nrequired);
		appendStringInfo(keys, "%s%s", i == 0 ? "" : ", ", name);
	}
	add_entry_column(columns, ENTRY_DISTRIBUTION_VALUE, TupleDescAttr(rel_desc, shape.dist_attno - 1), false);
	for (int i = 0; i < shape.nincluded; i++)
	{
		Form_pg_attribute att = TupleDescAttr(index_desc, shape.included[i]);

		add_entry_column(columns, quote_identifier(NameStr(att->attname)), att, false);
	}
}

/* Makes the empty table of an index's entries on all nodes; its name. */
static char *
create_entries(Relation rel, Relation index)
{
	Form_pg_index form = index->rd_index;
	char	   *name = psprintf("%s." GLOBAL_INDEX_TRIGGER INT64_FORMAT, SHARD_SCHEMA, next_id(PG_DIST_SHARDID_SEQ));
	StringInfoData columns;
	StringInfoData keys;
	char	   *create;
	char	   *distribute;

	initStringInfo(&columns);
	initStringInfo(&keys);
	entry_columns_text(rel, index, &columns, &keys);
	create = psprintf("CREATE TABLE %s (%s, CONSTRAINT %s" GLOBAL_INDEX_KEY " UNIQUE%s (%s)%s)", name, columns.data,
					  strchr(name, '.') + 1, form->indnullsnotdistinct || !form->indisunique ? " NULLS NOT DISTINCT" : "",
					  keys.data, form->indimmediate ? "" : initially_deferred(index) ? " DEFERRABLE INITIALLY DEFERRED" :
					  " DEFERRABLE");
	run_commands(list_make1(create));
	distribute = psprintf("SELECT pg_catalog.create_distributed_table(%s, %s, colocate_with => 'none', shard_count => %d)",
						  quote_literal_cstr(name),
						  quote_literal_cstr(NameStr(TupleDescAttr(RelationGetDescr(index), 0)->attname)),
						  metadata_require(RelationGetRelid(rel))->nshards);
	makes_entries = true;
	PG_TRY();
	{
		run_commands(list_make1(distribute));
	}
	PG_FINALLY();
	{
		makes_entries = false;
	}
	PG_END_TRY();
	return name;
}

/* Says whose trigger it is: the server does so for constraints only. */
static void
set_index_of_trigger(Oid trigger, Oid index)
{
	Relation	rel = table_open(TriggerRelationId, RowExclusiveLock);
	CatalogRow *row;

	CommandCounterIncrement();
	row = linitial(catalog_rows_by_oid(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, trigger));
	((Form_pg_trigger) GETSTRUCT(row->tuple))->tgconstrindid = index;
	CatalogTupleUpdate(rel, &row->tuple->t_self, row->tuple);
	table_close(rel, NoLock);
}

/* Creates one of the triggers of an index. */
static Oid
create_trigger(Oid relid, Oid index, int16 event)
{
	CreateTrigStmt *stmt = makeNode(CreateTrigStmt);
	TriggerTransition *transition;
	Oid			trigger;

	stmt->trigname = GLOBAL_INDEX_TRIGGER;
	stmt->funcname = list_make2(makeString("citus_internal"), makeString("global_index_write"));
	stmt->timing = TRIGGER_TYPE_AFTER;
	stmt->events = event;
	for (int is_new = 0; is_new <= 1; is_new++)
	{
		if (event == TRIGGER_TYPE_TRUNCATE || event == (is_new ? TRIGGER_TYPE_DELETE : TRIGGER_TYPE_INSERT))
			continue;
		transition = makeNode(TriggerTransition);
		transition->name = is_new ? "new_rows" : "old_rows";
		transition->isNew = is_new;
		transition->isTable = true;
		stmt->transitionRels = lappend(stmt->transitionRels, transition);
	}
	trigger = CreateTriggerFiringOn(stmt, NULL, relid, InvalidOid, InvalidOid, InvalidOid, InvalidOid, InvalidOid, NULL,
									true, false, TRIGGER_FIRES_ALWAYS).objectId;
	set_index_of_trigger(trigger, index);
	return trigger;
}

/* Marks an index on this node as a global one with that table of entries. */
static void
attach_entries(Oid relid, Oid index, Oid entries)
{
	static const int16 events[] = {TRIGGER_TYPE_INSERT, TRIGGER_TYPE_UPDATE, TRIGGER_TYPE_DELETE, TRIGGER_TYPE_TRUNCATE};
	ObjectAddress owner;
	ObjectAddress object;

	ObjectAddressSet(owner, RelationRelationId, index);
	ObjectAddressSet(object, RelationRelationId, entries);
	recordDependencyOn(&object, &owner, DEPENDENCY_INTERNAL);
	for (int i = 0; i < lengthof(events); i++)
	{
		ObjectAddressSet(object, TriggerRelationId, create_trigger(relid, index, events[i]));
		recordDependencyOn(&object, &owner, DEPENDENCY_AUTO);
	}
	metadata_invalidate(relid);
	CommandCounterIncrement();
}

static char *
attach_command(Oid index, const char *entries)
{
	return node_call(NODE_global_index_attach, node_text(relation_qualified_name(index)), node_text(entries));
}

/* Gives an index a table of entries, on all nodes, which is empty; that. */
static Oid
begin_global_index(Relation rel, Relation index)
{
	Oid			relid = RelationGetRelid(rel);
	Oid			indexid = RelationGetRelid(index);
	char	   *name = create_entries(rel, index);
	Oid			entries = get_relname_relid(strchr(name, '.') + 1, get_namespace_oid(SHARD_SCHEMA, false));

	/* who writes its rows by the name of its table must know of the entries */
	if (rel->rd_rel->relispartition && !index->rd_rel->relispartition)
		lock_others_everywhere(get_partition_ancestors(relid), ShareLock);
	global_index_notice("index", RelationGetRelationName(index),
						"It lacks the distribution column. Each change of its columns is also written to the node of the key.");
	attach_entries(relid, indexid, entries);
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(list_make1(attach_command(indexid, name))));
	return entries;
}

/* The same as global_indexes_create for one table with rows of its own. */
static void
create_indexes_of(Oid relid)
{
	AttrNumber	dist_attno = metadata_require(relid)->dist_attno;
	Relation	rel = table_open(relid, NoLock);

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(indexid, AccessShareLock);

		if (index_is_global(index->rd_index, dist_attno) && index->rd_index->indisvalid && !OidIsValid(global_index_entries(indexid)))
			entries_fill(rel, index, begin_global_index(rel, index));
		index_close(index, AccessShareLock);
	}
	table_close(rel, NoLock);
}

bool
global_index_fills_online(Relation index)
{
	return !index->rd_index->indnullsnotdistinct;
}

void
global_index_begin(Oid relid, Oid indexid)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	index = index_open(indexid, AccessShareLock);

	(void) begin_global_index(rel, index);
	index_close(index, AccessShareLock);
	table_close(rel, NoLock);
}

void
global_indexes_create(Oid relid)
{
	const DistTable *table = metadata_lookup(relid);

	if (table == NULL || table->dist_attno == 0)
		return;
	foreach_oid(member, find_all_inheritors(relid, NoLock, NULL))
		if (get_rel_relkind(member) == RELKIND_RELATION)
			create_indexes_of(member);
}

/* Whether the entries of a global index have values of a column. */
static bool
entries_have_column(Relation rel, Oid indexid, AttrNumber attno)
{
	Relation	index = index_open(indexid, AccessShareLock);
	EntryShape	shape;

	entry_shape(rel, index, &shape);
	attno = entry_column(&shape, index, attno);
	index_close(index, NoLock);
	return attno != InvalidAttrNumber;
}

List *
global_indexes_detach(Oid relid, AttrNumber attno)
{
	Relation	rel = table_open(relid, NoLock);
	List	   *result = NIL;

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Oid			entries = global_index_entries(indexid);

		if (!OidIsValid(entries) || (attno != InvalidAttrNumber && !entries_have_column(rel, indexid, attno)))
			continue;
		foreach_ptr(CatalogRow, row, catalog_dependents(RelationRelationId, indexid))
		{
			Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);
			ObjectAddress trigger;

			ObjectAddressSet(trigger, TriggerRelationId, depend->objid);
			if (depend->classid == TriggerRelationId)
				performDeletion(&trigger, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		}
		(void) deleteDependencyRecordsForSpecific(RelationRelationId, entries, DEPENDENCY_INTERNAL, RelationRelationId,
												  indexid);
		result = lappend_oid(result, entries);
	}
	table_close(rel, NoLock);
	CommandCounterIncrement();
	return result;
}

void
global_indexes_drop_entries(Oid relid, const char *column)
{
	foreach_oid(member, find_all_inheritors(relid, NoLock, NULL))
	{
		AttrNumber	attno = get_attnum(member, column);

		if (attno > 0 && get_rel_relkind(member) == RELKIND_RELATION)
			drop_relations(global_indexes_detach(member, attno));
	}
}

List *
global_index_commands(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *commands = NIL;

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Oid			entries = global_index_entries(indexid);

		if (OidIsValid(entries))
			commands = lappend(commands, attach_command(indexid, relation_qualified_name(entries)));
	}
	table_close(rel, NoLock);
	return commands;
}

/* citus_internal.global_index_attach(index regclass, entries regclass) */
Datum
citus_internal_global_index_attach(PG_FUNCTION_ARGS)
{
	Oid			index = PG_GETARG_OID(0);
	Oid			entries = PG_GETARG_OID(1);
	Oid			relid;

	node_function_check(fcinfo);
	relid = get_rel_relkind(index) == RELKIND_INDEX ? IndexGetRelation(index, true) : InvalidOid;
	if (!OidIsValid(relid) || get_rel_relkind(entries) != RELKIND_RELATION ||
		get_rel_namespace(entries) != get_namespace_oid(SHARD_SCHEMA, false) ||
		strncmp(get_rel_name(entries), GLOBAL_INDEX_TRIGGER, strlen(GLOBAL_INDEX_TRIGGER)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relations %u and %u are not an index and a table of its entries", index, entries)));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()) ||
		!object_ownercheck(RelationRelationId, entries, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(index));
	if (!OidIsValid(global_index_entries(index)))
		attach_entries(relid, index, entries);
	PG_RETURN_VOID();
}
