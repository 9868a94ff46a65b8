/*-------------------------------------------------------------------------
 *
 * scan_node.c
 *	  The scan node of columnar tables.
 *
 * It is the server's sequential scan, but for four things: it reads the
 * columns that the plan needs; no chunk group whose bounds say that no row
 * passes the conditions; it evaluates conditions on all rows of a chunk
 * group before it reads the columns that aren't in them; and it leaves out
 * rows that a hash join above has no match for (join_filter.h).  These filters
 * are private in the plan, all else follows from its target list and
 * conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "columnar/chunk_filter.h"
#include "columnar/join_filter.h"
#include "columnar/options.h"
#include "columnar/row_filter.h"
#include "columnar/scan_node.h"
#include "columnar/stripe_reader.h"
#include "columnar/table_scan.h"
#include "compat/explain.h"
#include "compat/foreach.h"
#include "compat/instrument.h"
#include "compat/table_am.h"
#include "lib/plan_fields.h"

/* Where a filter of a join keeps more than this share of rows .. */
#define POOR_FILTER_SHARE 0.9

/* .. it isn't asked about the rows of so many chunk groups that follow. */
#define POOR_FILTER_PAUSE 15

/* A filter of a hash join above. */
typedef struct ScanJoinFilter
{
	const JoinFilterUse *use;
	KeyFilter  *keys;			/* of this run; NULL: not known */
	int			pause;			/* chunk groups that it isn't asked about */
} ScanJoinFilter;

typedef struct ColumnarScanState
{
	CustomScanState css;		/* must be first */
	TableScanDesc scan;			/* NULL: not begun */
	ColumnarProjection projection;
	List	   *conditions;		/* for the filter */
	MemoryContext filter_context;
	ParallelTableScanDesc parallel; /* NULL: not parallel */
	RowFilter  *row_filter;		/* NULL: all conditions are evaluated by row */
	ChunkFilter *chunk_filter;	/* of this run, or NULL */
	ScanJoinFilter *join_filters;
	int			njoin_filters;
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
	if (css->ss.ps.state->es_epq_active != NULL)
		css->ss.ss_ScanTupleSlot = table_slot_create(css->ss.ss_currentRelation, &css->ss.ps.state->es_tupleTable);
	css->ss.ps.qual = ExecInitQual(css->ss.ps.plan->qual, &css->ss.ps);
	ExecAssignScanProjectionInfo(&css->ss);
}

/* ChunkGroupTest of a scan. */
static bool
group_may_have_rows(void *arg, const StripeReader *reader, int group)
{
	ColumnarScanState *state = arg;

	for (int i = 0; i < state->njoin_filters; i++)
	{
		const ScanJoinFilter *filter = &state->join_filters[i];
		ChunkBounds bounds;

		if (filter->keys == NULL)
			continue;
		stripe_reader_bounds(reader, filter->use->column, group, &bounds);
		if (key_filter_excludes(filter->keys, &bounds))
			return false;
	}
	return state->chunk_filter == NULL || chunk_filter_test(state->chunk_filter, reader, group);
}

/* Keeps the rows of a chunk group that a join above may have a match for. */
static uint32
keep_rows_with_keys(ColumnarScanState *state, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	uint32		asked = count;

	for (int i = 0; i < state->njoin_filters && count > 0; i++)
	{
		ScanJoinFilter *filter = &state->join_filters[i];
		uint32		before = count;
		MemoryContext old;

		if (filter->keys == NULL || filter->pause-- > 0)
			continue;
		stripe_reader_need(reader, store, filter->use->column);
		ResetExprContext(econtext);
		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		count = key_filter_apply(filter->keys, reader, filter->use->column, rows, count);
		MemoryContextSwitchTo(old);
		filter->pause = count > before * POOR_FILTER_SHARE ? POOR_FILTER_PAUSE : 0;
	}
	InstrCountFiltered2(&state->css, asked - count);
	return count;
}

/* ChunkRowsFilter of a scan. */
static uint32
keep_wanted_rows(void *arg, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count)
{
	ColumnarScanState *state = arg;

	if (state->row_filter != NULL)
		count = row_filter_apply(state->row_filter, reader, store, rows, count);
	return keep_rows_with_keys(state, reader, store, rows, count);
}

static void
make_join_filters(ColumnarScanState *state, List *packed)
{
	state->join_filters = palloc0(list_length(packed) * sizeof(ScanJoinFilter));
	foreach_ptr(Node, use, packed)
		state->join_filters[state->njoin_filters++].use = plan_struct_peek(use);
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
	make_join_filters(state, plan->custom_private);
	if (state->row_filter != NULL || state->njoin_filters > 0)
	{
		state->projection.filter = keep_wanted_rows;
		state->projection.filter_arg = state;
	}
	state->filter_context = AllocSetContextCreate(CurrentMemoryContext, "columnar filter", ALLOCSET_SMALL_SIZES);
}

/* The filters of this run, whose parameters are known now. */
static void
make_filters(ColumnarScanState *state)
{
	CustomScan *plan = (CustomScan *) state->css.ss.ps.plan;

	for (int i = 0; i < state->njoin_filters; i++)
	{
		state->join_filters[i].keys = join_filter_get(state->join_filters[i].use, state->css.ss.ps.state);
		state->join_filters[i].pause = 0;
	}
	if (state->conditions != NIL)
	{
		MemoryContext old;

		MemoryContextReset(state->filter_context);
		old = MemoryContextSwitchTo(state->filter_context);
		state->chunk_filter = chunk_filter_make(state->conditions, plan->scan.scanrelid, &state->css.ss.ps);
		MemoryContextSwitchTo(old);
	}
	if (state->conditions != NIL || state->njoin_filters > 0)
	{
		state->projection.test = group_may_have_rows;
		state->projection.test_arg = state;
	}
}

/* Whether all conditions of the plan are in the filter of rows. */
static bool
filter_is_complete(const ColumnarScanState *state)
{
	return state->css.ss.ps.qual == NULL || (state->row_filter != NULL && row_filter_is_complete(state->row_filter));
}

static void
begin_table_scan(ColumnarScanState *state)
{
	ScanState  *ss = &state->css.ss;

	make_filters(state);
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
	*passes = filtered && filter_is_complete(state);
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

	if (!filter_is_complete(state))
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
explain_join_filters(ColumnarScanState *state, ExplainState *es)
{
	TupleDesc	tupdesc = RelationGetDescr(state->css.ss.ss_currentRelation);
	NodeInstrumentation *instrument = state->css.ss.ps.instrument;
	List	   *names = NIL;

	if (state->njoin_filters == 0)
		return;
	for (int i = 0; i < state->njoin_filters; i++)
		names = lappend(names, pstrdup(NameStr(TupleDescAttr(tupdesc, state->join_filters[i].use->column)->attname)));
	ExplainPropertyList("Columnar Join Filters", names, es);
	if (es->analyze && instrument != NULL && instrument->nloops > 0)
		ExplainPropertyFloat("Rows Removed by Join Filters", NULL, instrument->nfiltered2 / instrument->nloops, 0, es);
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
	explain_join_filters(state, es);
	if (!es->analyze)
		return;
	if (state->scan != NULL)
		table_scan_count_groups(state->scan, &read, &skipped);
	ExplainPropertyInteger("Columnar Chunk Groups Read", NULL, (int64) (state->groups_read + read), es);
	if (state->conditions != NIL || state->njoin_filters > 0)
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
