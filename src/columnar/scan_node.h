/*-------------------------------------------------------------------------
 *
 * scan_node.h
 *	  The scan node of columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_SCAN_NODE_H
#define CITUS_COLUMNAR_SCAN_NODE_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/execnodes.h"

#include "columnar/stripe_scan.h"

/* What makes the node's state (CustomScan.methods). */
extern const CustomScanMethods columnar_scan_methods;

/* The columns, from 0, that a plan's target list and conditions name. */
extern Bitmapset *columnar_plan_columns(Plan *plan, Index varno, TupleDesc tupdesc);

/*
 * The server has compiled the expressions for slots of values.  A row that is
 * checked again after it was locked (EvalPlanQual) comes in another slot;
 * those that it was joined with are fetched into the scan's, which is the
 * table's then.
 */
extern void columnar_accept_slots(CustomScanState *css);

/* Whether a plan node is a ColumnarScan. */
extern bool is_columnar_scan(const Plan *plan);

/*
 * For a node above a ColumnarScan that computes on many rows at once: goes to
 * the next chunk group with rows that pass the conditions, which the result
 * has selected.  NULL: the rows that are left come by columnar_scan_fetch().
 */
extern StripeScan *columnar_scan_fetch_group(CustomScanState *css);

/*
 * The next row that passes the conditions, not projected, in the scan's slot,
 * which is its expression context's scan tuple; false at the end.
 */
extern bool columnar_scan_fetch(CustomScanState *css);

extern void scan_node_init(void);

#endif							/* CITUS_COLUMNAR_SCAN_NODE_H */
