/*-------------------------------------------------------------------------
 *
 * reference_lock_path.c
 *	  Row locks of reference tables (SELECT .. FOR UPDATE and so on), on other
 *	  nodes too.
 *
 * PostgreSQL's LockRows locks the rows of the initiator's copy, so it excludes
 * clients of the same node only.  A ReferenceLock below it locks each row on
 * the node that writers of the table begin with, before LockRows locks it
 * here: the same order as a writer's, so the two don't deadlock.  LockRows
 * still decides what becomes of a row that has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "lib/plan_fields.h"
#include "planner/base_rel.h"
#include "planner/dist_cost.h"
#include "planner/lock_path.h"
#include "planner/modify_plan.h"
#include "planner/reference_lock_path.h"

CustomScanMethods reference_lock_methods = {
	.CustomName = "ReferenceLock",
};

static Plan *plan_reference_lock(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
								 List *clauses, List *custom_plans);

static const CustomPathMethods reference_lock_path_methods = {
	.CustomName = "ReferenceLock",
	.PlanCustomPath = plan_reference_lock,
};

static const PlanField reference_lock_fields[] = {
	PLAN_FIELD(PLAN_LIST, ReferenceLockPlan, key_attnos),
	PLAN_FIELD(PLAN_STRING, ReferenceLockPlan, text),
};

void
reference_lock_plan_unpack(const CustomScan *node, ReferenceLockPlan *plan)
{
	plan_fields_unpack(reference_lock_fields, lengthof(reference_lock_fields), node->custom_private, plan,
					   sizeof(ReferenceLockPlan));
}

Path *
reference_lock_path_make(PlannerInfo *root, Path *subpath, PlanRowMark *mark)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = subpath->parent;
	path->path.pathtarget = subpath->pathtarget;
	path->path.rows = subpath->rows;
	path->path.startup_cost = subpath->startup_cost;
	path->path.total_cost = subpath->total_cost + subpath->rows * dist_round_trip_cost;
	path->path.pathkeys = subpath->pathkeys;
	path->custom_paths = list_make1(subpath);
	path->custom_private = list_make1(mark);
	path->methods = &reference_lock_path_methods;
	return (Path *) path;
}

/* The text that locks the row with a key; NULL if the table has none. */
static char *
make_text(ReferenceLockPlan *plan)
{
	static const char *const policies[] = {
		[LockWaitBlock] = "",[LockWaitSkip] = " SKIP LOCKED",[LockWaitError] = " NOWAIT",
	};
	StringInfoData text;

	if (plan->key_attnos == NIL)
		return NULL;
	initStringInfo(&text);
	appendStringInfo(&text, "SELECT 1 FROM %s t, (SELECT ",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(plan->relid)),
												get_rel_name(plan->relid)));
	for (int i = 1; i <= list_length(plan->key_attnos); i++)
		appendStringInfo(&text, "%s$%d AS \"citus k%d\"", i > 1 ? ", " : "", i, i);
	appendStringInfoString(&text, ") r WHERE ");
	row_key_condition(&text, plan->relid, plan->key_attnos);
	appendStringInfo(&text, " FOR %s OF t%s", lock_strength_name(plan->strength), policies[plan->wait_policy]);
	return text.data;
}

/* PlanCustomPath. */
static Plan *
plan_reference_lock(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
					List *custom_plans)
{
	PlanRowMark *mark = linitial_node(PlanRowMark, best_path->custom_private);
	List	   *child_tlist = ((Plan *) linitial(custom_plans))->targetlist;
	CustomScan *scan = makeNode(CustomScan);
	ReferenceLockPlan plan = {
		.relid = planner_rt_fetch(mark->rti, root)->relid,
		.check_as_user = base_rel_check_as(root, mark->rti),
		.strength = mark->strength,
		.wait_policy = mark->waitPolicy,
	};
	Var		   *ctid = makeVar(mark->rti, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
	TargetEntry *entry = tlist_member((Expr *) ctid, child_tlist);
	ListCell   *cell;

	if (entry == NULL)
		elog(ERROR, "variable not found in the rows to lock");
	plan.ctid_resno = entry->resno;
	plan.key_attnos = row_key_columns(plan.relid);
	plan.text = make_text(&plan);
	foreach(cell, child_tlist)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, flatCopyTargetEntry(lfirst(cell)));
	scan->scan.plan.targetlist = tlist;
	scan->methods = &reference_lock_methods;
	scan->custom_plans = custom_plans;
	scan->custom_private = plan_fields_pack(reference_lock_fields, lengthof(reference_lock_fields), &plan,
											sizeof(ReferenceLockPlan));
	return (Plan *) scan;
}

static bool
locked_reference_walker(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, locked_reference_walker, context);
	foreach_ptr(RowMarkClause, mark, query->rowMarks)
	{
		const RangeTblEntry *rte = rt_fetch(mark->rti, query->rtable);
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

		if (table != NULL && table->kind == DIST_REFERENCE)
			return true;
	}
	return query_tree_walker(query, locked_reference_walker, context, 0);
}

bool
reference_rows_are_locked(Query *query)
{
	return locked_reference_walker((Node *) query, NULL);
}
