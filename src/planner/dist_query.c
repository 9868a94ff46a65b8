/*-------------------------------------------------------------------------
 *
 * dist_query.c
 *	  A query that the nodes run on a relation: its path, and its text.
 *
 * The query keeps the range table indexes of the statement's own level, so
 * clauses and expressions of the planner can be used unchanged in its WHERE
 * and SELECT.  Relations that it doesn't read have unused entries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat/run_conditions.h"
#include "planner/dist_cost.h"
#include "planner/dist_plan.h"
#include "planner/dist_query.h"
#include "planner/moved_rows.h"
#include "planner/planning_context.h"
#include "planner/task_query.h"
#include "sharding/prune.h"

#define DIST_QUERY_MAGIC 0x44515931

static Plan *plan_query(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
						List *custom_plans);

static const CustomPathMethods query_path_methods = {
	.CustomName = "DistributedScan",
	.PlanCustomPath = plan_query,
};

Path *
dist_query_path(PlannerInfo *root, RelOptInfo *parent, DistQuery *query, PathTarget *target, double rows, double work)
{
	CustomPath *path = makeNode(CustomPath);
	const DistTable *table = query->rel->table;
	int			nnodes = dist_rel_count_nodes(table);

	query->magic = DIST_QUERY_MAGIC;
	work += query->rel->rows * group_subquery_cost(list_make2(query->grouped ? query->columns : target->exprs,
															  query->having));
	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = target;
	path->path.rows = clamp_row_est(rows);
	path->path.startup_cost = dist_round_trip_cost + dist_task_cost * nnodes + dist_shard_cost * table->nshards;
	path->path.startup_cost += query->rel->preparation;
	path->path.total_cost = path->path.startup_cost + (query->rel->work + work) / nnodes +
		path->path.rows * (cpu_tuple_cost + dist_tuple_cost);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(query);
	foreach_ptr(Broadcast, broadcast, query->rel->broadcasts)
		path->custom_paths = lappend(path->custom_paths, broadcast->path);
	path->methods = &query_path_methods;
	return (Path *) path;
}

/*
 * Copies of the entries of a relation at their places, with unused ones in
 * between.
 */
static List *
query_rtable(PlannerInfo *root, const DistRel *rel)
{
	List	   *rtable = NIL;
	ListCell   *cell;
	ListCell   *number;

	foreach(cell, root->parse->rtable)
	{
		RangeTblEntry *entry = task_query_unused_entry();

		if (bms_is_member(foreach_current_index(cell) + 1, rel->relids))
		{
			entry = copyObject(lfirst_node(RangeTblEntry, cell));
			entry->securityQuals = NIL;
			entry->inFromCl = true;
			entry->lateral = entry->lateral && entry->rtekind != RTE_SUBQUERY && entry->rtekind != RTE_RELATION;
			entry->inh = entry->rtekind == RTE_RELATION;
		}
		rtable = lappend(rtable, entry);
	}
	foreach_ptr(const Broadcast, broadcast, rel->broadcasts)
	{
		int			varno = -1;

		if (!bms_is_subset(broadcast->relids, rel->relids))
			continue;
		while ((varno = bms_next_member(broadcast->relids, varno)) >= 0)
			lfirst(list_nth_cell(rtable, varno - 1)) = varno == broadcast->varno ?
				moved_rows_entry(broadcast) : task_query_unused_entry();
	}
	forboth(cell, rel->entries, number, rel->entry_numbers)
	{
		if (bms_is_member(lfirst_int(number), rel->relids))
			lfirst(list_nth_cell(rtable, lfirst_int(number) - 1)) = copyObject(lfirst(cell));
	}
	return rtable;
}

/*
 * Adds the columns of one side of a join to the join's entry; returns their
 * numbers there (IntList).
 */
static List *
add_side_columns(Query *query, RangeTblEntry *join, Index varno)
{
	RangeTblEntry *side = rt_fetch(varno, query->rtable);
	List	   *numbers = NIL;
	ListCell   *cell;

	foreach(cell, side->eref->colnames)
	{
		AttrNumber	attno = foreach_current_index(cell) + 1;

		if (side->rtekind == RTE_RELATION && get_rte_attribute_is_dropped(side, attno))
			continue;
		numbers = lappend_int(numbers, attno);
		join->eref->colnames = lappend(join->eref->colnames, copyObject(lfirst(cell)));
		/* the deparser only counts them: no Var of the query means the join */
		join->joinaliasvars = lappend(join->joinaliasvars, makeVar(varno, attno, INT4OID, -1, InvalidOid, 0));
	}
	return numbers;
}

/*
 * Gives the joins of an item of FROM their entries in the range table; returns
 * the item's index there.
 */
static Index
add_join_entries(Query *query, Node *item)
{
	JoinExpr   *join = (JoinExpr *) item;
	RangeTblEntry *entry;
	Index		left;
	Index		right;

	if (!IsA(item, JoinExpr))
		return ((RangeTblRef *) item)->rtindex;
	left = add_join_entries(query, join->larg);
	right = add_join_entries(query, join->rarg);
	entry = makeNode(RangeTblEntry);
	entry->rtekind = RTE_JOIN;
	entry->jointype = join->jointype;
	entry->eref = makeAlias("unnamed_join", NIL);
	entry->inFromCl = true;
	entry->joinleftcols = add_side_columns(query, entry, left);
	entry->joinrightcols = add_side_columns(query, entry, right);
	query->rtable = lappend(query->rtable, entry);
	join->rtindex = list_length(query->rtable);
	return join->rtindex;
}

Query *
dist_query_make(PlannerInfo *root, const DistRel *rel, List *fromlist, List *quals)
{
	Query	   *query = makeNode(Query);
	ListCell   *cell;

	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = query_rtable(root, rel);
	query->jointree = makeFromExpr(copyObject(fromlist),
								   quals == NIL ? NULL : (Node *) make_ands_explicit(copyObject(quals)));
	query->hasSubLinks = checkExprHasSubLink((Node *) query->jointree);
	foreach(cell, query->jointree->fromlist)
		(void) add_join_entries(query, lfirst(cell));
	return query;
}

/*
 * The query's column for a GROUP BY or ORDER BY item: one that it returns, or
 * one more.
 */
static void
add_clause_item(Query *task, const SortGroupClause *clause, List *tlist)
{
	TargetEntry *item = get_sortgroupclause_tle(unconstify(SortGroupClause *, clause), tlist);

	foreach_ptr(TargetEntry, entry, task->targetList)
	{
		if (entry->ressortgroupref == clause->tleSortGroupRef)
			return;
		if (entry->ressortgroupref == 0 && equal(entry->expr, item->expr))
		{
			entry->ressortgroupref = clause->tleSortGroupRef;
			return;
		}
	}
	item = makeTargetEntry(copyObject(item->expr), list_length(task->targetList) + 1, pstrdup("item"), true);
	item->ressortgroupref = clause->tleSortGroupRef;
	task->targetList = lappend(task->targetList, item);
}

/* The query that returns the columns. */
static Query *
build_query(PlannerInfo *root, const DistQuery *query, List *columns)
{
	Query	   *task = dist_query_make(root, query->rel, query->rel->fromlist, query->rel->quals);
	ListCell   *cell;

	foreach(cell, columns)
	{
		int			number = foreach_current_index(cell) + 1;

		task->targetList = lappend(task->targetList,
								   makeTargetEntry(copyObject(lfirst(cell)), number, psprintf("c%d", number), false));
	}
	foreach(cell, query->group_clause)
		add_clause_item(task, lfirst(cell), query->tlist);
	foreach(cell, query->sort_clause)
		add_clause_item(task, lfirst(cell), query->tlist);
	foreach_node(WindowClause, window, query->window_clause)
	{
		ListCell   *item;

		foreach(item, window->partitionClause)
			add_clause_item(task, lfirst(item), query->tlist);
		foreach(item, window->orderClause)
			add_clause_item(task, lfirst(item), query->tlist);
	}
	task->windowClause = copyObject(query->window_clause);
	task->hasWindowFuncs = query->window_clause != NIL;
	task->groupClause = copyObject(query->group_clause);
	task->groupingSets = copyObject(query->grouping_sets);
	task->sortClause = copyObject(query->sort_clause);
	task->limitCount = copyObject(query->limit);
	if (query->having != NIL)
		task->havingQual = (Node *) make_ands_explicit(copyObject(query->having));
	task->hasAggs = contain_agg_clause((Node *) task->targetList) || contain_agg_clause(task->havingQual);
	return task;
}

/*
 * The columns that an ungrouped query must return; tlist is NIL if the path's
 * columns are projected later.
 */
static List *
columns_of_path(PlannerInfo *root, const DistRel *dist, const CustomPath *path, List *tlist)
{
	return group_subquery_columns(root, dist, list_concat_copy(tlist, path->path.pathtarget->exprs));
}

List *
dist_query_describe(DistPlan *plan, List *columns)
{
	List	   *scan_tlist = NIL;
	ListCell   *cell;

	foreach(cell, columns)
	{
		Expr	   *expr = copyObject(lfirst(cell));

		if ((plan->traits.flags & TASK_PARTIAL) != 0 && IsA(expr, Aggref))
			mark_partial_aggref((Aggref *) expr, AGGSPLIT_INITIAL_SERIAL);
		plan->positions = lappend_int(plan->positions, foreach_current_index(cell));
		plan->types = lappend_int(plan->types, (int) exprType((Node *) expr));
		plan->typmods = lappend_int(plan->typmods, exprTypmod((Node *) expr));
		scan_tlist = lappend(scan_tlist, makeTargetEntry(expr, foreach_current_index(cell) + 1, NULL, false));
	}
	plan->ncolumns = list_length(columns);
	return scan_tlist;
}

/* The distributed and reference tables of a query, at all levels. */
static bool
relation_oids_walker(Node *node, void *context)
{
	List	  **relids = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		if (((RangeTblEntry *) node)->rtekind == RTE_RELATION)
			*relids = list_append_unique_oid(*relids, ((RangeTblEntry *) node)->relid);
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, relation_oids_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, relation_oids_walker, context);
}

/* How the parameters that are arrays are numbered. */
typedef struct ArrayNumbers
{
	const List *broadcasts;
	int			first;			/* parameters before them */
} ArrayNumbers;

/*
 * The position of a column of a relation that the nodes get among all arrays;
 * -1 if it is none.
 */
static int
array_position(const List *broadcasts, const Var *var, Index *varno, AttrNumber *attno)
{
	int			before = 0;

	foreach_ptr(const Broadcast, broadcast, broadcasts)
	{
		foreach_ptr(const Var, other, broadcast->columns)
		{
			if (other->varno == var->varno && other->varattno == var->varattno)
			{
				*varno = broadcast->varno;
				*attno = foreach_current_index(other) + 1;
				return before + foreach_current_index(other);
			}
		}
		before += broadcast_nparams(broadcast);
	}
	return -1;
}

/* How many arrays come before those of the relation that varno stands for. */
static int
arrays_before(const List *broadcasts, Index varno)
{
	int			before = 0;

	foreach_ptr(const Broadcast, broadcast, broadcasts)
	{
		if (broadcast->varno == varno)
			break;
		before += broadcast_nparams(broadcast);
	}
	return before;
}

/*
 * Redirects Vars of broadcast and repartitioned relations to the entries that
 * replace these; in place.  EXISTS (..) has the range table indexes of the
 * query around it, subqueries in FROM have their own.
 */
static bool
redirect_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		(void) array_position(context, var, (Index *) &var->varno, &var->varattno);
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, redirect_walker, context, QTW_IGNORE_RT_SUBQUERIES);
	return expression_tree_walker(node, redirect_walker, context);
}

/*
 * Numbers the arrays as the task's parameters after the others; in place.  A
 * PARAM_SUBLINK of IN (..) isn't a parameter of the text.
 */
static bool
number_arrays_walker(Node *node, void *context)
{
	ArrayNumbers *numbers = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
	{
		Param	   *param = (Param *) node;

		param->paramkind = PARAM_EXTERN;
		param->paramid += numbers->first + arrays_before(numbers->broadcasts, (Index) param->location);
		param->location = -1;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, number_arrays_walker, context, 0);
	return expression_tree_walker(node, number_arrays_walker, context);
}

/*
 * Makes the deparser print each Var as the column itself, not as a join alias;
 * in place.
 */
static bool
drop_aliases_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		((Var *) node)->varnosyn = ((Var *) node)->varno;
		((Var *) node)->varattnosyn = ((Var *) node)->varattno;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, drop_aliases_walker, context, 0);
	return expression_tree_walker(node, drop_aliases_walker, context);
}

/*
 * A copy, with the columns of a subquery for the window functions that they
 * are.
 */
static Node *
window_column_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (!IsA(node, WindowFunc))
		return expression_tree_mutator(node, window_column_mutator, context);
	foreach_ptr(TargetEntry, entry, (List *) context)
		if (equal(entry->expr, node))
			return (Node *) makeVarFromTargetEntry(1, entry);
	elog(ERROR, "a condition is on a window function that the query doesn't return");
}

/*
 * Adds the conditions that the planner has moved to the query's windows to its
 * text, in a query around it.
 */
static Query *
with_run_conditions(Query *task)
{
	List	   *conditions = compat_run_conditions(task->windowClause, task->targetList);
	RangeTblEntry *entry;
	RangeTblRef *ref;
	Query	   *outer;

	if (conditions == NIL)
		return task;
	entry = makeNode(RangeTblEntry);
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = task;
	entry->inFromCl = true;
	entry->eref = makeAlias("windows", NIL);
	outer = makeNode(Query);
	foreach_ptr(TargetEntry, column, task->targetList)
	{
		if (column->resjunk)
			break;
		entry->eref->colnames = lappend(entry->eref->colnames, makeString(pstrdup(column->resname)));
		outer->targetList = lappend(outer->targetList,
									makeTargetEntry((Expr *) makeVarFromTargetEntry(1, column), column->resno,
													pstrdup(column->resname), false));
	}
	entry->alias = copyObject(entry->eref);
	ref = makeNode(RangeTblRef);
	ref->rtindex = 1;
	outer->commandType = CMD_SELECT;
	outer->canSetTag = true;
	outer->rtable = list_make1(entry);
	outer->jointree = makeFromExpr(list_make1(ref),
								   window_column_mutator((Node *) make_ands_explicit(conditions), task->targetList));
	return outer;
}

List *
dist_query_finish(DistPlan *plan, Query *task, const DistRel *rel)
{
	ArrayNumbers numbers = {.broadcasts = rel->broadcasts};
	List	   *exprs = NIL;
	Query	   *own_level = task;

	task = with_run_conditions(task);
	(void) redirect_walker((Node *) own_level, rel->broadcasts);
	(void) drop_aliases_walker((Node *) task, NULL);
	task = group_subqueries_restore(task);
	(void) relation_oids_walker((Node *) task, &plan->relids);
	task = task_query_extract(task, &exprs);
	plan->traits.check_as = rel->check_as;
	plan->narrays = arrays_before(rel->broadcasts, 0);
	plan->nparams = list_length(exprs) + plan->narrays;
	numbers.first = list_length(exprs);
	(void) number_arrays_walker((Node *) task, &numbers);
	plan->text = task_query_deparse(task);
	plan->prune = prune_pack(rel->disjunctions, &exprs);
	planning_context->hidden = list_concat(planning_context->hidden, rel->hidden);
	return exprs;
}

/*
 * How many rows are sent to the nodes that compute a relation, if all that
 * these read was sent to them by hash value; else 0.  Then any nodes can
 * compute it.
 */
static double
count_moved_rows(const DistRel *rel)
{
	Relids		moved = NULL;
	double		rows = 0;

	foreach_ptr(Broadcast, broadcast, rel->broadcasts)
	{
		moved = bms_add_members(moved, broadcast->relids);
		if (broadcast->repartition)
			rows += broadcast->path->parent->rows;
	}
	return rel->hidden == NIL && bms_is_subset(rel->relids, moved) ? rows : 0;
}

/* PlanCustomPath. */
static Plan *
plan_query(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses, List *custom_plans)
{
	const DistQuery *query = linitial(best_path->custom_private);
	List	   *columns = query->grouped ? query->columns : columns_of_path(root, query->rel, best_path, tlist);
	DistPlan	plan = {.kind = DIST_PLAN_SCAN,.dist_param = -1,.tableoid_position = -1,.command = CMD_SELECT,
	.by_node = true,.traits.flags = query->partial ? TASK_PARTIAL : 0};
	CustomScan *scan = makeNode(CustomScan);

	plan.relid = query->rel->table->relid;
	plan.moved_rows = count_moved_rows(query->rel);
	if (!query->grouped)
		plan.refusal = dist_rel_refusal(root, query->rel->relids);
	scan->custom_scan_tlist = dist_query_describe(&plan, columns);
	scan->custom_exprs = dist_query_finish(&plan, build_query(root, query, columns), query->rel);
	scan->scan.plan.targetlist = tlist;
	scan->flags = best_path->flags;
	scan->methods = &dist_scan_methods;
	scan->custom_plans = custom_plans;
	scan->custom_private = dist_plan_pack(&plan, scan->custom_exprs);
	planning_context->scans = lappend(planning_context->scans, scan);
	return (Plan *) scan;
}

void
dist_query_set_whole(RelOptInfo *final_rel, DistQuery *query)
{
	query->magic = DIST_QUERY_MAGIC;
	if (final_rel->fdwroutine == NULL && final_rel->fdw_private == NULL)
		final_rel->fdw_private = query;
}

DistQuery *
dist_query_whole(PlannerInfo *subroot)
{
	RelOptInfo *rel = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);
	DistQuery  *query = rel->fdwroutine == NULL ? rel->fdw_private : NULL;

	return query != NULL && query->magic == DIST_QUERY_MAGIC ? query : NULL;
}

Query *
dist_query_build_subquery(PlannerInfo *subroot, const DistQuery *query, List *names)
{
	Query	   *subquery = with_run_conditions(build_query(subroot, query, query->columns));
	ListCell   *entry;
	ListCell   *name;

	forboth(entry, subquery->targetList, name, names)
		lfirst_node(TargetEntry, entry)->resname = pstrdup(strVal(lfirst(name)));
	return subquery;
}

List *
dist_query_dist_columns(PlannerInfo *subroot, const DistQuery *query, Index varno)
{
	List	   *vars = NIL;

	foreach_ptr(Node, expr, query->columns)
		if (dist_rel_is_dist_expr(subroot, query->rel, expr))
			vars = lappend(vars, makeVar(varno, foreach_current_index(expr) + 1, exprType(expr), exprTypmod(expr),
										 exprCollation(expr), 0));
	return vars;
}
