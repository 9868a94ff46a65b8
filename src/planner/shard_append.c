/*-------------------------------------------------------------------------
 *
 * shard_append.c
 *	  In a task for several shards: a scan of only the shard of a value.
 *
 * A task that reads all shards of a node has an append relation in the place
 * of each table (resolve/shard_set.c).  If such a relation is the inner side
 * of a nested loop, or is in a correlated subquery, and its distribution
 * column must equal a value that is known when the scan begins, only the shard
 * with the value's hash can have rows.  A ShardAppend is an Append that runs
 * this child alone: what PostgreSQL's run-time pruning does for partitioned
 * tables.  So a lookup by a join's value costs the same, however many shards
 * the node has.  enable_partition_pruning switches it off.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "catalog/metadata.h"
#include "compat/param_info.h"
#include "lib/plan_fields.h"
#include "planner/shard_append.h"
#include "sharding/hash_condition.h"
#include "sharding/prune.h"

CustomScanMethods shard_append_methods = {
	.CustomName = "ShardAppend",
};

static const PlanField shard_append_fields[] = {
	PLAN_FIELD(PLAN_LIST, ShardAppendPlan, mins),
	PLAN_FIELD(PLAN_LIST, ShardAppendPlan, maxs),
};

static Plan *plan_shard_append(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							   List *custom_plans);

static const CustomPathMethods shard_append_path_methods = {
	.CustomName = "ShardAppend",
	.PlanCustomPath = plan_shard_append,
};

/* A path's custom_private. */
typedef struct ShardAppendPath
{
	ShardAppendPlan plan;
	Expr	   *hash;
} ShardAppendPath;

void
shard_append_unpack(const CustomScan *node, ShardAppendPlan *plan)
{
	plan_fields_unpack(shard_append_fields, lengthof(shard_append_fields), node->custom_private, plan, sizeof(ShardAppendPlan));
}

/* PlanCustomPath.  The children evaluate all clauses. */
static Plan *
plan_shard_append(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				  List *custom_plans)
{
	const ShardAppendPath *path = linitial(best_path->custom_private);
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = tlist;
	scan->custom_scan_tlist = copyObject(tlist);
	scan->custom_exprs = list_make1(copyObject(path->hash));
	scan->custom_plans = custom_plans;
	scan->custom_private = plan_fields_pack(shard_append_fields, lengthof(shard_append_fields), &path->plan,
											sizeof(ShardAppendPlan));
	scan->flags = best_path->flags;
	scan->methods = &shard_append_methods;
	return (Plan *) scan;
}

/* The shard that a relation of this node is; NULL if it is none. */
static const ShardInfo *
shard_of_relid(const DistTable *table, Oid relid)
{
	for (int i = 0; i < table->nshards; i++)
	{
		if (shard_is_here(&table->shards[i]) && shard_local_relid(table->relid, table->shards[i].shardid) == relid)
			return &table->shards[i];
	}
	return NULL;
}

/*
 * Sets the ranges of the scans' shards; false if they aren't scans of one
 * shard each, as while shards are split.
 */
static bool
set_ranges(PlannerInfo *root, const DistTable *table, List *scans, ShardAppendPlan *plan)
{
	foreach_ptr(const Path, scan, scans)
	{
		const RangeTblEntry *rte;
		const ShardInfo *shard;

		if (!IS_SIMPLE_REL(scan->parent))
			return false;
		rte = planner_rt_fetch(scan->parent->relid, root);
		shard = rte->rtekind == RTE_RELATION ? shard_of_relid(table, rte->relid) : NULL;
		if (shard == NULL || list_member_int(plan->mins, shard->range.min))
			return false;
		plan->mins = lappend_int(plan->mins, shard->range.min);
		plan->maxs = lappend_int(plan->maxs, shard->range.max);
	}
	return true;
}

/*
 * The hash value that rows of a shard's scan must have, known when it begins;
 * NULL if there is none.  The initiator has already pruned by constants.  A
 * shard has the attribute numbers of its table.
 */
static Expr *
hash_of_path(const DistTable *table, const Path *path)
{
	List	   *clauses = extract_actual_clauses(path->parent->baserestrictinfo, false);
	PruneTerm  *term;

	if (path->param_info != NULL)
		clauses = list_concat(clauses, extract_actual_clauses(path->param_info->ppi_clauses, false));
	term = prune_single_value(prune_from_quals(table, path->parent->relid, clauses));
	if (term == NULL || !OidIsValid(term->type) || IsA(term->value, Const))
		return NULL;
	return hash_of_value(table, term->value, term->type);
}

/*
 * The children of an Append, or of a Merge Append: the one that is run is in
 * its order, if it need not be sorted.  NIL if it is neither.
 */
static List *
children_of(const Path *path)
{
	ListCell   *cell;

	if (IsA(path, AppendPath))
		return ((const AppendPath *) path)->subpaths;
	if (!IsA(path, MergeAppendPath))
		return NIL;
	foreach(cell, ((const MergeAppendPath *) path)->subpaths)
	{
		if (!pathkeys_contained_in(path->pathkeys, ((Path *) lfirst(cell))->pathkeys))
			return NIL;
	}
	return ((const MergeAppendPath *) path)->subpaths;
}

/* The path that runs one of an Append's children; NULL if none can be told. */
static Path *
make_shard_append(PlannerInfo *root, const DistTable *table, Path *append, List *children)
{
	Expr	   *hash = hash_of_path(table, linitial(children));
	int			nchildren = list_length(children);
	ShardAppendPath *private;
	CustomPath *path;
	Cost		startup = 0;
	Cost		total = 0;

	if (hash == NULL)
		return NULL;
	private = palloc0(sizeof(ShardAppendPath));
	private->hash = hash;
	if (!set_ranges(root, table, children, &private->plan))
		return NULL;
	foreach_ptr(Path, subpath, children)
	{
		startup += subpath->startup_cost;
		total += subpath->total_cost;
	}
	path = makeNode(CustomPath);
	path->path = *append;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.param_info = compat_append_param_info(append);
	path->path.rows = clamp_row_est(append->rows / nchildren);
	path->path.startup_cost = startup / nchildren + cpu_operator_cost;
	path->path.total_cost = total / nchildren + cpu_operator_cost;
	path->custom_paths = children;
	path->custom_private = list_make1(private);
	path->methods = &shard_append_path_methods;
	return (Path *) path;
}

void
shard_append_add_paths(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	const DistTable *table;
	List	   *paths = NIL;
	ListCell   *cell;

	if (rte->rtekind != RTE_SUBQUERY || !rte->inh || !OidIsValid(rte->relid) || !enable_partition_pruning ||
		(table = metadata_lookup(rte->relid)) == NULL || table->kind != DIST_HASH)
		return;
	foreach_ptr(Path, append, rel->pathlist)
	{
		List	   *children = children_of(append);
		Path	   *path;

		if (list_length(children) < 2)
			continue;
		path = make_shard_append(root, table, append, children);
		if (path != NULL)
			paths = lappend(paths, path);
	}
	foreach(cell, paths)
		add_path(rel, lfirst(cell));
}
