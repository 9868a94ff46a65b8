/*-------------------------------------------------------------------------
 *
 * pushed_join.c
 *	  An UPDATE or DELETE that each shard group runs, with broadcast sides.
 *
 * The join that finds the rows to write may have small sides that aren't
 * colocated, or are local.  The initiator computes and broadcasts them, as in
 * a query.  So each shard's node joins first, and locks only matching rows;
 * the floor would lock all rows of the target that pass its own filter.
 *
 * Other than pushed_write.c, this is a path, since the broadcast is a plan
 * below it.  So it is also possible in a CTE, if nothing else in the statement
 * writes: parts of a statement must not see each other's changes, but each
 * text sees those of earlier texts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat/returning.h"
#include "planner/dist_cost.h"
#include "planner/dist_plan.h"
#include "planner/dist_query.h"
#include "planner/modify_plan.h"
#include "planner/planning_context.h"
#include "planner/write_query.h"

static Plan *plan_pushed_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods pushed_join_path_methods = {
	.CustomName = "DistributedScan",
	.PlanCustomPath = plan_pushed_join,
};

/*
 * The assignments of an UPDATE, in the form of a query that is not planned
 * yet.
 */
static List *
update_assignments(PlannerInfo *root)
{
	Oid			relid = planner_rt_fetch(root->parse->resultRelation, root)->relid;
	List	   *entries = NIL;

	if (root->parse->commandType != CMD_UPDATE)
		return NIL;
	foreach_ptr(TargetEntry, entry, root->processed_tlist)
	{
		AttrNumber	attno;

		if (entry->resjunk)
			continue;
		attno = list_nth_int(root->update_colnos, list_length(entries));
		entries = lappend(entries, makeTargetEntry(copyObject(entry->expr), attno, get_attname(relid, attno, false), false));
	}
	return entries;
}

/*
 * The columns that RETURNING is computed from; at least one, to see which rows
 * there are.
 */
static List *
returned_columns(PlannerInfo *root)
{
	Index		varno = root->parse->resultRelation;
	const DistTable *target = metadata_require(planner_rt_fetch(varno, root)->relid);
	List	   *columns = NIL;
	ListCell   *cell;

	foreach(cell, pull_var_clause((Node *) root->parse->returningList, PVC_RECURSE_PLACEHOLDERS))
		columns = list_append_unique(columns, lfirst(cell));
	if (root->parse->returningList != NIL && columns == NIL)
		columns = list_make1(makeVar(varno, target->dist_attno, target->dist_type, target->dist_typmod,
									 target->dist_collation, 0));
	return columns;
}

/* Whether expressions use nothing of a row but its columns. */
static bool
uses_columns_only(List *exprs)
{
	foreach_node(Var, var, pull_vars_of_level((Node *) exprs, 0))
	{
		if (var->varattno <= 0)
			return false;
	}
	return true;
}

/*
 * Whether the target is an item of FROM itself, not in a join or a broadcast.
 */
static bool
target_stands_alone(PlannerInfo *root, const DistRel *rel)
{
	ListCell   *cell;

	foreach(cell, rel->fromlist)
	{
		if (IsA(lfirst(cell), RangeTblRef) && lfirst_node(RangeTblRef, cell)->rtindex == root->parse->resultRelation)
			return true;
	}
	return false;
}

static bool
returns_old(List *returning)
{
	foreach_ptr(Node, column, modify_columns_in((Node *) returning))
	{
		bool		old;

		if (returning_wrapped(column, &old) != NULL)
			return true;
	}
	return false;
}

/* Why the nodes can't run the write; NULL if they can. */
static const char *
reason_to_write_here(PlannerInfo *root, const DistTable *target, const DistRel *rel)
{
	Query		write = *root->parse;

	write.targetList = update_assignments(root);	/* the planner has numbered
													 * its own anew */
	if (planning_context->checked_here != NIL)
		return "a policy of its target reads distributed tables";
	if (root->parse->hasRowSecurity)
		return "policies would be conditions of the text, which makes it read what it only writes";
	if (returns_old(root->parse->returningList))
		return "RETURNING refers to OLD";
	if (contain_subplans((Node *) root->parse->returningList))
		return "a subquery in RETURNING must not see what it writes";
	if (!target_stands_alone(root, rel))
		return "its target is part of an outer join";
	if (write_assigns_parts((Node *) write.targetList) || !uses_columns_only(write.targetList) ||
		!uses_columns_only(returned_columns(root)) || !uses_columns_only(rel->quals) ||
		!dist_rel_can_evaluate(root, NULL, returned_columns(root)))
		return "it uses more of a row than its columns";
	return write_stays_in_shard(&write, target);
}

void
pushed_join_path_add(PlannerInfo *root, RelOptInfo *final_rel, const DistTable *target, const DistRel *rel)
{
	CustomPath *path = makeNode(CustomPath);
	const char *reason = reason_to_write_here(root, target, rel);

	if (reason != NULL)
	{
		elog(DEBUG2, "join not written by the nodes: %s", reason);
		return;
	}
	path->path.pathtype = T_CustomScan;
	path->path.parent = final_rel;
	path->path.pathtarget = make_pathtarget_from_tlist(root->parse->returningList);
	path->path.rows = rel->rows;
	path->path.startup_cost = rel->preparation + dist_round_trip_cost +
		(dist_task_cost + dist_shard_cost) * (rel->disjunctions != NIL ? 1 : target->nshards);
	path->path.total_cost = path->path.startup_cost + rel->work / dist_rel_count_nodes(target);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(unconstify(DistRel *, rel));
	foreach_ptr(Broadcast, broadcast, rel->broadcasts)
		path->custom_paths = lappend(path->custom_paths, broadcast->path);
	path->methods = &pushed_join_path_methods;
	add_path(final_rel, (Path *) path);
}

/* The statement that each shard group runs. */
static Query *
make_write(PlannerInfo *root, const DistRel *rel, List *columns)
{
	Query	   *task = dist_query_make(root, rel, rel->fromlist, rel->quals);
	ListCell   *cell;

	task->commandType = root->parse->commandType;
	task->resultRelation = root->parse->resultRelation;
	rt_fetch(task->resultRelation, task->rtable)->inFromCl = false;
	task->targetList = update_assignments(root);
	foreach(cell, columns)
	{
		int			number = foreach_current_index(cell) + 1;

		task->returningList = lappend(task->returningList,
									  makeTargetEntry(copyObject(lfirst(cell)), number, psprintf("c%d", number), false));
	}
	return task;
}

/* PlanCustomPath. */
static Plan *
plan_pushed_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				 List *custom_plans)
{
	const DistRel *source = linitial(best_path->custom_private);
	DistPlan	plan = {.kind = DIST_PLAN_PUSHED_WRITE,.dist_param = -1,.tableoid_position = -1,.writes = true,
	.reads = true};
	CustomScan *scan = makeNode(CustomScan);
	List	   *columns = returned_columns(root);

	plan.command = root->parse->commandType;
	plan.can_set_tag = root->parse->canSetTag;
	plan.relid = planner_rt_fetch(root->parse->resultRelation, root)->relid;
	scan->custom_scan_tlist = dist_query_describe(&plan, columns);
	scan->custom_exprs = dist_query_finish(&plan, make_write(root, source, columns), source);
	scan->scan.plan.targetlist = copyObject(root->parse->returningList);
	scan->flags = best_path->flags;
	scan->methods = &dist_scan_methods;
	scan->custom_plans = custom_plans;
	scan->custom_private = dist_plan_pack(&plan, scan->custom_exprs);
	planning_context->scans = lappend(planning_context->scans, scan);

	/*
	 * create_plan labels the topmost plan's columns from here: they are those
	 * of RETURNING
	 */
	root->processed_tlist = root->parse->returningList;
	return (Plan *) scan;
}
