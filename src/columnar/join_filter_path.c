/*-------------------------------------------------------------------------
 *
 * join_filter_path.c
 *	  What hash joins cost whose outer side is a columnar scan with a filter.
 *
 * PostgreSQL's planner expects each row of the scan to be made and looked up
 * in the hash table.  Those without a match aren't, where finished plans get
 * filters (join_filter_plan.c).  So such a join is offered once more, at what
 * it costs with one.  It may be an index scan's for each row of the inner side
 * otherwise, which costs a columnar table more than a heap.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "columnar/join_filter.h"
#include "columnar/options.h"
#include "columnar/scan_path.h"
#include "compat/foreach.h"

/* Of what a row costs that a scan returns, a removed one saves so much. */
#define SAVED_SHARE 0.9

/* A path that scans a columnar table, or one of several of these. */
static bool
path_takes_filters(Path *path)
{
	if (path->param_info != NULL || path->parallel_aware)
		return false;
	if (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	if (!IsA(path, AppendPath))
		return columnar_path_is_scan(path);
	foreach_ptr(Path, part, ((AppendPath *) path)->subpaths)
	{
		if (!path_takes_filters(part))
			return false;
	}
	return ((AppendPath *) path)->subpaths != NIL;
}

static Path *
find_filtered_scan(const RelOptInfo *rel)
{
	foreach_ptr(Path, path, rel->pathlist)
	{
		if (path_takes_filters(path))
			return path;
	}
	return NULL;
}

/* The clauses that a hash join can use; NIL if none gives a filter. */
static List *
filtering_hash_clauses(const List *restrictlist, const RelOptInfo *outer, const RelOptInfo *inner)
{
	List	   *clauses = NIL;
	bool		filters = false;

	foreach_node(RestrictInfo, clause, restrictlist)
	{
		bool		left = bms_is_subset(clause->left_relids, outer->relids) && bms_is_subset(clause->right_relids, inner->relids);

		if (!clause->can_join || !OidIsValid(clause->hashjoinoperator) ||
			(!left && !(bms_is_subset(clause->right_relids, outer->relids) &&
						bms_is_subset(clause->left_relids, inner->relids))))
			continue;
		clause->outer_is_left = left;
		clauses = lappend(clauses, clause);
		filters |= IsA(left ? get_leftop(clause->clause) : get_rightop(clause->clause), Var) &&
			key_filter_can(clause->hashjoinoperator);
	}
	return filters ? clauses : NIL;
}

void
join_filter_add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
					  JoinPathExtraData *extra)
{
	Path	   *keys = inner->cheapest_total_path;
	JoinCostWorkspace workspace;
	List	   *clauses;
	Path	   *scan;
	HashPath   *join;
	Cost		saved;

	if (!columnar_enable_join_filters || !columnar_enable_vectorization || !enable_hashjoin ||
		(type != JOIN_INNER && type != JOIN_SEMI) || (scan = find_filtered_scan(outer)) == NULL ||
		keys == NULL || keys->param_info != NULL || keys->rows > scan->rows || joinrel->rows >= scan->rows ||
		(clauses = filtering_hash_clauses(extra->restrictlist, outer, inner)) == NIL)
		return;
	initial_cost_hashjoin(root, &workspace, type, clauses, scan, keys, extra, false);
	join = create_hashjoin_path(root, joinrel, type, &workspace, extra, scan, keys, false, extra->restrictlist, NULL,
								clauses);
	saved = (scan->rows - joinrel->rows) * (cpu_tuple_cost + list_length(clauses) * cpu_operator_cost) * SAVED_SHARE;
	join->jpath.path.total_cost = Max(join->jpath.path.total_cost - saved, join->jpath.path.startup_cost);
	add_path(joinrel, &join->jpath.path);
}
