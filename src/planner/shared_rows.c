/*-------------------------------------------------------------------------
 *
 * shared_rows.c
 *	  Paths and plans of two nodes that return the same rows, which are
 *	  computed once, like a CTE that two scans read.  A reduced join reads its
 *	  outer side twice, and may itself be in the outer side of another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/paramassign.h"

#include "planner/shared_rows.h"

CustomScanMethods shared_rows_methods = {
	.CustomName = "SharedRows",
};

static Plan *plan_shared_rows(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods shared_rows_path_methods = {
	.CustomName = "SharedRows",
	.PlanCustomPath = plan_shared_rows,
};

/*
 * The parameter of a path and the other one, chosen when the first of them
 * becomes a plan: most paths never do, and GEQO frees what they have added to
 * the planner's lists.
 */
static int
choose_param(PlannerInfo *root, const CustomPath *path)
{
	Integer    *param = linitial_node(Integer, path->custom_private);

	if (intVal(param) < 0)
		param->ival = assign_special_exec_param(root);
	return intVal(param);
}

/* PlanCustomPath. */
static Plan *
plan_shared_rows(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				 List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(custom_plans);

	scan->scan.plan.targetlist = tlist != NIL ? tlist : copyObject(child->targetlist);
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->custom_plans = custom_plans;
	scan->custom_private = list_make1(makeInteger(choose_param(root, best_path)));
	scan->flags = best_path->flags;
	scan->methods = &shared_rows_methods;
	return (Plan *) scan;
}

static Path *
make_shared_path(Path *path, Integer *param, Cost startup, Cost total)
{
	CustomPath *shared = makeNode(CustomPath);

	shared->path.pathtype = T_CustomScan;
	shared->path.parent = path->parent;
	shared->path.pathtarget = path->pathtarget;
	shared->path.rows = path->rows;
	shared->path.startup_cost = startup;
	shared->path.total_cost = total;
	shared->custom_paths = list_make1(path);
	shared->custom_private = list_make1(param);
	shared->methods = &shared_rows_path_methods;
	return (Path *) shared;
}

void
shared_rows_paths(PlannerInfo *root, Path *path, Path **first, Path **second)
{
	Integer    *param = makeInteger(-1);	/* of both */
	Cost		keeping = path->rows * cpu_operator_cost;

	*first = make_shared_path(path, param, path->startup_cost, path->total_cost + keeping);
	*second = make_shared_path(path, param, 0, keeping);
}

int
shared_rows_param(const CustomScan *node)
{
	return intVal(linitial(node->custom_private));
}
