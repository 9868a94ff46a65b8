/*-------------------------------------------------------------------------
 *
 * returning.c
 *	  OLD and NEW in RETURNING.
 *
 * A wrapped column is a ReturningExpr whose expression is the Var.  The
 * planner knows these: it passes them to subqueries as parameters, and doesn't
 * look into them where it looks for the expressions of a lower plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat/returning.h"

#if PG_VERSION_NUM >= 180000
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"

#include "compat/virtual_column.h"

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
	List	   *old;			/* columns found by returning_wrap */
} ReturningContext;

static RowExists
row_exists(const Query *query, bool old)
{
	switch (query->commandType)
	{
		case CMD_INSERT:
			if (!old)
				return ROW_ALWAYS;
			return query->onConflict != NULL && query->onConflict->action != ONCONFLICT_NOTHING ?
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

/* The columns of an expression over the target's row become OLD's or NEW's. */
static bool
set_version_walker(Node *node, void *data)
{
	const Var  *like = data;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		((Var *) node)->varno = like->varno;
		((Var *) node)->varlevelsup = like->varlevelsup;
		((Var *) node)->varreturningtype = like->varreturningtype;
		return false;
	}
	return expression_tree_walker(node, set_version_walker, data);
}

/* The row itself as a list of its columns, among which are virtual ones. */
static Node *
expand_row(Relation relation, const Var *var)
{
	TupleDesc	desc = RelationGetDescr(relation);
	RowExpr    *row = makeNode(RowExpr);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Node	   *column;

		if (attribute->attisdropped)
			column = (Node *) makeNullConst(INT4OID, -1, InvalidOid);
		else if (is_virtual_column(attribute))
			column = build_generation_expression(relation, i + 1);
		else
			column = (Node *) makeVar(1, i + 1, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
		row->args = lappend(row->args, column);
		row->colnames = lappend(row->colnames, makeString(pstrdup(NameStr(attribute->attname))));
	}
	row->row_typeid = var->vartype;
	row->row_format = COERCE_EXPLICIT_CAST;
	row->location = -1;
	return (Node *) row;
}

/* A column of OLD or NEW, or its expression if it is a virtual one. */
static Node *
expand_column(Var *var, const ReturningContext *context)
{
	bool		old = var->varreturningtype == VAR_RETURNING_OLD;
	Relation	relation = table_open(rt_fetch(context->query->resultRelation, context->query->rtable)->relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	Node	   *result = (Node *) var;

	if (desc->constr != NULL && desc->constr->has_generated_virtual && var->varattno == 0)
		result = expand_row(relation, var);
	else if (var->varattno > 0 && is_virtual_column(TupleDescAttr(desc, var->varattno - 1)))
		result = build_generation_expression(relation, var->varattno);
	table_close(relation, NoLock);
	if (result == (Node *) var)
		return result;
	(void) set_version_walker(result, var);
	return row_exists(context->query, old) == ROW_ALWAYS ? result : make_case(result, old, context);
}

static Node *
simplify_mutator(Node *node, void *data)
{
	ReturningContext *context = data;
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (is_versioned(node, context))
	{
		result = simplify_column((Var *) node, context->query);
		return is_versioned(result, context) ? expand_column((Var *) result, context) : result;
	}
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
		bool		old = ((Var *) node)->varreturningtype == VAR_RETURNING_OLD;

		result->retlevelsup = context->levelsup;
		result->retold = old;
		result->retexpr = copyObject((Expr *) node);
		if (old)
			context->old = list_append_unique(context->old, returning_wrapped((Node *) result, &old));
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
returning_wrap(Query *query)
{
	ReturningContext context = {query};

	query->returningList = (List *) wrap_mutator((Node *) query->returningList, &context);
	return context.old;
}

Var *
returning_wrapped(const Node *node, bool *old)
{
	Var		   *result;

	if (!IsA(node, ReturningExpr))
		return NULL;
	*old = ((const ReturningExpr *) node)->retold;
	result = copyObject(castNode(Var, ((const ReturningExpr *) node)->retexpr));
	result->varlevelsup = 0;
	result->varreturningtype = VAR_RETURNING_DEFAULT;
	return result;
}

#else

void
returning_simplify(Query *query)
{
}

List *
returning_wrap(Query *query)
{
	return NIL;
}

Var *
returning_wrapped(const Node *node, bool *old)
{
	return NULL;
}

#endif
