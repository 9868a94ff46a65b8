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

/* fast_path.c: a plan without standard_planner, or NULL with *reason set. */
extern PlannedStmt *fast_path_plan(Query *query, const char **reason);

/*
 * decorrelate.c: the query with scalar subqueries as joins, a copy, which
 * compute only groups that are asked for if these are few; NULL if there are
 * none to turn.
 */
extern Query *decorrelate(Query *query, bool few);

/*
 * eager_group.c: the query with aggregates of outer joins' inner sides in
 * front of the joins, a copy; NULL if there are none.
 */
extern Query *eager_group(Query *query);

/*
 * group_subquery_mark.c: the query, a copy, with calls of a function that
 * stand for correlated subqueries that shard groups can answer for their own
 * rows.  context gets what these stand for; NULL if there are none.
 */
extern Query *group_subqueries_mark(Query *query, PlanningContext *context);

/*
 * group_subquery.c: whether a plan of that query has all of them run by nodes,
 * so that it can be executed.
 */
extern bool group_subqueries_are_gone(PlannedStmt *plan, const PlanningContext *context);

/*
 * router.c: one task for the whole statement, judged by the plan of it; NULL
 * with *reason set.
 */
extern PlannedStmt *router_plan(Query *original, PlanningContext *context, const char **reason);

/*
 * pushed_write.c: each shard group runs the write (write_source); NULL with
 * *reason set.
 */
extern PlannedStmt *pushed_write_plan(Query *original, const PlanningContext *context, const char **reason);

/*
 * statement.c: has a statement depend on, lock and ask for the rights to the
 * relations of queries that its plan doesn't show.
 */
extern void statement_add_relations(PlannedStmt *statement, List *queries);

/*
 * statement.c: a PlannedStmt whose only node is a DistributedScan that returns
 * what the query returns.
 */
extern PlannedStmt *make_dist_statement(Query *query, DistPlan *plan, List *exprs);

/*
 * delegated_call.c: the statement that has the node of the rows run a SELECT
 * that is nothing but the call of a distributed function; NULL if it isn't, or
 * can't be run there.
 */
extern PlannedStmt *delegated_call_of_query(Query *query, const char *query_string, int cursor_options);

/*
 * delegated_call.c: the plan that runs such a SELECT there, or, if that node
 * would need others, here, by the local plan, which becomes a part of it.
 */
extern PlannedStmt *delegated_call_plan(PlannedStmt *local, PlannedStmt *there);

extern void delegated_call_plan_init(void);

/* scan_path.c and modify_path.c: hooks of the floor. */
extern void scan_path_init(void);
extern void modify_path_init(void);

/*
 * modify_path.c: adds to every UPDATE, DELETE and MERGE what identifies a row;
 * in place.  Notes in the context what of its writes a plan doesn't show:
 * checked_here, runs_code.
 */
extern void modify_prepare(Query *query, PlanningContext *context);

#endif							/* CITUS_PLANNER_PLANNER_H */
