/*-------------------------------------------------------------------------
 *
 * global_key.c
 *	  Foreign keys between rows of different nodes, and tables of entries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "lib/index_columns.h"

bool
foreign_key_keeps_rows_together(HeapTuple constraint)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);
	const DistTable *from = metadata_require(con->conrelid);
	const DistTable *to = metadata_require(con->confrelid);
	AttrNumber	conkey[INDEX_MAX_KEYS];
	AttrNumber	confkey[INDEX_MAX_KEYS];
	int			count;

	if (to->kind == DIST_REFERENCE)
		return true;
	if (from->kind == DIST_REFERENCE || from->colocation_id != to->colocation_id)
		return false;
	if (from->kind == DIST_SINGLE)
		return true;
	DeconstructFkConstraintRow(constraint, &count, conkey, confkey, NULL, NULL, NULL, NULL, NULL);
	for (int i = 0; i < count; i++)
		if (conkey[i] == from->dist_attno && confkey[i] == to->dist_attno)
			return true;
	return false;
}

bool
foreign_key_is_distributed(HeapTuple constraint)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);

	return con->contype == CONSTRAINT_FOREIGN && metadata_lookup(con->conrelid) != NULL &&
		metadata_lookup(con->confrelid) != NULL;
}

Oid
foreign_key_whole(Oid constraint)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);
	Oid			root = con->conparentid;
	Oid			child = con->conrelid;
	bool		is_part;

	ReleaseSysCache(tuple);
	if (!OidIsValid(root))
		return constraint;
	tuple = catalog_tuple(CONSTROID, root, "constraint");
	is_part = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid == child;
	ReleaseSysCache(tuple);
	return is_part ? foreign_key_whole(root) : constraint;
}

/* An inherited key is global if the one that it is inherited from is. */
bool
foreign_key_is_global(HeapTuple constraint)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);

	if (!foreign_key_is_distributed(constraint))
		return false;
	if (list_member_oid(metadata_require(con->conrelid)->global_keys, con->oid))
		return true;
	return OidIsValid(con->conparentid) ? constraint_is_global(con->conparentid) : !foreign_key_keeps_rows_together(constraint);
}

bool
constraint_is_global(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool		result = HeapTupleIsValid(tuple) && foreign_key_is_global(tuple);

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/* Whether an action is a write of the rows that reference. */
static bool
action_writes(char action)
{
	return action == FKCONSTR_ACTION_CASCADE || action == FKCONSTR_ACTION_SETNULL || action == FKCONSTR_ACTION_SETDEFAULT;
}

int
foreign_key_commands(HeapTuple constraint, Bitmapset **updated)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);
	int			commands = con->confdeltype == FKCONSTR_ACTION_CASCADE ? COMMAND_BIT(CMD_DELETE) : 0;
	AttrNumber	columns[INDEX_MAX_KEYS];
	AttrNumber	others[INDEX_MAX_KEYS];
	AttrNumber	set_on_delete[INDEX_MAX_KEYS];
	int			ncolumns;
	int			nset;
	bool		all;

	if (!action_writes(con->confupdtype) && (commands != 0 || !action_writes(con->confdeltype)))
		return commands;
	DeconstructFkConstraintRow(constraint, &ncolumns, columns, others, NULL, NULL, NULL, &nset, set_on_delete);
	all = action_writes(con->confupdtype) || nset == 0;
	for (int i = 0; i < (all ? ncolumns : nset); i++)
		*updated = bms_add_member(*updated, all ? columns[i] : set_on_delete[i]);
	return commands | COMMAND_BIT(CMD_UPDATE);
}

List *
foreign_keys_around(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	List	   *keys = NIL;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		if (RI_FKey_trigger_type(rel->trigdesc->triggers[i].tgfoid) != RI_TRIGGER_NONE)
			keys = list_append_unique_oid(keys, rel->trigdesc->triggers[i].tgconstraint);
	relation_close(rel, NoLock);
	return keys;
}

/* Whether deletes, or updates of these columns, change a global index. */
static bool
changes_global_index(const DistTable *table, int commands, const Bitmapset *updated)
{
	Bitmapset  *identity = NULL;	/* entries that are marked have it */
	bool		changes = false;

	if (table->dist_attno == 0)
		return false;
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, table->relid))
		if (((Form_pg_index) GETSTRUCT(row->tuple))->indisprimary)
			identity = index_columns(((Form_pg_index) GETSTRUCT(row->tuple))->indexrelid);
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, table->relid))
	{
		Form_pg_index index = (Form_pg_index) GETSTRUCT(row->tuple);

		if (index_is_global(index, table->dist_attno))
			changes |= (commands & COMMAND_BIT(CMD_DELETE)) != 0 || bms_overlap(index_columns(index->indexrelid), updated) ||
				(!index->indisunique && bms_overlap(identity, updated));
	}
	return changes;
}

/* Whether deletes, or updates of these columns, fire triggers of users. */
static bool
fires_triggers(Oid relid, int commands, const Bitmapset *updated)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		fires = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];
		bool		on_update = trigger->tgnattr == 0;

		if (trigger->tgisinternal)
			continue;
		for (int k = 0; k < trigger->tgnattr; k++)
			on_update |= bms_is_member(trigger->tgattr[k], updated) ||
				TupleDescAttr(RelationGetDescr(rel), trigger->tgattr[k] - 1)->attgenerated != '\0';
		fires |= ((commands & COMMAND_BIT(CMD_DELETE)) && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
			((commands & COMMAND_BIT(CMD_UPDATE)) && TRIGGER_FOR_UPDATE(trigger->tgtype) && on_update);
	}
	relation_close(rel, NoLock);
	return fires;
}

/*
 * Whether an action that does this to rows of a table, or of its partitions,
 * must be a statement of the initiator.
 */
static bool
must_be_statement(const DistTable *table, int commands, const Bitmapset *updated)
{
	bool		result = table->dist_attno != 0 && bms_is_member(table->dist_attno, updated);

	foreach_oid(member, find_all_inheritors(table->relid, AccessShareLock, NULL))
	{
		const DistTable *part = metadata_lookup(member);
		Bitmapset  *columns = columns_by_name(member, table->relid, updated);

		result |= (part != NULL && changes_global_index(part, commands, columns)) || fires_triggers(member, commands, columns);
	}
	return result;
}

/*
 * Whether a foreign key of, or to, a table has to hear of deletes, or updates
 * of these columns, in it.
 */
static bool
key_hears_of(HeapTuple constraint, Oid relid, int commands, const Bitmapset *updated)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);
	bool		hears = con->confrelid == relid && (commands & COMMAND_BIT(CMD_DELETE)) != 0;
	AttrNumber	columns[INDEX_MAX_KEYS];
	AttrNumber	referenced[INDEX_MAX_KEYS];
	int			count;

	DeconstructFkConstraintRow(constraint, &count, columns, referenced, NULL, NULL, NULL, NULL, NULL);
	for (int i = 0; i < count; i++)
		hears |= (con->conrelid == relid && bms_is_member(columns[i], updated)) ||
			(con->confrelid == relid && bms_is_member(referenced[i], updated));
	return hears;
}

/* foreign_key_becomes_global, of a key that isn't among those visited. */
static bool
becomes_global(HeapTuple constraint, List **visited)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);
	const DistTable *table = metadata_lookup(con->conrelid);
	Bitmapset  *updated = NULL;
	bool		result = foreign_key_is_global(constraint);
	int			commands;

	*visited = lappend_oid(*visited, con->oid);
	if (!result && OidIsValid(con->conparentid))
	{
		HeapTuple	tuple = catalog_tuple(CONSTROID, con->conparentid, "constraint");

		result = becomes_global(tuple, visited);
		ReleaseSysCache(tuple);
		return result;
	}
	if (result || !foreign_key_is_distributed(constraint) || (commands = foreign_key_commands(constraint, &updated)) == 0)
		return result;
	result = must_be_statement(table, commands, updated);
	foreach_oid(other, foreign_keys_around(con->conrelid))
	{
		HeapTuple	tuple;

		if (result || list_member_oid(*visited, other))
			continue;
		tuple = catalog_tuple(CONSTROID, other, "constraint");
		result = key_hears_of(tuple, con->conrelid, commands, updated) && becomes_global(tuple, visited);
		ReleaseSysCache(tuple);
	}
	return result;
}

bool
foreign_key_becomes_global(HeapTuple constraint)
{
	List	   *visited = NIL;

	return becomes_global(constraint, &visited);
}

bool
constraint_becomes_global(Oid constraint)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	bool		result = foreign_key_becomes_global(tuple);

	ReleaseSysCache(tuple);
	return result;
}

Oid
index_of_entries(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || strncmp(name, GLOBAL_INDEX_TRIGGER, strlen(GLOBAL_INDEX_TRIGGER)) != 0 ||
		get_rel_namespace(relid) != get_namespace_oid(SHARD_SCHEMA, true))
		return InvalidOid;
	foreach_ptr(CatalogRow, row, catalog_needs(RelationRelationId, relid))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (depend->objsubid == 0 && depend->deptype == DEPENDENCY_INTERNAL && depend->refclassid == RelationRelationId)
			return depend->refobjid;
	}
	return InvalidOid;
}
