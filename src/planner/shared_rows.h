/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  Two plan nodes that return the same rows, which are computed once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SHARED_ROWS_H
#define CITUS_PLANNER_SHARED_ROWS_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* Their CreateCustomScanState is set by the executor. */
extern CustomScanMethods shared_rows_methods;

/*
 * Makes two paths that return the rows of another path, which is run once, by
 * the path whose rows are requested first.  It must not depend on a row of
 * another relation or an outer query.
 */
extern void shared_rows_paths(PlannerInfo *root, Path *path, Path **first, Path **second);

/* The executor's parameter by which the nodes of a plan find each other. */
extern int	shared_rows_param(const CustomScan *node);

#endif							/* CITUS_PLANNER_SHARED_ROWS_H */
