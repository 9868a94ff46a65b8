/*-------------------------------------------------------------------------
 *
 * reduced_join.c
 *	  Joins computed here, for which the nodes return only what can meet a row
 *	  of the small side.
 *
 * The nodes can't compute an outer, semi or anti join whose outer side is here
 * or on all nodes: each would return the rows that meet none of its own.  But
 * if the outer side is small and the inner one large, most of what the nodes
 * would return of the inner side is in vain.  So the outer side's rows are
 * sent to them (dist_rel_broadcast), unless all nodes have them, and what they
 * return of the inner side is its semi join with these.  Semi and anti joins
 * make no difference between equal rows of the inner side, so each node
 * returns one of them.
 *
 * The outer side runs twice, for the nodes and for the join here, and must
 * give the same rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "planner/dist_query.h"
#include "planner/dist_rel.h"

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
 * Of a join's clauses, those that decide which rows meet, and those of them
 * that a hash join can use.
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
 * How many rows of the inner side meet one of the outer side.  RestrictInfos
 * remember how selective they are in the opposite direction.
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

/* The scan of what the inner side was reduced to. */
static Path *
make_reduced_path(PlannerInfo *root, RelOptInfo *inner, const DistRel *reduced, bool distinct)
{
	DistQuery  *query = palloc0(sizeof(DistQuery));
	List	   *columns = inner->reltarget->exprs;
	double		rows = reduced->rows;
	double		work = 0;

	query->rel = reduced;
	if (distinct && columns != NIL && dist_rel_can_evaluate(root, reduced, columns))
	{
		double		ngroups = estimate_num_groups(root, columns, rows, NULL, NULL) * dist_rel_count_nodes(reduced->table);

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

/* Adds the join of the outer side with the reduced inner side. */
static void
add_reduced_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, const DistRel *sent,
				 JoinType type, JoinPathExtraData *extra)
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
	path = make_reduced_path(root, inner, reduced, type != JOIN_LEFT);
	initial_cost_hashjoin(root, &workspace, type, hashed, outer->cheapest_total_path, path, extra, false);
	add_path(joinrel, (Path *) create_hashjoin_path(root, joinrel, type, &workspace, extra, outer->cheapest_total_path,
													path, false, extra->restrictlist, NULL, hashed));
}

void
reduced_join_paths_add(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
					   JoinPathExtraData *extra)
{
	const DistRel *right = dist_rel_of(inner);
	DistRel    *left = dist_rel_of(outer);

	if (!citus_enable_broadcast || (type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI) || right == NULL ||
		right->table == NULL || outer->cheapest_total_path == NULL || outer->cheapest_total_path->param_info != NULL ||
		dist_rel_finds_writes(root) || !is_repeatable(root, outer))
		return;
	if (left != NULL && left->table == NULL)
		add_reduced_join(root, joinrel, outer, inner, left, type, extra);
	left = dist_rel_broadcast(root, outer, right->table);
	if (left != NULL)
		add_reduced_join(root, joinrel, outer, inner, left, type, extra);
}
