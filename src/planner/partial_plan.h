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
 * Changes the plan of a SELECT, whose columns are GROUP BY items and
 * aggregates that support partial aggregation, to return the transition
 * states, serialized if they are of type internal.  In place.
 */
extern void partial_plan_make(PlannedStmt *statement);

#endif							/* CITUS_PLANNER_PARTIAL_PLAN_H */
