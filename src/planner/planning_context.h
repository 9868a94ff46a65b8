/*-------------------------------------------------------------------------
 *
 * planning_context.h
 *	  State while a statement with distributed tables is planned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_PLANNING_CONTEXT_H
#define CITUS_PLANNER_PLANNING_CONTEXT_H

#include "nodes/parsenodes.h"

#include "compat/foreach.h"

/* What is known, and found out, while standard_planner works on a query. */
typedef struct PlanningContext
{
	List	   *scans;			/* CustomScan nodes made for distributed
								 * tables */
	List	   *hidden;			/* subqueries (Query) that became part of a
								 * scan's text */
	bool		modifies;		/* a DistributedModify was made */
	bool		modifying_cte;	/* the statement writes in a CTE */
	List	   *written;		/* of Oid: the table that each of the
								 * statement's queries that write has */
	List	   *upserted;		/* of Oid: those with ON CONFLICT DO UPDATE */
	bool		node_task;		/* TAG_NODE: the task reads this node's own
								 * copy */
	List	   *checked_here;	/* of Oid: tables whose policies for new rows
								 * the initiator must check */
	const char *unwritable;		/* the command of a write that the initiator
								 * can't do, since such policies also apply to
								 * other rows of it; NULL: none */
	Oid			unwritable_table;
	bool		runs_code;		/* an INSERT's functions may read tables, the
								 * target too */
	const struct DistRel *write_source; /* the source of a write's rows, if
										 * each stays in its shard group */
	List	   *refusals;		/* what nodes don't compute, and why
								 * (dist_rel_refuse) */
	List	   *group_subqueries;	/* what calls in the query stand for
									 * (group_subquery.h) */
	Oid			group_subquery_function;
	bool		guesses;		/* a table was never analyzed */
} PlanningContext;

/*
 * The innermost context; NULL while standard_planner runs for a statement
 * without distributed tables.
 */
extern PlanningContext *planning_context;

#endif							/* CITUS_PLANNER_PLANNING_CONTEXT_H */
