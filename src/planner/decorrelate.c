/*-------------------------------------------------------------------------
 *
 * decorrelate.c
 *	  Scalar subqueries that aggregate, as joins with grouped subqueries.
 *
 *	  .. WHERE a.x < (SELECT avg(b.y) FROM b WHERE b.k = a.k)
 * becomes
 *	  .. , (SELECT b.k, avg(b.y) FROM b GROUP BY b.k) s WHERE a.x < s.avg AND a.k = s.k
 *
 * PostgreSQL runs such a subquery for each row of a, which takes a round trip
 * each where b is distributed; nodes aggregate all groups at once.  Both are
 * the same where the comparison is strict and the aggregate of no rows is
 * null: a row of a without rows of b is left out either way.
 *
 * Where few groups are asked for, the grouped subquery better reads only their
 * rows: it gets WHERE EXISTS (SELECT 1 FROM a WHERE <filters of a> AND b.k =
 * a.k).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat/permissions.h"
#include "planner/planner.h"
#include "planner/shippable.h"

/* One "inner expression = outer expression" of a subquery. */
typedef struct Correlation
{
	Node	   *inner;
	Node	   *outer;			/* as in the outer query */
	OpExpr	   *clause;
	bool		inner_first;
} Correlation;

/*
 * Replaces aggregates that are null for no rows by a Var; sets *other if there
 * are others.
 */
static Node *
replace_aggregates(Node *node, void *context)
{
	static const char *const null_for_none[] = {"sum", "avg", "min", "max", "stddev", "variance", "bool_and", "bool_or"};
	bool	   *other = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		const char *name = get_func_name(((Aggref *) node)->aggfnoid);
		bool		known = false;

		for (int i = 0; i < lengthof(null_for_none); i++)
			known = known || strcmp(name, null_for_none[i]) == 0;
		if (!known || ((Aggref *) node)->aggfnoid >= FirstNormalObjectId || ((Aggref *) node)->agglevelsup > 0)
			*other = true;
		return (Node *) makeVar(1, 1, ((Aggref *) node)->aggtype, -1, ((Aggref *) node)->aggcollid, 0);
	}
	return expression_tree_mutator(node, replace_aggregates, context);
}

/* Whether a subquery's value is null if it has no rows. */
static bool
is_null_for_none(Node *expr)
{
	bool		other = false;
	Node	   *rest = replace_aggregates(expr, &other);

	return !other && contain_var_clause(rest) && !contain_nonstrict_functions(rest) && !contain_vars_of_level(expr, 1);
}

/* Whether a subquery is of the form that can be turned, its WHERE aside. */
static bool
has_form(Query *sub)
{
	return sub->commandType == CMD_SELECT && sub->hasAggs && list_length(sub->targetList) == 1 &&
		sub->groupClause == NIL && sub->groupingSets == NIL && sub->havingQual == NULL && sub->setOperations == NULL &&
		!sub->hasWindowFuncs && !sub->hasTargetSRFs && sub->distinctClause == NIL && sub->limitCount == NULL &&
		sub->limitOffset == NULL && sub->cteList == NIL && sub->rowMarks == NIL &&
		query_has_distributed_table(sub) && !contain_volatile_functions((Node *) sub) &&
		is_null_for_none((Node *) linitial_node(TargetEntry, sub->targetList)->expr);
}

/* Whether rows that an equality operator calls equal make one group. */
static bool
groups_alike(const OpExpr *clause, Node *inner)
{
	Oid			type = exprType(inner);
	Oid			less;
	Oid			equality;
	bool		hashable;

	get_sort_group_operators(type, false, false, false, &less, &equality, NULL, &hashable);
	return OidIsValid(less) && OidIsValid(equality) && op_mergejoinable(clause->opno, exprType(linitial(clause->args))) &&
		equality_ops_are_compatible(clause->opno, equality) &&
		(!OidIsValid(clause->inputcollid) || get_collation_isdeterministic(clause->inputcollid)) &&
		(!OidIsValid(exprCollation(inner)) || get_collation_isdeterministic(exprCollation(inner)));
}

/*
 * Whether a clause of the subquery's WHERE ties its rows to the outer row, and
 * how.
 */
static bool
is_correlation(Node *clause, Correlation *correlation)
{
	OpExpr	   *op = (OpExpr *) clause;
	Node	   *left;
	Node	   *right;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || contain_subplans(clause))
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	correlation->clause = op;
	correlation->inner_first = contain_vars_of_level(left, 0);
	correlation->inner = correlation->inner_first ? left : right;
	correlation->outer = copyObject(correlation->inner_first ? right : left);
	if (!contain_vars_of_level(correlation->inner, 0) || contain_vars_of_level(correlation->inner, 1) ||
		contain_vars_of_level(correlation->outer, 0) || !contain_vars_of_level(correlation->outer, 1) ||
		!groups_alike(op, correlation->inner))
		return false;
	IncrementVarSublevelsUp(correlation->outer, -1, 1);
	return true;
}

/* Has the subquery return the expression, and a row for each of its values. */
static void
group_by(Query *sub, Node *expr, AttrNumber attno)
{
	TargetEntry *entry = makeTargetEntry((Expr *) expr, attno, psprintf("k%d", attno), false);
	SortGroupClause *clause = makeNode(SortGroupClause);

	entry->ressortgroupref = clause->tleSortGroupRef = attno;
	get_sort_group_operators(exprType(expr), true, true, false, &clause->sortop, &clause->eqop, NULL, &clause->hashable);
	sub->targetList = lappend(sub->targetList, entry);
	sub->groupClause = lappend(sub->groupClause, clause);
}

/*
 * The column of an entry of the range table that a subquery's result is now.
 */
static Node *
column_of(const TargetEntry *entry, Index varno)
{
	Node	   *expr = (Node *) entry->expr;

	return (Node *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
}

/*
 * Adds the subquery to the query's FROM; returns its index in the range table.
 */
static Index
add_to_from(Query *query, Query *sub)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *cell;

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = sub;
	entry->inFromCl = true;
	entry->eref = makeAlias("grouped", NIL);
	foreach(cell, sub->targetList)
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup(lfirst_node(TargetEntry, cell)->resname)));
	entry->alias = copyObject(entry->eref);
	query->rtable = lappend(query->rtable, entry);
	ref->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	return ref->rtindex;
}

/*
 * The items of the query's FROM that the relations are; NIL if one is below a
 * join.
 */
static List *
items_of(Query *query, const Bitmapset *varnos)
{
	List	   *items = NIL;

	foreach_ptr(RangeTblRef, ref, query->jointree->fromlist)
		if (IsA(ref, RangeTblRef) && bms_is_member(ref->rtindex, varnos))
			items = lappend(items, copyObject(ref));
	return list_length(items) == bms_num_members(varnos) ? items : NIL;
}

/* Has the subquery read only rows whose groups the query asks for. */
static void
ask_for_groups(Query *query, Query *sub, List *correlations, const Node *turned)
{
	Bitmapset  *varnos = NULL;
	Query	   *keys = makeNode(Query);
	SubLink    *link = makeNode(SubLink);
	List	   *quals = NIL;

	foreach_ptr(Correlation, correlation, correlations)
		varnos = bms_add_members(varnos, pull_varnos(NULL, correlation->outer));
	foreach_ptr(Node, clause, make_ands_implicit((Expr *) query->jointree->quals))
		if (clause != turned && !contain_vars_of_level(clause, 1) && !contain_volatile_functions(clause) &&
			bms_is_subset(pull_varnos(NULL, clause), varnos))
			quals = lappend(quals, copyObject(clause));
	keys->jointree = makeFromExpr(items_of(query, varnos), NULL);
	if (quals == NIL || keys->jointree->fromlist == NIL)
		return;
	foreach_ptr(Correlation, correlation, correlations)
	{
		OpExpr	   *clause = copyObject(correlation->clause);
		Node	   *inner = copyObject(correlation->inner);
		Node	   *outer = copyObject(correlation->outer);

		IncrementVarSublevelsUp(inner, 1, 0);
		clause->args = correlation->inner_first ? list_make2(inner, outer) : list_make2(outer, inner);
		quals = lappend(quals, clause);
	}
	keys->commandType = CMD_SELECT;
	keys->canSetTag = true;
	keys->rtable = copyObject(query->rtable);
	compat_copy_all_permissions(keys, query);
	keys->jointree->quals = (Node *) make_ands_explicit(quals);
	keys->hasSubLinks = checkExprHasSubLink(keys->jointree->quals);
	link->subLinkType = EXISTS_SUBLINK;
	link->subselect = (Node *) keys;
	sub->jointree->quals = make_and_qual(sub->jointree->quals, (Node *) link);
	sub->hasSubLinks = true;
}

/*
 * Turns a subquery that stands in the query's WHERE; returns what stands for
 * its value, and adds to quals; NULL if it can't be.
 */
static Node *
turn_subquery(Query *query, Query *sub, bool few, const Node *turned, List **quals)
{
	List	   *correlations = NIL;
	List	   *rest = NIL;
	TargetEntry *value;
	Index		varno;
	ListCell   *cell;

	if (!has_form(sub))
		return NULL;
	foreach(cell, make_ands_implicit((Expr *) sub->jointree->quals))
	{
		Correlation *correlation = palloc(sizeof(Correlation));

		if (is_correlation(lfirst(cell), correlation))
			correlations = lappend(correlations, correlation);
		else
			rest = lappend(rest, lfirst(cell));
	}
	sub->jointree->quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
	if (correlations == NIL || contain_vars_of_level((Node *) sub, 1))
		return NULL;
	if (few)
		ask_for_groups(query, sub, correlations, turned);

	value = linitial_node(TargetEntry, sub->targetList);
	value->resname = "value";
	foreach(cell, correlations)
		group_by(sub, ((Correlation *) lfirst(cell))->inner, list_length(sub->targetList) + 1);
	varno = add_to_from(query, sub);
	foreach_ptr(Correlation, correlation, correlations)
	{
		Node	   *inner = column_of(list_nth(sub->targetList, foreach_current_index(correlation) + 1), varno);
		OpExpr	   *clause = copyObject(correlation->clause);

		clause->args = correlation->inner_first ? list_make2(inner, correlation->outer) :
			list_make2(correlation->outer, inner);
		*quals = lappend(*quals, clause);
	}
	return column_of(value, varno);
}

/* Turns a clause of the query's WHERE if it compares with such a subquery. */
static Node *
turn_clause(Query *query, Node *clause, bool few, List **quals)
{
	OpExpr	   *op = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno))
		return clause;
	foreach_ptr(SubLink, link, op->args)
	{
		Node	   *value;

		if (!IsA(link, SubLink) || link->subLinkType != EXPR_SUBLINK)
			continue;
		value = turn_subquery(query, copyObject((Query *) link->subselect), few, clause, quals);
		if (value == NULL)
			continue;
		op = copyObject(op);
		lfirst(list_nth_cell(op->args, foreach_current_index(link))) = value;
		return (Node *) op;
	}
	return clause;
}

/* Turns what can be in one query level; whether anything was. */
static bool
turn_level(Query *query, bool few)
{
	List	   *quals = NIL;
	int			entries = list_length(query->rtable);
	ListCell   *cell;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks || query->rowMarks != NIL ||
		query->jointree->quals == NULL || query->jointree->fromlist == NIL)
		return false;
	foreach(cell, make_ands_implicit((Expr *) query->jointree->quals))
	{
		Node	   *clause = turn_clause(query, lfirst(cell), few, &quals);

		quals = lappend(quals, clause);
	}
	if (list_length(query->rtable) == entries)
		return false;
	query->jointree->quals = (Node *) make_ands_explicit(quals);
	return true;
}

typedef struct DecorrelateContext
{
	bool		few;			/* few groups are asked for */
	bool		any;			/* anything was turned */
} DecorrelateContext;

static bool
decorrelate_walker(Node *node, void *context)
{
	DecorrelateContext *turn = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		(void) query_tree_walker((Query *) node, decorrelate_walker, context, 0);
		if (turn_level((Query *) node, turn->few))
			turn->any = true;
		return false;
	}
	return expression_tree_walker(node, decorrelate_walker, context);
}

Query *
decorrelate(Query *query, bool few)
{
	Query	   *turned = copyObject(query);
	DecorrelateContext turn = {.few = few};

	(void) decorrelate_walker((Node *) turned, &turn);
	return turn.any ? turned : NULL;
}
