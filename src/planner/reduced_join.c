/*-------------------------------------------------------------------------
 *
 * reduced_join.c
 *	  Joins on the initiator, for which the nodes return only rows that can
 *	  match a row of the small side.
 *
 * The nodes can't compute an outer, semi or anti join whose outer side is on
 * the initiator or on all nodes: each would return the rows that match none of
 * its own.  But if the outer side is small and the inner one large, most rows
 * of the inner side would be sent needlessly.  So the outer side's rows are
 * broadcast (dist_rel_broadcast), unless all nodes have them, and the nodes
 * return the semi join of the inner side with them.  Semi and anti joins
 * ignore duplicates of the inner side, so each node returns one of equal rows,
 * if the join can't distinguish them.
 *
 * The outer side is read twice, for the nodes and for the join, and must
 * return the same rows.  If it is broadcast, it is computed once
 * (shared_rows.c): it can't depend on an outer query's row
 * (dist_rel_can_prepare), and values of other subqueries stay the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "access/nbtree.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "planner/dist_query.h"
#include "planner/dist_rel.h"
#include "planner/shared_rows.h"

/* Whether filters give the same answer whenever they are evaluated. */
static bool
are_repeatable(Node *filters)
{
	return !contain_volatile_functions(filters) && !contain_subplans(filters);
}

/*
 * Whether a relation has the same rows each time it runs in a statement: a
 * join of tables.
 */
static bool
is_repeatable(PlannerInfo *root, const RelOptInfo *rel)
{
	int			varno = -1;

	while ((varno = bms_next_member(rel->relids, varno)) >= 0)
	{
		const RangeTblEntry *rte = planner_rt_fetch(varno, root);

		if (rte->rtekind == RTE_JOIN)
			continue;
		if (rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_FOREIGN_TABLE || rte->tablesample != NULL ||
			!are_repeatable((Node *) extract_actual_clauses(root->simple_rel_array[varno]->baserestrictinfo, false)))
			return false;
	}
	return are_repeatable((Node *) root->parse->jointree);
}

/*
 * The join conditions among a join's clauses, and those of them that a hash
 * join can use.
 */
static void
split_clauses_of_join(const RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner, JoinType type,
					  List *restrictlist, List **meeting, List **hashed)
{
	foreach_ptr(RestrictInfo, info, restrictlist)
	{
		if (IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, joinrel->relids))
			continue;
		*meeting = lappend(*meeting, info);
		if (!info->can_join || !OidIsValid(info->hashjoinoperator))
			continue;
		info->outer_is_left = bms_is_subset(info->left_relids, outer->relids) &&
			bms_is_subset(info->right_relids, inner->relids);
		if (info->outer_is_left || (bms_is_subset(info->right_relids, outer->relids) &&
									bms_is_subset(info->left_relids, inner->relids)))
			*hashed = lappend(*hashed, info);
	}
}

/*
 * How many rows of the inner side match one of the outer side.  Uses bare
 * clauses, since RestrictInfos cache the selectivity of the opposite
 * direction.
 */
static double
reduced_rows(PlannerInfo *root, const RelOptInfo *outer, const RelOptInfo *inner, List *meeting)
{
	List	   *clauses = extract_actual_clauses(meeting, false);
	SpecialJoinInfo semi = {.type = T_SpecialJoinInfo,.jointype = JOIN_SEMI};

	semi.min_lefthand = semi.syn_lefthand = inner->relids;
	semi.min_righthand = semi.syn_righthand = outer->relids;
	return clamp_row_est(inner->rows * clauselist_selectivity(root, clauses, 0, JOIN_SEMI, &semi));
}

/*
 * Whether all columns of the inner side are compared with values of the outer
 * side: then it has at most as many different rows as the outer side.
 */
static bool
are_all_compared(const RelOptInfo *inner, List *hashed)
{
	List	   *compared = NIL;

	foreach_ptr(RestrictInfo, info, hashed)
		compared = lappend(compared, info->outer_is_left ? get_rightop(info->clause) : get_leftop(info->clause));
	return list_difference(inner->reltarget->exprs, compared) == NIL;
}

/*
 * Whether equal values of a column's type are always indistinguishable, unlike
 * numeric 1.0 and 1.00.
 */
static bool
equal_values_are_same(const TypeCacheEntry *type, Oid collation)
{
	Oid			function = OidIsValid(type->btree_opf) ?
		get_opfamily_proc(type->btree_opf, type->btree_opintype, type->btree_opintype, BTEQUALIMAGE_PROC) : InvalidOid;

	return OidIsValid(function) &&
		DatumGetBool(OidFunctionCall1Coll(function, collation, ObjectIdGetDatum(type->btree_opintype)));
}

/* Whether a clause compares a column, as it is, by its type's equality. */
static bool
is_plain_comparison(const RestrictInfo *info, const Expr *column, const TypeCacheEntry *type)
{
	const OpExpr *op = (const OpExpr *) info->clause;

	return equal(column, info->outer_is_left ? lsecond(op->args) : linitial(op->args)) &&
		op->inputcollid == exprCollation((const Node *) column) && equality_ops_are_compatible(op->opno, type->eq_opr);
}

/*
 * Whether rows of the inner side whose columns are equal match the same rows
 * of the outer side.
 */
static bool
do_equal_rows_meet_same(const RelOptInfo *inner, List *meeting, List *hashed)
{
	foreach_ptr(const Expr, column, inner->reltarget->exprs)
	{
		const TypeCacheEntry *type = lookup_type_cache(exprType((const Node *) column), TYPECACHE_BTREE_OPFAMILY |
													   TYPECACHE_EQ_OPR);

		if (equal_values_are_same(type, exprCollation((const Node *) column)))
			continue;
		foreach_ptr(const RestrictInfo, info, meeting)
			if (list_member(pull_var_clause((Node *) info->clause, PVC_INCLUDE_PLACEHOLDERS), column) &&
				!(list_member_ptr(hashed, info) && is_plain_comparison(info, column, type)))
				return false;
	}
	return true;
}

/*
 * The scan of the reduced inner side.  If distinct, a node returns one of
 * equal rows; limit is the maximal number of different ones.
 */
static Path *
make_reduced_path(PlannerInfo *root, RelOptInfo *inner, const DistRel *reduced, bool distinct, double limit)
{
	DistQuery  *query = palloc0(sizeof(DistQuery));
	List	   *columns = inner->reltarget->exprs;
	double		rows = reduced->rows;
	double		work = 0;

	query->rel = reduced;
	if (distinct && columns != NIL && dist_rel_can_evaluate(root, reduced, columns))
	{
		double		ngroups = Min(estimate_num_groups(root, columns, rows, NULL, NULL), limit) *
			dist_rel_count_nodes(reduced->table);

		query->group_clause = dist_query_group_by_all(columns, &query->tlist);
		if (query->group_clause != NIL && ngroups < rows)
		{
			query->grouped = true;
			query->columns = columns;
			work = rows * cpu_operator_cost * 2;
			rows = ngroups;
		}
		else
			query->group_clause = query->tlist = NIL;
	}
	return dist_query_path(root, inner, query, inner->reltarget, rows, work);
}

/*
 * Adds the join of the outer side, as outer_path returns it, with the reduced
 * inner side.
 */
static void
add_reduced_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, Path *outer_path, RelOptInfo *inner,
				 const DistRel *sent, JoinType type, JoinPathExtraData *extra)
{
	List	   *meeting = NIL;
	List	   *hashed = NIL;
	Path	   *path;
	JoinCostWorkspace workspace;
	DistRel    *reduced;

	split_clauses_of_join(joinrel, outer, inner, type, extra->restrictlist, &meeting, &hashed);
	if (hashed == NIL)
		return;
	reduced = dist_rel_join(root, inner, dist_rel_of(inner), sent, JOIN_SEMI, meeting,
							reduced_rows(root, outer, inner, meeting));
	if (reduced == NULL)
		return;
	path = make_reduced_path(root, inner, reduced, type != JOIN_LEFT && do_equal_rows_meet_same(inner, meeting, hashed),
							 are_all_compared(inner, hashed) ? outer->rows : DBL_MAX);
	initial_cost_hashjoin(root, &workspace, type, hashed, outer_path, path, extra, false);
	add_path(joinrel, (Path *) create_hashjoin_path(root, joinrel, type, &workspace, extra, outer_path, path, false,
													extra->restrictlist, NULL, hashed));
}

/*
 * A path without the columns that a join's clauses don't compare, which the
 * nodes don't need.
 */
static Path *
compared_columns_path(PlannerInfo *root, RelOptInfo *rel, Path *path, List *restrictlist)
{
	List	   *vars = pull_var_clause((Node *) extract_actual_clauses(restrictlist, false), PVC_RECURSE_PLACEHOLDERS);
	PathTarget *target = create_empty_pathtarget();

	foreach_ptr(Expr, expr, path->pathtarget->exprs)
		if (list_member(vars, expr))
			add_column_to_pathtarget(target, expr, 0);
	if (target->exprs == NIL || list_length(target->exprs) == list_length(path->pathtarget->exprs))
		return path;
	return (Path *) create_projection_path(root, rel, path, set_pathtarget_cost_width(root, target));
}

void
reduced_join_paths_add(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
					   JoinPathExtraData *extra)
{
	const DistRel *right = dist_rel_of(inner);
	DistRel    *left = dist_rel_of(outer);
	Path	   *sent = outer->cheapest_total_path;
	Path	   *joined = sent;

	if (!citus_enable_broadcast || (type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI) || right == NULL ||
		right->table == NULL || sent == NULL || sent->param_info != NULL ||
		dist_rel_finds_writes(root) || !is_repeatable(root, outer))
		return;
	if (left != NULL && left->table == NULL)
		add_reduced_join(root, joinrel, outer, sent, inner, left, type, extra);
	if (dist_rel_broadcast(root, outer, sent, right->table) == NULL)
		return;
	shared_rows_paths(root, outer->cheapest_total_path, &sent, &joined);
	sent = compared_columns_path(root, outer, sent, extra->restrictlist);
	left = dist_rel_broadcast(root, outer, sent, right->table);
	if (left != NULL)
		add_reduced_join(root, joinrel, outer, joined, inner, left, type, extra);
}
