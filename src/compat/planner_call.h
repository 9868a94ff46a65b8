/*-------------------------------------------------------------------------
 *
 * planner_call.h
 *	  Planners know of the EXPLAIN that they plan for since version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PLANNER_CALL_H
#define CITUS_COMPAT_PLANNER_CALL_H

#include "postgres.h"

#include "optimizer/planner.h"
#include "tcop/tcopprot.h"

#if PG_VERSION_NUM >= 190000
#define PLANNER_EXPLAIN_PARAMETER , struct ExplainState *explain
#else
#define PLANNER_EXPLAIN_PARAMETER
#define planner(query, text, options, params, explain) planner(query, text, options, params)
#define pg_plan_query(query, text, options, params, explain) pg_plan_query(query, text, options, params)
#endif

/* The planner after a hook's owner; it doesn't learn of an EXPLAIN. */
static inline PlannedStmt *
compat_plan_onwards(planner_hook_type next, Query *query, const char *text, int options, ParamListInfo params)
{
#if PG_VERSION_NUM >= 190000
	return next != NULL ? next(query, text, options, params, NULL) : standard_planner(query, text, options, params, NULL);
#else
	return next != NULL ? next(query, text, options, params) : standard_planner(query, text, options, params);
#endif
}

#endif							/* CITUS_COMPAT_PLANNER_CALL_H */
