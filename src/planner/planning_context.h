/*-------------------------------------------------------------------------
 *
 * planning_context.h
 *	  What is known while one of our statements is planned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_PLANNING_CONTEXT_H
#define CITUS_PLANNER_PLANNING_CONTEXT_H

#include "nodes/parsenodes.h"

#include "compat/foreach.h"

/*
 * What is known while standard_planner works on one of our statements; a
 * stack, since planning can run a function that plans.
 */
typedef struct PlanningContext
{
	List	   *scans;			/* CustomScan nodes made for distributed
								 * tables */
	List	   *hidden;			/* subqueries (Query) that became part of a
								 * scan's text */
	bool		modifies;		/* a DistributedModify was made */
	bool		modifying_cte;	/* the statement writes in a CTE */
	int			writes;			/* how many of the statement's queries write */
	bool		node_task;		/* TAG_NODE: this node's own copy is meant */
	List	   *checked_here;	/* of Oid: tables whose policies for new rows
								 * are not for their nodes */
	const char *unwritable;		/* a write that can't be done from here, since
								 * such policies are also for others of its
								 * rows; NULL: there is none */
	Oid			unwritable_table;
	bool		runs_code;		/* an INSERT's functions may read tables, the
								 * target too */
	const struct DistRel *write_source; /* what a write's rows come from, if
										 * each stays in its shard group */
	List	   *refusals;		/* what nodes don't compute, and why
								 * (dist_rel_refuse) */
	List	   *group_subqueries;	/* what calls in the query stand for
									 * (group_subquery.h) */
	Oid			group_subquery_function;
	bool		guesses;		/* the size of a table was never measured */
	struct PlanningContext *outer;
} PlanningContext;

/*
 * The innermost; NULL when standard_planner runs for a statement that shows no
 * distributed table.
 */
extern PlanningContext *planning_context;

#endif							/* CITUS_PLANNER_PLANNING_CONTEXT_H */
