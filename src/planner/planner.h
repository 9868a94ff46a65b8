/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  The ladder of planners, cheapest first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_PLANNER_H
#define CITUS_PLANNER_PLANNER_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "planner/dist_plan.h"
#include "planner/planning_context.h"

extern void planner_init(void);

/*
 * fast_path.c: a plan without standard_planner, or NULL with *reason set.
 * pin: the only value of the distribution column that can qualify; NULL: not
 * known.
 */
extern PlannedStmt *fast_path_plan(Query *query, Param *pin, const char **reason);

/*
 * Rewrites of a query: they change it in place or return another; NULL if
 * there is nothing to change.  The functions beside them exclude most queries.
 *
 * decorrelate.c: scalar subqueries as joins, which compute all groups, or only
 * the needed ones if these are few.
 */
extern bool decorrelate_applies(const Query *query);
extern Query *decorrelate(Query *query, PlanningContext *context);
extern Query *decorrelate_few(Query *query, PlanningContext *context);

/*
 * eager_group.c: aggregates of outer joins' inner sides before the joins.
 */
extern bool eager_group_applies(const Query *query);
extern Query *eager_group(Query *query, PlanningContext *context);

/*
 * group_subquery_mark.c: calls in the place of correlated subqueries that
 * shard groups can evaluate for their own rows.  Stores the subqueries in
 * context.
 */
extern bool group_subqueries_apply(const Query *query);
extern Query *group_subqueries_mark(Query *query, PlanningContext *context);

/*
 * group_subquery.c: whether nodes run all of these subqueries in a plan, so
 * that it can be executed.
 */
extern bool group_subqueries_are_gone(PlannedStmt *plan, const PlanningContext *context);

/*
 * router.c: one task for the whole statement, if its plan shows that this is
 * possible; NULL with *reason set.
 */
extern PlannedStmt *router_plan(Query *original, const PlanningContext *context, const char **reason);

/*
 * pushed_write.c: each shard group runs the write (write_source); NULL with
 * *reason set.
 */
extern PlannedStmt *pushed_write_plan(Query *original, const PlanningContext *context, const char **reason);

/*
 * statement.c: adds the relations of queries that aren't part of the plan to a
 * statement's dependencies, locks and permission checks.
 */
extern void statement_add_relations(PlannedStmt *statement, List *queries);

/*
 * statement.c: a PlannedStmt whose only node is a DistributedScan that returns
 * what the query returns.
 */
extern PlannedStmt *make_dist_statement(Query *query, DistPlan *plan, List *exprs);

/*
 * statement.c: a node that returns what another one would, with its columns
 * and costs.
 */
extern CustomScan *make_scan_like(const Plan *plan);

/*
 * Set by src/global_index: a plan for a statement whose filter gives all
 * columns of a global index values; NULL for others.
 */
extern PlannedStmt *(*plan_by_global_index) (Query *query, const char *query_string, int cursor_options,
											 ParamListInfo params);

/*
 * Set by src/global_index: a copy of a query that reads fewer shards by global
 * indexes, and then costs less than its plan so far; NULL: none.
 */
extern Query *(*narrow_by_global_indexes) (Query *query, Cost cost);

/*
 * planner.c: plans a statement of one distributed table, of which only rows
 * with this value in the distribution column can qualify.
 */
extern PlannedStmt *plan_pinned(Query *query, Param *value, const char *query_string, int cursor_options,
								ParamListInfo params);

/*
 * delegated_call.c: the statement by which the node of the rows runs a SELECT
 * that consists only of the call of a distributed function; NULL for other
 * statements, or if it can't run there.
 */
extern PlannedStmt *delegated_call_of_query(Query *query, const char *query_string, int cursor_options);

/*
 * delegated_call.c: the plan that runs such a SELECT there or, if that node
 * would need others, here by the local plan, which becomes a part of it.
 */
extern PlannedStmt *delegated_call_plan(PlannedStmt *local, PlannedStmt *there);

extern void delegated_call_plan_init(void);

/* scan_path.c and modify_path.c: hooks of the floor. */
extern void scan_path_init(void);
extern void modify_path_init(void);

/*
 * modify_path.c: simplifies OLD and NEW in RETURNING of all writes of
 * distributed tables (compat/returning.h), in place.
 */
extern void modify_simplify_returning(Query *query);

/*
 * modify_path.c: adds row identity columns to every UPDATE, DELETE and MERGE;
 * in place.  Sets what the context says about writes.
 */
extern void modify_prepare(Query *query, PlanningContext *context);

#endif							/* CITUS_PLANNER_PLANNER_H */
