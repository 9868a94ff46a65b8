/*-------------------------------------------------------------------------
 *
 * cursor_plan.h
 *	  Cursors that lock rows, and UPDATE and DELETE .. WHERE CURRENT OF.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_CURSOR_PLAN_H
#define CITUS_PLANNER_CURSOR_PLAN_H

#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

#include "planner/dist_plan.h"

/*
 * Where a DistributedCursor finds what identifies a table's row: columns, from
 * 1.
 */
typedef struct CursorTable
{
	Oid			relid;
	int			ctid;
	int			xmin;
	int			dist;			/* distribution column; 0 if there is none */
} CursorTable;

/*
 * Its CreateCustomScanState is set by the executor; custom_private has a node
 * for each table (plan_struct_peek), a CursorTable.
 */
extern CustomScanMethods dist_cursor_methods;

/*
 * If the query is a cursor's that locks rows of distributed tables, adds the
 * columns that identify them, and returns true.
 */
extern bool cursor_plan_prepare(Query *query, int cursor_options);

/*
 * Whether the query is a cursor's that locks rows of reference tables; the
 * server can position such a cursor only on this node's copy.
 */
extern bool cursor_plan_stays_here(Query *query, int cursor_options);

/* Puts a DistributedCursor on top of the plan of such a query. */
extern void cursor_plan_wrap(PlannedStmt *plan, Query *query);

/*
 * The condition WHERE CURRENT OF in an UPDATE's or DELETE's filter, or NULL.
 */
extern CurrentOfExpr *current_of_find(Node *quals);

/*
 * The filter with that condition replaced by one that compares ctid with a
 * parameter, which current_of_set finds.
 */
extern Node *current_of_replace(Node *quals, void *unused);

/*
 * If exprs have that parameter, sets in plan its number and the name of the
 * cursor.
 */
extern void current_of_set(DistPlan *plan, const CurrentOfExpr *current_of, List **exprs);

#endif							/* CITUS_PLANNER_CURSOR_PLAN_H */
