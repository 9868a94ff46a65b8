/*-------------------------------------------------------------------------
 *
 * row_order.h
 *	  Whether the order of the rows that a member of FROM returns, by an ORDER
 *	  BY of its own, can be noticed in the query's result.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_ROW_ORDER_H
#define CITUS_PLANNER_ROW_ORDER_H

#include "nodes/pathnodes.h"

/* What becomes of the order of a relation's rows; the later, the more. */
typedef enum RowOrder
{
	ROW_ORDER_LOST,				/* nobody can tell: the rows are counted,
								 * sorted anew, or the like */
	ROW_ORDER_SHOWN,			/* the statement returns them in that order,
								 * or in any: all of them */
	ROW_ORDER_DECIDES			/* by a LIMIT, an aggregate, a window or
								 * DISTINCT ON, other rows or values would
								 * come from another order */
} RowOrder;

/*
 * What becomes of the order of rows of a relation, a base relation or join of
 * the query.  pathkeys: the order, as far as the query can name it.
 */
extern RowOrder row_order_use(PlannerInfo *root, const RelOptInfo *rel, List *pathkeys);

/*
 * Whether a relation is a subquery with ORDER BY whose order can be noticed,
 * so that its rows must come in that order.
 */
extern bool row_order_is_needed(PlannerInfo *root, RelOptInfo *rel);

/*
 * Whether rows of a relation come from an ORDER BY inside of it that decides
 * about the result: it can't be computed in another order.
 */
extern bool row_order_decides(PlannerInfo *root, const RelOptInfo *rel);

#endif							/* CITUS_PLANNER_ROW_ORDER_H */
