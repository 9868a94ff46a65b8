/*-------------------------------------------------------------------------
 *
 * look_ahead_run.c
 *	  The executor node of LookAhead, which returns the rows of the plan below.
 *
 * On request (look_ahead) it reads the next ones in advance, into a
 * tuplestore.  Every row is returned in the node's own slot, since the loop
 * above still uses the last one then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compat/explain.h"
#include "executor/look_ahead_run.h"
#include "planner/look_ahead.h"

typedef struct LookAheadState
{
	CustomScanState css;		/* must be first */
	TupleTableSlot *row;		/* the last one that was returned */
	TupleTableSlot *next;		/* one that is looked at */
	List	   *values;			/* ExprStates of the loop's values */
	Tuplestorestate *rows;		/* read in advance, by two pointers */
	int			unread;			/* how many of them haven't been returned */
	bool		ended;			/* the plan below has no more rows */
} LookAheadState;

/* Read pointers of the tuplestore. */
#define POINTER_OF_LOOP 0
#define POINTER_OF_LOOK 1

static void
look_ahead_begin(CustomScanState *node, EState *estate, int eflags)
{
	LookAheadState *state = (LookAheadState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	TupleDesc	columns = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	ParamExecData *param = &estate->es_param_exec_vals[look_ahead_param(scan)];

	if (node->ss.ps.ps_ProjInfo != NULL)
		elog(ERROR, "a LookAhead can't project");
	state->row = ExecInitExtraTupleSlot(estate, columns, &TTSOpsMinimalTuple);
	state->next = ExecInitExtraTupleSlot(estate, columns, &TTSOpsMinimalTuple);
	node->ss.ps.resultops = &TTSOpsMinimalTuple;
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = true;
	outerPlanState(node) = ExecInitNode(outerPlan(scan), estate, eflags);
	/* not the slots of the plan below */
	node->ss.ps.outerops = &TTSOpsMinimalTuple;
	node->ss.ps.outeropsset = true;
	node->ss.ps.outeropsfixed = true;
	state->values = ExecInitExprList(scan->custom_exprs, &node->ss.ps);
	state->rows = tuplestore_begin_heap(false, false, work_mem);
	(void) tuplestore_alloc_read_pointer(state->rows, 0);
	param->value = PointerGetDatum(state);
	param->isnull = false;
}

/* The next row of the plan below; NULL at its end. */
static TupleTableSlot *
row_below(LookAheadState *state)
{
	TupleTableSlot *row;

	if (state->ended)
		return NULL;
	row = ExecProcNode(outerPlanState(state));
	state->ended = TupIsNull(row);
	return state->ended ? NULL : row;
}

static TupleTableSlot *
look_ahead_exec(CustomScanState *node)
{
	LookAheadState *state = (LookAheadState *) node;
	TupleTableSlot *row;

	CHECK_FOR_INTERRUPTS();
	if (state->unread > 0)
	{
		tuplestore_select_read_pointer(state->rows, POINTER_OF_LOOP);
		(void) tuplestore_gettupleslot(state->rows, true, true, state->row);
		state->unread--;
		return state->row;
	}
	if ((row = row_below(state)) == NULL)
		return ExecClearTuple(state->row);
	return ExecCopySlot(state->row, row);
}

/* Reads rows in advance, if there are none. */
static void
read_next_rows(LookAheadState *state, int most)
{
	TupleTableSlot *row;

	if (state->unread > 0)
		return;
	tuplestore_clear(state->rows);
	while (state->unread < most && (row = row_below(state)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(state->rows, row);
		state->unread++;
	}
}

/* Sets the loop's parameters to the values of the row that is looked at. */
static void
set_params(LookAheadState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	const ListCell *id = list_head(look_ahead_targets((CustomScan *) state->css.ss.ps.plan));

	ResetExprContext(econtext);
	econtext->ecxt_outertuple = state->next;
	for (int i = 0; i < list_length(state->values); i++)
	{
		ParamExecData *param = &state->css.ss.ps.state->es_param_exec_vals[lfirst_int(&id[i])];

		param->value = ExecEvalExprSwitchContext(list_nth(state->values, i), econtext, &param->isnull);
	}
}

void
look_ahead(EState *estate, int number, int most, void (*each) (void *arg), void *arg)
{
	LookAheadState *state = (LookAheadState *) DatumGetPointer(estate->es_param_exec_vals[number - 1].value);
	MemoryContext old_context;
	ParamExecData *before;
	Size		size = sizeof(ParamExecData) * list_length(estate->es_plannedstmt->paramExecTypes);

	/* EvalPlanQual copies parameters of another executor */
	if (state == NULL || state->css.ss.ps.state != estate)
		return;
	old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	read_next_rows(state, most);
	before = palloc(size);
	memcpy(before, estate->es_param_exec_vals, size);
	tuplestore_copy_read_pointer(state->rows, POINTER_OF_LOOP, POINTER_OF_LOOK);
	tuplestore_select_read_pointer(state->rows, POINTER_OF_LOOK);
	for (int i = 0; i < Min(most, state->unread); i++)
	{
		(void) tuplestore_gettupleslot(state->rows, true, false, state->next);
		set_params(state);
		each(arg);
	}
	ExecClearTuple(state->next);
	memcpy(estate->es_param_exec_vals, before, size);
	pfree(before);
	MemoryContextSwitchTo(old_context);
}

static void
look_ahead_rescan(CustomScanState *node)
{
	LookAheadState *state = (LookAheadState *) node;

	ExecClearTuple(state->row);
	tuplestore_clear(state->rows);
	state->unread = 0;
	state->ended = false;
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
look_ahead_end(CustomScanState *node)
{
	tuplestore_end(((LookAheadState *) node)->rows);
	ExecEndNode(outerPlanState(node));
}

static const CustomExecMethods look_ahead_exec_methods = {
	.CustomName = "LookAhead",
	.BeginCustomScan = look_ahead_begin,
	.ExecCustomScan = look_ahead_exec,
	.EndCustomScan = look_ahead_end,
	.ReScanCustomScan = look_ahead_rescan,
};

static Node *
look_ahead_create(CustomScan *node)
{
	LookAheadState *state = (LookAheadState *) newNode(sizeof(LookAheadState), T_CustomScanState);

	state->css.methods = &look_ahead_exec_methods;
	return (Node *) state;
}

void
look_ahead_init(void)
{
	look_ahead_methods.CreateCustomScanState = look_ahead_create;
	RegisterCustomScanMethods(&look_ahead_methods);
}
