/*-------------------------------------------------------------------------
 *
 * shared_rows_run.c
 *	  The executor node of SharedRows, of which a plan has two with the same
 *	  rows.
 *
 * As in nodeCtescan.c, the node that begins first owns the child and a
 * tuplestore; the other one, whose own child is never initialized, finds it by
 * a parameter of the executor.  Each node has its own read pointer, and
 * requests a row from the child at the end of the tuplestore.  The child's
 * rows never change (planner/shared_rows.h), so a rescan reads them again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "compat/explain.h"
#include "executor/shared_rows_run.h"
#include "planner/shared_rows.h"

typedef struct SharedRowsState
{
	CustomScanState css;		/* must be first */
	struct SharedRowsState *owner;	/* which has the rows; may be itself */
	int			place;			/* read pointer in the owner's rows */
	TupleTableSlot *slot;

	/* of the owner: */
	Tuplestorestate *rows;
	bool		complete;		/* the child has no more rows */
} SharedRowsState;

/* Makes the node that begins first the owner of the rows. */
static void
find_owner(SharedRowsState *state, EState *estate)
{
	ParamExecData *param = &estate->es_param_exec_vals[shared_rows_param((CustomScan *) state->css.ss.ps.plan)];
	SharedRowsState *owner = (SharedRowsState *) DatumGetPointer(param->value);

	/* EvalPlanQual copies parameters of another executor */
	if (owner != NULL && owner->css.ss.ps.state == estate)
	{
		state->owner = owner;
		state->place = tuplestore_alloc_read_pointer(owner->rows, EXEC_FLAG_REWIND);
		tuplestore_select_read_pointer(owner->rows, state->place);
		tuplestore_rescan(owner->rows);
		return;
	}
	param->value = PointerGetDatum(state);
	param->isnull = false;
	state->owner = state;
	state->rows = tuplestore_begin_heap(true, false, work_mem);
	tuplestore_set_eflags(state->rows, EXEC_FLAG_REWIND);
}

static void
shared_rows_begin(CustomScanState *node, EState *estate, int eflags)
{
	SharedRowsState *state = (SharedRowsState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;

	if (node->ss.ps.ps_ProjInfo != NULL)
		elog(ERROR, "a SharedRows can't project");
	state->slot = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
										 &TTSOpsMinimalTuple);
	node->ss.ps.resultops = &TTSOpsMinimalTuple;
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = true;
	find_owner(state, estate);
	if (state->owner == state)
		node->custom_ps = list_make1(ExecInitNode(linitial(scan->custom_plans), estate,
												  eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)));
}

/* Appends the child's next row to the tuplestore; false if there is none. */
static bool
take_shared_row(SharedRowsState *state)
{
	SharedRowsState *owner = state->owner;
	TupleTableSlot *row;

	CHECK_FOR_INTERRUPTS();
	if (owner->complete)
		return false;
	row = ExecProcNode(linitial(owner->css.custom_ps));
	owner->complete = TupIsNull(row);
	if (owner->complete)
		return false;
	/* the child may have selected another read pointer */
	tuplestore_select_read_pointer(owner->rows, state->place);
	tuplestore_puttupleslot(owner->rows, row);
	ExecCopySlot(state->slot, row);
	return true;
}

static TupleTableSlot *
shared_rows_exec(CustomScanState *node)
{
	SharedRowsState *state = (SharedRowsState *) node;
	Tuplestorestate *rows = state->owner->rows;

	tuplestore_select_read_pointer(rows, state->place);
	if (tuplestore_ateof(rows) || !tuplestore_gettupleslot(rows, true, true, state->slot))
	{
		if (!take_shared_row(state))
			return ExecClearTuple(state->slot);
	}
	return state->slot;
}

static void
shared_rows_rescan(CustomScanState *node)
{
	SharedRowsState *state = (SharedRowsState *) node;

	if (node->ss.ps.chgParam != NULL)
		elog(ERROR, "shared rows depend on a parameter that has changed");
	ExecClearTuple(state->slot);
	tuplestore_select_read_pointer(state->owner->rows, state->place);
	tuplestore_rescan(state->owner->rows);
}

static void
shared_rows_end(CustomScanState *node)
{
	SharedRowsState *state = (SharedRowsState *) node;

	if (state->owner != state)
		return;
	ExecEndNode(linitial(node->custom_ps));
	node->custom_ps = NIL;
	tuplestore_end(state->rows);
}

static void
shared_rows_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ExplainPropertyInteger("Shared", NULL, shared_rows_param((CustomScan *) node->ss.ps.plan), es);
}

static const CustomExecMethods shared_rows_exec_methods = {
	.CustomName = "SharedRows",
	.BeginCustomScan = shared_rows_begin,
	.ExecCustomScan = shared_rows_exec,
	.EndCustomScan = shared_rows_end,
	.ReScanCustomScan = shared_rows_rescan,
	.ExplainCustomScan = shared_rows_explain,
};

static Node *
shared_rows_create(CustomScan *node)
{
	SharedRowsState *state = (SharedRowsState *) newNode(sizeof(SharedRowsState), T_CustomScanState);

	state->css.methods = &shared_rows_exec_methods;
	return (Node *) state;
}

void
shared_rows_init(void)
{
	shared_rows_methods.CreateCustomScanState = shared_rows_create;
	RegisterCustomScanMethods(&shared_rows_methods);
}
