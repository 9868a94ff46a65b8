/*-------------------------------------------------------------------------
 *
 * task_query.c
 *	  From a query tree to the text and the parameters of a task.
 *
 * The text comes from the server's own deparser, under search_path =
 * pg_catalog and with constants in forms that any session reads alike, since
 * a plan may outlive the settings under which it was made.
 *
 * Types made by users have other oids on other nodes; a parameter of such a
 * type is declared without type and cast to it by name in the text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "planner/shippable.h"
#include "planner/task_query.h"

typedef struct ExtractContext
{
	Index		own_varno;
	bool		volatile_too;
	List	  **exprs;
} ExtractContext;

/* Finds what keeps an expression from being evaluated before the task runs. */
static bool
depends_on_row_walker(Node *node, void *context)
{
	ExtractContext *extract = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return extract->own_varno == 0 || ((Var *) node)->varno == extract->own_varno;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_EXEC;
		case T_Aggref:
		case T_WindowFunc:
		case T_GroupingFunc:
		case T_SubLink:
		case T_SubPlan:
		case T_Query:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_PlaceHolderVar:
			return true;
		default:
			return expression_tree_walker(node, depends_on_row_walker, context);
	}
}

/*
 * Whether the initiator must evaluate an expression that doesn't depend on
 * rows: its value could differ elsewhere, or its functions be missing there.
 */
static bool
must_evaluate(Node *node, ExtractContext *context)
{
	if (!context->volatile_too && contain_volatile_functions(node))
		return false;
	return contain_mutable_functions(node) || shippable_expression(node) != NULL;
}

/* A parameter for expr, reusing that of an equal one. */
static Node *
make_task_param(Expr *expr, List **exprs)
{
	Param	   *param = makeNode(Param);
	Oid			type = exprType((Node *) expr);
	int			position = 0;
	ListCell   *cell;

	foreach(cell, *exprs)
	{
		if (!contain_volatile_functions((Node *) expr) && equal(lfirst(cell), expr))
			break;
		position++;
	}
	if (cell == NULL)
		*exprs = lappend(*exprs, expr);

	param->paramkind = PARAM_EXTERN;
	param->paramid = position + 1;
	param->paramtype = type;
	param->paramtypmod = exprTypmod((Node *) expr);
	param->paramcollid = exprCollation((Node *) expr);
	param->location = -1;

	if (type >= FirstNormalObjectId)
		return (Node *) makeRelabelType((Expr *) param, type, -1, param->paramcollid,
										COERCE_EXPLICIT_CAST);
	return (Node *) param;
}

static Node *
extract_mutator(Node *node, void *context)
{
	ExtractContext *extract = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, extract_mutator, context, 0);

	if (IsA(node, Param))
	{
		ParamKind	kind = ((Param *) node)->paramkind;

		if (kind == PARAM_EXTERN || kind == PARAM_EXEC)
			return make_task_param((Expr *) node, extract->exprs);
		return copyObject(node);
	}
	if (IsA(node, Var) && extract->own_varno != 0 && ((Var *) node)->varno != extract->own_varno)
		return make_task_param((Expr *) node, extract->exprs);

	/* a function in FROM must stay a function: only its arguments are replaced */
	if (IsA(node, RangeTblFunction))
	{
		RangeTblFunction *function = copyObject((RangeTblFunction *) node);

		function->funcexpr = expression_tree_mutator(function->funcexpr, extract_mutator, context);
		return (Node *) function;
	}

	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_SQLValueFunction:
		case T_NextValueExpr:
		case T_CoerceToDomain:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_CaseExpr:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_SubscriptingRef:
		case T_XmlExpr:
			if (must_evaluate(node, extract) && !depends_on_row_walker(node, extract) &&
				!expression_returns_set(node) &&
				get_typtype(exprType(node)) != TYPTYPE_PSEUDO)
				return make_task_param(copyObject((Expr *) node), extract->exprs);
			break;
		default:
			break;
	}
	return expression_tree_mutator(node, extract_mutator, context);
}

Node *
task_params_extract(Node *node, Index own_varno, bool volatile_too, List **exprs)
{
	ExtractContext context = {own_varno, volatile_too, exprs};

	return extract_mutator(node, &context);
}

List *
task_param_types(List *exprs)
{
	List	   *types = NIL;
	ListCell   *cell;

	foreach(cell, exprs)
	{
		Oid			type = exprType(lfirst(cell));

		types = lappend_oid(types, type >= FirstNormalObjectId ? InvalidOid : type);
	}
	return types;
}

/*
 * The target of a write through a view stands in FROM as well, where the
 * rewriter left it; the deparser must not print it twice.
 */
static bool
hide_target_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE)
			rt_fetch(query->resultRelation, query->rtable)->inFromCl = false;
		return query_tree_walker(query, hide_target_walker, context, 0);
	}
	return expression_tree_walker(node, hide_target_walker, context);
}

static void
set_for_deparse(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
}

char *
task_query_deparse(Query *query)
{
	int			nestlevel = NewGUCNestLevel();
	char	   *text;

	(void) hide_target_walker((Node *) query, NULL);
	set_for_deparse("search_path", "pg_catalog");
	if (DateStyle != USE_ISO_DATES)
		set_for_deparse("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_for_deparse("intervalstyle", "postgres");
	if (extra_float_digits < 3)
		set_for_deparse("extra_float_digits", "3");
	text = pg_get_querydef(query, false);
	AtEOXact_GUC(true, nestlevel);
	return text;
}
