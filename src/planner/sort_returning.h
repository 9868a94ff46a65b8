/*-------------------------------------------------------------------------
 *
 * sort_returning.h
 *	  RETURNING in an order that doesn't depend on the nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SORT_RETURNING_H
#define CITUS_PLANNER_SORT_RETURNING_H

#include "postgres.h"

#include "nodes/plannodes.h"

extern void sort_returning_init(void);

/*
 * With citus.sort_returning, has the plan of a distributed statement sort the
 * rows that it returns by all columns that can be sorted.  Returns the plan,
 * changed in place.
 */
extern PlannedStmt *sort_returning_apply(PlannedStmt *plan);

#endif							/* CITUS_PLANNER_SORT_RETURNING_H */
