/*-------------------------------------------------------------------------
 *
 * returning.c
 *	  OLD and NEW in RETURNING.
 *
 * A wrapped column of OLD is a ReturningExpr whose expression is the Var.  The
 * planner knows these: it passes them to subqueries as parameters, and doesn't
 * look into them where it looks for the expressions of a lower plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "compat/returning.h"

#if PG_VERSION_NUM >= 180000
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"

/* Whether the rows of a command have a version. */
typedef enum RowExists
{
	ROW_NEVER,
	ROW_SOMETIMES,
	ROW_ALWAYS
} RowExists;

typedef struct ReturningContext
{
	const Query *query;
	int			levelsup;		/* of the query, seen from where we are */
	List	   *old;			/* columns found by returning_wrap_old */
} ReturningContext;

static RowExists
row_exists(const Query *query, bool old)
{
	switch (query->commandType)
	{
		case CMD_INSERT:
			if (!old)
				return ROW_ALWAYS;
			return query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE ?
				ROW_SOMETIMES : ROW_NEVER;
		case CMD_UPDATE:
			return ROW_ALWAYS;
		case CMD_DELETE:
			return old ? ROW_ALWAYS : ROW_NEVER;
		default:
			return ROW_SOMETIMES;
	}
}

/* Whether a node is a column of OLD or NEW of the query. */
static bool
is_versioned(const Node *node, const ReturningContext *context)
{
	return IsA(node, Var) && ((const Var *) node)->varno == context->query->resultRelation &&
		((const Var *) node)->varlevelsup == context->levelsup &&
		((const Var *) node)->varreturningtype != VAR_RETURNING_DEFAULT;
}

static Node *
simplify_column(const Var *var, const Query *query)
{
	bool		old = var->varreturningtype == VAR_RETURNING_OLD;
	bool		meant = query->commandType != CMD_MERGE && old == (query->commandType == CMD_DELETE);
	Var		   *result;

	if (row_exists(query, old) == ROW_NEVER)
		return (Node *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
	result = copyObject(unconstify(Var *, var));
	if (meant)
		result->varreturningtype = VAR_RETURNING_DEFAULT;
	return (Node *) result;
}

/* CASE WHEN OLD or NEW has a ctid THEN the expression END. */
static Node *
make_case(Node *expr, bool old, const ReturningContext *context)
{
	Var		   *ctid = makeVar(context->query->resultRelation, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid,
							   context->levelsup);
	NullTest   *test = makeNode(NullTest);
	CaseWhen   *when = makeNode(CaseWhen);
	CaseExpr   *result = makeNode(CaseExpr);

	ctid->varreturningtype = old ? VAR_RETURNING_OLD : VAR_RETURNING_NEW;
	test->arg = (Expr *) ctid;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	when->expr = (Expr *) test;
	when->result = (Expr *) expr;
	when->location = -1;
	result->casetype = exprType(expr);
	result->casecollid = exprCollation(expr);
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr));
	result->location = -1;
	return (Node *) result;
}

static Node *
simplify_mutator(Node *node, void *data)
{
	ReturningContext *context = data;
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (is_versioned(node, context))
		return simplify_column((Var *) node, context->query);
	if (IsA(node, ReturningExpr) && ((ReturningExpr *) node)->retlevelsup == context->levelsup)
	{
		bool		old = ((ReturningExpr *) node)->retold;
		RowExists	exists = row_exists(context->query, old);

		result = simplify_mutator((Node *) ((ReturningExpr *) node)->retexpr, data);
		if (exists == ROW_NEVER)
			return (Node *) makeNullConst(exprType(result), exprTypmod(result), exprCollation(result));
		return exists == ROW_ALWAYS ? result : make_case(result, old, context);
	}
	if (IsA(node, Query))
	{
		context->levelsup++;
		result = (Node *) query_tree_mutator((Query *) node, simplify_mutator, data, 0);
		context->levelsup--;
		return result;
	}
	return expression_tree_mutator(node, simplify_mutator, data);
}

void
returning_simplify(Query *query)
{
	ReturningContext context = {query};

	query->returningList = (List *) simplify_mutator((Node *) query->returningList, &context);
}

static Node *
wrap_mutator(Node *node, void *data)
{
	ReturningContext *context = data;

	if (node == NULL)
		return NULL;
	if (is_versioned(node, context))
	{
		ReturningExpr *result = makeNode(ReturningExpr);

		result->retlevelsup = context->levelsup;
		result->retold = true;
		result->retexpr = copyObject((Expr *) node);
		context->old = list_append_unique(context->old, returning_old_column((Node *) result));
		return (Node *) result;
	}
	if (IsA(node, Query))
	{
		Query	   *result;

		context->levelsup++;
		result = query_tree_mutator((Query *) node, wrap_mutator, data, 0);
		context->levelsup--;
		return (Node *) result;
	}
	return expression_tree_mutator(node, wrap_mutator, data);
}

List *
returning_wrap_old(Query *query)
{
	ReturningContext context = {query};

	query->returningList = (List *) wrap_mutator((Node *) query->returningList, &context);
	return context.old;
}

Var *
returning_old_column(const Node *node)
{
	Var		   *result;

	if (!IsA(node, ReturningExpr))
		return NULL;
	result = copyObject(castNode(Var, ((const ReturningExpr *) node)->retexpr));
	result->varlevelsup = 0;
	result->varreturningtype = VAR_RETURNING_DEFAULT;
	return result;
}

static bool
returned_columns_walker(Node *node, void *columns)
{
	List	  **result = columns;

	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, ReturningExpr))
	{
		*result = lappend(*result, node);
		return false;
	}
	return expression_tree_walker(node, returned_columns_walker, columns);
}

List *
returning_columns(Node *node)
{
	List	   *result = NIL;

	(void) returned_columns_walker(node, &result);
	return result;
}

#else

void
returning_simplify(Query *query)
{
}

List *
returning_wrap_old(Query *query)
{
	return NIL;
}

Var *
returning_old_column(const Node *node)
{
	return NULL;
}

List *
returning_columns(Node *node)
{
	return pull_var_clause(node, PVC_RECURSE_PLACEHOLDERS);
}

#endif
