/*-------------------------------------------------------------------------
 *
 * join_path.c
 *	  Joins that the nodes compute without each other: of tables that are
 *	  joined on their distribution columns, and of these with reference tables.
 *
 * set_join_pathlist_hook sees each pair of relations that PostgreSQL's join
 * search considers.  Where a row of one shard group can only meet rows of its
 * own group, the join of the groups' tables is the group's part of the join.
 * A row that appears only because it met none (an outer join's, an anti
 * join's) must come from a distributed table, or each node would return it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "planner/dist_cost.h"
#include "planner/dist_query.h"
#include "planner/dist_rel.h"
#include "planner/planner.h"
#include "sharding/prune.h"

static set_join_pathlist_hook_type prev_set_join_pathlist = NULL;

/* Whether a clause says that rows of the two relations belong to the same shard group. */
static bool
equates_groups(PlannerInfo *root, const DistRel *a, const DistRel *b, Node *clause)
{
	const OpExpr *op = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 ||
		!prune_is_equality(a->table, op->opno, op->inputcollid))
		return false;
	return (dist_rel_is_dist_expr(root, a, linitial(op->args)) && dist_rel_is_dist_expr(root, b, lsecond(op->args))) ||
		(dist_rel_is_dist_expr(root, b, linitial(op->args)) && dist_rel_is_dist_expr(root, a, lsecond(op->args)));
}

/* Whether rows that meet under the clauses are always of the same shard group. */
static bool
are_colocated(PlannerInfo *root, const DistRel *a, const DistRel *b, List *clauses)
{
	ListCell   *cell;

	if (a->table->colocation_id != b->table->colocation_id || a->table->colocation_id == 0)
		return false;
	if (a->table->kind == DIST_SINGLE)
		return true;
	foreach(cell, clauses)
	{
		if (equates_groups(root, a, b, lfirst(cell)))
			return true;
	}
	foreach(cell, a->dist_exprs)
	{
		if (dist_rel_is_dist_expr(root, b, lfirst(cell)))
			return true;
	}
	return false;
}

/* Whether each row of the join comes from one node, and all from some. */
static bool
is_computable(PlannerInfo *root, JoinType type, const DistRel *left, const DistRel *right, List *clauses)
{
	if (left->table != NULL && right->table != NULL)
		return are_colocated(root, left, right, clauses);
	switch (type)
	{
		case JOIN_INNER:
			return true;
		case JOIN_LEFT:
		case JOIN_SEMI:
		case JOIN_ANTI:
			return left->table != NULL || right->table == NULL;
		default:
			return left->table == NULL && right->table == NULL;
	}
}

/* FROM's items as one. */
static Node *
one_item(List *fromlist)
{
	Node	   *item = linitial(fromlist);
	ListCell   *cell;

	for_each_from(cell, fromlist, 1)
	{
		JoinExpr   *join = makeNode(JoinExpr);

		join->jointype = JOIN_INNER;
		join->larg = item;
		join->rarg = lfirst(cell);
		item = (Node *) join;
	}
	return item;
}

/* Has columns of some relations be those of the query around. */
static Node *
raise_columns(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && bms_is_member(((Var *) node)->varno, context))
	{
		Var		   *var = copyObject((Var *) node);

		var->varlevelsup = 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, raise_columns, context);
}

/* [NOT] EXISTS (SELECT 1 FROM right WHERE clauses). */
static Node *
make_exists(PlannerInfo *root, const DistRel *left, const DistRel *right, List *clauses, bool negated)
{
	SubLink    *link = makeNode(SubLink);
	List	   *quals = list_concat(list_copy(right->quals), (List *) raise_columns((Node *) clauses, left->relids));
	Query	   *query = dist_query_make(root, right, right->fromlist, quals);

	query->targetList = list_make1(makeTargetEntry((Expr *) makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(1),
																	  false, true), 1, "one", false));
	link->subLinkType = EXISTS_SUBLINK;
	link->subselect = (Node *) query;
	return negated ? (Node *) makeBoolExpr(NOT_EXPR, list_make1(link), -1) : (Node *) link;
}

/* The join's FROM and WHERE: those of the left side, and what the right side adds. */
static void
add_right_side(PlannerInfo *root, DistRel *dist, JoinType type, const DistRel *right, List *clauses, List *filters)
{
	JoinExpr   *join;
	List	   *quals;

	switch (type)
	{
		case JOIN_INNER:
			dist->fromlist = list_concat_copy(dist->fromlist, right->fromlist);
			dist->quals = list_concat(list_concat_copy(dist->quals, right->quals), clauses);
			break;
		case JOIN_SEMI:
		case JOIN_ANTI:
			dist->quals = lappend(list_copy(dist->quals),
								  make_exists(root, dist, right, clauses, type == JOIN_ANTI));
			break;
		default:
			join = makeNode(JoinExpr);
			join->jointype = type;
			join->larg = one_item(dist->fromlist);
			join->rarg = one_item(right->fromlist);
			quals = list_concat(list_copy(clauses), right->quals);
			join->quals = quals != NIL ? (Node *) make_ands_explicit(quals) : makeBoolConst(true, false);
			dist->fromlist = list_make1(join);
			break;
	}
	dist->quals = list_concat_copy(dist->quals, filters);
}

/* Whether the join returns nothing but columns, and none of a side that it only looks into. */
static bool
returns_columns(const RelOptInfo *joinrel, const DistRel *hidden)
{
	ListCell   *cell;

	foreach(cell, joinrel->reltarget->exprs)
	{
		const Var  *var = lfirst(cell);

		if (!IsA(var, Var) || (hidden != NULL && bms_is_member(var->varno, hidden->relids)))
			return false;
	}
	return true;
}

/* Splits a join's clauses into those that decide which rows meet, and filters of the result; false if one is for no row. */
static bool
split_join_clauses(const RelOptInfo *joinrel, JoinType type, List *restrictlist, List **clauses, List **filters)
{
	ListCell   *cell;

	foreach(cell, restrictlist)
	{
		if (((RestrictInfo *) lfirst(cell))->pseudoconstant)
			return false;
	}
	if (type == JOIN_INNER || type == JOIN_SEMI)
		*clauses = extract_actual_clauses(restrictlist, false);
	else
		extract_actual_join_clauses(restrictlist, joinrel->relids, clauses, filters);
	return true;
}

/*
 * The cost of finding the pairs: by a hash table, or by an index, as the
 * node's planner will find out.
 */
static double
join_work(const DistRel *left, const DistRel *right)
{
	double		hash = left->work + right->work + (left->rows + right->rows) * 2 * cpu_operator_cost;
	double		lookups = Min(left->work + left->rows * DIST_LOOKUP_COST, right->work + right->rows * DIST_LOOKUP_COST);

	return Min(hash, lookups);
}

/* What a join of two relations costs. */
static DistRel *
start_join(const DistRel *left, const DistRel *right, double rows)
{
	DistRel    *dist = palloc(sizeof(DistRel));

	*dist = *left;
	if (left->table == NULL)
		dist->table = right->table;
	dist->rows = rows;
	dist->work = join_work(left, right) + rows * cpu_tuple_cost;
	dist->preparation = left->preparation + right->preparation;
	return dist;
}

/* Makes a join of two relations from what start_join returned; false if the nodes can't compute it without each other. */
static bool
finish_join(PlannerInfo *root, DistRel *dist, const RelOptInfo *joinrel, const DistRel *left, const DistRel *right,
			JoinType type, List *restrictlist)
{
	bool		hides = type == JOIN_SEMI || type == JOIN_ANTI;
	bool		keeps_all = type == JOIN_INNER;
	List	   *clauses = NIL;
	List	   *filters = NIL;

	if (!returns_columns(joinrel, hides ? right : NULL) ||
		!split_join_clauses(joinrel, type, restrictlist, &clauses, &filters) ||
		(type == JOIN_FULL && (left->quals != NIL || right->quals != NIL)) ||
		!is_computable(root, type, left, right, clauses) ||
		!dist_rel_can_evaluate(root, clauses) || !dist_rel_can_evaluate(root, filters))
		return false;

	dist->entries = list_concat_copy(left->entries, right->entries);
	dist->hidden = list_concat_copy(left->hidden, right->hidden);
	dist->entry_numbers = list_concat_copy(left->entry_numbers, right->entry_numbers);
	dist->broadcasts = list_concat_copy(left->broadcasts, right->broadcasts);
	if (keeps_all)
		dist->dist_exprs = list_concat_copy(left->dist_exprs, right->dist_exprs);
	else if (type == JOIN_FULL)
		dist->dist_exprs = NIL;
	if (keeps_all || type == JOIN_SEMI)
		dist->disjunctions = list_concat_copy(left->disjunctions, right->disjunctions);
	else if (type == JOIN_FULL)
		dist->disjunctions = NIL;
	add_right_side(root, dist, type, right, clauses, filters);
	dist->relids = bms_union(left->relids, right->relids);
	return true;
}

/* Takes a join of two relations for what is known of it, and adds its path, if that costs less than what is known so far. */
static void
try_join(PlannerInfo *root, RelOptInfo *joinrel, const DistRel *left, const DistRel *right, JoinType type,
		 List *restrictlist)
{
	const DistRel *known = dist_rel_of(joinrel);
	DistRel    *dist;
	DistQuery  *query;

	if (left == NULL || right == NULL || (left->check_as != right->check_as && right->broadcasts == NIL))
		return;
	dist = start_join(left, right, joinrel->rows);
	if (known != NULL && dist_rel_cost(dist) >= dist_rel_cost(known) * 0.99)
		return;
	if (!finish_join(root, dist, joinrel, left, right, type, restrictlist))
		return;
	joinrel->fdw_private = dist;
	if (dist->table == NULL)
		return;
	query = palloc0(sizeof(DistQuery));
	query->rel = dist;
	add_path(joinrel, dist_query_path(root, joinrel, query, joinrel->reltarget, joinrel->rows, 0));
}

/*
 * PostgreSQL often expects one row of an anti join with more conditions than
 * an equality, and runs what is above in nested loops, which are dear here: it
 * has to expect one row in a hundred at least.
 */
static void
correct_anti_join(RelOptInfo *joinrel, const RelOptInfo *outer)
{
	double		least = clamp_row_est(outer->rows / 100);
	ListCell   *cell;

	if (joinrel->rows >= least)
		return;
	joinrel->rows = least;
	foreach(cell, joinrel->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->param_info == NULL)
			path->rows = least;
	}
}

static void
add_join_path(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
			  JoinPathExtraData *extra)
{
	DistRel    *left;

	if (prev_set_join_pathlist)
		prev_set_join_pathlist(root, joinrel, outer, inner, type, extra);
	if (type == JOIN_ANTI && planning_context != NULL)
		correct_anti_join(joinrel, outer);
	left = dist_rel_of(outer);
	if (left == NULL || type > JOIN_ANTI || type == JOIN_RIGHT || joinrel->reloptkind != RELOPT_JOINREL ||
		joinrel->fdwroutine != NULL || (joinrel->fdw_private != NULL && dist_rel_of(joinrel) == NULL) ||
		!bms_is_empty(joinrel->lateral_relids) || IS_DUMMY_REL(joinrel))
		return;
	try_join(root, joinrel, left, dist_rel_of(inner), type, extra->restrictlist);
	if (left->table != NULL && type != JOIN_FULL)
		try_join(root, joinrel, left, dist_rel_broadcast(root, inner, left->table), type, extra->restrictlist);
}

void
join_path_init(void)
{
	prev_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_path;
}
