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

/*
 * Rows of the target that the statement has already changed, a bit for each.
 * All are kept in memory: a statement that changes a whole table needs a byte
 * or so for each row.
 */
#define ROWS_PER_GROUP 256

typedef struct RowGroupKey
{
	int64		shard;			/* the partition's id, or the table's
								 * position */
	BlockNumber block;
	int			number;			/* in its block; no heap has more than two */
} RowGroupKey;

typedef struct RowGroup
{
	RowGroupKey key;
	uint8		changed[ROWS_PER_GROUP / BITS_PER_BYTE];
} RowGroup;

/*
 * What another write of the statement to the same table has changed, or NULL.
 */
static HTAB *
shared_seen(DistModifyState *state)
{
	foreach_ptr(PlanState, other, state->css.ss.ps.state->es_auxmodifytables)
		if (is_dist_modify(other->plan) && ((DistModifyState *) other)->plan.relid == state->plan.relid)
			return ((DistModifyState *) other)->seen;
	return NULL;
}

void
modify_collect_begin(DistModifyState *state)
{
	HASHCTL		control = {.keysize = sizeof(RowGroupKey),.entrysize = sizeof(RowGroup)};

	state->seen = shared_seen(state);
	if (state->seen != NULL)
		return;
	control.hcxt = CurrentMemoryContext;
	state->seen = hash_create("citus rows changed", 256, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
modify_add_change(DistModifyState *state, ChangeList *changes, int shard, const RowIdentity *identity,
				  Datum *values, bool *nulls, TupleTableSlot *child)
{
	int			natts = state->change_desc->natts;
	int			nkeys = list_length(state->plan.key_attnos);
	Datum	   *change = palloc0(sizeof(Datum) * natts);
	bool	   *change_nulls = palloc(sizeof(bool) * natts);
	MemoryContext old_context;

	memset(change_nulls, true, sizeof(bool) * natts);
	change[CHANGE_SEQUENCE] = Int64GetDatum(state->sequence);
	change_nulls[CHANGE_SEQUENCE] = false;
	if (identity != NULL)
	{
		change[CHANGE_IDENTITY] = identity->id;
		change_nulls[CHANGE_IDENTITY] = false;
		for (int i = 0; i < nkeys; i++)
		{
			change[natts - nkeys + i] = identity->keys[i];
			change_nulls[natts - nkeys + i] = false;
		}
	}
	change[CHANGE_PARTITION] = Int64GetDatum(state->partition_shard);
	change_nulls[CHANGE_PARTITION] = state->partition_shard == 0;
	if (values != NULL)
	{
		change[CHANGE_NEW_ROW] = heap_copy_tuple_as_datum(heap_form_tuple(state->row_desc, values, nulls),
														  state->row_desc);
		change_nulls[CHANGE_NEW_ROW] = false;
	}
	for (int i = CHANGE_OTHERS; i < natts - nkeys; i++)
	{
		int			resno = list_nth_int(state->plan.column_resnos, i - CHANGE_OTHERS);

		if (resno > 0)
			change[i] = slot_getattr(child, resno, &change_nulls[i]);
	}

	old_context = MemoryContextSwitchTo(state->context);
	if (changes->stores[shard] == NULL)
		changes->stores[shard] = tuplestore_begin_heap(false, false, modify_store_kilobytes(state));
	tuplestore_putvalues(changes->stores[shard], state->change_desc, change, change_nulls);
	changes->nchanges++;
	changes->bytes += heap_compute_data_size(state->change_desc, change, change_nulls);
	MemoryContextSwitchTo(old_context);
}

/*
 * The byte with a row's bit, *mask; NULL if there is none and make is false.
 */
static uint8 *
find_row_bit(DistModifyState *state, int shard, ItemPointer ctid, bool make, uint8 *mask)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(ctid);
	int			place = offset % ROWS_PER_GROUP;
	RowGroupKey key = {state->partition_shard != 0 ? state->partition_shard : shard, ItemPointerGetBlockNumberNoCheck(ctid), offset / ROWS_PER_GROUP};
	bool		found;
	RowGroup   *group = hash_search(state->seen, &key, make ? HASH_ENTER : HASH_FIND, &found);

	if (group == NULL)
		return NULL;
	if (!found)
		memset(group->changed, 0, sizeof(group->changed));
	*mask = 1 << (place % BITS_PER_BYTE);
	return &group->changed[place / BITS_PER_BYTE];
}

bool
modify_first_change(DistModifyState *state, int shard, ItemPointer ctid)
{
	uint8		mask;
	uint8	   *byte = find_row_bit(state, shard, ctid, true, &mask);
	bool		first = (*byte & mask) == 0;

	*byte |= mask;
	return first;
}

bool
modify_has_changed(DistModifyState *state, int shard, ItemPointer ctid)
{
	uint8		mask;
	uint8	   *byte = find_row_bit(state, shard, ctid, false, &mask);

	return byte != NULL && (*byte & mask) != 0;
}

RowIdentity
modify_row_identity(DistModifyState *state, Datum row, Datum ctid)
{
	RowIdentity identity = {.id = ctid};
	int			position = 0;

	if (state->table->kind != DIST_REFERENCE)
		return identity;
	modify_deform_row(state, row, state->image_values, state->image_nulls);
	identity.id = row_image_make(state->image, state->image_values, state->image_nulls);
	identity.keys = palloc(sizeof(Datum) * list_length(state->plan.key_attnos));
	foreach_int(attno, state->plan.key_attnos)
		identity.keys[position++] = state->image_values[attno - 1];
	return identity;
}

/* The same for the child's row. */
static RowIdentity
child_identity(DistModifyState *state, TupleTableSlot *child, Datum ctid)
{
	bool		isnull;

	return modify_row_identity(state, state->plan.row_resno > 0 ? slot_getattr(child, state->plan.row_resno, &isnull) : 0,
							   ctid);
}

HeapTuple
modify_old_tuple(DistModifyState *state, Datum *values, bool *nulls)
{
	HeapTuple	tuple;

	if (state->triggers == NULL)
		return NULL;
	tuple = heap_form_tuple(state->row_desc, values, nulls);
	tuple->t_tableOid = OidIsValid(state->partition) ? state->partition : state->plan.relid;
	return tuple;
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

/* The shard that a new row goes to. */
static int
stored_shard(DistModifyState *state, Datum *values, bool *nulls)
{
	AttrNumber	dist = state->table->dist_attno;

	return dist == 0 ? 0 :
		shard_index_of_stored(state->table, values[dist - 1], nulls[dist - 1]);
}

/*
 * Errors if a row of the table can't be moved by deleting and inserting it:
 * foreign keys act on rows that MERGE deletes, and would act on rows that it
 * moves.  In other statements all rows that are deleted move (TASK_MOVES).
 */
static void
check_may_move(DistModifyState *state)
{
	Oid			referencing;

	if (state->may_move || state->plan.command != CMD_MERGE)
		return;
	referencing = foreign_key_acts_on_delete(state->plan.relid);
	if (OidIsValid(referencing))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("MERGE cannot move a row of table \"%s\" to another shard", get_rel_name(state->plan.relid)),
				 errdetail("It would be deleted and inserted, and a foreign key of table \"%s\" has an action for deleted rows.",
						   get_rel_name(referencing)),
				 errhint("Use UPDATE for that.")));
	state->may_move = true;
}

/*
 * Adds an UPDATE in the row's shard, or moves the row to another shard.  old
 * is its old version, if there are triggers.
 */
bool
modify_add_update(DistModifyState *state, TupleTableSlot *child, int shard, const RowIdentity *identity,
				  HeapTuple old, Datum *values, bool *nulls)
{
	int			new_shard = shard;

	if (state->triggers != NULL && !triggers_before_update(state->triggers, old, values, nulls))
		return false;
	modify_check_new_row(state, values, nulls);
	if (state->plan.moves_rows)
		new_shard = stored_shard(state, values, nulls);
	if (new_shard == shard && !state->plan.replaces_rows)
		modify_add_change(state, &state->updates, shard, identity, values, nulls, child);
	else
	{
		check_may_move(state);
		cursor_row_moves(state->plan.relid);
		state->nmoved++;
		modify_add_change(state, &state->deletes, shard, identity, NULL, NULL, child);
		modify_add_change(state, &state->inserts, new_shard, NULL, values, nulls, child);
	}
	if (state->triggers != NULL)
		triggers_after_update(state->triggers, old, values, nulls);
	return true;
}

/* Adds a DELETE.  values and nulls are work space. */
static void
add_delete(DistModifyState *state, TupleTableSlot *child, int shard, Datum ctid, Datum *values, bool *nulls)
{
	HeapTuple	old = NULL;
	RowIdentity identity;

	if (state->triggers != NULL)
	{
		deform_old_row(state, child, values, nulls);
		old = modify_old_tuple(state, values, nulls);
	}
	if (state->triggers != NULL && !triggers_before_delete(state->triggers, old))
		return;
	identity = child_identity(state, child, ctid);
	modify_add_change(state, &state->deletes, shard, &identity, NULL, NULL, child);
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
	{
		Oid			partition = DatumGetObjectId(slot_getattr(child, state->plan.partition_resno, &isnull));

		state->partition = partition;
		state->partition_shard = shard_beside(state->table, metadata_require(partition), &state->table->shards[*shard])->shardid;
	}
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
	shard = stored_shard(state, values, nulls);
	if (state->plan.resolves)
	{
		modify_add_upsert(state, child, shard, values, nulls);
		return;
	}
	modify_add_change(state, &state->inserts, shard, NULL, values, nulls, child);
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

bool
modify_is_true(DistModifyState *state, int n, ExprContext *econtext)
{
	bool		isnull;
	Datum		value = ExecEvalExpr((ExprState *) list_nth(state->expr_states, n), econtext, &isnull);

	return !isnull && DatumGetBool(value);
}

static void
collect_merge(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	MergeMatchKind kind = MERGE_WHEN_MATCHED;
	bool		isnull;

	/* expressions are compiled for the node's own, virtual, scan slot */
	slot_getallattrs(child);
	ExecClearTuple(scan_slot);
	memcpy(scan_slot->tts_values, child->tts_values, sizeof(Datum) * child->tts_nvalid);
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
modify_read_input(DistModifyState *state)
{
	state->input = tuplestore_begin_heap(false, false, work_mem);
	state->input_slot = MakeSingleTupleTableSlot(ExecGetResultType(state->child), &TTSOpsMinimalTuple);
	for (;;)
	{
		TupleTableSlot *child = ExecProcNode(state->child);

		if (TupIsNull(child))
			break;
		tuplestore_puttupleslot(state->input, child);
	}
}

/* The next of the child's rows, or NULL. */
static TupleTableSlot *
next_child_row(DistModifyState *state)
{
	if (state->input == NULL)
		return ExecProcNode(state->child);
	return tuplestore_gettupleslot(state->input, true, false, state->input_slot) ? state->input_slot : NULL;
}

void
modify_collect(DistModifyState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	Datum	   *values = palloc0(sizeof(Datum) * Max(state->row_desc->natts, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(state->row_desc->natts, 1));

	for (;;)
	{
		TupleTableSlot *child = next_child_row(state);
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
		state->sequence++;
		MemoryContextSwitchTo(old_context);
	}
}
