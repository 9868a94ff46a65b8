/*-------------------------------------------------------------------------
 *
 * trigger_definition.c
 *	  The commands that make a table's triggers on another node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "commands/trigger.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/varlena.h"

#include "catalog/catalog_rows.h"
#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/table_definition.h"

SQL_FUNCTION(citus_internal_require_trigger_function);

void
require_trigger_function(List *name)
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
	node_function_check(fcinfo);
	require_trigger_function(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
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

	definition_add(def, "%s", node_call(NODE_require_trigger_function, node_text(function)));
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

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(TriggerRelationId, TriggerRelidNameIndexId,
													 Anum_pg_trigger_tgrelid, relid))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(row->tuple);

		if (!form->tgisinternal && !table_of_extension(relid) && !OidIsValid(form->tgparentid))
			add_trigger(def, form);
	}
	return definition_end(def);
}
