/*-------------------------------------------------------------------------
 *
 * delegated_call.c
 *	  Plans of calls that the node of a shard group runs.
 *
 * A function or procedure that create_distributed_function() has recorded with
 * a distribution argument works on the rows of that value.  A SELECT that
 * consists only of its call, and a CALL, are sent to the node of these rows as
 * one task.  The initiator evaluates all arguments.  If a statement of the
 * function would need another node, that node refuses and undoes the call, and
 * the initiator runs it (executor/delegated_call_run.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/distributed_function.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "planner/delegated_call.h"
#include "planner/named_objects.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "planner/task_query.h"

CustomScanMethods delegated_call_methods = {
	.CustomName = "DelegatedCall",
};

bool		citus_enable_delegation = true;

/* Whether a query has nothing but a target list and at most one FROM item. */
static bool
is_bare(const Query *query)
{
	return query->commandType == CMD_SELECT && query->cteList == NIL && !query->hasSubLinks && !query->hasAggs &&
		!query->hasWindowFuncs && query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == NULL &&
		query->distinctClause == NIL && query->sortClause == NIL && query->limitCount == NULL &&
		query->limitOffset == NULL && query->setOperations == NULL && query->rowMarks == NIL &&
		query->jointree->quals == NULL && list_length(query->rtable) <= 1;
}

/* Whether a target list is made of columns alone. */
static bool
has_columns_only(const List *targetlist)
{
	foreach_node(TargetEntry, entry, targetlist)
	{
		if (!IsA(entry->expr, Var))
			return false;
	}
	return true;
}

/*
 * The expression of SELECT f() or SELECT .. FROM f() that is the call; NULL
 * for other queries.
 */
static Node *
only_expression(const Query *query)
{
	const RangeTblEntry *rte;

	if (!is_bare(query))
		return NULL;
	if (query->rtable == NIL)
		return list_length(query->targetList) == 1 ? (Node *) linitial_node(TargetEntry, query->targetList)->expr : NULL;
	rte = linitial(query->rtable);
	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1 || rte->funcordinality ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef) || !has_columns_only(query->targetList))
		return NULL;
	return linitial_node(RangeTblFunction, rte->functions)->funcexpr;
}

/*
 * The value of the call's distribution argument, as the distribution column
 * has it; NULL if it can't be evaluated alone.
 */
static Node *
distribution_value(const DistributedFunction *function, List *args, const DistTable *table)
{
	Node	   *value;

	if (function->argument < 0 || function->argument >= list_length(args))
		return NULL;
	value = copyObject(list_nth(args, function->argument));
	if (contain_volatile_functions(value))
		return NULL;
	return coerce_to_target_type(NULL, value, exprType(value), table->dist_type, -1, COERCION_ASSIGNMENT,
								 COERCE_IMPLICIT_CAST, -1);
}

/*
 * Whether a function takes or returns cursors, which its caller's session has.
 */
static bool
handles_cursors(Oid function, const List *args)
{
	ListCell   *cell;

	foreach(cell, args)
	{
		if (exprType(lfirst(cell)) == REFCURSOROID)
			return true;
	}
	return get_func_rettype(function) == REFCURSOROID;
}

/*
 * Fills a call's DistPlan except its text, and the expressions to be
 * evaluated; false if the function can't be delegated.
 */
static bool
begin_call_plan(Oid function, List *args, DistPlan *plan, List **exprs)
{
	DistributedFunction record;
	const DistTable *table;
	Node	   *value;

	if (!citus_enable_delegation || function < FirstNormalObjectId || handles_cursors(function, args) || !distributed_function_find(function, &record) ||
		record.colocation_id == 0)
		return false;
	*plan = (DistPlan) {.kind = DIST_PLAN_ROUTER, .traits.flags = TASK_CALL, .tableoid_position = -1};
	plan->writes = func_volatile(function) == PROVOLATILE_VOLATILE;
	plan->relid = metadata_colocated_table(record.colocation_id);
	table = OidIsValid(plan->relid) ? metadata_lookup(plan->relid) : NULL;
	if (table == NULL || table->kind != DIST_HASH || (value = distribution_value(&record, args, table)) == NULL)
		return false;
	plan->nparams = plan->dist_param = list_length(args);
	*exprs = lappend(list_copy(args), value);
	return plan->nparams <= TASK_MAX_PARAMS;
}

/* The n-th parameter, from 1, in the place of an argument. */
static Param *
make_argument(const Node *value, int number)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = number;
	param->paramtype = exprType(value);
	param->paramtypmod = -1;
	param->paramcollid = exprCollation(value);
	param->location = -1;
	return param;
}

/* A call's arguments in the order, and with the defaults, of its function. */
static List *
all_arguments(FuncExpr *call)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	List	   *args;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", call->funcid);
	args = expand_function_arguments(call->args, false, call->funcresulttype, tuple);
	ReleaseSysCache(tuple);
	return args;
}

/*
 * Whether PL/pgSQL may evaluate the query as an expression, for which it
 * inspects the plan: a SELECT without FROM that no client has sent.
 */
static bool
may_be_expression(const Query *query, const char *query_string)
{
	return query->rtable == NIL && !is_client_text(query_string);
}

PlannedStmt *
delegated_call_of_query(Query *query, const char *query_string, int cursor_options)
{
	FuncExpr   *call = (FuncExpr *) only_expression(query);
	PlannedStmt *there;
	DistPlan	plan;
	List	   *exprs;
	int			nargs;

	if (call == NULL || !IsA(call, FuncExpr) || expression_returns_set((Node *) call->args) || (cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0 ||
		call->funcid < FirstNormalObjectId || may_be_expression(query, query_string) || !begin_call_plan(call->funcid, all_arguments(call), &plan, &exprs))
		return NULL;
	query = copyObject(query);
	call = (FuncExpr *) only_expression(query);
	call->args = NIL;
	nargs = plan.nparams;
	for (int i = 0; i < nargs; i++)
		call->args = lappend(call->args, make_argument(list_nth(exprs, i), i + 1));
	if (shippable_columns(query->targetList) != NULL)
		return NULL;
	plan.text = task_query_deparse(copyObject(query));
	there = make_dist_statement(query, &plan, exprs);
	named_objects_note(there, query);
	return there;
}

/* The text of a CALL whose arguments are parameters. */
static char *
procedure_text(const CallStmt *call)
{
	Oid			function = call->funcexpr->funcid;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	StringInfoData text;
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			input = 0;
	int			count;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	count = get_func_arg_info(tuple, &types, &names, &modes);
	initStringInfo(&text);
	appendStringInfo(&text, "CALL %s(", quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
																   get_func_name(function)));
	for (int i = 0; i < count; i++)
	{
		char		mode = modes == NULL ? PROARGMODE_IN : modes[i];

		if (i > 0)
			appendStringInfoString(&text, ", ");
		if (mode == PROARGMODE_OUT)
			appendStringInfo(&text, "NULL::%s", format_type_be_qualified(types[i]));
		else
			appendStringInfo(&text, "%s$%d", mode == PROARGMODE_VARIADIC ? "VARIADIC " : "", ++input);
	}
	appendStringInfoChar(&text, ')');
	ReleaseSysCache(tuple);
	return text.data;
}

PlannedStmt *
delegated_call_of_procedure(const CallStmt *call, TupleDesc columns)
{
	Query	   *query;
	DistPlan	plan;
	List	   *exprs;

	if (!begin_call_plan(call->funcexpr->funcid, call->funcexpr->args, &plan, &exprs))
		return NULL;
	query = makeNode(Query);
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	for (int i = 0; columns != NULL && i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		Const	   *null;

		if (column->atttypid == REFCURSOROID)
			return NULL;
		null = makeNullConst(column->atttypid, column->atttypmod, column->attcollation);

		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) null, i + 1, pstrdup(NameStr(column->attname)), false));
	}
	if (shippable_columns(query->targetList) != NULL)
		return NULL;
	plan.text = procedure_text(call);
	plan.traits.flags |= TASK_PROCEDURE;
	return make_dist_statement(query, &plan, exprs);
}

PlannedStmt *
delegated_call_plan(PlannedStmt *local, PlannedStmt *there)
{
	CustomScan *scan = make_scan_like(local->planTree);

	scan->methods = &delegated_call_methods;
	scan->custom_plans = list_make1(local->planTree);
	scan->custom_private = list_make1(there);
	local->planTree = (Plan *) scan;
	local->invalItems = list_concat(local->invalItems, there->invalItems);
	local->relationOids = list_concat(local->relationOids, there->relationOids);
	local->relationOids = list_append_unique_oid(local->relationOids, dist_plan_peek((CustomScan *) there->planTree)->relid);
	return local;
}

void
delegated_call_plan_init(void)
{
	DefineCustomBoolVariable("citus.enable_function_delegation",
							 "Runs calls of distributed functions on the node of their distribution argument's rows.",
							 NULL, &citus_enable_delegation, true, PGC_USERSET, 0, NULL, NULL, NULL);
}
