/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  Triggers of distributed and reference tables.
 *
 * A trigger belongs to the logical table, on every node, and to no shard: the
 * initiator of a statement fires it (src/executor/fire_triggers.c).  So its
 * function must exist on every node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "commands/trigger.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#include "utils/varlena.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "ddl/definition.h"
#include "ddl/handlers.h"
#include "ddl/trigger.h"
#include "resolve/utility.h"

SQL_FUNCTION(citus_internal_require_trigger_function);

/* Errors if this node lacks the function of a trigger that another node has sent. */
static void
require_function(List *name)
{
	if (OidIsValid(LookupFuncName(name, 0, NULL, true)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function %s() does not exist", NameListToString(name)),
			 errdetail("The function of a trigger on a distributed or reference table must exist on every node."),
			 errhint("Create the function on this node, too.")));
}

/* citus_internal.require_trigger_function(name text) */
Datum
citus_internal_require_trigger_function(PG_FUNCTION_ARGS)
{
	node_function_check();
	require_function(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/*
 * The COMMAND_BITs of what foreign keys may do by themselves to rows of the
 * table: their actions run on the shards, or on each copy, and fire nothing.
 */
static int
foreign_key_actions(Oid relid)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	int			commands = 0;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);

		if (con->contype != CONSTRAINT_FOREIGN)
			continue;
		if (con->confdeltype == FKCONSTR_ACTION_CASCADE)
			commands |= COMMAND_BIT(CMD_DELETE);
		if (con->confdeltype == FKCONSTR_ACTION_SETNULL || con->confdeltype == FKCONSTR_ACTION_SETDEFAULT ||
			con->confupdtype == FKCONSTR_ACTION_CASCADE || con->confupdtype == FKCONSTR_ACTION_SETNULL ||
			con->confupdtype == FKCONSTR_ACTION_SETDEFAULT)
			commands |= COMMAND_BIT(CMD_UPDATE);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return commands;
}

static void
check_trigger(Relation rel, const Trigger *trigger, int actions)
{
	const char *name = RelationGetRelationName(rel);

	if (((actions & COMMAND_BIT(CMD_DELETE)) && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
		((actions & COMMAND_BIT(CMD_UPDATE)) && TRIGGER_FOR_UPDATE(trigger->tgtype)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("distributed or reference table \"%s\" cannot have both trigger \"%s\" and a foreign key with such an action",
						name, trigger->tgname),
				 errdetail("Rows that a foreign key deletes or updates by itself would not fire the trigger.")));
}

void
check_triggers(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	int			actions = 0;

	if (rel->trigdesc != NULL)
		actions = foreign_key_actions(relid);
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		if (!rel->trigdesc->triggers[i].tgisinternal)
			check_trigger(rel, &rel->trigdesc->triggers[i], actions);
	}
	table_close(rel, NoLock);
}

bool
create_trigger_utility(UtilityCall *call)
{
	CreateTrigStmt *stmt = castNode(CreateTrigStmt, call->pstmt->utilityStmt);
	const DistTable *table = utility_table(call, stmt->relation, ShareRowExclusiveLock, ShareRowExclusiveLock);
	Oid			relid;

	if (table == NULL)
		return false;
	relid = table->relid;
	if (call->relayed)
		require_function(stmt->funcname);
	utility_run(call);
	CommandCounterIncrement();
	check_triggers(relid);
	utility_relay(call);
	return true;
}

/* The commands for one trigger. */
static void
add_trigger(Definition *def, Form_pg_trigger form)
{
	static const struct
	{
		char		code;
		const char *verb;
	}			states[] = {
		{TRIGGER_DISABLED, "DISABLE"},
		{TRIGGER_FIRES_ALWAYS, "ENABLE ALWAYS"},
		{TRIGGER_FIRES_ON_REPLICA, "ENABLE REPLICA"},
	};
	const char *name = quote_identifier(NameStr(form->tgname));
	char	   *function = quote_qualified_identifier(get_namespace_name(get_func_namespace(form->tgfoid)),
													  get_func_name(form->tgfoid));
	char	   *comment = GetComment(form->oid, TriggerRelationId, 0);

	definition_add(def, "SELECT citus_internal.require_trigger_function(%s)", quote_literal_cstr(function));
	definition_add(def, "%s", TextDatumGetCString(DirectFunctionCall1(pg_get_triggerdef, ObjectIdGetDatum(form->oid))));
	for (int i = 0; i < lengthof(states); i++)
	{
		if (states[i].code == form->tgenabled)
			definition_add(def, "ALTER TABLE %s %s TRIGGER %s", def->name, states[i].verb, name);
	}
	if (comment != NULL)
		definition_add(def, "COMMENT ON TRIGGER %s ON %s IS %s", name, def->name, quote_literal_cstr(comment));
}

List *
table_trigger_commands(Oid relid)
{
	Definition *def = definition_begin(relid, false);
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (!((Form_pg_trigger) GETSTRUCT(tuple))->tgisinternal)
			add_trigger(def, (Form_pg_trigger) GETSTRUCT(tuple));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return definition_end(def);
}
