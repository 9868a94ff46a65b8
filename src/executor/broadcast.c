/*-------------------------------------------------------------------------
 *
 * broadcast.c
 *	  Rows computed here that a scan sends along to all nodes that it asks.
 *
 * A join's side that is not where the other side's shards are may be small.
 * Its plan runs here, as a child of the scan, and its columns travel as
 * arrays, parameters that the text joins with by unnest().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "executor/broadcast.h"

void
broadcast_begin(DistScanState *state, EState *estate, int eflags)
{
	CustomScan *node = (CustomScan *) state->css.ss.ps.plan;
	ListCell   *cell;

	foreach(cell, node->custom_plans)
		state->css.custom_ps = lappend(state->css.custom_ps, ExecInitNode(lfirst(cell), estate, eflags));
}

void
broadcast_rescan(DistScanState *state)
{
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
	{
		PlanState  *child = lfirst(cell);

		if (state->css.ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, state->css.ss.ps.chgParam);
	}
}

void
broadcast_end(DistScanState *state)
{
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
		ExecEndNode(lfirst(cell));
	state->css.custom_ps = NIL;
}

/* The next row of a child, which uses memory of its own. */
static TupleTableSlot *
next_broadcast_row(PlanState *child)
{
	MemoryContext old_context = MemoryContextSwitchTo(child->state->es_query_cxt);
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	slot = ExecProcNode(child);
	MemoryContextSwitchTo(old_context);
	return slot;
}

/* The columns of a child's rows as arrays. */
static void
collect_columns(PlanState *child, ParamExternData *params)
{
	TupleDesc	columns = ExecGetResultType(child);
	ArrayBuildState **arrays = palloc(sizeof(ArrayBuildState *) * Max(columns->natts, 1));
	TupleTableSlot *slot;

	for (int i = 0; i < columns->natts; i++)
		arrays[i] = initArrayResult(TupleDescAttr(columns, i)->atttypid, CurrentMemoryContext, false);
	for (;;)
	{
		slot = next_broadcast_row(child);
		if (TupIsNull(slot))
			break;
		slot_getallattrs(slot);
		for (int i = 0; i < columns->natts; i++)
			accumArrayResult(arrays[i], slot->tts_values[i], slot->tts_isnull[i],
							 TupleDescAttr(columns, i)->atttypid, CurrentMemoryContext);
	}
	for (int i = 0; i < columns->natts; i++)
	{
		params[i].value = makeArrayResult(arrays[i], CurrentMemoryContext);
		params[i].isnull = false;
		params[i].pflags = PARAM_FLAG_CONST;
		params[i].ptype = get_array_type(TupleDescAttr(columns, i)->atttypid);
	}
}

void
broadcast_collect(DistScanState *state, ParamListInfo params, int first)
{
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
	{
		PlanState  *child = lfirst(cell);

		if (state->broadcast)
			ExecReScan(child);
		collect_columns(child, params->params + first);
		first += ExecGetResultType(child)->natts;
	}
	state->broadcast = true;
}
