/*-------------------------------------------------------------------------
 *
 * partial_plan.h
 *	  Aggregates without their final step.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_PARTIAL_PLAN_H
#define CITUS_PLANNER_PARTIAL_PLAN_H

#include "nodes/plannodes.h"

/*
 * Has a planned SELECT whose columns are GROUP BY items and aggregates, each
 * of which PostgreSQL can compute in parts, return the aggregates' transition
 * states: serialized, if they are of type internal.  In place.
 */
extern void partial_plan_make(PlannedStmt *statement);

#endif							/* CITUS_PLANNER_PARTIAL_PLAN_H */
