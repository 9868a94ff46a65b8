/*-------------------------------------------------------------------------
 *
 * distinct_path.c
 *	  DISTINCT, aggregates of distinct values, and window functions on the
 *	  nodes.
 *
 * Nodes remove duplicates before they return rows: for SELECT DISTINCT, and
 * for aggregates that ignore duplicates.  Window functions are computed by the
 * nodes if the rows of each partition are in one shard group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat/group_clause.h"
#include "compat/run_conditions.h"
#include "planner/dist_query.h"
#include "planner/planner.h"

void
distinct_paths_add(PlannerInfo *root, RelOptInfo *distinct_rel)
{
	Query	   *parse = root->parse;
	List	   *clause = parse->distinctClause;
	PathTarget *target = root->upper_targets[UPPERREL_DISTINCT];
	Path	   *other = distinct_rel->pathlist != NIL ? linitial(distinct_rel->pathlist) : NULL;
	const DistRel *rel = dist_query_input(root);
	DistQuery  *query;
	Path	   *path;
	bool		whole;

	if (rel == NULL || other == NULL || parse->hasDistinctOn || parse->hasAggs || parse->groupClause != NIL ||
		root->hasHavingQual || parse->hasWindowFuncs || parse->hasTargetSRFs || clause == NIL ||
		!grouping_is_hashable(clause) || (query = dist_query_group(root, rel, clause, target->exprs, false)) == NULL)
		return;
	query->having = NIL;
	whole = dist_query_groups_are_whole(root, rel, clause);
	path = dist_query_path(root, distinct_rel, query, target,
						   whole ? other->rows : Min(other->rows * dist_rel_count_nodes(rel->table), rel->rows),
						   rel->rows * cpu_operator_cost * 2);
	if (!whole)
		path = (Path *) create_agg_path(root, distinct_rel, path, target, AGG_HASHED, AGGSPLIT_SIMPLE, clause, NIL, NULL,
										other->rows);
	else if (distinct_rel->fdwroutine == NULL)
		distinct_rel->fdw_private = query;
	add_path(distinct_rel, path);
}

/* Whether an aggregate ignores duplicate rows. */
static bool
ignores_duplicates(const Aggref *aggref)
{
	static const char *const names[] = {"min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or"};
	const char *name = get_func_name(aggref->aggfnoid);

	if (aggref->aggdistinct != NIL)
		return true;
	for (int i = 0; i < lengthof(names); i++)
	{
		if (aggref->aggfnoid < FirstNormalObjectId && strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Whether that holds for all aggregates of a query. */
static bool
all_ignore_duplicates(PlannerInfo *root, const PathTarget *target)
{
	List	   *exprs = lappend(list_copy(target->exprs), root->parse->havingQual);
	ListCell   *cell;

	foreach(cell, pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
								  PVC_INCLUDE_PLACEHOLDERS))
	{
		if (IsA(lfirst(cell), Aggref) && !ignores_duplicates(lfirst(cell)))
			return false;
	}
	return true;
}

/* Adds a column, if it depends on the rows and isn't there yet. */
static void
add_distinct_column(PathTarget *target, Expr *expr)
{
	if (contain_var_clause((Node *) expr) && !list_member(target->exprs, expr))
		add_column_to_pathtarget(target, expr, 0);
}

/*
 * Whether the nodes may evaluate an aggregate's arguments for all rows, and
 * return them: for a row that FILTER excludes, they must not raise an error.
 */
static bool
evaluates_safely(const Aggref *aggref)
{
	foreach_node(TargetEntry, entry, aggref->args)
	{
		Expr	   *arg = entry->expr;

		if ((aggref->aggfilter != NULL && !IsA(arg, Var) && !IsA(arg, Const)) ||
			get_typtype(exprType((Node *) arg)) == TYPTYPE_PSEUDO)
			return false;
	}
	return true;
}

/*
 * The distinct input of a query's aggregates: GROUP BY items, arguments and
 * filters of the aggregates, other columns.  It has whole arguments instead of
 * their columns, since equal columns may give different arguments (1.0 and
 * 1.00 as text).  NULL if the nodes can't compute it.
 */
static PathTarget *
distinct_input(PlannerInfo *root, const DistRel *rel, const PathTarget *input, const PathTarget *output)
{
	PathTarget *target = create_empty_pathtarget();
	List	   *exprs = lappend(list_copy(output->exprs), root->parse->havingQual);
	ListCell   *cell;

	foreach(cell, input->exprs)
	{
		Index		ref = get_pathtarget_sortgroupref(input, foreach_current_index(cell));

		if (ref != 0 && get_sortgroupref_clause_noerr(ref, root->parse->groupClause) != NULL)
			add_column_to_pathtarget(target, lfirst(cell), ref);
	}
	foreach(cell, dist_query_bare_columns(exprs, target->exprs))
		add_distinct_column(target, lfirst(cell));
	foreach(cell, pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
								  PVC_INCLUDE_PLACEHOLDERS))
	{
		Aggref	   *aggref = lfirst(cell);

		if (!IsA(aggref, Aggref))
			continue;
		if (!evaluates_safely(aggref))
			return NULL;
		foreach_node(TargetEntry, entry, aggref->args)
			add_distinct_column(target, entry->expr);
		add_distinct_column(target, aggref->aggfilter);
	}
	if (target->exprs == NIL || !dist_rel_can_evaluate(root, rel, target->exprs))
		return NULL;
	set_pathtarget_cost_width(root, target);
	return target;
}

List *
dist_query_group_by_all(List *exprs, List **tlist)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, exprs)
	{
		SortGroupClause *clause = makeNode(SortGroupClause);
		TargetEntry *entry = makeTargetEntry(lfirst(cell), foreach_current_index(cell) + 1, NULL, false);

		get_sort_group_operators(exprType(lfirst(cell)), false, false, false, &clause->sortop, &clause->eqop, NULL,
								 &clause->hashable);
		if (!OidIsValid(clause->eqop) || !OidIsValid(clause->sortop) || is_anonymous_row(exprType(lfirst(cell))))
			return NIL;
		entry->ressortgroupref = clause->tleSortGroupRef = entry->resno;
		clauses = lappend(clauses, clause);
		*tlist = lappend(*tlist, entry);
	}
	return clauses;
}

void
distinct_aggregate_paths_add(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const DistRel *rel,
							 double ngroups)
{
	PathTarget *input;
	List	   *clause = dividing_group_clause(root);
	AggClauseCosts costs = {0};
	DistQuery  *query = palloc0(sizeof(DistQuery));
	double		nrows;
	Path	   *path;

	if (!root->parse->hasAggs || contain_volatile_functions((Node *) grouped_rel->reltarget->exprs) ||
		contain_volatile_functions(root->parse->havingQual) || !all_ignore_duplicates(root, grouped_rel->reltarget) ||
		(clause != NIL && !grouping_is_sortable(clause)))
		return;
	input = distinct_input(root, rel, input_rel->reltarget, grouped_rel->reltarget);
	if (input == NULL)
		return;
	query->rel = rel;
	query->grouped = true;
	query->columns = input->exprs;
	query->group_clause = dist_query_group_by_all(input->exprs, &query->tlist);
	if (query->group_clause == NIL || !contain_var_clause((Node *) input->exprs))
		return;
	nrows = estimate_num_groups(root, input->exprs, input_rel->rows, NULL, NULL);
	path = dist_query_path(root, grouped_rel, query, input, Min(nrows * dist_rel_count_nodes(rel->table), input_rel->rows),
						   input_rel->rows * cpu_operator_cost * 2);
	if (root->group_pathkeys != NIL)
		path = (Path *) create_sort_path(root, grouped_rel, path, root->group_pathkeys, -1.0);
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	add_path(grouped_rel, (Path *) create_agg_path(root, grouped_rel, path, grouped_rel->reltarget,
												   root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN,
												   AGGSPLIT_SIMPLE, clause,
												   (List *) root->parse->havingQual, &costs, ngroups));
}

/*
 * Whether the rows of each partition of a window are in one shard group, and
 * the nodes can compute it.
 */
static bool
window_is_whole(PlannerInfo *root, const DistRel *rel, WindowClause *window)
{
	return dist_query_groups_are_whole(root, rel, window->partitionClause) &&
		dist_rel_can_evaluate(root, rel, list_make2(window->startOffset, window->endOffset));
}

void
window_paths_add(PlannerInfo *root, RelOptInfo *window_rel)
{
	DistQuery  *query = dist_query_before_windows(root);
	PathTarget *target = root->upper_targets[UPPERREL_WINDOW];
	Path	   *other = window_rel->pathlist != NIL ? linitial(window_rel->pathlist) : NULL;
	ListCell   *cell;

	if (query == NULL || other == NULL || root->parse->hasTargetSRFs ||
		root->parse->rowMarks != NIL || root->parse->commandType != CMD_SELECT || window_rel->fdwroutine != NULL)
		return;
	foreach(cell, root->parse->windowClause)
	{
		if (!window_is_whole(root, query->rel, lfirst(cell)))
		{
			dist_rel_refuse(root, query->rel->relids, "the windows",
							"one is not partitioned by the distribution column");
			return;
		}
	}
	query->columns = NIL;
	foreach_ptr(Node, expr, target->exprs)
		if (contain_var_clause(expr) || contain_agg_clause(expr) || contain_window_function(expr))
			query->columns = lappend(query->columns, expr);
	if (!dist_rel_can_evaluate(root, query->rel, query->columns) ||
		!dist_rel_can_evaluate(root, query->rel, compat_run_conditions(root->parse->windowClause, query->columns)))
		return;
	query->grouped = true;
	query->window_clause = root->parse->windowClause;
	add_path(window_rel, dist_query_path(root, window_rel, query, target, other->rows,
										 other->rows * cpu_operator_cost * 10));
	window_rel->fdw_private = query;
}
