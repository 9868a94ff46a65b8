/*-------------------------------------------------------------------------
 *
 * table_options.c
 *	  Options of single columnar tables, in statements.
 *
 * The options are in pg_class.reloptions, as the server's own: "columnar.name
 * = value".  So they are dropped, rewritten, dumped and shown with the table,
 * and are part of the definition that shards are created from.  The server
 * ignores them when it reads reloptions, but refuses them in CREATE TABLE,
 * CREATE TABLE AS and ALTER TABLE.  So such a statement is run without them,
 * and they are stored after it.  While ALTER TABLE runs, the options that the
 * table has are taken away, too.
 *
 * A dump has the name of an option as one quoted identifier,
 * "columnar.compression", which means the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "columnar/columnar.h"
#include "columnar/options.h"
#include "columnar/table_options.h"
#include "compat/foreach.h"

struct OptionChange
{
	RangeVar   *made;			/* of the new table; NULL: ALTER TABLE */
	Oid			relid;			/* ALTER TABLE's */
	int			guc_nest;		/* settings of CREATE TABLE AS; 0: none */
	List	   *kept;			/* DefElems: what ALTER TABLE's table had */
	List	   *set;
	List	   *reset;
};

/* The table's pg_class.reloptions, as DefElems. */
static List *
read_reloptions(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		reloptions;
	List	   *options = NIL;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
		options = untransformRelOptions(reloptions);
	ReleaseSysCache(tuple);
	return options;
}

/*
 * Sets options in pg_class.reloptions, or takes those with these names away.
 */
static void
change_reloptions(Oid relid, List *options, bool reset)
{
	Relation	classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {false};
	bool		replaces[Natts_pg_class] = {false};
	HeapTuple	changed;
	Datum		old;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	old = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	values[Anum_pg_class_reloptions - 1] = transformRelOptions(isnull ? (Datum) 0 : old, options, NULL, NULL, false,
															   reset);
	nulls[Anum_pg_class_reloptions - 1] = values[Anum_pg_class_reloptions - 1] == (Datum) 0;
	replaces[Anum_pg_class_reloptions - 1] = true;
	changed = heap_modify_tuple(tuple, RelationGetDescr(classes), values, nulls, replaces);
	CatalogTupleUpdate(classes, &changed->t_self, changed);
	ReleaseSysCache(tuple);
	table_close(classes, RowExclusiveLock);
	CommandCounterIncrement();
}

/*
 * Moves the options of columnar tables from *options to the result, where
 * each has its whole name.
 */
static List *
take_options(List **options, bool reset)
{
	List	   *others = NIL;
	List	   *taken = NIL;

	foreach_ptr(DefElem, option, *options)
	{
		char	   *name = option->defname;

		if (option->defnamespace != NULL && strcmp(option->defnamespace, "columnar") == 0)
			name = psprintf("columnar.%s", name);
		else if (option->defnamespace != NULL || !columnar_option_is_named(name))
		{
			others = lappend(others, option);
			continue;
		}
		if (!reset)
			columnar_option_check(name, defGetString(option));
		else
			columnar_option_check(name, NULL);
		taken = lappend(taken, makeDefElem(name, reset ? NULL : (Node *) makeString(defGetString(option)), -1));
	}
	*options = others;
	return taken;
}

/* The relation of a name where CREATE would put it. */
static Oid
relation_to_create(RangeVar *name)
{
	return get_relname_relid(name->relname, RangeVarGetCreationNamespace(name));
}

/* CREATE TABLE, CREATE TABLE AS, CREATE MATERIALIZED VIEW */
static OptionChange *
take_of_create(PlannedStmt **pstmt)
{
	PlannedStmt *own = copyObject(*pstmt);
	bool		is_as = IsA(own->utilityStmt, CreateTableAsStmt);
	RangeVar   *name = is_as ? ((CreateTableAsStmt *) own->utilityStmt)->into->rel :
		((CreateStmt *) own->utilityStmt)->relation;
	List	   *taken = take_options(is_as ? &((CreateTableAsStmt *) own->utilityStmt)->into->options :
									 &((CreateStmt *) own->utilityStmt)->options, false);
	OptionChange *change;

	if (taken == NIL)
		return NULL;
	*pstmt = own;
	change = palloc0(sizeof(OptionChange));
	if (OidIsValid(relation_to_create(name)))
		return change;			/* IF NOT EXISTS, or an error */
	change->made = name;
	change->set = taken;

	/* CREATE TABLE AS writes rows at once. */
	if (is_as)
	{
		change->guc_nest = NewGUCNestLevel();
		foreach_ptr(DefElem, option, taken)
			SetConfigOption(option->defname, defGetString(option), PGC_USERSET, PGC_S_SESSION);
	}
	return change;
}

/* The options of the columnar table among its reloptions. */
static List *
options_of_table(Oid relid)
{
	List	   *found = NIL;

	foreach_ptr(DefElem, option, read_reloptions(relid))
	{
		if (columnar_option_is_named(option->defname))
			found = lappend(found, option);
	}
	return found;
}

/* ALTER TABLE, ALTER MATERIALIZED VIEW */
static OptionChange *
take_of_alter(PlannedStmt **pstmt)
{
	PlannedStmt *own = copyObject(*pstmt);
	AlterTableStmt *stmt = castNode(AlterTableStmt, own->utilityStmt);
	OptionChange *change = palloc0(sizeof(OptionChange));
	bool		concerned = false;
	Oid			relid;

	foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype == AT_SetRelOptions)
			change->set = list_concat(change->set, take_options((List **) &cmd->def, false));
		else if (cmd->subtype == AT_ResetRelOptions)
			change->reset = list_concat(change->reset, take_options((List **) &cmd->def, true));
		else if (cmd->subtype != AT_SetAccessMethod)
			continue;
		concerned = true;
	}
	if (!concerned || (stmt->objtype != OBJECT_TABLE && stmt->objtype != OBJECT_MATVIEW))
		return NULL;
	relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	if (change->set == NIL && change->reset == NIL && options_of_table(relid) == NIL)
		return NULL;
	*pstmt = own;
	if (!OidIsValid(relid))
		return change;			/* IF EXISTS, or an error */
	change->relid = RangeVarGetRelidExtended(stmt->relation, AlterTableGetLockLevel(stmt->cmds), 0,
											 RangeVarCallbackOwnsRelation, NULL);
	change->kept = options_of_table(change->relid);
	if (change->kept != NIL)
	{
		List	   *names = NIL;

		foreach_ptr(DefElem, option, change->kept)
			names = lappend(names, makeDefElem(option->defname, NULL, -1));
		change_reloptions(change->relid, names, true);
	}
	return change;
}

OptionChange *
columnar_options_take(PlannedStmt **pstmt)
{
	switch (nodeTag((*pstmt)->utilityStmt))
	{
		case T_CreateStmt:
		case T_CreateTableAsStmt:
			return take_of_create(pstmt);
		case T_AlterTableStmt:
			return take_of_alter(pstmt);
		default:
			return NULL;
	}
}

/* Errors if rows are to be sorted by a column that the table doesn't have. */
static void
check_sort_columns(Relation table, List *options)
{
	foreach_node(DefElem, option, options)
	{
		List	   *names = NIL;

		if (strcmp(option->defname, "columnar.sort_by") != 0 ||
			!SplitIdentifierString(pstrdup(defGetString(option)), ',', &names))
			continue;
		foreach_ptr(char, name, names)
		{
			if (get_attnum(RelationGetRelid(table), name) <= 0)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
								RelationGetRelationName(table))));
		}
	}
}

void
columnar_options_apply(OptionChange *change)
{
	Relation	table;
	bool		columnar;
	Oid			relid = change->relid;

	if (change->guc_nest > 0)
		AtEOXact_GUC(false, change->guc_nest);
	CommandCounterIncrement();
	if (change->made != NULL)
		relid = relation_to_create(change->made);
	table = OidIsValid(relid) ? try_relation_open(relid, NoLock) : NULL;
	if (table == NULL)
		return;
	columnar = columnar_is_columnar(table);
	if (!columnar && (change->set != NIL || change->reset != NIL))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not a columnar table", RelationGetRelationName(table)),
				 errhint(table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
						 "Set the options of its partitions." : "Create the table with USING columnar.")));
	if (columnar)
		check_sort_columns(table, change->set);
	relation_close(table, NoLock);
	if (!columnar)
		return;
	if (change->kept != NIL)
		change_reloptions(relid, change->kept, false);
	if (change->set != NIL)
		change_reloptions(relid, change->set, false);
	if (change->reset != NIL)
		change_reloptions(relid, change->reset, true);
}
