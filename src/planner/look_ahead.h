/*-------------------------------------------------------------------------
 *
 * look_ahead.h
 *	  Reading the next rows of a loop in advance, so that a scan inside can ask
 *	  the nodes for the rows that match any of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_LOOK_AHEAD_H
#define CITUS_PLANNER_LOOK_AHEAD_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods look_ahead_methods;

/*
 * Whether a filter compares a column of a relation for equality with a value
 * that doesn't depend on the relation's row, by an operator that has hash
 * functions; sets on which side the column is.
 */
extern bool is_lookup(const OpExpr *op, Index varno, bool *column_is_left);

/*
 * The same filter for many values: column = ANY ($number), an array.  NULL if
 * there is no such operator or array.
 */
extern Node *lookup_of_batch(const OpExpr *op, bool column_is_left, int number);

/*
 * Puts LookAheads into a plan that is complete: below each node that runs a
 * scan once for each of its input's rows, to look up a value of that row.
 */
extern void look_ahead_add(PlannedStmt *statement, const Query *query, int cursor_options);

/*
 * The executor's parameter by which scans find the node, and those parameters
 * (IntList) that the node's custom_exprs compute from a row.
 */
extern int	look_ahead_param(const CustomScan *node);
extern const List *look_ahead_targets(const CustomScan *node);

#endif							/* CITUS_PLANNER_LOOK_AHEAD_H */
