/*-------------------------------------------------------------------------
 *
 * lock_path.c
 *	  SELECT .. LIMIT .. FOR UPDATE SKIP LOCKED: locks rows one by one, as the
 *	  Limit requests them.
 *
 * Other scans that lock rows lock all rows that pass their filter.  With
 * these, one worker that takes rows of a queue would lock the whole queue, and
 * other workers would get no rows.  So for SKIP LOCKED, rows are read without
 * locks, sorted, and locked in that order below the Limit, where PostgreSQL
 * has its LockRows.  A row that has changed since it was read is skipped like
 * a locked one, so no conditions have to be rechecked; therefore this is for
 * SKIP LOCKED only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "lib/plan_fields.h"
#include "planner/base_rel.h"
#include "planner/dist_cost.h"
#include "planner/lock_path.h"

CustomScanMethods dist_lock_methods = {
	.CustomName = "DistributedLock",
};

static Plan *plan_lock(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
					   List *custom_plans);

static const CustomPathMethods lock_path_methods = {
	.CustomName = "DistributedLock",
	.PlanCustomPath = plan_lock,
};

static const PlanField lock_plan_fields[] = {
	PLAN_FIELD(PLAN_STRING, LockPlan, text),
};

void
lock_plan_unpack(const CustomScan *node, LockPlan *plan)
{
	plan_fields_unpack(lock_plan_fields, lengthof(lock_plan_fields), node->custom_private, plan, sizeof(LockPlan));
}

/* The row mark of such a query, and its table; NULL for other queries. */
static RowMarkClause *
skipping_mark(Query *query, const DistTable **table)
{
	RowMarkClause *mark;
	const RangeTblEntry *rte;

	if (query->commandType != CMD_SELECT || query->limitCount == NULL || list_length(query->rowMarks) != 1)
		return NULL;
	mark = linitial(query->rowMarks);
	rte = rt_fetch(mark->rti, query->rtable);
	if (mark->waitPolicy != LockWaitSkip || rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION ||
		(*table = metadata_lookup(rte->relid)) == NULL || (*table)->kind == DIST_REFERENCE)
		return NULL;
	return mark;
}

/* A junk column of the query. */
static void
add_lock_column(Query *query, Var *var, const char *name)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry((Expr *) var, list_length(query->targetList) + 1, pstrdup(name), true));
}

static Var *
make_xmin(Index varno)
{
	return makeVar(varno, MinTransactionIdAttributeNumber, XIDOID, -1, InvalidOid, 0);
}

static Var *
make_dist_column(const DistTable *table, Index varno)
{
	return makeVar(varno, table->dist_attno, table->dist_type, table->dist_typmod, table->dist_collation, 0);
}

void
lock_path_prepare(Query *query)
{
	const DistTable *table;
	RowMarkClause *mark = skipping_mark(query, &table);

	if (mark == NULL)
		return;
	add_lock_column(query, make_xmin(mark->rti), "citus_lock_xmin");
	if (table->kind == DIST_HASH)
		add_lock_column(query, make_dist_column(table, mark->rti), "citus_lock_dist");
}

bool
lock_path_is_due(PlannerInfo *root, Index varno)
{
	const DistTable *table;
	RowMarkClause *mark = skipping_mark(root->parse, &table);

	return mark != NULL && mark->rti == varno;
}

Path *
lock_path_make(PlannerInfo *root, Path *subpath)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = subpath->parent;
	path->path.pathtarget = subpath->pathtarget;
	path->path.rows = subpath->rows;
	path->path.startup_cost = subpath->startup_cost + dist_round_trip_cost;
	path->path.total_cost = subpath->total_cost + dist_round_trip_cost + subpath->rows * dist_tuple_cost;
	path->path.pathkeys = NIL;
	path->custom_paths = list_make1(subpath);
	path->methods = &lock_path_methods;
	return (Path *) path;
}

const char *
lock_strength_name(LockClauseStrength strength)
{
	static const char *const strengths[] = {
		[LCS_FORKEYSHARE] = "KEY SHARE",[LCS_FORSHARE] = "SHARE",[LCS_FORNOKEYUPDATE] = "NO KEY UPDATE",
		[LCS_FORUPDATE] = "UPDATE",
	};

	return strengths[strength];
}

/* The text that locks rows. */
static char *
make_lock_text(const DistTable *table, LockClauseStrength strength)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(table->relid)),
												  get_rel_name(table->relid));

	return psprintf("SELECT ctid, xmin FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($1) FOR %s SKIP LOCKED", name,
					lock_strength_name(strength));
}

/* The position of a column in the child's result. */
static int
lock_resno(List *tlist, Var *var)
{
	TargetEntry *entry = tlist_member((Expr *) var, tlist);

	if (entry == NULL)
		elog(ERROR, "variable not found in the rows to lock");
	return entry->resno;
}

/* PlanCustomPath. */
static Plan *
plan_lock(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses, List *custom_plans)
{
	const DistTable *table = NULL;
	RowMarkClause *mark = skipping_mark(root->parse, &table);
	List	   *child_tlist = ((Plan *) linitial(custom_plans))->targetlist;
	CustomScan *scan = makeNode(CustomScan);
	LockPlan	plan = {.relid = table->relid};
	ListCell   *cell;

	plan.check_as_user = base_rel_check_as(root, mark->rti);
	plan.ctid_resno = lock_resno(child_tlist, makeVar(mark->rti, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0));
	plan.xmin_resno = lock_resno(child_tlist, make_xmin(mark->rti));
	if (table->kind == DIST_HASH)
		plan.dist_resno = lock_resno(child_tlist, make_dist_column(table, mark->rti));
	plan.text = make_lock_text(table, mark->strength);
	foreach(cell, child_tlist)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, flatCopyTargetEntry(lfirst(cell)));
	scan->scan.plan.targetlist = tlist;
	scan->methods = &dist_lock_methods;
	scan->custom_plans = custom_plans;
	if (root->parse->limitOption == LIMIT_OPTION_COUNT)
		scan->custom_exprs = list_make1(copyObject(root->parse->limitCount));
	if (scan->custom_exprs != NIL && root->parse->limitOffset != NULL)
		scan->custom_exprs = lappend(scan->custom_exprs, copyObject(root->parse->limitOffset));
	scan->custom_private = plan_fields_pack(lock_plan_fields, lengthof(lock_plan_fields), &plan, sizeof(LockPlan));
	return (Plan *) scan;
}
