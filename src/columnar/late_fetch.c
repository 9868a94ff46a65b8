/*-------------------------------------------------------------------------
 *
 * late_fetch.c
 *	  The node ColumnarFetch: columns of the few rows that a Limit has left.
 *
 * SELECT * FROM t WHERE .. ORDER BY k LIMIT 10 of a wide table would expand
 * all columns of all rows that pass, to sort them.  Here, the scan returns k
 * and the ctid; and above the Limit, this node fetches the other columns of
 * ten rows by their ctids, with the scan's snapshot, which sees them.
 *
 * The server's planner knows nothing of it: finished plans are changed, so
 * costs are those of the scan of all columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "columnar/late_fetch.h"
#include "columnar/scan_node.h"
#include "columnar/stripe_fetch.h"
#include "compat/foreach.h"

/* A fetched row costs as much as so many that a scan expands; about. */
#define ROWS_OF_A_FETCH 50

/* More rows are not fetched one by one. */
#define MOST_FETCHED 1000

typedef struct ColumnarFetchState
{
	CustomScanState css;		/* must be first */
	TupleTableSlot *slot;		/* of fetched rows */
	Bitmapset  *columns;		/* to fetch, from 1; NULL: all */
} ColumnarFetchState;

static Node *late_fetch_create(CustomScan *plan);

static const CustomScanMethods late_fetch_methods = {
	.CustomName = "ColumnarFetch",
	.CreateCustomScanState = late_fetch_create,
};

int64
late_fetch_rows_of_limit(const Limit *limit)
{
	const Const *count = (const Const *) limit->limitCount;
	const Const *offset = (const Const *) limit->limitOffset;
	int64		rows;

	if (limit->limitOption != LIMIT_OPTION_COUNT || count == NULL || !IsA(count, Const) || count->constisnull ||
		(offset != NULL && (!IsA(offset, Const) || offset->constisnull)))
		return -1;
	rows = DatumGetInt64(count->constvalue);
	if (offset != NULL && __builtin_add_overflow(rows, DatumGetInt64(offset->constvalue), &rows))
		return -1;
	return rows;
}

/* The expressions of a scan that it is sorted by, and the ctid. */
static List *
sort_key_entries(const Sort *sort, const Scan *scan)
{
	List	   *tlist = NIL;
	Var		   *ctid = makeVar(scan->scanrelid, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

	for (int i = 0; i < sort->numCols; i++)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, scan->plan.targetlist, sort->sortColIdx[i] - 1);

		tlist = lappend(tlist, makeTargetEntry(copyObject(entry->expr), i + 1, NULL, false));
	}
	return lappend(tlist, makeTargetEntry((Expr *) ctid, sort->numCols + 1, NULL, false));
}

/* What passes all columns of a plan below on. */
static List *
pass_on_entries(const Plan *below)
{
	List	   *tlist = NIL;

	foreach_node(TargetEntry, entry, below->targetlist)
	{
		Node	   *expr = (Node *) entry->expr;
		Var		   *column = makeVar(OUTER_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);

		tlist = lappend(tlist, makeTargetEntry((Expr *) column, entry->resno, NULL, false));
	}
	return tlist;
}

/*
 * The scan's target list as the Limit names it; NIL if the nodes above the
 * scan don't just pass its columns on.
 */
static List *
fetched_entries(const Limit *limit, const Sort *sort, const Scan *scan)
{
	List	   *tlist = NIL;

	foreach_node(TargetEntry, entry, limit->plan.targetlist)
	{
		const Node *expr = (Node *) entry->expr;
		TargetEntry *fetched = flatCopyTargetEntry(entry);

		for (const Plan *below = &sort->plan;; below = &scan->plan)
		{
			if (IsA(expr, Const))
				break;
			if (!IsA(expr, Var) || ((Var *) expr)->varno != OUTER_VAR)
				return NIL;
			expr = (Node *) list_nth_node(TargetEntry, below->targetlist, ((Var *) expr)->varattno - 1)->expr;
			if (below == &scan->plan)
				break;
		}
		fetched->expr = copyObject((Expr *) expr);
		tlist = lappend(tlist, fetched);
	}
	return tlist;
}

/* Columns, offset by FirstLowInvalidHeapAttributeNumber, of a scan's lists. */
static int
count_scan_columns(const Scan *scan, List *tlist)
{
	Bitmapset  *attnos = NULL;

	pull_varattnos((Node *) tlist, scan->scanrelid, &attnos);
	pull_varattnos((Node *) scan->plan.qual, scan->scanrelid, &attnos);
	return bms_is_member(-FirstLowInvalidHeapAttributeNumber, attnos) ? MaxAttrNumber : bms_num_members(attnos);
}

Plan *
late_fetch_plan(Limit *limit)
{
	Sort	   *sort = (Sort *) outerPlan(limit);
	int64		rows = late_fetch_rows_of_limit(limit);
	Scan	   *scan;
	CustomScan *fetch;
	List	   *keys;

	if (rows < 0 || rows > MOST_FETCHED || sort == NULL || !IsA(sort, Sort) || sort->plan.initPlan != NIL)
		return &limit->plan;
	scan = (Scan *) outerPlan(sort);
	if (!is_columnar_scan(&scan->plan) || scan->plan.initPlan != NIL || scan->plan.parallel_aware ||
		scan->plan.plan_rows < rows * ROWS_OF_A_FETCH ||
		contain_volatile_functions((Node *) scan->plan.targetlist) || contain_subplans((Node *) scan->plan.targetlist))
		return &limit->plan;
	keys = sort_key_entries(sort, scan);
	fetch = makeNode(CustomScan);
	fetch->scan.plan = limit->plan;
	fetch->scan.plan.type = T_CustomScan;
	fetch->scan.plan.lefttree = NULL;
	fetch->scan.plan.targetlist = fetched_entries(limit, sort, scan);
	if (fetch->scan.plan.targetlist == NIL || count_scan_columns(scan, keys) >= count_scan_columns(scan, scan->plan.targetlist))
		return &limit->plan;
	fetch->scan.scanrelid = scan->scanrelid;
	fetch->custom_plans = list_make1(limit);
	fetch->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	fetch->methods = &late_fetch_methods;
	limit->plan.initPlan = NIL;
	scan->plan.targetlist = keys;
	for (int i = 0; i < sort->numCols; i++)
		sort->sortColIdx[i] = i + 1;
	sort->plan.targetlist = pass_on_entries(&scan->plan);
	limit->plan.targetlist = pass_on_entries(&sort->plan);
	return &fetch->scan.plan;
}

/* The columns that a target list names, from 1; NULL: all. */
static Bitmapset *
columns_to_fetch(List *tlist, Index varno)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *columns = bms_make_singleton(0);	/* so that it isn't NULL */
	int			attno = -1;

	pull_varattnos((Node *) tlist, varno, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		int			number = attno + FirstLowInvalidHeapAttributeNumber;

		if (number == 0)
			return NULL;
		if (number > 0)
			columns = bms_add_member(columns, number);
	}
	return columns;
}

static void
late_fetch_begin(CustomScanState *css, EState *estate, int eflags)
{
	ColumnarFetchState *state = (ColumnarFetchState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;

	columnar_accept_slots(css);
	css->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
	state->slot = table_slot_create(css->ss.ss_currentRelation, &estate->es_tupleTable);
	css->ss.ss_ScanTupleSlot = state->slot; /* WHERE CURRENT OF looks there */
	state->columns = columns_to_fetch(plan->scan.plan.targetlist, plan->scan.scanrelid);
}

/* Fetches the row with a ctid, which the scan has seen. */
static void
fetch_sorted_row(ColumnarFetchState *state, ItemPointer ctid)
{
	Relation	table = state->css.ss.ss_currentRelation;
	Snapshot	snapshot = state->css.ss.ps.state->es_snapshot;
	bool		found;

	if (ctid_is_in_stripe(ctid))
		found = stripe_fetch_visible(table, ctid, snapshot, state->columns, state->slot);
	else
		found = table_tuple_fetch_row_version(table, ctid, snapshot, state->slot);
	if (!found)
		elog(ERROR, "row (%u,%u) of columnar table \"%s\" is gone", ItemPointerGetBlockNumberNoCheck(ctid),
			 ItemPointerGetOffsetNumberNoCheck(ctid), RelationGetRelationName(table));
}

static TupleTableSlot *
late_fetch_exec(CustomScanState *css)
{
	ColumnarFetchState *state = (ColumnarFetchState *) css;
	PlanState  *ps = &css->ss.ps;
	TupleTableSlot *sorted = ExecProcNode(linitial(css->custom_ps));
	bool		isnull;

	CHECK_FOR_INTERRUPTS();
	if (TupIsNull(sorted))
	{
		ExecClearTuple(state->slot);
		return ps->ps_ProjInfo != NULL ? ExecClearTuple(ps->ps_ProjInfo->pi_state.resultslot) : NULL;
	}
	ResetExprContext(ps->ps_ExprContext);
	fetch_sorted_row(state, (ItemPointer) DatumGetPointer(slot_getattr(sorted, sorted->tts_tupleDescriptor->natts, &isnull)));
	ps->ps_ExprContext->ecxt_scantuple = state->slot;
	return ps->ps_ProjInfo != NULL ? ExecProject(ps->ps_ProjInfo) : state->slot;
}

static void
late_fetch_end(CustomScanState *css)
{
	ExecEndNode(linitial(css->custom_ps));
}

static void
late_fetch_rescan(CustomScanState *css)
{
	PlanState  *child = linitial(css->custom_ps);

	if (css->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, css->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static const CustomExecMethods late_fetch_exec_methods = {
	.CustomName = "ColumnarFetch",
	.BeginCustomScan = late_fetch_begin,
	.ExecCustomScan = late_fetch_exec,
	.EndCustomScan = late_fetch_end,
	.ReScanCustomScan = late_fetch_rescan,
};

static Node *
late_fetch_create(CustomScan *plan)
{
	ColumnarFetchState *state = (ColumnarFetchState *) newNode(sizeof(ColumnarFetchState), T_CustomScanState);

	state->css.methods = &late_fetch_exec_methods;
	return (Node *) state;
}

void
late_fetch_init(void)
{
	RegisterCustomScanMethods(&late_fetch_methods);
}
