/*-------------------------------------------------------------------------
 *
 * upper_path.c
 *	  Aggregates and limits that the nodes compute.
 *
 * If all rows of each group are in one shard group, the nodes aggregate
 * completely.  Otherwise the nodes return transition states, and PostgreSQL's
 * Finalize Aggregate combines them on the initiator; or the nodes first send
 * the rows to each other, so that each group is on one node (repartition.c),
 * which costs less if there are many groups.  For a query with LIMIT, each
 * node returns that many rows, the first in the query's order.
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
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "compat/group_clause.h"
#include "compat/query_rels.h"
#include "compat/subquery_path.h"
#include "planner/dist_query.h"
#include "planner/planning_context.h"
#include "planner/row_order.h"
#include "sharding/prune.h"

/*
 * Whether an expression depends on the rows of the query, so that the nodes
 * must compute it.
 */
static bool
depends_on_rows(Node *expr)
{
	return contain_var_clause(expr) || contain_agg_clause(expr);
}

/*
 * Whether the text of a query makes one row of each group: without GROUP BY
 * only an aggregate says that all rows are one.
 */
static bool
is_aggregation(const DistQuery *query)
{
	return query->group_clause != NIL || contain_agg_clause((Node *) query->columns) ||
		contain_agg_clause((Node *) query->having);
}

/*
 * A column outside of aggregates and GROUP BY items, for bare_column_walker.
 */
typedef struct BareColumns
{
	List	   *items;			/* of GROUP BY */
	List	   *vars;			/* found */
} BareColumns;

static bool
bare_column_walker(Node *node, void *context)
{
	BareColumns *bare = context;

	if (node == NULL || IsA(node, Aggref) || list_member(bare->items, node))
		return false;
	if (IsA(node, Var))
	{
		bare->vars = list_append_unique(bare->vars, node);
		return false;
	}
	return expression_tree_walker(node, bare_column_walker, context);
}

List *
dist_query_bare_columns(List *exprs, List *items)
{
	BareColumns bare = {.items = items};

	(void) bare_column_walker((Node *) exprs, &bare);
	return bare.vars;
}

/*
 * A column needn't be in GROUP BY if GROUP BY has a key of its table;
 * PostgreSQL's planner even removes it.  The nodes' query groups by all such
 * columns, since it may read rows from a subquery without a key.  False if a
 * type has no equality.
 */
static bool
group_by_bare_columns(DistQuery *query)
{
	List	   *items = NIL;
	List	   *exprs = list_concat_copy(query->columns, query->having);
	Index		ref = 0;
	ListCell   *cell;

	foreach(cell, query->tlist)
		ref = Max(ref, lfirst_node(TargetEntry, cell)->ressortgroupref);
	foreach(cell, query->group_clause)
		items = lappend(items, get_sortgroupclause_expr(lfirst(cell), query->tlist));
	foreach(cell, dist_query_bare_columns(exprs, items))
	{
		TargetEntry *entry = makeTargetEntry(lfirst(cell), list_length(query->tlist) + 1, NULL, true);
		SortGroupClause *clause = makeNode(SortGroupClause);

		entry->ressortgroupref = clause->tleSortGroupRef = ++ref;
		get_sort_group_operators(exprType(lfirst(cell)), false, false, false, &clause->sortop, &clause->eqop, NULL,
								 &clause->hashable);
		if (!OidIsValid(clause->eqop))
			return false;
		query->tlist = lappend(list_copy(query->tlist), entry);
		query->group_clause = lappend(list_copy(query->group_clause), clause);
	}
	return true;
}

bool
is_anonymous_row(Oid type)
{
	return type == RECORDOID || type == RECORDARRAYOID;
}

/*
 * The groups of a relation, to be aggregated to columns.  The initiator
 * computes expressions that are the same for all rows, which are left out of
 * GROUP BY.  NULL if no item remains, or if the nodes can't evaluate a column.
 */
DistQuery *
dist_query_group(PlannerInfo *root, const DistRel *rel, List *clause, List *columns, bool partial)
{
	DistQuery  *query = palloc0(sizeof(DistQuery));
	ListCell   *cell;

	query->rel = rel;
	query->grouped = true;
	query->partial = partial;
	query->tlist = root->processed_tlist;
	foreach(cell, columns)
	{
		if (is_anonymous_row(exprType(lfirst(cell))))
			return NULL;
		if (depends_on_rows(lfirst(cell)))
			query->columns = lappend(query->columns, lfirst(cell));
	}
	foreach(cell, clause)
	{
		Node	   *item = get_sortgroupclause_expr(lfirst(cell), root->processed_tlist);

		if (depends_on_rows(item))
			query->group_clause = lappend(query->group_clause, lfirst(cell));
		else if (expression_returns_set(item))
			return NULL;

		/* has another value for each row */
		if (contain_volatile_functions(item))
			return NULL;
	}
	if (!partial)
		query->having = (List *) root->parse->havingQual;
	if ((query->group_clause == NIL && clause != NIL) || !is_aggregation(query) ||
		group_subqueries_need_items(query->columns) || group_subqueries_need_items(query->having) ||
		!dist_rel_can_evaluate(root, rel, query->columns))
		return NULL;
	if (query->group_clause != NIL && !group_by_bare_columns(query))
		return NULL;
	return query;
}

bool
dist_query_groups_are_whole(PlannerInfo *root, const DistRel *rel, List *clause)
{
	ListCell   *cell;

	if (rel->table->kind == DIST_SINGLE)
		return true;
	foreach(cell, clause)
	{
		if (dist_rel_is_dist_expr(root, rel, get_sortgroupclause_expr(lfirst(cell), root->processed_tlist)))
			return true;
	}
	return false;
}

List *
dist_query_partial_columns(PlannerInfo *root, const PathTarget *target, PathTarget *partial)
{
	List	   *columns = NIL;
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, target->exprs)
	{
		Index		ref = get_pathtarget_sortgroupref(target, foreach_current_index(cell));

		if (ref != 0 && get_sortgroupref_clause_noerr(ref, root->parse->groupClause) != NULL)
			add_column_to_pathtarget(partial, lfirst(cell), ref);
		else
			others = lappend(others, lfirst(cell));
	}
	others = lappend(others, root->parse->havingQual);
	add_new_columns_to_pathtarget(partial, pull_var_clause((Node *) others, PVC_INCLUDE_AGGREGATES |
														   PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS));
	foreach(cell, partial->exprs)
	{
		columns = lappend(columns, lfirst(cell));
		if (IsA(lfirst(cell), Aggref))
		{
			Aggref	   *aggref = makeNode(Aggref);

			*aggref = *lfirst_node(Aggref, cell);
			mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
			lfirst(cell) = aggref;
		}
	}
	set_pathtarget_cost_width(root, partial);
	return columns;
}

/* Adds a Finalize Aggregate over the transition states that nodes return. */
static void
add_finalize_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const DistRel *rel, int flags,
				 double ngroups)
{
	PathTarget *partial = create_empty_pathtarget();
	List	   *columns = dist_query_partial_columns(root, grouped_rel->reltarget, partial);
	List	   *group_clause = dividing_group_clause(root);
	bool		hashable = (flags & GROUPING_CAN_USE_HASH) != 0 && group_clause != NIL && grouping_is_hashable(group_clause);
	AggStrategy strategy = root->parse->groupClause == NIL ? AGG_PLAIN : hashable ? AGG_HASHED : AGG_SORTED;
	double		nstates = Min(ngroups * dist_rel_count_nodes(rel->table), input_rel->rows);
	AggClauseCosts costs = {0};
	DistQuery  *query;
	Path	   *path;

	query = dist_query_group(root, rel, root->parse->groupClause, columns, true);
	if (query == NULL || (strategy == AGG_SORTED && (flags & GROUPING_CAN_USE_SORT) == 0))
		return;
	path = dist_query_path(root, grouped_rel, query, partial, nstates,
						   input_rel->rows * cpu_operator_cost * 2);
	if (strategy == AGG_SORTED && root->group_pathkeys != NIL)
		path = (Path *) create_sort_path(root, grouped_rel, path, root->group_pathkeys, -1.0);
	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(grouped_rel, (Path *) create_agg_path(root, grouped_rel, path, grouped_rel->reltarget, strategy,
												   AGGSPLIT_FINAL_DESERIAL, group_clause,
												   (List *) root->parse->havingQual, &costs, ngroups));
}

/*
 * The expression of GROUP BY with the most values among those that have the
 * hash function of the table's distribution column; NULL if there is none.
 * Sets the number of its values, and its equality operator.
 */
static Node *
most_distinct_key(PlannerInfo *root, const DistTable *table, double nrows, double *ngroups, OpExpr **operator)
{
	Node	   *best = NULL;
	ListCell   *cell;

	*ngroups = 0;
	foreach(cell, root->parse->groupClause)
	{
		const SortGroupClause *clause = lfirst(cell);
		Node	   *expr = get_sortgroupclause_expr(lfirst(cell), root->processed_tlist);
		double		count;

		if (!contain_var_clause(expr) || !prune_is_equality(table, clause->eqop, exprCollation(expr)))
			continue;
		count = estimate_num_groups(root, list_make1(expr), nrows, NULL, NULL);
		if (count <= *ngroups)
			continue;
		*ngroups = count;
		best = expr;
		*operator = (OpExpr *) make_opclause(clause->eqop, BOOLOID, false, (Expr *) expr, (Expr *) expr, InvalidOid,
											 exprCollation(expr));
	}
	return best;
}

/*
 * Adds a path for which nodes send the rows of each group to one of them, and
 * aggregate them there to the end.
 */
static void
add_moved_group_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const DistTable *table,
					 double nrows)
{
	List	   *exprs = list_concat_copy(root->processed_tlist, (List *) root->parse->havingQual);
	List	   *columns = NIL;
	DistRel    *moved;
	DistQuery  *query;
	OpExpr	   *operator;
	double		nkeys;
	Node	   *key = most_distinct_key(root, table, input_rel->rows, &nkeys, &operator);

	if (key == NULL || nkeys < dist_rel_count_nodes(table))
		return;
	columns = list_union(NIL, pull_var_clause((Node *) exprs, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
											  PVC_INCLUDE_PLACEHOLDERS));
	moved = dist_rel_repartition(root, input_rel, columns, table, key, operator);
	if (moved == NULL)
		return;
	query = dist_query_group(root, moved, root->parse->groupClause, grouped_rel->reltarget->exprs, false);
	if (query != NULL && dist_rel_can_evaluate(root, query->rel, query->having))
		add_path(grouped_rel, dist_query_path(root, grouped_rel, query, grouped_rel->reltarget, nrows,
											  input_rel->rows * cpu_operator_cost * 2));
}

/*
 * Replaces paths that sort rows by GROUP BY, which changes their order within
 * a group, by a hashed one, if that order decides about the aggregates'
 * values.
 */
static void
keep_order_in_groups(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	AggClauseCosts costs = {0};
	List	   *kept = NIL;
	double		ngroups;

	if (!parse->hasAggs || parse->groupClause == NIL || parse->groupingSets != NIL ||
		(extra->flags & GROUPING_CAN_USE_HASH) == 0 || grouped_rel->pathlist == NIL || grouped_rel->fdwroutine != NULL ||
		!row_order_decides(root, input_rel))
		return;
	ngroups = ((Path *) linitial(grouped_rel->pathlist))->rows;
	foreach_ptr(AggPath, path, grouped_rel->pathlist)
		if (IsA(path, AggPath) && !IsA(path->subpath, SortPath) && !IsA(path->subpath, IncrementalSortPath))
			kept = lappend(kept, path);
	grouped_rel->pathlist = kept;
	if (kept != NIL)
		return;
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	add_path(grouped_rel, (Path *) create_agg_path(root, grouped_rel, input_rel->cheapest_total_path,
												   grouped_rel->reltarget, AGG_HASHED, AGGSPLIT_SIMPLE,
												   dividing_group_clause(root), (List *) parse->havingQual, &costs,
												   ngroups));
}

static void
add_group_paths(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const GroupPathExtraData *extra)
{
	const DistRel *rel = dist_rel_of(input_rel);
	Path	   *other = grouped_rel->pathlist != NIL ? linitial(grouped_rel->pathlist) : NULL;
	DistQuery  *query;

	if (rel == NULL || rel->table == NULL || other == NULL || grouped_rel->fdwroutine != NULL)
		return;
	if (root->parse->groupingSets != NIL)
	{
		grouping_sets_paths_add(root, input_rel, grouped_rel, rel, other->rows);
		return;
	}
	if (!dist_query_groups_are_whole(root, rel, root->parse->groupClause))
	{
		if (extra->flags & GROUPING_CAN_PARTIAL_AGG)
			add_finalize_path(root, input_rel, grouped_rel, rel, extra->flags, other->rows);
		else
		{
			dist_rel_refuse(root, rel->relids, "the aggregates",
							"one can't be computed in parts, and rows of a group are on several nodes");
			distinct_aggregate_paths_add(root, input_rel, grouped_rel, rel, other->rows);
		}
		add_moved_group_path(root, input_rel, grouped_rel, rel->table, other->rows);
		return;
	}
	query = dist_query_group(root, rel, root->parse->groupClause, grouped_rel->reltarget->exprs, false);
	if (query == NULL || !dist_rel_can_evaluate(root, query->rel, query->having))
		return;
	add_path(grouped_rel, dist_query_path(root, grouped_rel, query, grouped_rel->reltarget, other->rows,
										  input_rel->rows * cpu_operator_cost * 2));
	grouped_rel->fdw_private = query;
}

/*
 * Whether a query does more than to aggregate, compute windows, remove
 * duplicates, sort and limit.
 */
static bool
has_other_steps(const Query *query)
{
	return query->commandType != CMD_SELECT || query->hasDistinctOn ||
		query->rowMarks != NIL || query->hasTargetSRFs || query->hasModifyingCTE;
}

const DistRel *
dist_query_input(PlannerInfo *root)
{
	const RelOptInfo *rel;
	const DistRel *dist;

	if (root->parse->setOperations != NULL)
		rel = root->hasRecursion ? NULL : set_op_result(root);
	else if (bms_membership(root->all_baserels) == BMS_SINGLETON)
		rel = find_base_rel(root, bms_singleton_member(root->all_baserels));
	else
		rel = find_join_rel(root, compat_query_rels(root));
	dist = rel != NULL ? dist_rel_of(rel) : NULL;

	return dist != NULL && dist->table != NULL ? dist : NULL;
}

/* A copy of the query that was noted for a stage, or NULL. */
static DistQuery *
query_of_stage(PlannerInfo *root, UpperRelationKind stage)
{
	RelOptInfo *rel = fetch_upper_rel(root, stage, NULL);
	DistQuery  *query;

	if (rel->fdwroutine != NULL || rel->fdw_private == NULL)
		return NULL;
	query = palloc(sizeof(DistQuery));
	*query = *(DistQuery *) rel->fdw_private;
	return query;
}

DistQuery *
dist_query_before_windows(PlannerInfo *root)
{
	DistQuery  *query;

	if (root->parse->hasAggs || root->parse->groupClause != NIL || root->parse->groupingSets != NIL ||
		root->hasHavingQual)
		return query_of_stage(root, UPPERREL_GROUP_AGG);
	query = palloc0(sizeof(DistQuery));
	query->rel = dist_query_input(root);
	query->tlist = root->parse->setOperations != NULL ? root->parse->targetList : root->processed_tlist;
	return query->rel != NULL ? query : NULL;
}

DistQuery *
dist_query_before_limit(PlannerInfo *root)
{
	if (root->parse->distinctClause != NIL)
		return query_of_stage(root, UPPERREL_DISTINCT);
	if (root->parse->hasWindowFuncs)
		return query_of_stage(root, UPPERREL_WINDOW);
	return dist_query_before_windows(root);
}

/*
 * LIMIT + OFFSET, the most rows that each node returns; NULL if it isn't known
 * before the statement starts.
 */
static Node *
rows_needed(PlannerInfo *root)
{
	Node	   *limit = root->parse->limitCount;
	Node	   *offset = root->parse->limitOffset;

	if (limit == NULL || root->parse->limitOption != LIMIT_OPTION_COUNT ||
		!dist_rel_can_evaluate(root, NULL, list_make1(limit)))
		return NULL;
	if (offset == NULL)
		return limit;
	if (!dist_rel_can_evaluate(root, NULL, list_make1(offset)))
		return NULL;
	return eval_const_expressions(root, (Node *) makeFuncExpr(F_INT8PL, INT8OID, list_make2(limit, offset),
															  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

/* Whether the nodes can sort. */
static bool
can_sort(PlannerInfo *root, const DistQuery *query)
{
	ListCell   *cell;

	foreach(cell, root->parse->sortClause)
	{
		Node	   *expr = get_sortgroupclause_expr(lfirst(cell), query->tlist);

		if (!dist_rel_can_evaluate(root, query->rel, list_make1(expr)))
			return false;
	}
	return true;
}

/*
 * Has a path be chosen whose nodes tell how columns are stored, whatever its
 * cost.
 */
static void
prefer_path_of_storage(PlannerInfo *root, RelOptInfo *final_rel, const DistQuery *query)
{
	const PathTarget *target = root->upper_targets[UPPERREL_FINAL];

	if (!query->grouped && target != NULL && group_subquery_storage(root, query->rel, target->exprs))
		final_rel->pathlist = NIL;
}

/*
 * A path for a query without LIMIT that returns values that only nodes can
 * compute: of subqueries, or how columns are stored.
 */
static void
add_whole_path(PlannerInfo *root, RelOptInfo *final_rel, DistQuery *query)
{
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];
	Path	   *path;

	if (target == NULL ||
		(group_subqueries_stand_in(target->exprs, NULL) ? !dist_rel_can_evaluate(root, query->rel, target->exprs) :
		 contain_volatile_functions((Node *) target->exprs) || !group_subquery_storage(root, query->rel, target->exprs)))
		return;
	path = dist_query_path(root, final_rel, query, target, query->rel->rows, 0);
	if (root->sort_pathkeys != NIL)
		path = (Path *) create_sort_path(root, final_rel, path, root->sort_pathkeys, -1);
	prefer_path_of_storage(root, final_rel, query);
	add_path(final_rel, path);
}

/*
 * What is computed before rows are sorted for a LIMIT: volatile functions are
 * called afterwards, in the order of the rows that are returned.  NULL if some
 * of it can't be told from subqueries' values, which only nodes can compute.
 */
static PathTarget *
target_before_limit(PlannerInfo *root, bool sorts)
{
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];

	if (!sorts || target == NULL || !contain_volatile_functions((Node *) target->exprs))
		return target;
	return group_subqueries_stand_in(target->exprs, NULL) ? NULL : root->upper_targets[UPPERREL_DISTINCT];
}

/*
 * A path that returns the first rows of a query, in its order, of which each
 * node returns no more than limit says; the other rows may follow.  NULL if
 * nodes can't sort, or can't compute the query's columns.  tuples: as many, or
 * -1 if that isn't known.
 */
static Path *
first_rows_path(PlannerInfo *root, RelOptInfo *final_rel, DistQuery *query, Node *limit, double tuples)
{
	double		rows = (tuples > 0 ? tuples : 1000) * dist_rel_count_nodes(query->rel->table);
	PathTarget *target;
	Path	   *path;

	if (!can_sort(root, query))
		return NULL;
	/* no path keys: all is sorted by constants */
	query->sort_clause = root->sort_pathkeys != NIL ? root->parse->sortClause : NIL;
	query->limit = limit;
	target = target_before_limit(root, query->sort_clause != NIL);
	if (target == NULL && root->parse->setOperations == NULL)
		return NULL;
	path = root->parse->setOperations != NULL ? set_op_query_path(root, set_op_result(root), query, rows) :
		dist_query_path(root, final_rel, query, target, rows, 0);
	if (query->sort_clause == NIL)
		return path;
	path = (Path *) create_sort_path(root, final_rel, path, root->sort_pathkeys, tuples);
	if (target != root->upper_targets[UPPERREL_FINAL])
		path = apply_projection_to_path(root, final_rel, path, root->upper_targets[UPPERREL_FINAL]);
	return path;
}

/*
 * A path for a query with LIMIT, of which each node returns no more than
 * needed.
 */
static void
add_limit_path(PlannerInfo *root, RelOptInfo *final_rel, const FinalPathExtraData *extra)
{
	DistQuery  *query;
	Node	   *limit;
	Path	   *path;

	if (has_other_steps(root->parse) || (query = dist_query_before_limit(root)) == NULL)
		return;
	if (!extra->limit_needed && !query->grouped)
	{
		add_whole_path(root, final_rel, query);
		return;
	}
	if (!extra->limit_needed || (limit = rows_needed(root)) == NULL ||
		(path = first_rows_path(root, final_rel, query, limit, extra->limit_tuples)) == NULL)
		return;
	if (query->sort_clause == NIL && !query->grouped && final_rel->pathlist != NIL)
	{
		/*
		 * nodes that stop by themselves cost no more than scans that have to
		 * be cancelled
		 */
		path->total_cost = Min(path->total_cost, ((Path *) linitial(final_rel->pathlist))->startup_cost);
		path->startup_cost = Min(path->startup_cost, path->total_cost);
	}
	prefer_path_of_storage(root, final_rel, query);
	add_path(final_rel, (Path *) create_limit_path(root, final_rel, path, root->parse->limitOffset,
												   root->parse->limitCount, root->parse->limitOption,
												   extra->offset_est, extra->count_est));
}

/*
 * The only member of FROM, if it is a subquery whose rows a query returns one
 * by one, in their order; else NULL.
 */
static RelOptInfo *
only_subquery(PlannerInfo *root)
{
	const Query *query = root->parse;
	RelOptInfo *rel;

	if (has_other_steps(query) || query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		root->hasHavingQual || query->hasWindowFuncs || query->distinctClause != NIL || query->setOperations != NULL ||
		bms_membership(root->all_baserels) != BMS_SINGLETON)
		return NULL;
	rel = find_base_rel(root, bms_singleton_member(root->all_baserels));
	return rel->rtekind == RTE_SUBQUERY && rel->subroot != NULL && rel->baserestrictinfo == NIL &&
		bms_is_empty(rel->lateral_relids) ? rel : NULL;
}

/*
 * A path for a query that returns the first rows of a subquery with ORDER BY,
 * whose order isn't to be changed: LIMIT applies to the subquery, too.
 */
static void
add_sorted_subquery_path(PlannerInfo *root, RelOptInfo *final_rel, const FinalPathExtraData *extra)
{
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];
	RelOptInfo *rel;
	PlannerInfo *subroot;
	DistQuery  *query;
	Node	   *limit;
	Path	   *path;
	List	   *pathkeys;

	if (!extra->limit_needed || target == NULL || (rel = only_subquery(root)) == NULL ||
		(limit = rows_needed(root)) == NULL)
		return;
	subroot = rel->subroot;
	if (subroot->sort_pathkeys == NIL || subroot->parse->limitCount != NULL || subroot->parse->limitOffset != NULL ||
		has_other_steps(subroot->parse) || (query = dist_query_before_limit(subroot)) == NULL ||
		(path = first_rows_path(subroot, fetch_upper_rel(subroot, UPPERREL_FINAL, NULL), query, limit,
								extra->limit_tuples)) == NULL)
		return;
	pathkeys = convert_subquery_pathkeys(root, rel, path->pathkeys, make_tlist_from_pathtarget(path->pathtarget));
	if (!pathkeys_contained_in(root->sort_pathkeys, pathkeys))
		return;
	path = compat_subqueryscan_path(root, rel, path, pathkeys);
	path = (Path *) create_projection_path(root, final_rel, path, target);
	add_path(final_rel, (Path *) create_limit_path(root, final_rel, path, root->parse->limitOffset,
												   root->parse->limitCount, root->parse->limitOption,
												   extra->offset_est, extra->count_est));
}

/* Notes that a subquery as a whole can be part of a query for the nodes. */
static void
note_whole(PlannerInfo *root, RelOptInfo *final_rel)
{
	DistQuery  *query;

	if (root->parent_root == NULL || has_other_steps(root->parse) || root->parse->limitCount != NULL ||
		root->parse->limitOffset != NULL || root->init_plans != NIL ||
		(query = dist_query_before_limit(root)) == NULL)
		return;
	query->columns = NIL;
	foreach_ptr(TargetEntry, entry, root->parse->setOperations != NULL ? root->parse->targetList : root->processed_tlist)
		if (!entry->resjunk)
			query->columns = lappend(query->columns, entry->expr);
	if (query->grouped && query->window_clause == NIL && !is_aggregation(query))
		return;					/* the outer query needs no aggregate's
								 * value */
	if (query->columns != NIL && dist_rel_can_evaluate(root, query->rel, query->columns))
		dist_query_set_whole(final_rel, query);
}

void
upper_paths_add(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	if (!citus_enable_query_pushdown || planning_context == NULL || planning_context->node_task || !metadata_available())
		return;
	if (stage == UPPERREL_GROUP_AGG)
	{
		keep_order_in_groups(root, input_rel, output_rel, extra);
		add_group_paths(root, input_rel, output_rel, extra);
	}
	else if (stage == UPPERREL_WINDOW)
		window_paths_add(root, output_rel);
	else if (stage == UPPERREL_DISTINCT)
		distinct_paths_add(root, output_rel);
	else if (stage == UPPERREL_SETOP)
		set_op_paths_add(root, output_rel);
	else if (stage == UPPERREL_FINAL)
	{
		add_limit_path(root, output_rel, extra);
		add_sorted_subquery_path(root, output_rel, extra);
		note_whole(root, output_rel);
		pushed_write_note(root, output_rel);
	}
}
