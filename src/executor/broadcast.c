/*-------------------------------------------------------------------------
 *
 * broadcast.c
 *	  Broadcasts: rows that the initiator computes, and sends with a scan's
 *	  tasks.
 *
 * A small side of a join that isn't colocated with the other side is a child
 * plan of the scan, run on the initiator.  Its columns are sent as array
 * parameters, which the text reads by unnest().  The arrays are in the run's
 * memory context; citus.max_intermediate_result_size limits their size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "executor/broadcast.h"
#include "executor/repartition_run.h"
#include "planner/dist_rel.h"

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
	foreach_ptr(PlanState, child, state->css.custom_ps)
		if (state->css.ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, state->css.ss.ps.chgParam);
}

void
broadcast_end(DistScanState *state)
{
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
		ExecEndNode(lfirst(cell));
	state->css.custom_ps = NIL;
}

/* The next row of a child, in the child's own memory context. */
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

/*
 * Errors if the arrays that CurrentMemoryContext holds have grown too large.
 */
static void
check_broadcast_size(void)
{
	Size		size = MemoryContextMemAllocated(CurrentMemoryContext, false);

	if (citus_max_broadcast_size >= 0 && size / 1024 > (Size) citus_max_broadcast_size)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the small side of a join exceeds citus.max_intermediate_result_size (%d kB)",
						citus_max_broadcast_size),
				 errdetail("Fewer rows were expected where the statement was planned."),
				 errhint("Run ANALYZE on the tables of the join, set citus.enable_broadcast_joins to off, or raise the limit.")));
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
		check_broadcast_size();
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
	foreach_ptr(PlanState, child, state->css.custom_ps)
	{
		if (repartition_child(child) != NULL)
		{
			repartition_announce(repartition_child(child), params->params + first);
			first += EXCHANGE_READ_PARAMS;
			continue;
		}
		if (state->broadcast)
			ExecReScan(child);
		collect_columns(child, params->params + first);
		first += ExecGetResultType(child)->natts;
	}
	state->broadcast = true;
}
