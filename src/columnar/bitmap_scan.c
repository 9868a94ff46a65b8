/*-------------------------------------------------------------------------
 *
 * bitmap_scan.c
 *	  The node that reads the rows of a columnar table that a bitmap names.
 *
 * The bitmap is made by the server's nodes, from any indexes.  Its pages come
 * in order, the row-wise part's first.  A page of a stripe is
 * STRIPE_BLOCK_ROWS rows.  The first few rows are looked up in chunks that the
 * session keeps, as an index scan does: there may be no more, and a join may
 * run the node for each row of the other side.  Of others, a chunk group is
 * expanded once for all pages in it, the columns that the plan needs.  All
 * conditions are evaluated for each row, so that it doesn't matter where the
 * bitmap has lost single rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "optimizer/restrictinfo.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "columnar/bitmap_scan.h"
#include "columnar/scan_node.h"
#include "columnar/stripe_fetch.h"
#include "columnar/stripe_scan.h"
#include "columnar/stripe_writer.h"
#include "compat/bitmap_pages.h"
#include "compat/explain.h"
#include "compat/table_am.h"

typedef struct ColumnarBitmapScanState
{
	CustomScanState css;		/* must be first; its child makes the bitmap */
	Bitmapset  *columns;		/* to read, from 0 */
	Bitmapset  *looked_up;		/* the same, from 1 */
	int			lookups;		/* rows of stripes that were looked up */
	TIDBitmap  *bitmap;			/* NULL: not begun */
	BitmapPages *pages;
	BitmapPage	page;
	int			next;			/* in the page; ntuples: none is left */
	int			ntuples;
	BlockNumber row_wise_pages;
	IndexFetchTableData *row_wise;
	TupleTableSlot *table_slot; /* rows that were fetched one by one */
	StripeScan *stripes;		/* NULL: no chunk group was expanded */
} ColumnarBitmapScanState;

static Node *bitmap_scan_create(CustomScan *plan);

static const CustomScanMethods bitmap_scan_methods = {
	.CustomName = "ColumnarBitmapScan",
	.CreateCustomScanState = bitmap_scan_create,
};

/* What is below the server's scan is below ours. */
static Plan *
plan_bitmap_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.scanrelid = rel->relid;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->custom_plans = list_make1(outerPlan(linitial(children)));
	scan->flags = path->flags;
	scan->methods = &bitmap_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods bitmap_path_methods = {
	.CustomName = "ColumnarBitmapScan",
	.PlanCustomPath = plan_bitmap_scan,
};

Path *
bitmap_scan_make_path(Path *bitmap, double cost)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *bitmap;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.total_cost += cost;
	path->custom_paths = list_make1(bitmap);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &bitmap_path_methods;
	return &path->path;
}

static void
bitmap_scan_begin_node(CustomScanState *css, EState *estate, int eflags)
{
	ColumnarBitmapScanState *state = (ColumnarBitmapScanState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	int			column = -1;

	columnar_accept_slots(css);
	state->columns = columnar_plan_columns(&plan->scan.plan, plan->scan.scanrelid,
										   RelationGetDescr(css->ss.ss_currentRelation));
	state->looked_up = bms_make_singleton(0);	/* so that it isn't NULL */
	while ((column = bms_next_member(state->columns, column)) >= 0)
		state->looked_up = bms_add_member(state->looked_up, column + 1);
	css->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
}

static void
begin_bitmap_scan(ColumnarBitmapScanState *state)
{
	ScanState  *ss = &state->css.ss;
	Relation	table = ss->ss_currentRelation;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	Node	   *bitmap;

	stripe_writer_flush(table);
	bitmap = MultiExecProcNode(linitial(state->css.custom_ps));
	if (bitmap == NULL || !IsA(bitmap, TIDBitmap))
		elog(ERROR, "unrecognized result from subplan");
	state->bitmap = (TIDBitmap *) bitmap;
	state->pages = compat_bitmap_begin(state->bitmap);
	state->next = state->ntuples = 0;
	state->row_wise_pages = RelationGetNumberOfBlocks(table);
	state->row_wise = compat_heap_fetch_begin(table);
	state->table_slot = table_slot_create(table, NULL);
	state->lookups = 0;

	/* The columns that aren't read are NULL in all rows of stripes. */
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
}

static void
end_bitmap_scan(ColumnarBitmapScanState *state)
{
	if (state->bitmap == NULL)
		return;
	ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
	if (state->stripes != NULL)
		stripe_scan_end(state->stripes);
	state->stripes = NULL;
	ExecDropSingleTupleTableSlot(state->table_slot);
	GetHeapamTableAmRoutine()->index_fetch_end(state->row_wise);
	compat_bitmap_end(state->pages);
	tbm_free(state->bitmap);
	state->bitmap = NULL;
}

/* Goes to the next ctid that the bitmap names. */
static bool
next_bitmap_ctid(ColumnarBitmapScanState *state, ItemPointer ctid)
{
	BitmapPage *page = &state->page;

	while (state->next >= state->ntuples)
	{
		CHECK_FOR_INTERRUPTS();
		if (!compat_bitmap_next(state->pages, page))
			return false;
		state->next = 0;
		if (page->block >= STRIPE_FIRST_BLOCK)
			state->ntuples = page->ntuples >= 0 ? page->ntuples : STRIPE_BLOCK_ROWS;
		else if (page->block < state->row_wise_pages)
			state->ntuples = page->ntuples >= 0 ? page->ntuples : (int) MaxHeapTuplesPerPage;
		else
			state->ntuples = 0;	/* a bitmap without single rows has more */
	}
	ItemPointerSet(ctid, page->block, page->ntuples >= 0 ? page->offsets[state->next] : state->next + 1);
	state->next++;
	return true;
}

/* Stores the row that was fetched into the table's slot in the scan's. */
static void
store_fetched_row(ColumnarBitmapScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *from = state->table_slot;
	int			natts = slot->tts_tupleDescriptor->natts;

	slot_getallattrs(from);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, from->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, from->tts_isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	slot->tts_tid = from->tts_tid;
}

/* Stores a row of the row-wise part in the scan's slot, if it is there. */
static bool
fetch_row_wise_row(ColumnarBitmapScanState *state, ItemPointer ctid)
{
	bool		again = false;

	if (!GetHeapamTableAmRoutine()->index_fetch_tuple(state->row_wise, ctid, state->css.ss.ps.state->es_snapshot,
													  state->table_slot, &again, NULL))
		return false;
	store_fetched_row(state);
	return true;
}

/* A row of a stripe, by the session's cache of chunks. */
static bool
look_up_stripe_row(ColumnarBitmapScanState *state, ItemPointer ctid)
{
	ScanState  *ss = &state->css.ss;

	state->lookups++;
	if (!stripe_fetch_visible(ss->ss_currentRelation, ctid, ss->ps.state->es_snapshot, state->looked_up, state->table_slot))
		return false;
	store_fetched_row(state);
	return true;
}

/* A row of a stripe, whose chunk group is expanded unless it was before. */
static bool
expand_stripe_row(ColumnarBitmapScanState *state, ItemPointer ctid)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Relation	table = state->css.ss.ss_currentRelation;
	StripeScan *stripes = state->stripes;
	int			stripe;
	uint32		row;

	if (stripes == NULL)
		stripes = state->stripes = stripe_scan_begin(table, RelationGetDescr(table), state->css.ss.ps.state->es_snapshot,
													 state->columns, NULL);
	stripe = stripe_scan_find(stripes, ctid);
	if (stripe < 0)
		return false;
	row = stripe_row_of_ctid(&stripes->stripes[stripe], ctid);
	if (!stripe_scan_goto_row(stripes, stripe, row))
		return false;
	stripe_reader_store_values(stripes->reader, stripes->columns, row - stripes->reader->group_start, slot);
	slot->tts_tid = *ctid;
	return true;
}

static bool
fetch_row_of_bitmap(ColumnarBitmapScanState *state, ItemPointer ctid)
{
	if (!ctid_is_in_stripe(ctid))
		return fetch_row_wise_row(state, ctid);
	if (state->lookups < BITMAP_SCAN_LOOKUPS && state->page.ntuples >= 0)
		return look_up_stripe_row(state, ctid);
	return expand_stripe_row(state, ctid);
}

static TupleTableSlot *
bitmap_scan_next_row(ScanState *ss)
{
	ColumnarBitmapScanState *state = (ColumnarBitmapScanState *) ss;
	ItemPointerData ctid;

	if (state->bitmap == NULL)
		begin_bitmap_scan(state);
	while (next_bitmap_ctid(state, &ctid))
	{
		if (fetch_row_of_bitmap(state, &ctid))
		{
			ss->ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(ss->ss_currentRelation);
			return ss->ss_ScanTupleSlot;
		}
	}
	return ExecClearTuple(ss->ss_ScanTupleSlot);
}

/* ExecScan() evaluates the conditions. */
static bool
bitmap_scan_recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
bitmap_scan_exec(CustomScanState *css)
{
	return ExecScan(&css->ss, bitmap_scan_next_row, bitmap_scan_recheck);
}

static void
bitmap_scan_end_node(CustomScanState *css)
{
	end_bitmap_scan((ColumnarBitmapScanState *) css);
	ExecEndNode(linitial(css->custom_ps));
}

static void
bitmap_scan_rescan_node(CustomScanState *css)
{
	PlanState  *child = linitial(css->custom_ps);

	end_bitmap_scan((ColumnarBitmapScanState *) css);
	if (css->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, css->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	ExecScanReScan(&css->ss);
}

static void
bitmap_scan_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	ColumnarBitmapScanState *state = (ColumnarBitmapScanState *) css;
	TupleDesc	tupdesc = RelationGetDescr(css->ss.ss_currentRelation);
	List	   *names = NIL;
	int			column = -1;

	while ((column = bms_next_member(state->columns, column)) >= 0)
		names = lappend(names, pstrdup(NameStr(TupleDescAttr(tupdesc, column)->attname)));
	ExplainPropertyList("Columnar Projected Columns", names, es);
}

static const CustomExecMethods bitmap_exec_methods = {
	.CustomName = "ColumnarBitmapScan",
	.BeginCustomScan = bitmap_scan_begin_node,
	.ExecCustomScan = bitmap_scan_exec,
	.EndCustomScan = bitmap_scan_end_node,
	.ReScanCustomScan = bitmap_scan_rescan_node,
	.ExplainCustomScan = bitmap_scan_explain,
};

static Node *
bitmap_scan_create(CustomScan *plan)
{
	ColumnarBitmapScanState *state = (ColumnarBitmapScanState *) newNode(sizeof(ColumnarBitmapScanState),
																		 T_CustomScanState);

	state->css.methods = &bitmap_exec_methods;
	return (Node *) state;
}

void
bitmap_scan_init(void)
{
	RegisterCustomScanMethods(&bitmap_scan_methods);
}
