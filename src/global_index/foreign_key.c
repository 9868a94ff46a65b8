/*-------------------------------------------------------------------------
 *
 * foreign_key.c
 *	  Foreign keys between rows of different nodes: their triggers.
 *
 * The shards don't have such a key, and the server's own triggers of the
 * logical tables don't fire.  Instead, internal triggers of both logical
 * tables, which depend on the constraint, enforce it on the initiator:
 * foreign_key_check.c has their function.
 *
 * A partitioned table's partitions inherit its foreign keys.  Each partition
 * has the triggers for rows that reference, and its key is checked by itself;
 * those of the referenced table are about the partitioned one.  If that table
 * is partitioned, each of its partitions has its triggers, which depend on the
 * part (foreign_key_whole) and note keys for the whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_global_key_attach);

/*
 * Whether values of a type become those of another one implicitly: by nothing,
 * or by a function of one argument, *function.
 */
static bool
has_simple_cast(Oid from, Oid to, Oid *function)
{
	Oid			found = InvalidOid;
	CoercionPathType path = from == to ? COERCION_PATH_RELABELTYPE : find_coercion_pathway(to, from, COERCION_IMPLICIT, &found);
	bool		simple = path == COERCION_PATH_RELABELTYPE || (path == COERCION_PATH_FUNC && get_func_nargs(found) == 1);

	*function = simple ? found : InvalidOid;
	return simple;
}

GlobalKey *
global_key_of_tuple(HeapTuple tuple)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	GlobalKey  *key = palloc0(sizeof(GlobalKey));

	key->oid = con->oid;
	key->name = pstrdup(NameStr(con->conname));
	key->child = con->conrelid;
	key->parent = con->confrelid;
	key->index = con->conindid;
	key->match = con->confmatchtype;
	key->on_update = con->confupdtype;
	key->on_delete = con->confdeltype;
	key->deferrable = con->condeferrable;
	key->deferred = con->condeferred;
	key->valid = con->convalidated;
	key->root = con->conparentid;
	key->is_part = foreign_key_whole(con->oid) != con->oid;
	key->together = foreign_key_is_distributed(tuple) && foreign_key_keeps_rows_together(tuple);
	DeconstructFkConstraintRow(tuple, &key->count, key->child_attnos, key->parent_attnos, NULL, NULL, NULL, &key->nset,
							   key->set_attnos);
	for (int i = 0; i < key->count; i++)
	{
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(key->parent, key->parent_attnos[i], &key->parent_types[i], &typmod, &key->collations[i]);
		get_atttypetypmodcoll(key->child, key->child_attnos[i], &key->child_types[i], &typmod, &collation);
		key->parent_types[i] = getBaseType(key->parent_types[i]);
		key->child_types[i] = getBaseType(key->child_types[i]);
		if (has_simple_cast(key->child_types[i], key->parent_types[i], &key->child_casts[i]))
			key->types[i] = key->parent_types[i];
		else if (has_simple_cast(key->parent_types[i], key->child_types[i], &key->parent_casts[i]))
			key->types[i] = key->child_types[i];
	}
	return key;
}

GlobalKey *
global_key_load(Oid constraint)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	GlobalKey  *key = global_key_of_tuple(tuple);

	ReleaseSysCache(tuple);
	return key;
}

/*
 * Why a foreign key between rows of different nodes isn't supported, or NULL.
 */
static const char *
key_refusal(const GlobalKey *key)
{
	if (get_rel_relispartition(key->parent) && !key->is_part)
		return "The referenced table is a partition.";
	if (key->match == FKCONSTR_MATCH_FULL && key->count > 1 && key->deferrable)
		return "It is MATCH FULL, with several columns, and deferrable.";
	for (int i = 0; i < key->count; i++)
	{
		Oid			type;
		Oid			collation;
		int32		typmod;

		get_atttypetypmodcoll(key->child, key->child_attnos[i], &type, &typmod, &collation);
		if (collation != key->collations[i] || !OidIsValid(key->types[i]))
			return "Its columns have other collations than those that they reference, or types that aren't converted to or from theirs.";
		if (!OidIsValid(get_array_type(key->types[i])) || !OidIsValid(key_equality(key->types[i])))
			return "One of its columns has a type that is not the server's own.";
		if (key->count > 1 && type_is_rowtype(key->types[i]))
			return "It has several columns, one of them of a composite type.";
	}
	return NULL;
}

/* Errors (0A000) if a key is of an unsupported kind. */
static void
check_key_kind(const GlobalKey *key)
{
	const char *detail = key_refusal(key);

	if (detail != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot create foreign key constraint \"%s\" between \"%s\" and \"%s\"", key->name,
						get_rel_name(key->child), get_rel_name(key->parent)),
				 key->together ?
				 errdetail("Its action changes what a global index, or a foreign key between nodes, is about, or fires a trigger, and can't be a statement of its own. %s", _(detail)) :
				 errdetail("It would be between rows of different nodes. %s", _(detail)),
				 key->together ? errhint("Have the foreign key take no action.") :
				 errhint("Distribute the tables colocated, by columns that the key matches, or make \"%s\" a reference table.",
						 get_rel_name(key->parent))));
}

bool
global_key_check(HeapTuple tuple)
{
	GlobalKey  *key = global_key_of_tuple(tuple);

	if (global_key_triggers(key->oid) == NIL && !node_session() && !global_indexes_allowed())
		return false;
	check_key_kind(key);
	return true;
}

/* A trigger of a key on one of its tables. */
typedef struct KeyTrigger
{
	const char *name;
	bool		on_child;
	int16		event;
	bool		is_row;			/* checks what the others note */
	const char *kind;			/* its argument */
} KeyTrigger;

static const KeyTrigger key_triggers[] = {
	{GLOBAL_KEY_TRIGGER "note", true, TRIGGER_TYPE_INSERT, false, "child"},
	{GLOBAL_KEY_TRIGGER "note", true, TRIGGER_TYPE_UPDATE, false, "child"},
	{GLOBAL_KEY_TRIGGER "check", true, TRIGGER_TYPE_INSERT, true, "child"},
	{GLOBAL_KEY_TRIGGER "note", false, TRIGGER_TYPE_DELETE, false, "delete"},
	{GLOBAL_KEY_TRIGGER "check", false, TRIGGER_TYPE_INSERT, true, "delete"},
	{GLOBAL_KEY_TRIGGER "note", false, TRIGGER_TYPE_UPDATE, false, "update"},
	{GLOBAL_KEY_TRIGGER "check", false, TRIGGER_TYPE_INSERT, true, "update"},
};

/* Whether a key, or a part of one, has a trigger. */
static bool
key_has_trigger(const GlobalKey *key, const KeyTrigger *trigger)
{
	return trigger->on_child ? get_rel_relkind(key->child) == RELKIND_RELATION && !key->is_part :
		!OidIsValid(key->root) || key->is_part;
}

/* Whether the triggers of a key without its parts are complete here. */
static bool
has_all_triggers(const GlobalKey *key)
{
	int			count = 0;

	for (int i = 0; i < lengthof(key_triggers); i++)
		count += key_has_trigger(key, &key_triggers[i]);
	return list_length(global_key_triggers(key->oid)) >= count;
}

/* A key, and its parts. */
static List *
key_and_parts(const GlobalKey *key)
{
	List	   *keys = list_make1((void *) key);

	foreach_ptr(GlobalKey, whole, keys) /* which grows */
		foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintParentIndexId,
														 Anum_pg_constraint_conparentid, whole->oid))
			if (((Form_pg_constraint) GETSTRUCT(row->tuple))->conrelid == key->child)
				keys = lappend(keys, global_key_of_tuple(row->tuple));
	return keys;
}

/* Whether this node enforces a key, and its parts. */
static bool
is_attached(const GlobalKey *key)
{
	foreach_ptr(GlobalKey, part, key_and_parts(key))
		if (!has_all_triggers(part))
			return false;
	return true;
}

/* Whether what a trigger checks can wait for the end of the transaction. */
static bool
may_defer(const GlobalKey *key, const KeyTrigger *trigger)
{
	char		action = trigger->on_child ? FKCONSTR_ACTION_NOACTION :
		trigger->kind[0] == 'd' ? key->on_delete : key->on_update;

	return trigger->is_row && key->deferrable && action == FKCONSTR_ACTION_NOACTION;
}

static void
create_key_trigger(const GlobalKey *key, const KeyTrigger *trigger)
{
	CreateTrigStmt *stmt = makeNode(CreateTrigStmt);
	bool		defers = may_defer(key, trigger);

	stmt->trigname = (char *) trigger->name;
	stmt->funcname = list_make2(makeString("citus_internal"), makeString("global_key"));
	stmt->args = list_make1(makeString((char *) trigger->kind));
	stmt->timing = TRIGGER_TYPE_AFTER;
	stmt->events = trigger->event;
	stmt->row = trigger->is_row;
	stmt->isconstraint = trigger->is_row;
	stmt->deferrable = defers;
	stmt->initdeferred = defers && key->deferred;
	for (int is_new = 0; is_new <= 1 && !trigger->is_row; is_new++)
	{
		TriggerTransition *transition = makeNode(TriggerTransition);

		if (trigger->event == (is_new ? TRIGGER_TYPE_DELETE : TRIGGER_TYPE_INSERT))
			continue;
		transition->name = is_new ? "new_rows" : "old_rows";
		transition->isNew = is_new;
		transition->isTable = true;
		stmt->transitionRels = lappend(stmt->transitionRels, transition);
	}
	(void) CreateTriggerFiringOn(stmt, NULL, trigger->on_child ? key->child : key->parent, InvalidOid, key->oid, InvalidOid,
								 InvalidOid, InvalidOid, NULL, true, false, TRIGGER_FIRES_ALWAYS);
}

/* Drops a key of shards of this node, if they have it. */
static void
drop_from_shards(const GlobalKey *key)
{
	int			level = quiet_begin(WARNING);

	run_commands_on_local_shards(metadata_require(key->child),
								 list_make1(psprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s",
													 relation_qualified_name(key->child), quote_identifier(key->name))));
	AtEOXact_GUC(true, level);
}

/*
 * Makes the triggers that a key, or a part, lacks.  A partition's that was
 * detached has only those of the child so far.
 */
static void
create_key_triggers(const GlobalKey *key)
{
	bool		has_some = global_key_triggers(key->oid) != NIL;

	if (has_all_triggers(key))
		return;
	for (int i = 0; i < lengthof(key_triggers); i++)
		if (key_has_trigger(key, &key_triggers[i]) && !(has_some && key_triggers[i].on_child))
			create_key_trigger(key, &key_triggers[i]);
	CommandCounterIncrement();
	metadata_invalidate(key->child);
	metadata_invalidate(key->parent);
}

/* Has this node enforce a key, and its parts. */
static void
attach_key(const GlobalKey *key)
{
	if (key->together && !OidIsValid(key->root) && metadata_require(key->child)->kind != DIST_REFERENCE)
		drop_from_shards(key);
	foreach_ptr(GlobalKey, part, key_and_parts(key))
		create_key_triggers(part);
}

/* The foreign keys of, or to, a table that nodes enforce together. */
static List *
keys_of_table(Oid relid, AttrNumber column, Oid index)
{
	List	   *keys = NIL;

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, index, column, relid))
		if (foreign_key_is_global(row->tuple) ||
			global_key_triggers(((Form_pg_constraint) GETSTRUCT(row->tuple))->oid) != NIL)
			keys = lappend(keys, global_key_of_tuple(row->tuple));
	return keys;
}

static List *
keys_of_child(Oid relid)
{
	return keys_of_table(relid, Anum_pg_constraint_conrelid, ConstraintRelidTypidNameIndexId);
}

static List *
keys_of_parent(Oid relid)
{
	return keys_of_table(relid, Anum_pg_constraint_confrelid, InvalidOid);
}

static char *
attach_key_command(const GlobalKey *key)
{
	return node_call(NODE_global_key_attach, node_text(relation_qualified_name(key->child)), node_text(key->name));
}

/*
 * Adds the keys (Oids) of a list that become global, and that nodes don't
 * enforce yet; *others gets the tables that those reference which are global.
 */
static List *
add_keys_to_make(List *result, const List *keys, List **others)
{
	foreach_oid(oid, keys)
	{
		HeapTuple	tuple = catalog_tuple(CONSTROID, oid, "constraint");
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);

		if (foreign_key_becomes_global(tuple))
		{
			Oid			whole = foreign_key_whole(oid);

			*others = list_append_unique_oid(*others, con->confrelid);
			if (!is_attached(global_key_load(whole)))
				result = list_append_unique_oid(result, whole);
		}
		ReleaseSysCache(tuple);
	}
	return result;
}

/*
 * The keys (Oids) that global_keys_create has to make global.  What a key
 * becomes decides about the actions that change the table it references.
 */
static List *
keys_to_make(Oid relid)
{
	List	   *tables = find_all_inheritors(relid, NoLock, NULL);
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, tables)		/* which grows */
		result = add_keys_to_make(result, foreign_keys_around(lfirst_oid(cell)), &tables);
	return result;
}

/* The tables of those of the keys that shards may have. */
static List *
tables_with_keys_of_shards(const List *keys)
{
	List	   *tables = NIL;

	foreach_oid(oid, keys)
	{
		GlobalKey  *key = global_key_load(oid);

		if (key->together)
			tables = list_append_unique_oid(list_append_unique_oid(tables, key->child), key->parent);
	}
	return tables;
}

/* The partitioned tables of those of the keys that only a partition has. */
static List *
tables_of_own_keys(const List *keys)
{
	List	   *tables = NIL;

	foreach_oid(oid, keys)
	{
		GlobalKey  *key = global_key_load(oid);

		if (!OidIsValid(key->root) && get_rel_relispartition(key->child))
			tables = list_concat_unique_oid(tables, get_partition_ancestors(key->child));
	}
	return tables;
}

void
global_keys_create(Oid relid, bool kept)
{
	lock_others_everywhere(tables_with_keys_of_shards(keys_to_make(relid)), AccessExclusiveLock);
	lock_others_everywhere(tables_of_own_keys(keys_to_make(relid)), ShareLock);
	foreach_oid(oid, keys_to_make(relid))
	{
		GlobalKey  *key = global_key_load(oid);
		bool		enforced = has_all_triggers(key);

		check_key_kind(key);
		if (!OidIsValid(key->root) && !enforced)
			global_index_notice("foreign key", key->name, key->together ?
								"Its action changes what a global index, or a foreign key between nodes, is about, or fires a trigger. Each change of its columns, on either side, asks nodes of the other table." :
								"It is between rows of different nodes. Each change of its columns, on either side, asks nodes of the other table.");
		attach_key(key);
		if (node_active_primaries_remote() != NIL)
			remote_exec_on_all(run_commands_call(list_make1(attach_key_command(key))));
		if (key->valid && !enforced && !(kept && key->together))
			global_key_check_rows(key);
	}
}

void
global_keys_validate(Oid relid, List *names)
{
	ListCell   *name;

	foreach_ptr(GlobalKey, key, keys_of_child(relid))
		foreach(name, names)
			if (strcmp(key->name, lfirst(name)) == 0)
				global_key_check_rows(key);
}

void
global_keys_check_detach(Oid partition)
{
	List	   *keys = NIL;
	List	   *children = NIL;

	foreach_ptr(GlobalKey, key, keys_of_parent(partition))
	{
		if (!key->is_part)
			continue;
		keys = lappend(keys, key);
		children = list_append_unique_oid(children, key->child);
	}
	lock_others_everywhere(children, ShareLock);
	foreach_ptr(GlobalKey, key, keys)
		global_key_check_unused(key);
}

/* Has a trigger be deferrable as its key is. */
static void
set_trigger_mode(const GlobalKey *key, Oid trigger)
{
	Relation	rel = table_open(TriggerRelationId, RowExclusiveLock);
	CatalogRow *row = linitial(catalog_rows_by_oid(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, trigger));
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(row->tuple);
	const char *kind = VARDATA_ANY(DatumGetByteaPP(row->values[Anum_pg_trigger_tgargs - 1]));
	bool		defers = may_defer(key, &(KeyTrigger) {.on_child = kind[0] == 'c', .is_row = TRIGGER_FOR_ROW(form->tgtype),
														   .kind = kind});

	if (form->tgdeferrable != defers || form->tginitdeferred != (defers && key->deferred))
	{
		form->tgdeferrable = defers;
		form->tginitdeferred = defers && key->deferred;
		CatalogTupleUpdate(rel, &row->tuple->t_self, row->tuple);
		CacheInvalidateRelcacheByRelid(form->tgrelid);
	}
	table_close(rel, RowExclusiveLock);
}

/* The same for a table without its partitions. */
static void
set_modes_of_table(Oid relid)
{
	foreach_ptr(GlobalKey, key, keys_of_child(relid))
	{
		List	   *triggers = global_key_triggers(key->oid);

		if (triggers != NIL)
			check_key_kind(key);
		foreach_oid(trigger, triggers)
			set_trigger_mode(key, trigger);
	}
}

void
global_keys_set_modes(Oid relid)
{
	foreach_oid(table, find_all_inheritors(relid, NoLock, NULL))
		set_modes_of_table(table);
	CommandCounterIncrement();
}

void
global_keys_detach(Oid relid)
{
	foreach_ptr(GlobalKey, key, list_concat(keys_of_child(relid), keys_of_parent(relid)))
	{
		foreach_oid(trigger, global_key_triggers(key->oid))
		{
			ObjectAddress object;

			ObjectAddressSet(object, TriggerRelationId, trigger);
			(void) deleteDependencyRecordsForSpecific(TriggerRelationId, trigger, DEPENDENCY_INTERNAL, ConstraintRelationId,
													  key->oid);
			CommandCounterIncrement();
			performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		}
	}
	CommandCounterIncrement();
}

List *
global_key_commands(Oid relid)
{
	List	   *commands = NIL;

	foreach_ptr(GlobalKey, key, keys_of_child(relid))
		if (!key->is_part && global_key_triggers(key->oid) != NIL)
			commands = lappend(commands, attach_key_command(key));
	return commands;
}

/* citus_internal.global_key_attach(relation regclass, name text) */
Datum
citus_internal_global_key_attach(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	HeapTuple	tuple;
	GlobalKey  *key;

	node_function_check(fcinfo);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	tuple = catalog_tuple(CONSTROID, get_relation_constraint_oid(relid, name, false), "constraint");
	if (!foreign_key_is_distributed(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("constraint \"%s\" is not a foreign key between distributed tables", name)));
	key = global_key_of_tuple(tuple);
	ReleaseSysCache(tuple);
	if (!is_attached(key))
		attach_key(key);
	PG_RETURN_VOID();
}
