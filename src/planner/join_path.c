/*-------------------------------------------------------------------------
 *
 * join_path.c
 *	  Joins that the nodes compute independently: of tables that are joined on
 *	  their distribution columns, and of these with reference tables.
 *
 * set_join_pathlist_hook is called for each pair of relations that
 * PostgreSQL's join search considers.  If a row can only match rows of its own
 * shard group, each node can compute the join for its shard groups.  Rows that
 * are returned because they match no other (in outer and anti joins) must come
 * from a distributed table, since otherwise each node would return them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "columnar/join_filter.h"
#include "planner/dist_cost.h"
#include "planner/dist_query.h"
#include "planner/dist_rel.h"
#include "planner/planner.h"
#include "sharding/prune.h"

static set_join_pathlist_hook_type prev_set_join_pathlist = NULL;

/* Whether a clause implies that joined rows belong to the same shard group. */
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

/*
 * Whether rows that match under the clauses are always of the same shard
 * group.
 */
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

/* Whether each row of the join is returned by exactly one node. */
static bool
is_computable(PlannerInfo *root, JoinType type, const DistRel *left, const DistRel *right, List *clauses)
{
	if (!bms_is_empty(left->lateral) || !bms_is_subset(right->lateral, left->relids))
		return false;
	if (!bms_is_empty(right->lateral) && type != JOIN_INNER && type != JOIN_LEFT)
		return false;
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

/* Changes columns of some relations to columns of the outer query. */
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

/*
 * The join's FROM and WHERE: those of the left side, and what the right side
 * adds.
 */
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

/*
 * Whether the join returns only columns, and none of the inner side of a semi
 * or anti join.  The join of a write may also return row identity columns,
 * which no text needs.
 */
static bool
returns_columns(PlannerInfo *root, const RelOptInfo *joinrel, const DistRel *hidden)
{
	bool		writes = dist_rel_finds_writes(root);

	foreach_ptr(const Var, var, joinrel->reltarget->exprs)
	{
		if (!IsA(var, Var))
		{
			if (!writes)
				return false;
		}
		else if (hidden != NULL && !IS_SPECIAL_VARNO(var->varno) && bms_is_member(var->varno, hidden->relids) &&
				 (var->varattno > 0 || !writes))
			return false;
	}
	return true;
}

/*
 * Splits a join's clauses into join conditions, and filters of the result;
 * false if one is a pseudoconstant.
 */
static bool
split_join_clauses(const RelOptInfo *joinrel, JoinType type, List *restrictlist, List **clauses, List **filters)
{
	foreach_ptr(RestrictInfo, clause, restrictlist)
	{
		if (clause->pseudoconstant)
			return false;
	}
	if (type == JOIN_INNER || type == JOIN_SEMI)
		*clauses = extract_actual_clauses(restrictlist, false);
	else
		extract_actual_join_clauses(restrictlist, joinrel->relids, clauses, filters);
	return true;
}

/*
 * The cost of finding the pairs, by a hash table or by an index, whichever the
 * node's planner will prefer.
 */
static double
join_work(const DistRel *left, const DistRel *right)
{
	double		hash = left->work + right->work + (left->rows + right->rows) * 2 * cpu_operator_cost;
	double		lookups = Min(left->work + left->rows * dist_lookup_cost, right->work + right->rows * dist_lookup_cost);

	if (!bms_is_empty(right->lateral))
		return left->work + left->rows * right->work;
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
	if (left->reads_nothing)
		dist->check_as = right->check_as;
	dist->reads_nothing = left->reads_nothing && right->reads_nothing;
	dist->lateral = NULL;
	dist->rows = rows;
	dist->work = join_work(left, right) + rows * cpu_tuple_cost;
	dist->preparation = left->preparation + right->preparation;
	return dist;
}

/*
 * Why two relations can't be joined by the nodes without each other, apart
 * from the conditions.
 */
static const char *
reason_for_join(const DistRel *left, const DistRel *right)
{
	if (left->table == NULL || right->table == NULL)
		return "rows of a table that all nodes have would come several times";
	return left->table->colocation_id == right->table->colocation_id ?
		"its sides are not joined on their distribution columns" : "its sides are not colocated";
}

/*
 * Makes a join of two relations from what start_join returned; NULL, or why
 * the nodes can't compute it independently.
 */
static const char *
finish_join(PlannerInfo *root, DistRel *dist, const RelOptInfo *joinrel, const DistRel *left, const DistRel *right,
			JoinType type, List *restrictlist)
{
	bool		hides = type == JOIN_SEMI || type == JOIN_ANTI;
	bool		keeps_all = type == JOIN_INNER;
	List	   *clauses = NIL;
	List	   *filters = NIL;
	const char *reason;

	if (!returns_columns(root, joinrel, hides ? right : NULL))
		return "the join returns expressions";
	if (!split_join_clauses(joinrel, type, restrictlist, &clauses, &filters))
		return "it has a filter that is the same for all rows";
	/* an outer join that became an anti-join: they are null there */
	if (hides && bms_overlap(pull_varnos(root, (Node *) filters), right->relids))
		return "a filter uses columns of rows that aren't there";
	if (type == JOIN_FULL && (left->quals != NIL || right->quals != NIL))
		return "FULL JOIN of filtered tables";
	if (!is_computable(root, type, left, right, clauses))
		return reason_for_join(left, right);
	/*
	 * matching rows are in one group, which the expressions of both sides
	 * determine
	 */
	dist->dist_exprs = list_concat_copy(left->dist_exprs, right->dist_exprs);
	if ((reason = dist_rel_keeps_here(root, dist, clauses)) != NULL ||
		(reason = group_subquery_refusal(root, left, right->computed)) != NULL)
		return reason;
	if (type == JOIN_FULL)
		dist->dist_exprs = NIL;
	else if (!keeps_all)
		dist->dist_exprs = left->dist_exprs;
	if ((reason = dist_rel_keeps_here(root, dist, filters)) != NULL)
		return reason;

	dist->computed = NIL;
	dist->work += dist->rows * group_subquery_cost(list_make2(clauses, filters));
	dist->entries = list_concat_copy(left->entries, right->entries);
	dist->hidden = list_concat_copy(left->hidden, right->hidden);
	dist->entry_numbers = list_concat_copy(left->entry_numbers, right->entry_numbers);
	dist->broadcasts = list_concat_copy(left->broadcasts, right->broadcasts);
	if (keeps_all || type == JOIN_SEMI)
		dist->disjunctions = list_concat_copy(left->disjunctions, right->disjunctions);
	else if (type == JOIN_FULL)
		dist->disjunctions = NIL;
	add_right_side(root, dist, type, right, clauses, filters);
	dist->relids = bms_union(left->relids, right->relids);
	return NULL;
}

/* Whether rights may be asked for both sides of a join as the same role. */
static bool
have_same_rights(const DistRel *left, const DistRel *right)
{
	const Broadcast *all = right->broadcasts != NIL ? linitial(right->broadcasts) : NULL;

	return left->check_as == right->check_as || left->reads_nothing || right->reads_nothing || (all != NULL && bms_equal(all->relids, right->relids));
}

DistRel *
dist_rel_join(PlannerInfo *root, const RelOptInfo *joinrel, const DistRel *left, const DistRel *right, JoinType type,
			  List *restrictlist, double rows)
{
	DistRel    *dist;

	if (!have_same_rights(left, right))
		return NULL;
	dist = start_join(left, right, rows);
	return finish_join(root, dist, joinrel, left, right, type, restrictlist) == NULL ? dist : NULL;
}

/*
 * Whether a join is better than the DistRel that joinrel has.  A write that
 * needs no rows from the initiator can be sent unchanged.
 */
static bool
is_better_join(PlannerInfo *root, const DistRel *dist, const DistRel *right, const DistRel *known)
{
	bool		sends = dist->broadcasts != NIL || right->broadcasts != NIL;

	if (dist_rel_finds_writes(root) && sends != (known->broadcasts != NIL))
		return !sends;
	return dist_rel_cost(dist) < dist_rel_cost(known) * 0.99;
}

/*
 * Makes a join of two relations the DistRel of joinrel, and adds its path, if
 * it costs less than the present one.  Returns why the nodes can't compute it,
 * or NULL.
 */
static const char *
try_join(PlannerInfo *root, RelOptInfo *joinrel, const DistRel *left, const DistRel *right, JoinType type,
		 List *restrictlist)
{
	const DistRel *known = dist_rel_of(joinrel);
	DistRel    *dist;
	DistQuery  *query;
	const char *reason;

	if (left == NULL || right == NULL || !have_same_rights(left, right))
		return NULL;
	dist = start_join(left, right, joinrel->rows);
	if (known != NULL && !is_better_join(root, dist, right, known))
		return NULL;
	reason = finish_join(root, dist, joinrel, left, right, type, restrictlist);
	if (reason != NULL)
		return reason;
	joinrel->fdw_private = dist;
	if (dist->table == NULL || dist_rel_finds_writes(root))
		return NULL;
	query = palloc0(sizeof(DistQuery));
	query->rel = dist;
	add_path(joinrel, dist_query_path(root, joinrel, query, joinrel->reltarget, joinrel->rows, 0));
	return NULL;
}

/*
 * The two sides of an equality of a join, each of which is a relation's alone.
 */
typedef struct JoinKeys
{
	const OpExpr *operator;
	Node	   *outer;
	Node	   *inner;
} JoinKeys;

static bool
split_equality(Node *clause, const RelOptInfo *outer, const RelOptInfo *inner, JoinKeys *keys)
{
	const RestrictInfo *info = (RestrictInfo *) clause;
	const OpExpr *op = (OpExpr *) info->clause;

	if (!info->can_join || !IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	keys->operator = op;
	keys->outer = linitial(op->args);
	keys->inner = lsecond(op->args);
	if (bms_is_subset(info->left_relids, inner->relids))
	{
		keys->outer = lsecond(op->args);
		keys->inner = linitial(op->args);
		return bms_is_subset(info->right_relids, outer->relids);
	}
	return bms_is_subset(info->left_relids, outer->relids) && bms_is_subset(info->right_relids, inner->relids);
}

/*
 * Sets the role whose rights are checked for the tables in the text: a
 * relation that was moved has none there.
 */
static DistRel *
with_rights_of(DistRel *moved, const DistRel *other)
{
	if (moved != NULL)
		moved->check_as = other->check_as;
	return moved;
}

/*
 * Tries joins of two relations on one equality that move rows between the
 * nodes: those of one side to the other's, and if the equality is of the
 * distribution column of neither, those of both.
 */
static void
try_moved_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
				List *restrictlist, const JoinKeys *keys)
{
	const DistRel *left = dist_rel_of(outer);
	const DistRel *right = dist_rel_of(inner);
	bool		by_left = prune_is_equality(left->table, keys->operator->opno, keys->operator->inputcollid);
	bool		by_right = prune_is_equality(right->table, keys->operator->opno, keys->operator->inputcollid);
	DistRel    *moved_left = NULL;
	DistRel    *moved_right = NULL;
	const DistTable *table = by_left ? left->table : right->table;

	if (by_left && dist_rel_is_dist_expr(root, left, keys->outer))
		moved_right = with_rights_of(dist_rel_repartition(root, inner, inner->reltarget->exprs, left->table, keys->inner, keys->operator), left);
	if (by_right && dist_rel_is_dist_expr(root, right, keys->inner))
		moved_left = with_rights_of(dist_rel_repartition(root, outer, outer->reltarget->exprs, right->table, keys->outer, keys->operator), right);
	if (moved_right != NULL)
		try_join(root, joinrel, left, moved_right, type, restrictlist);
	if (moved_left != NULL)
		try_join(root, joinrel, moved_left, right, type, restrictlist);
	if (moved_left != NULL || moved_right != NULL || !(by_left || by_right))
		return;
	moved_left = dist_rel_repartition(root, outer, outer->reltarget->exprs, table, keys->outer, keys->operator);
	moved_right = dist_rel_repartition(root, inner, inner->reltarget->exprs, table, keys->inner, keys->operator);
	if (moved_left != NULL && moved_right != NULL)
		try_join(root, joinrel, moved_left, moved_right, type, restrictlist);
}

/*
 * The same for all equalities of a join that isn't one of colocated relations.
 */
static void
try_repartitions(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
				 List *restrictlist)
{
	const DistRel *left = dist_rel_of(outer);
	const DistRel *right = dist_rel_of(inner);
	JoinKeys	keys;
	ListCell   *cell;

	if (!citus_enable_repartition || right == NULL || left->table == NULL || right->table == NULL ||
		are_colocated(root, left, right, extract_actual_clauses(restrictlist, false)))
		return;
	foreach(cell, restrictlist)
	{
		if (split_equality(lfirst(cell), outer, inner, &keys))
			try_moved_joins(root, joinrel, outer, inner, type, restrictlist, &keys);
	}
}

static void
add_join_path(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
			  JoinPathExtraData *extra)
{
	DistRel    *left;
	const char *reason;
	const char *other = NULL;

	if (prev_set_join_pathlist)
		prev_set_join_pathlist(root, joinrel, outer, inner, type, extra);
	if (planning_context != NULL)
		join_rows_correct(root, joinrel, outer, inner, type, extra);
	join_filter_add_paths(root, joinrel, outer, inner, type, extra);
	left = dist_rel_of(outer);
	if (type > JOIN_ANTI || type == JOIN_RIGHT || joinrel->reloptkind != RELOPT_JOINREL ||
		joinrel->fdwroutine != NULL || (joinrel->fdw_private != NULL && dist_rel_of(joinrel) == NULL) ||
		!bms_is_empty(joinrel->lateral_relids) || IS_DUMMY_REL(joinrel))
		return;
	reduced_join_paths_add(root, joinrel, outer, inner, type, extra);
	if (left == NULL)
		return;
	reason = try_join(root, joinrel, left, dist_rel_of(inner), type, extra->restrictlist);
	if (left->table != NULL && type != JOIN_FULL)
		other = try_join(root, joinrel, left,
						 dist_rel_broadcast(root, inner, inner->cheapest_total_path, left->table), type,
						 extra->restrictlist);
	try_repartitions(root, joinrel, outer, inner, type, extra->restrictlist);
	if (reason == NULL)
		reason = other;
	if (reason != NULL && dist_rel_of(joinrel) == NULL)
		dist_rel_refuse(root, joinrel->relids, "the join", reason);
}

void
join_path_init(void)
{
	prev_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_path;
}
