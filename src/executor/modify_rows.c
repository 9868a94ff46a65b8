/*-------------------------------------------------------------------------
 *
 * modify_rows.c
 *	  The rows that a DistributedModify reads and returns.
 *
 * The input is the child's rows, read one by one or all in advance.  A row of
 * the table is an array of values, computed from them by the plan's
 * expressions.  The output is the rows for RETURNING, sorted in the order of
 * the child's rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat/tuple_desc.h"
#include "compat/virtual_column.h"
#include "executor/modify.h"
#include "executor/row_texts.h"
#include "sharding/hash.h"

void
modify_read_input(DistModifyState *state)
{
	state->input.rows = tuplestore_begin_heap(false, false, work_mem);
	state->input.slot = MakeSingleTupleTableSlot(ExecGetResultType(state->input.child), &TTSOpsMinimalTuple);
	for (;;)
	{
		TupleTableSlot *child = ExecProcNode(state->input.child);

		if (TupIsNull(child))
			break;
		tuplestore_puttupleslot(state->input.rows, child);
	}
}

TupleTableSlot *
modify_next_input(DistModifyState *state)
{
	if (state->input.rows == NULL)
		return ExecProcNode(state->input.child);
	return tuplestore_gettupleslot(state->input.rows, true, false, state->input.slot) ? state->input.slot : NULL;
}

void
modify_deform_row(DistModifyState *state, Datum row, Datum *values, bool *nulls)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(row);
	HeapTupleData tuple;

	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, state->row_desc, values, nulls);
	for (int i = 0; i < state->row_desc->natts; i++)
		nulls[i] = nulls[i] || is_virtual_column(TupleDescAttr(state->row_desc, i));
}

Datum
modify_row_column(DistModifyState *state, AttrNumber attno, Datum *values, bool *nulls, bool *isnull)
{
	*isnull = false;
	if (attno == InvalidAttrNumber)
		return heap_copy_tuple_as_datum(heap_form_tuple(state->row_desc, values, nulls), state->row_desc);
	*isnull = nulls[attno - 1];
	return values[attno - 1];
}

Oid
modify_returned_row_type(DistModifyState *state)
{
	return state->plan.row_texts ? TEXTARRAYOID : state->row_type;
}

Datum
modify_returned_row(DistModifyState *state, Datum value)
{
	return state->plan.row_texts ? row_texts_first(state->row_desc, value) : value;
}

bool
modify_is_true(DistModifyState *state, int n, ExprContext *econtext)
{
	bool		isnull;
	Datum		value = ExecEvalExpr((ExprState *) list_nth(state->expr_states, n), econtext, &isnull);

	return !isnull && DatumGetBool(value);
}

void
modify_evaluate_action(DistModifyState *state, ModifyAction *action, ExprContext *econtext,
					   Datum *values, bool *nulls)
{
	int			position = action->first_target;

	foreach_int(attno, action->colnos)
	{
		bool		isnull;
		Datum		value = ExecEvalExpr((ExprState *) list_nth(state->expr_states, position++), econtext, &isnull);

		/* there is no column for what only has a subquery computed */
		if (attno == InvalidAttrNumber)
			continue;
		values[attno - 1] = value;
		nulls[attno - 1] = isnull;
	}
}

/* The scan tuple followed by the sequence number. */
static TupleDesc
make_output_desc(TupleDesc scan_desc)
{
	TupleDesc	desc = CreateTemplateTupleDesc(scan_desc->natts + 1);

	for (int i = 0; i < scan_desc->natts; i++)
		TupleDescCopyEntry(desc, i + 1, scan_desc, i + 1);
	TupleDescInitEntry(desc, scan_desc->natts + 1, "sequence", INT8OID, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

void
modify_begin_output(DistModifyState *state)
{
	AttrNumber	column = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts + 1;
	Oid			operator = Int8LessOperator;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	state->output.desc = make_output_desc(state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	state->output.sorted = tuplesort_begin_heap(state->output.desc, 1, &column, &operator, &collation,
										 &nulls_first, work_mem, NULL, TUPLESORT_NONE);
	state->output.row = MakeSingleTupleTableSlot(state->output.desc, &TTSOpsVirtual);
	state->output.actions[CMD_INSERT] = CStringGetTextDatum("INSERT");
	state->output.actions[CMD_UPDATE] = CStringGetTextDatum("UPDATE");
	state->output.actions[CMD_DELETE] = CStringGetTextDatum("DELETE");
	state->output.slot = MakeSingleTupleTableSlot(state->output.desc, &TTSOpsMinimalTuple);
}

/* The position of a number in a list that has it. */
static int
position_of_column(List *attnos, AttrNumber attno)
{
	int			position = 0;

	foreach_int(other, attnos)
	{
		if (other == attno)
			break;
		position++;
	}
	return position;
}

int
modify_returned_position(DistModifyState *state, AttrNumber attno)
{
	return position_of_column(state->plan.attnos, attno);
}

/* The same of a column of the row before ON CONFLICT DO UPDATE. */
static int
old_position(DistModifyState *state, AttrNumber attno)
{
	return list_length(state->plan.attnos) + position_of_column(state->plan.old_attnos, attno);
}

/* The command that a change belongs to: a row that moves is updated. */
static CmdType
command_of(DistModifyState *state, ChangeList *changes, TupleTableSlot *change_slot)
{
	if (changes == &state->pending.deletes)
		return CMD_DELETE;
	if (changes == &state->pending.updates)
		return CMD_UPDATE;
	return slot_attisnull(change_slot, CHANGE_IDENTITY + 1) ? CMD_INSERT : CMD_UPDATE;
}

void
modify_add_output(DistModifyState *state, ChangeList *changes, MinimalTuple change, int64 sequence,
				  TupleTableSlot *row, TupleTableSlot *change_slot)
{
	TupleTableSlot *output = state->output.row;
	CmdType		command;
	int			natts;

	if (state->output.sorted == NULL)
		return;
	natts = output->tts_tupleDescriptor->natts;
	ExecClearTuple(output);
	ExecStoreMinimalTuple(change, change_slot, false);
	command = command_of(state, changes, change_slot);
	for (int i = 0; i < natts - 1; i++)
	{
		AttrNumber	attno = list_nth_int(state->plan.column_attnos, i);
		int			resno = list_nth_int(state->plan.column_resnos, i);

		output->tts_isnull[i] = resno == COLUMN_EXCLUDED || (resno == COLUMN_NEW && command == CMD_DELETE);
		if (output->tts_isnull[i])
			continue;
		if (resno == COLUMN_ACTION)
			output->tts_values[i] = state->output.actions[command];
		else if (resno > 0)
			output->tts_values[i] = slot_getattr(change_slot, CHANGE_OTHERS + i + 1,
												 &output->tts_isnull[i]);
		else if (attno == TableOidAttributeNumber && resno != COLUMN_OLD)
			output->tts_values[i] = ObjectIdGetDatum(state->plan.relid);
		else
		{
			int			position = changes->nfixed +
				(resno == COLUMN_OLD ? old_position(state, attno) : modify_returned_position(state, attno));

			output->tts_values[i] = row->tts_values[position];
			output->tts_isnull[i] = row->tts_isnull[position];
			if (attno == TableOidAttributeNumber)
				output->tts_values[i] = ObjectIdGetDatum(state->plan.relid);
			else if (attno == InvalidAttrNumber && !output->tts_isnull[i])
				output->tts_values[i] = modify_returned_row(state, output->tts_values[i]);
		}
	}
	output->tts_values[natts - 1] = Int64GetDatum(sequence);
	output->tts_isnull[natts - 1] = false;
	ExecStoreVirtualTuple(output);
	tuplesort_puttupleslot(state->output.sorted, output);
	ExecClearTuple(change_slot);
}

void
modify_add_old_output(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	TupleTableSlot *output = state->output.row;
	int			natts;

	if (state->output.sorted == NULL)
		return;
	natts = state->output.desc->natts;
	ExecClearTuple(output);
	for (int i = 0; i < natts - 1; i++)
	{
		AttrNumber	attno = list_nth_int(state->plan.column_attnos, i);
		int			resno = list_nth_int(state->plan.column_resnos, i);

		output->tts_isnull[i] = false;
		if (resno > 0)
			output->tts_values[i] = slot_getattr(child, resno, &output->tts_isnull[i]);
		else if (attno == TableOidAttributeNumber)
			output->tts_values[i] = ObjectIdGetDatum(state->plan.relid);
		else if (attno >= 0)
			output->tts_values[i] = modify_row_column(state, attno, values, nulls, &output->tts_isnull[i]);
		else
			output->tts_isnull[i] = true;
	}
	output->tts_values[natts - 1] = Int64GetDatum(state->sequence);
	output->tts_isnull[natts - 1] = false;
	ExecStoreVirtualTuple(output);
	tuplesort_puttupleslot(state->output.sorted, output);
}

bool
modify_next_output(DistModifyState *state, TupleTableSlot *slot)
{
	ModifyOutput *output = &state->output;
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	if (output->sorted == NULL || !tuplesort_gettupleslot(output->sorted, true, false, output->slot, NULL))
		return false;
	slot_getallattrs(output->slot);
	memcpy(slot->tts_values, output->slot->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, output->slot->tts_isnull, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
	return true;
}

void
modify_note_partition(DistModifyState *state, int shard, Oid partition)
{
	state->partition = partition;
	state->partition_shard = shard_colocated_with(state->table, metadata_require(partition), &state->table->shards[shard])->shardid;
}

Oid
modify_partition_of(DistModifyState *state, const Datum *values, const bool *nulls)
{
	if (state->routing == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(state->context);

		state->routing_rel = table_open(state->plan.relid, NoLock);
		state->routing = partition_routing_begin(state->routing_rel);
		MemoryContextSwitchTo(old_context);
	}
	ResetPerTupleExprContext(state->routing->estate);
	return partition_routing_find(state->routing, values, nulls);
}

void
modify_end_rows(DistModifyState *state)
{
	if (state->routing != NULL)
	{
		partition_routing_end(state->routing);
		table_close(state->routing_rel, NoLock);
	}
	if (state->input.rows != NULL)
		tuplestore_end(state->input.rows);
	if (state->input.slot != NULL)
		ExecDropSingleTupleTableSlot(state->input.slot);
	if (state->output.sorted != NULL)
	{
		tuplesort_end(state->output.sorted);
		ExecDropSingleTupleTableSlot(state->output.row);
		ExecDropSingleTupleTableSlot(state->output.slot);
	}
	ExecEndNode(state->input.child);
}
