/*-------------------------------------------------------------------------
 *
 * modify_collect.c
 *	  Converts the rows of a DistributedModify's child into changes of rows.
 *
 * Each row becomes an INSERT, UPDATE or DELETE of a row of a shard.  Changes
 * wait in tuplestores, one per kind and shard, until they are applied.
 *
 * BEFORE ROW triggers are called here, since the row that they leave
 * determines the shard.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "executor/cursor.h"
#include "executor/modify.h"
#include "planner/foreign_key.h"
#include "sharding/hash.h"

/* The same for the child's row. */
static RowIdentity
child_identity(DistModifyState *state, TupleTableSlot *child, Datum ctid)
{
	bool		isnull;

	return modify_row_identity(state, state->plan.row_resno > 0 ? slot_getattr(child, state->plan.row_resno, &isnull) : 0,
							   ctid);
}

/* The old row's columns, all null if it isn't known. */
static void
deform_old_row(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	bool		isnull = true;
	Datum		row = 0;

	memset(nulls, true, sizeof(bool) * state->row_desc->natts);
	if (state->plan.row_resno > 0)
		row = slot_getattr(child, state->plan.row_resno, &isnull);
	if (!isnull)
		modify_deform_row(state, row, values, nulls);
}

/* Adds a DELETE.  values and nulls are work space. */
static void
add_delete(DistModifyState *state, TupleTableSlot *child, int shard, Datum ctid, Datum *values, bool *nulls)
{
	HeapTuple	old = NULL;
	RowIdentity identity;

	if (state->late)
	{
		deform_old_row(state, child, values, nulls);
		modify_add_old_output(state, child, values, nulls);
		if (state->plan.can_set_tag)
			state->css.ss.ps.state->es_processed++;
	}
	if (state->triggers != NULL)
	{
		deform_old_row(state, child, values, nulls);
		old = modify_old_tuple(state, values, nulls);
	}
	if (state->triggers != NULL && !triggers_before_delete(state->triggers, old))
		return;
	identity = child_identity(state, child, ctid);
	modify_add_change(state, &state->pending.deletes, shard, &identity, NULL, NULL, child);
	if (state->triggers != NULL)
		triggers_after_delete(state->triggers, old);
}

/*
 * Sets the shard and ctid of the target's row, and the partition's shard, from
 * the child's row.  False if there is no target row.
 */
static bool
locate_row(DistModifyState *state, TupleTableSlot *child, int *shard, Datum *ctid)
{
	bool		isnull;
	Datum		value = 0;

	*ctid = slot_getattr(child, state->plan.ctid_resno, &isnull);
	if (isnull)
		return false;
	if (state->plan.dist_resno > 0)
		value = slot_getattr(child, state->plan.dist_resno, &isnull);
	*shard = shard_index_of_stored(state->table, value, isnull);
	if (state->plan.partition_resno > 0)
		modify_note_partition(state, *shard, DatumGetObjectId(slot_getattr(child, state->plan.partition_resno, &isnull)));
	return true;
}

/* Adds an INSERT into the shard of a new row. */
static void
add_insert(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	int			shard;

	if (state->triggers != NULL && !triggers_before_insert(state->triggers, values, nulls))
		return;
	modify_check_new_row(state, values, nulls);
	shard = modify_stored_shard(state, values, nulls);
	if (state->plan.resolves)
	{
		modify_add_change(state, &state->pending.upserts, shard, NULL, values, nulls, child);
		return;
	}
	modify_add_change(state, &state->pending.inserts, shard, NULL, values, nulls, child);
	if (state->triggers != NULL && !state->plan.may_skip)
		triggers_after_insert(state->triggers, values, nulls);
}

static void
collect_insert(DistModifyState *state, TupleTableSlot *child)
{
	int			natts = state->row_desc->natts;

	if (state->stream != NULL)
	{
		modify_stream_put(state, child);
		return;
	}
	slot_getallattrs(child);
	Assert(child->tts_tupleDescriptor->natts >= natts);
	for (int i = 0; i < natts; i++)
	{
		if (TupleDescAttr(state->row_desc, i)->attisdropped)
			child->tts_isnull[i] = true;
	}
	add_insert(state, child, child->tts_values, child->tts_isnull);
	if (state->plan.streams)
		modify_stream_consider(state);
}

static void
collect_update(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	int			shard;
	Datum		ctid;
	HeapTuple	old;
	RowIdentity identity;
	int			resno = 0;

	if (!locate_row(state, child, &shard, &ctid) ||
		!modify_first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		return;
	deform_old_row(state, child, values, nulls);
	old = modify_old_tuple(state, values, nulls);
	foreach_int(attno, state->plan.update_colnos)
		values[attno - 1] = slot_getattr(child, ++resno, &nulls[attno - 1]);
	identity = child_identity(state, child, ctid);
	(void) modify_add_update(state, child, shard, &identity, old, values, nulls);
}

static void
collect_delete(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	int			shard;
	Datum		ctid;

	if (locate_row(state, child, &shard, &ctid) &&
		modify_first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		add_delete(state, child, shard, ctid, values, nulls);
}

/* Executes a MERGE action for the child's row. */
static void
run_action(DistModifyState *state, ModifyAction *action, TupleTableSlot *child,
		   ExprContext *econtext, Datum *values, bool *nulls)
{
	int			shard;
	Datum		ctid;
	HeapTuple	old;
	RowIdentity identity;

	if (action->command == CMD_NOTHING)
		return;
	if (action->command == CMD_INSERT)
	{
		memset(nulls, true, sizeof(bool) * state->row_desc->natts);
		modify_evaluate_action(state, action, econtext, values, nulls);
		add_insert(state, child, values, nulls);
		return;
	}

	(void) locate_row(state, child, &shard, &ctid);
	if (!modify_first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("MERGE command cannot affect row a second time"),
				 errhint("Ensure that not more than one source row matches any one target row.")));
	if (action->command == CMD_DELETE)
	{
		add_delete(state, child, shard, ctid, values, nulls);
		return;
	}
	deform_old_row(state, child, values, nulls);
	old = modify_old_tuple(state, values, nulls);
	modify_evaluate_action(state, action, econtext, values, nulls);
	identity = child_identity(state, child, ctid);
	(void) modify_add_update(state, child, shard, &identity, old, values, nulls);
}

static void
collect_merge(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	MergeMatchKind kind = MERGE_WHEN_MATCHED;
	bool		isnull;

	/*
	 * expressions are compiled for the node's own, virtual, scan slot, where
	 * columns for RETURNING follow the child's
	 */
	slot_getallattrs(child);
	ExecClearTuple(scan_slot);
	memcpy(scan_slot->tts_values, child->tts_values, sizeof(Datum) * child->tts_nvalid);
	memset(scan_slot->tts_isnull, true, sizeof(bool) * scan_slot->tts_tupleDescriptor->natts);
	memcpy(scan_slot->tts_isnull, child->tts_isnull, sizeof(bool) * child->tts_nvalid);
	ExecStoreVirtualTuple(scan_slot);
	econtext->ecxt_scantuple = scan_slot;

	(void) slot_getattr(child, state->plan.ctid_resno, &isnull);
	if (isnull)
		kind = MERGE_WHEN_NOT_MATCHED_BY_TARGET;
	else if (state->plan.condition >= 0 && !modify_is_true(state, state->plan.condition, econtext))
		kind = MERGE_WHEN_NOT_MATCHED_BY_SOURCE;
	foreach_ptr(ModifyAction, action, state->actions)
	{
		if (action->kind != kind)
			continue;
		if (action->qual >= 0 && !modify_is_true(state, action->qual, econtext))
			continue;
		run_action(state, action, child, econtext, values, nulls);
		break;
	}
}

void
modify_collect(DistModifyState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	Datum	   *values = palloc0(sizeof(Datum) * Max(state->row_desc->natts, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(state->row_desc->natts, 1));

	for (;;)
	{
		TupleTableSlot *child = modify_next_input(state);
		MemoryContext old_context;

		if (TupIsNull(child))
			break;
		ResetExprContext(econtext);
		old_context = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		switch (state->plan.command)
		{
			case CMD_INSERT:
				collect_insert(state, child);
				break;
			case CMD_UPDATE:
				collect_update(state, child, values, nulls);
				break;
			case CMD_DELETE:
				collect_delete(state, child, values, nulls);
				break;
			default:
				collect_merge(state, child, values, nulls);
				break;
		}
		modify_consider_upserts(state);
		state->sequence++;
		MemoryContextSwitchTo(old_context);
	}
}
