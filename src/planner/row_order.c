/*-------------------------------------------------------------------------
 *
 * row_order.c
 *	  Whether the order that a subquery's rows are in decides about a result.
 *
 * SQL gives the order of a subquery's rows no meaning, but PostgreSQL keeps
 * it, and statements rely on that: SELECT .. FROM (.. ORDER BY ..) LIMIT 3,
 * array_agg() of a sorted subquery.  Rows that come from several nodes, or
 * that nodes have joined, have no order.  So where an order can be noticed,
 * the subquery's rows are sorted on the initiator, and whatever is above is
 * computed there.  Where it can't, since the query counts the rows or sorts
 * them anew, the nodes compute the subquery without its ORDER BY.
 *
 * A query's rows pass their order on to the query around it, so the answer
 * depends on all of these, up to the first that makes a new order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat/foreach.h"
#include "planner/row_order.h"

/*
 * Whether an aggregate has the same value for its rows in any order: one of
 * the server's that can be computed in parts, in whose parts the rows are in
 * no order, or that sorts its rows.
 */
static bool
aggregate_ignores_order(Oid function)
{
	static const Oid ordered[] = {F_ARRAY_AGG_ANYNONARRAY, F_ARRAY_AGG_ANYARRAY, F_STRING_AGG_TEXT_TEXT,
	F_STRING_AGG_BYTEA_BYTEA};
	HeapTuple	tuple;
	bool		ignores;

	if (function >= FirstNormalObjectId)
		return false;
	for (int i = 0; i < lengthof(ordered); i++)
	{
		if (function == ordered[i])
			return false;
	}
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;			/* a window function */
	ignores = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggkind != AGGKIND_NORMAL ||
		OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggcombinefn);
	ReleaseSysCache(tuple);
	return ignores;
}

/*
 * Finds an aggregate, or a function of a window without ORDER BY, whose value
 * depends on the order of rows.  context: the query's windows.
 */
static bool
order_sensitive_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		const Aggref *aggref = (Aggref *) node;

		return aggref->aggorder == NIL && aggref->aggdistinct == NIL && !aggregate_ignores_order(aggref->aggfnoid);
	}
	if (IsA(node, WindowFunc))
	{
		const WindowFunc *func = (WindowFunc *) node;

		foreach_node(WindowClause, window, (List *) context)
			if (window->winref == func->winref && window->orderClause == NIL &&
				((window->frameOptions & FRAMEOPTION_NONDEFAULT) != 0 || !aggregate_ignores_order(func->winfnoid)))
				return true;
	}
	return expression_tree_walker(node, order_sensitive_walker, context);
}

/* Whether rows in an order need not be sorted anew. */
static bool
is_sorted_by(List *pathkeys, List *required)
{
	return required != NIL && pathkeys_contained_in(required, pathkeys);
}

/*
 * Whether the order of the rows that a query gets from FROM decides about its
 * result.  pathkeys: that order, as far as the query can name it.
 */
static bool
query_decides_by_order(PlannerInfo *root, List *pathkeys)
{
	const Query *query = root->parse;
	bool		limited = query->limitCount != NULL || query->limitOffset != NULL;

	if (order_sensitive_walker((Node *) query->targetList, query->windowClause) ||
		order_sensitive_walker(query->havingQual, NIL) ||
		(query->hasWindowFuncs && is_sorted_by(pathkeys, root->window_pathkeys)))
		return true;
	if ((!limited && !query->hasDistinctOn) || (query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL))
		return false;
	/* sorted anew, rows with equal keys are in any order */
	return query->sortClause == NIL ||
		(!query->hasAggs && query->groupClause == NIL && is_sorted_by(pathkeys, root->sort_pathkeys));
}

/*
 * Whether the order of a query's rows has nothing to do with that of FROM's.
 */
static bool
makes_new_order(const Query *query)
{
	const SetOperationStmt *operation = (const SetOperationStmt *) query->setOperations;

	return query->commandType != CMD_SELECT || query->sortClause != NIL || query->hasAggs ||
		query->groupClause != NIL || query->groupingSets != NIL || query->distinctClause != NIL ||
		(operation != NULL && !(operation->op == SETOP_UNION && operation->all));
}

/* Whether a relation is only looked into for matches: by IN or EXISTS. */
static bool
is_only_matched(PlannerInfo *root, const RelOptInfo *rel)
{
	Relids		relids = rel->top_parent_relids != NULL ? rel->top_parent_relids : rel->relids;

	foreach_node(SpecialJoinInfo, join, root->join_info_list)
		if ((join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) && bms_is_subset(relids, join->syn_righthand))
			return true;
	return false;
}

RowOrder
row_order_use(PlannerInfo *root, const RelOptInfo *rel, List *pathkeys)
{
	if (is_only_matched(root, rel))
		return ROW_ORDER_LOST;
	for (; root != NULL; root = root->parent_root, pathkeys = NIL)
	{
		if (query_decides_by_order(root, pathkeys))
			return ROW_ORDER_DECIDES;
		if (makes_new_order(root->parse))
			return ROW_ORDER_LOST;
	}
	return ROW_ORDER_SHOWN;
}

bool
row_order_is_needed(PlannerInfo *root, RelOptInfo *rel)
{
	const Path *path = rel->pathlist != NIL ? linitial(rel->pathlist) : NULL;

	return rel->subroot->sort_pathkeys != NIL &&
		row_order_use(root, rel, path != NULL ? path->pathkeys : NIL) != ROW_ORDER_LOST;
}

/* The query of a CTE; NULL if it is a write. */
static const Query *
cte_query(PlannerInfo *root, const RangeTblEntry *rte)
{
	for (Index level = 0; level < rte->ctelevelsup && root != NULL; level++)
		root = root->parent_root;
	if (root == NULL)
		return NULL;
	foreach_node(CommonTableExpr, cte, root->parse->cteList)
		if (strcmp(cte->ctename, rte->ctename) == 0)
			return ((Query *) cte->ctequery)->commandType == CMD_SELECT ? (Query *) cte->ctequery : NULL;
	return NULL;
}

/*
 * Whether functions in FROM may contain an ORDER BY, being users' functions.
 */
static bool
may_sort(List *functions)
{
	foreach_node(RangeTblFunction, function, functions)
		if (IsA(function->funcexpr, FuncExpr) && ((FuncExpr *) function->funcexpr)->funcid >= FirstNormalObjectId &&
			((FuncExpr *) function->funcexpr)->funcretset)
			return true;
	return false;
}

/* Whether the rows of a query's member of FROM come from an ORDER BY. */
static bool
member_is_sorted(PlannerInfo *root, int varno)
{
	const RangeTblEntry *rte = planner_rt_fetch(varno, root);
	PlannerInfo *subroot = root->simple_rel_array[varno] != NULL ? root->simple_rel_array[varno]->subroot : NULL;
	const Query *query;
	int			member = -1;

	switch (rte->rtekind)
	{
		case RTE_CTE:
			query = cte_query(root, rte);
			return query != NULL && query->sortClause != NIL;
		case RTE_FUNCTION:
			return may_sort(rte->functions);
		case RTE_SUBQUERY:
			if (subroot == NULL)
				return false;
			if (subroot->sort_pathkeys != NIL)
				return true;
			while (!makes_new_order(subroot->parse) && (member = bms_next_member(subroot->all_baserels, member)) >= 0)
			{
				if (member_is_sorted(subroot, member))
					return true;
			}
			return false;
		default:
			return false;
	}
}

bool
row_order_decides(PlannerInfo *root, const RelOptInfo *rel)
{
	int			varno = -1;

	if (row_order_use(root, rel, rel->cheapest_total_path->pathkeys) != ROW_ORDER_DECIDES)
		return false;
	while ((varno = bms_next_member(rel->relids, varno)) >= 0)
	{
		if (varno < root->simple_rel_array_size && root->simple_rel_array[varno] != NULL && member_is_sorted(root, varno))
			return true;
	}
	return false;
}
