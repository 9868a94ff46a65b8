/*-------------------------------------------------------------------------
 *
 * index_columns.c
 *	  The columns that a plan's index scans fetch.
 *
 * The server's index scans don't tell the access method which columns they
 * need.  So their scans of the index are begun here, as the node would when it
 * first runs, and are told.  What the plan fetches by ctid (rows that it
 * updates or locks, and those that EvalPlanQual checks again) is whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "columnar/columnar.h"
#include "columnar/index_columns.h"
#include "columnar/scan_node.h"
#include "compat/foreach.h"
#include "compat/index_scan.h"

/* No column's number: a set with it alone is not NULL. */
#define NO_COLUMN 0

/* Whether a node's scan is begun here; the server begins those of workers. */
static bool
may_begin(ScanState *node, IndexScanDesc scan)
{
	return columnar_is_columnar(node->ss_currentRelation) && scan == NULL && !node->ps.plan->parallel_aware;
}

/* The columns that an expression names, from 1; false: it names whole rows. */
static bool
add_columns_of(Node *expression, Index varno, Bitmapset **columns)
{
	Bitmapset  *attnos = NULL;
	int			attno = -1;

	pull_varattnos(expression, varno, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		int			number = attno + FirstLowInvalidHeapAttributeNumber;

		if (number == 0)
			return false;
		if (number > 0)
			*columns = bms_add_member(*columns, number);
	}
	return true;
}

/*
 * Begins an index scan whose node returns the given columns of its target
 * list, from 1; NULL: all.
 */
static void
begin_index_scan(IndexScanState *node, const Bitmapset *returned)
{
	IndexScan  *plan = (IndexScan *) node->ss.ps.plan;
	Index		varno = plan->scan.scanrelid;
	Bitmapset  *columns = bms_make_singleton(NO_COLUMN);
	bool		some;

	some = add_columns_of((Node *) plan->scan.plan.qual, varno, &columns) &&
		add_columns_of((Node *) plan->indexqualorig, varno, &columns) &&
		add_columns_of((Node *) plan->indexorderbyorig, varno, &columns);
	foreach_ptr(TargetEntry, entry, plan->scan.plan.targetlist)
	{
		if (returned == NULL || node->ss.ps.ps_ProjInfo != NULL || bms_is_member(entry->resno, returned))
			some = some && add_columns_of((Node *) entry->expr, varno, &columns);
	}
	if (!some)
		return;
	node->iss_ScanDesc = compat_begin_index_scan(node);
	if (node->iss_ScanDesc == NULL)
		return;
	columnar_index_fetch_columns(node->iss_ScanDesc->xs_heapfetch, columns);
	if (node->iss_NumRuntimeKeys == 0 || node->iss_RuntimeKeysReady)
		index_rescan(node->iss_ScanDesc, node->iss_ScanKeys, node->iss_NumScanKeys, node->iss_OrderByKeys,
					 node->iss_NumOrderByKeys);
}

/* An index-only scan fetches rows to know whether they are visible. */
static void
begin_index_only_scan(IndexOnlyScanState *node)
{
	node->ioss_ScanDesc = compat_begin_index_only_scan(node);
	if (node->ioss_ScanDesc == NULL)
		return;
	node->ioss_ScanDesc->xs_want_itup = true;
	node->ioss_VMBuffer = InvalidBuffer;
	columnar_index_fetch_columns(node->ioss_ScanDesc->xs_heapfetch, bms_make_singleton(NO_COLUMN));
	if (node->ioss_NumRuntimeKeys == 0 || node->ioss_RuntimeKeysReady)
		index_rescan(node->ioss_ScanDesc, node->ioss_ScanKeys, node->ioss_NumScanKeys, node->ioss_OrderByKeys,
					 node->ioss_NumOrderByKeys);
}

/*
 * A node below a nested loop or an aggregate may return whole rows, of which
 * that takes some columns.
 */
static void
begin_index_scan_below(Plan *above, PlanState *node, Index varno)
{
	Bitmapset  *returned;

	if (node == NULL || !IsA(node, IndexScanState) || !may_begin((ScanState *) node, ((IndexScanState *) node)->iss_ScanDesc))
		return;
	returned = bms_make_singleton(NO_COLUMN);
	(void) add_columns_of((Node *) above->targetlist, varno, &returned);
	(void) add_columns_of((Node *) above->qual, varno, &returned);
	if (IsA(above, NestLoop))
	{
		(void) add_columns_of((Node *) ((NestLoop *) above)->join.joinqual, varno, &returned);
		foreach_ptr(NestLoopParam, param, ((NestLoop *) above)->nestParams)
			(void) add_columns_of((Node *) param->paramval, varno, &returned);
	}
	else
	{
		for (int i = 0; i < ((Agg *) above)->numCols; i++)
			returned = bms_add_member(returned, ((Agg *) above)->grpColIdx[i]);
	}
	begin_index_scan((IndexScanState *) node, returned);
}

static bool
begin_index_scans(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, IndexScanState))
	{
		if (may_begin((ScanState *) node, ((IndexScanState *) node)->iss_ScanDesc))
			begin_index_scan((IndexScanState *) node, NULL);
	}
	else if (IsA(node, IndexOnlyScanState))
	{
		if (may_begin((ScanState *) node, ((IndexOnlyScanState *) node)->ioss_ScanDesc))
			begin_index_only_scan((IndexOnlyScanState *) node);
	}
	else if (IsA(node, NestLoopState))
	{
		begin_index_scan_below(node->plan, outerPlanState(node), OUTER_VAR);
		begin_index_scan_below(node->plan, innerPlanState(node), INNER_VAR);
	}
	else if (IsA(node, AggState) && ((Agg *) node->plan)->chain == NIL)
		begin_index_scan_below(node->plan, outerPlanState(node), OUTER_VAR);
	return planstate_tree_walker(node, begin_index_scans, context);
}

void
index_columns_choose(PlanState *plan)
{
	(void) begin_index_scans(plan, NULL);
}
