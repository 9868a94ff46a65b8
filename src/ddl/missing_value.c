/*-------------------------------------------------------------------------
 *
 * missing_value.c
 *	  The value of existing rows in a new column.
 *
 * ADD COLUMN with a non-volatile default doesn't rewrite the table: it stores
 * the default's value in pg_attribute.  Each node and each shard would
 * evaluate now() separately, so the initiator's value is set instead.  If the
 * server rewrites the rows, the initiator updates them with its values, or the
 * statement is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "conversion/convert_checks.h"
#include "ddl/create_table.h"
#include "ddl/missing_value.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_set_missing_value);

/* Whether a column's default may have another value on another node. */
static bool
default_is_mutable(Oid relid, AttrNumber attno)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	bool		result = false;

	for (int i = 0; constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum == attno)
			result = contain_mutable_functions(stringToNode(constr->defval[i].adbin));
	}
	table_close(rel, NoLock);
	return result;
}

char *
missing_value_text(Oid relid, AttrNumber attno)
{
	HeapTuple	tuple;
	Datum		datum;
	bool		isnull;
	char	   *result = NULL;

	if (!default_is_mutable(relid, attno))
		return NULL;
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", attno, relid);
	datum = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attmissingval, &isnull);
	if (!isnull)
		result = OidOutputFunctionCall(F_ARRAY_OUT, datum);
	ReleaseSysCache(tuple);
	return result;
}

bool
default_differs(Oid relid, AttrNumber attno)
{
	return default_is_mutable(relid, attno) && !column_default_is_volatile(relid, attno) &&
		missing_value_text(relid, attno) == NULL;
}

/* Whether a type's name as written is serial or one of its kind. */
static bool
type_is_serial(const TypeName *name)
{
	static const char *const kinds[] = {"serial", "serial4", "bigserial", "serial8", "smallserial", "serial2"};

	for (int i = 0; i < lengthof(kinds); i++)
		if (list_length(name->names) == 1 && !name->pct_type && strcmp(strVal(linitial(name->names)), kinds[i]) == 0)
			return true;
	return false;
}

bool
definition_is_immutable(const ColumnDef *column, Oid type)
{
	ParseState *pstate = make_parsestate(NULL);
	bool		written = false;
	bool		result = true;

	foreach_node(Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_IDENTITY)
			result = false;
		if (constraint->contype != CONSTR_DEFAULT)
			continue;
		written = true;
		result = result && !contain_mutable_functions(transformExpr(pstate, copyObject(constraint->raw_expr),
																	 EXPR_KIND_COLUMN_DEFAULT));
	}
	free_parsestate(pstate);
	if (!written && OidIsValid(type))
		result = result && !contain_mutable_functions(get_typdefault(type)) && !type_is_serial(column->typeName);
	return result;
}

/* check_function_callback: whether a function differs between nodes. */
static bool
function_differs(Oid funcid, void *context)
{
	return funcid == F_NOW || funcid == F_TRANSACTION_TIMESTAMP || funcid == F_STATEMENT_TIMESTAMP ||
		func_volatile(funcid) == PROVOLATILE_VOLATILE;
}

/* Whether an expression may have another value on another node. */
static bool
expression_differs(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, NextValueExpr) || check_functions_in_node(node, function_differs, context) ||
		(IsA(node, SQLValueFunction) && ((SQLValueFunction *) node)->op <= SVFOP_LOCALTIMESTAMP_N))
		return true;
	return expression_tree_walker(node, expression_differs, context);
}

void
check_new_values(Oid relid, const char *column, Node *expr)
{
	Relation	rel = table_open(relid, NoLock);
	ParseState *pstate = make_parsestate(NULL);

	addNSItemToQuery(pstate, addRangeTableEntryForRelation(pstate, rel, AccessShareLock, NULL, false, true), false, true, true);
	if (expression_differs(transformExpr(pstate, copyObject(expr), EXPR_KIND_ALTER_COL_TRANSFORM), NULL) &&
		!relation_is_empty(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot compute column \"%s\" of reference table \"%s\" by a volatile expression, or from the time",
						column, get_rel_name(relid)),
				 errdetail("Each node would compute other values."),
				 errhint("Change the type without that, and UPDATE the rows.")));
	free_parsestate(pstate);
	table_close(rel, NoLock);
}

/* raw_expression_tree_walker: names our functions instead of the server's. */
static bool
sequence_call_walker(Node *node, void *context)
{
	static const char *const functions[] = {"nextval", "currval", "lastval"};
	FuncCall   *call = (FuncCall *) node;
	char	   *schema;
	char	   *name;

	if (node == NULL)
		return false;
	if (IsA(node, FuncCall))
	{
		DeconstructQualifiedName(call->funcname, &schema, &name);
		for (int i = 0; i < lengthof(functions); i++)
			if (strcmp(name, functions[i]) == 0 && (schema == NULL || strcmp(schema, "pg_catalog") == 0))
				call->funcname = list_make2(makeString("citus_internal"), makeString(unconstify(char *, functions[i])));
	}
	return raw_expression_tree_walker(node, sequence_call_walker, context);
}

void
use_sequences_of_cluster(Node *expr)
{
	if (metadata_local_group() != COORDINATOR_GROUP)
		(void) sequence_call_walker(expr, NULL);
}

void
set_missing_value(Oid relid, const char *column, const char *value)
{
	const DistTable *table = metadata_require(relid);
	List	   *relids = table->kind == DIST_REFERENCE ? list_make1_oid(relid) : local_shard_relids(table);
	ListCell   *cell;

	foreach(cell, relids)
		SetAttrMissing(lfirst_oid(cell), pstrdup(column), pstrdup(value));
	CommandCounterIncrement();
}

/*
 * citus_internal.set_missing_value(relation regclass, column_name text, value
 * text)
 */
Datum
citus_internal_set_missing_value(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	set_missing_value(relid, text_to_cstring(PG_GETARG_TEXT_PP(1)), text_to_cstring(PG_GETARG_TEXT_PP(2)));
	PG_RETURN_VOID();
}
