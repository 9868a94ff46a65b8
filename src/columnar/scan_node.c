/*-------------------------------------------------------------------------
 *
 * scan_node.c
 *	  The scan node of columnar tables.
 *
 * It is the server's sequential scan, but for three things: it reads the
 * columns that the plan needs; no chunk group whose bounds say that no row
 * passes the conditions; and it evaluates conditions on all rows of a chunk
 * group before it reads the columns that aren't in them.  All of this follows
 * from the plan's target list and conditions, so the plan has nothing private.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "columnar/chunk_filter.h"
#include "columnar/options.h"
#include "columnar/row_filter.h"
#include "columnar/scan_node.h"
#include "columnar/stripe_reader.h"
#include "columnar/table_scan.h"
#include "compat/explain.h"
#include "compat/table_am.h"

typedef struct ColumnarScanState
{
	CustomScanState css;		/* must be first */
	TableScanDesc scan;			/* NULL: not begun */
	ColumnarProjection projection;
	List	   *conditions;		/* for the filter */
	MemoryContext filter_context;
	ParallelTableScanDesc parallel; /* NULL: not parallel */
	RowFilter  *row_filter;		/* NULL: all conditions are evaluated by row */
	uint64		groups_read;	/* of runs that have ended */
	uint64		groups_skipped;
} ColumnarScanState;

static Node *columnar_scan_create(CustomScan *plan);

const CustomScanMethods columnar_scan_methods = {
	.CustomName = "ColumnarScan",
	.CreateCustomScanState = columnar_scan_create,
};

Bitmapset *
columnar_plan_columns(Plan *plan, Index varno, TupleDesc tupdesc)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *columns = NULL;
	int			attno = -1;

	pull_varattnos((Node *) plan->targetlist, varno, &attnos);
	pull_varattnos((Node *) plan->qual, varno, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		int			number = attno + FirstLowInvalidHeapAttributeNumber;

		if (number == 0)
			return stripe_reader_all_columns(tupdesc);
		if (number > 0)
			columns = bms_add_member(columns, number - 1);
	}
	return columns;
}

void
columnar_accept_slots(CustomScanState *css)
{
	css->ss.ps.scanopsfixed = false;
	css->ss.ps.qual = ExecInitQual(css->ss.ps.plan->qual, &css->ss.ps);
	ExecAssignScanProjectionInfo(&css->ss);
}

static void
columnar_scan_begin_node(CustomScanState *css, EState *estate, int eflags)
{
	ColumnarScanState *state = (ColumnarScanState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;

	columnar_accept_slots(css);
	state->projection.columns = columnar_plan_columns(&plan->scan.plan, plan->scan.scanrelid,
												RelationGetDescr(css->ss.ss_currentRelation));
	if (columnar_enable_qual_pushdown)
		state->conditions = chunk_filter_conditions(plan->scan.plan.qual, plan->scan.scanrelid);
	if (columnar_enable_vectorization)
		state->row_filter = row_filter_make(plan->scan.plan.qual, plan->scan.scanrelid, &css->ss);
	if (state->row_filter != NULL)
	{
		state->projection.filter = row_filter_apply;
		state->projection.filter_arg = state->row_filter;
	}
	state->filter_context = AllocSetContextCreate(CurrentMemoryContext, "columnar filter", ALLOCSET_SMALL_SIZES);
}

/* The filter of this run, whose parameters are known now. */
static void
make_filter(ColumnarScanState *state)
{
	CustomScan *plan = (CustomScan *) state->css.ss.ps.plan;
	MemoryContext old;

	if (state->conditions == NIL)
		return;
	MemoryContextReset(state->filter_context);
	old = MemoryContextSwitchTo(state->filter_context);
	state->projection.test_arg = chunk_filter_make(state->conditions, plan->scan.scanrelid, &state->css.ss.ps);
	state->projection.test = chunk_filter_test;
	MemoryContextSwitchTo(old);
}

static void
begin_table_scan(ColumnarScanState *state)
{
	ScanState  *ss = &state->css.ss;

	make_filter(state);
	if (state->row_filter != NULL)
		row_filter_reset(state->row_filter);
	if (state->parallel != NULL)
		state->scan = table_beginscan_parallel(ss->ss_currentRelation, state->parallel, SO_NONE);
	else
		state->scan = table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot, 0, NULL, SO_NONE);
	table_scan_project(state->scan, &state->projection);
}

/* The next row; what is in the filter isn't evaluated again if *passes. */
static bool
next_scanned_row(ColumnarScanState *state, bool *passes)
{
	bool		filtered;

	if (state->scan == NULL)
		begin_table_scan(state);
	if (!table_scan_next_values(state->scan, state->css.ss.ps.state->es_direction, state->css.ss.ss_ScanTupleSlot, &filtered))
		return false;
	*passes = filtered && row_filter_is_complete(state->row_filter);
	return true;
}

/* For rows that are checked again (EvalPlanQual). */
static TupleTableSlot *
columnar_scan_next_row(ScanState *ss)
{
	bool		passes;

	return next_scanned_row((ColumnarScanState *) ss, &passes) ? ss->ss_ScanTupleSlot : NULL;
}

/* ExecScan() evaluates the conditions. */
static bool
columnar_scan_recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

bool
columnar_scan_fetch(CustomScanState *css)
{
	PlanState  *ps = &css->ss.ps;
	ExprContext *econtext = ps->ps_ExprContext;
	bool		passes;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		if (!next_scanned_row((ColumnarScanState *) css, &passes))
			return false;
		econtext->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (passes || ExecQual(ps->qual, econtext))
			return true;
		InstrCountFiltered1(css, 1);
	}
}

StripeScan *
columnar_scan_fetch_group(CustomScanState *css)
{
	ColumnarScanState *state = (ColumnarScanState *) css;

	if (css->ss.ps.qual != NULL && (state->row_filter == NULL || !row_filter_is_complete(state->row_filter)))
		return NULL;
	if (state->scan == NULL)
		begin_table_scan(state);
	return table_scan_next_group(state->scan, css->ss.ss_ScanTupleSlot);
}

/* As ExecScan(), but for the rows that have passed the conditions already. */
static TupleTableSlot *
columnar_scan_exec(CustomScanState *css)
{
	PlanState  *ps = &css->ss.ps;

	if (ps->state->es_epq_active != NULL)
		return ExecScan(&css->ss, columnar_scan_next_row, columnar_scan_recheck);
	if (!columnar_scan_fetch(css))
		return ps->ps_ProjInfo != NULL ? ExecClearTuple(ps->ps_ProjInfo->pi_state.resultslot) : NULL;
	return ps->ps_ProjInfo != NULL ? ExecProject(ps->ps_ProjInfo) : css->ss.ss_ScanTupleSlot;
}

static void
end_table_scan(ColumnarScanState *state)
{
	uint64		read;
	uint64		skipped;

	if (state->scan == NULL)
		return;
	table_scan_count_groups(state->scan, &read, &skipped);
	state->groups_read += read;
	state->groups_skipped += skipped;
	table_endscan(state->scan);
	state->scan = NULL;
}

static void
columnar_scan_end_node(CustomScanState *css)
{
	end_table_scan((ColumnarScanState *) css);
}

static void
columnar_scan_rescan_node(CustomScanState *css)
{
	end_table_scan((ColumnarScanState *) css);
	ExecScanReScan(&css->ss);
}

static Size
columnar_scan_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return table_parallelscan_estimate(css->ss.ss_currentRelation, css->ss.ps.state->es_snapshot);
}

static void
columnar_scan_initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	ColumnarScanState *state = (ColumnarScanState *) css;

	state->parallel = coordinate;
	table_parallelscan_initialize(css->ss.ss_currentRelation, state->parallel, css->ss.ps.state->es_snapshot);
}

static void
columnar_scan_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	table_parallelscan_reinitialize(css->ss.ss_currentRelation, coordinate);
}

static void
columnar_scan_initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((ColumnarScanState *) css)->parallel = coordinate;
}

static void
columnar_scan_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	ColumnarScanState *state = (ColumnarScanState *) css;
	TupleDesc	tupdesc = RelationGetDescr(css->ss.ss_currentRelation);
	List	   *names = NIL;
	int			column = -1;
	uint64		read = 0;
	uint64		skipped = 0;

	while ((column = bms_next_member(state->projection.columns, column)) >= 0)
		names = lappend(names, pstrdup(NameStr(TupleDescAttr(tupdesc, column)->attname)));
	ExplainPropertyList("Columnar Projected Columns", names, es);
	if (state->conditions != NIL)
	{
		List	   *context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan, ancestors);
		char	   *text = deparse_expression((Node *) make_ands_explicit(state->conditions), context,
											  es->verbose || list_length(es->rtable) > 1, false);

		ExplainPropertyText("Columnar Chunk Group Filters", text, es);
	}
	if (!es->analyze)
		return;
	if (state->scan != NULL)
		table_scan_count_groups(state->scan, &read, &skipped);
	ExplainPropertyInteger("Columnar Chunk Groups Read", NULL, (int64) (state->groups_read + read), es);
	if (state->conditions != NIL)
		ExplainPropertyInteger("Columnar Chunk Groups Removed by Filter", NULL,
							   (int64) (state->groups_skipped + skipped), es);
}

static const CustomExecMethods columnar_exec_methods = {
	.CustomName = "ColumnarScan",
	.BeginCustomScan = columnar_scan_begin_node,
	.ExecCustomScan = columnar_scan_exec,
	.EndCustomScan = columnar_scan_end_node,
	.ReScanCustomScan = columnar_scan_rescan_node,
	.EstimateDSMCustomScan = columnar_scan_estimate_dsm,
	.InitializeDSMCustomScan = columnar_scan_initialize_dsm,
	.ReInitializeDSMCustomScan = columnar_scan_reinitialize_dsm,
	.InitializeWorkerCustomScan = columnar_scan_initialize_worker,
	.ExplainCustomScan = columnar_scan_explain,
};

bool
is_columnar_scan(const Plan *plan)
{
	return IsA(plan, CustomScan) && ((const CustomScan *) plan)->methods == &columnar_scan_methods;
}

static Node *
columnar_scan_create(CustomScan *plan)
{
	ColumnarScanState *state = (ColumnarScanState *) newNode(sizeof(ColumnarScanState), T_CustomScanState);

	state->css.methods = &columnar_exec_methods;
	return (Node *) state;
}

void
scan_node_init(void)
{
	RegisterCustomScanMethods(&columnar_scan_methods);
}
