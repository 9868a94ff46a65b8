/*-------------------------------------------------------------------------
 *
 * definition_functions.c
 *	  Writes the functions that a table calls: in constraints, defaults,
 *	  indexes, policies, triggers and statistics.
 *
 * On another node, the texts of these refer to functions by name.  So an
 * existing function of that name is used only if it is the same, like
 * everything that a table needs (if_missing.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "table/definition.h"

/*
 * Whether the function's arguments or result are rows of the table that is
 * being written.
 */
static bool
is_of_row_type(const Definition *def, Form_pg_proc form)
{
	Oid			row_type = def->rel == NULL ? InvalidOid : def->rel->rd_rel->reltype;

	for (int i = 0; i < form->pronargs; i++)
	{
		if (form->proargtypes.values[i] == row_type)
			return OidIsValid(row_type);
	}
	return OidIsValid(row_type) && form->prorettype == row_type;
}

/*
 * Writes a function.  A function with the table's row type can only be created
 * after the table (objects/dependents.c).  The server can't deparse
 * aggregates, which only a policy's subquery may use.
 */
void
definition_add_function(Definition *def, Oid funcid)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	Datum		acl;
	bool		isnull;

	if (list_member_oid(def->functions_done, funcid))
		return;
	def->functions_done = lappend_oid(def->functions_done, funcid);
	if (!definition_is_needed(ProcedureRelationId, funcid))
		return;
	tuple = catalog_tuple(PROCOID, funcid, "function");
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->prokind != PROKIND_AGGREGATE && !is_of_row_type(def, form))
	{
		definition_schema(def, form->pronamespace);
		definition_type(def, form->prorettype);
		for (int i = 0; i < form->pronargs; i++)
			definition_type(def, form->proargtypes.values[i]);
		acl = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proacl, &isnull);
		definition_add_object(def, "FUNCTION", format_procedure_qualified(funcid),
							  list_make1(TextDatumGetCString(DirectFunctionCall1(pg_get_functiondef,
																				 ObjectIdGetDatum(funcid)))),
							  acl, isnull, form->proowner);
	}
	ReleaseSysCache(tuple);
}

/* A function's name as CREATE OPERATOR takes it. */
static char *
function_name(Oid funcid)
{
	return quote_qualified_identifier(get_namespace_name(get_func_namespace(funcid)), get_func_name(funcid));
}

/* Appends ", OPTION = VALUE". */
static void
append_operator_option(StringInfo buf, const char *option, const char *value)
{
	appendStringInfo(buf, ", %s = %s", option, value);
}

/*
 * CREATE OPERATOR, without the commutator and negator, which only help the
 * planner.
 */
static char *
operator_command(Form_pg_operator form)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE OPERATOR %s.%s (FUNCTION = %s",
					 quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname),
					 function_name(form->oprcode));
	if (OidIsValid(form->oprleft))
		append_operator_option(&buf, "LEFTARG", format_type_be_qualified(form->oprleft));
	append_operator_option(&buf, "RIGHTARG", format_type_be_qualified(form->oprright));
	if (OidIsValid(form->oprrest))
		append_operator_option(&buf, "RESTRICT", function_name(form->oprrest));
	if (OidIsValid(form->oprjoin))
		append_operator_option(&buf, "JOIN", function_name(form->oprjoin));
	appendStringInfo(&buf, "%s%s)", form->oprcanhash ? ", HASHES" : "", form->oprcanmerge ? ", MERGES" : "");
	return buf.data;
}

/*
 * Both the function and the name of an operator are compared.  An operator on
 * the table's row type is created after the table, like the function.
 */
void
definition_operator(Definition *def, Oid opid)
{
	HeapTuple	tuple;
	Form_pg_operator form;
	Oid			row_type = def->rel == NULL ? InvalidOid : def->rel->rd_rel->reltype;

	if (list_member_oid(def->operators_done, opid))
		return;
	def->operators_done = lappend_oid(def->operators_done, opid);
	definition_add_function(def, get_opcode(opid));
	if (!definition_is_needed(OperatorRelationId, opid))
		return;
	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(opid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", opid);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	if (OidIsValid(form->oprcode) &&
		!(OidIsValid(row_type) && (form->oprleft == row_type || form->oprright == row_type)))
	{
		definition_schema(def, form->oprnamespace);
		definition_type(def, form->oprleft);
		definition_type(def, form->oprright);
		definition_add_object(def, "OPERATOR", format_operator_qualified(opid), list_make1(operator_command(form)),
							  (Datum) 0, true, form->oprowner);
	}
	ReleaseSysCache(tuple);
}

/* The functions that an object calls, itself or by operators. */
static void
functions_of_object(Definition *def, Oid classid, Oid objid)
{
	foreach_ptr(CatalogRow, row, catalog_needs(classid, objid))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (form->refclassid == ProcedureRelationId)
			definition_add_function(def, form->refobjid);
		else if (form->refclassid == OperatorRelationId)
			definition_operator(def, form->refobjid);
	}
}

/* Whether objects of a catalog that depend on a table are made with it. */
static bool
is_part_of_tables(Oid classid, Oid objid)
{
	char		relkind;

	if (classid != RelationRelationId)
		return classid == ConstraintRelationId || classid == AttrDefaultRelationId || classid == PolicyRelationId ||
			classid == TriggerRelationId || classid == StatisticExtRelationId;
	relkind = get_rel_relkind(objid);
	return relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX;
}

void
definition_called_functions(Definition *def)
{
	Oid			relid = RelationGetRelid(def->rel);

	functions_of_object(def, RelationRelationId, relid);
	foreach_ptr(CatalogRow, row, catalog_dependents(RelationRelationId, relid))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (is_part_of_tables(form->classid, form->objid))
			functions_of_object(def, form->classid, form->objid);
	}
}
