/*-------------------------------------------------------------------------
 *
 * modify_upsert.c
 *	  INSERT .. ON CONFLICT whose conflicts the initiator resolves.
 *
 * It does so if there are row triggers, or if the shard's node can't evaluate
 * DO UPDATE.
 *
 * As on a single server, BEFORE INSERT triggers fire for each row before the
 * row is checked for conflicts.  The upsert text (modify_upsert_text) uses the
 * server's own ON CONFLICT on the shard: it inserts the rows that don't
 * conflict, and locks the rows that others conflict with.  So it waits for
 * rows of other sessions, and finds their latest version.  A locked row
 * doesn't change until this statement writes it: the initiator evaluates DO
 * UPDATE's expressions over it and the excluded row, fires BEFORE UPDATE
 * triggers, and adds an ordinary UPDATE.
 *
 * Of a global index, the shard's node sees the rows of its shard only.  So for
 * each row the entries are asked first which row has its key.  There may be
 * none: then the row is inserted and adds its entries, which waits for others
 * that do so; if another row has come first, it is as if nothing had been done
 * (a subtransaction), and the entries are asked again.  If there is one, the
 * row is sent to that one's shard as if it was its own, and conflicts there;
 * if it is inserted, the other has gone meanwhile, and that is undone, too.
 *
 * Rows are sent in batches.  If there are BEFORE UPDATE triggers, which must
 * not see later rows of the statement, each row is completed before the next.
 * (Looking up and locking existing rows first, and inserting others later,
 * would take locks in another order than on a single server, and could
 * deadlock.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "catalog/partition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/modify.h"
#include "lib/catch_error.h"
#include "lib/subtransaction.h"
#include "sharding/hash.h"

/*
 * Attempts to insert a row.  Each waits for the transaction that has made the
 * one before fail.
 */
#define MAX_ATTEMPTS 100

/* Rows are inserted when this many are pending, or modify_round_bytes(). */
#define UPSERT_ROWS 5000

const GlobalKeyMethods *global_key_methods = NULL;

/* The result for a row. */
typedef struct UpsertResult
{
	int64		sequence;
	int			shard;
	MinimalTuple change;
	MinimalTuple row;			/* what the node has returned */
} UpsertResult;

/* Work space. */
typedef struct UpsertSlots
{
	TupleTableSlot *change;
	TupleTableSlot *row;
	Datum	   *values;			/* of the table's row */
	bool	   *nulls;
	Datum	   *excluded;		/* of the one that was not inserted */
	bool	   *excluded_nulls;
} UpsertSlots;

/* An attempt to insert a row whose key a global index may have. */
typedef struct Attempt
{
	DistModifyState *state;
	UpsertSlots *slots;
	Relation	rel;			/* the table, or the row's partition */
	List	   *arbiters;		/* its global indexes that decide */
	TupleTableSlot *proposed;	/* the row, as rel has it */
	bool		conflicts;		/* with one of the shard that it is sent to */
	List	   *results;
} Attempt;

static int
compare_upsert_results(const ListCell *a, const ListCell *b)
{
	int64		left = ((UpsertResult *) lfirst(a))->sequence;
	int64		right = ((UpsertResult *) lfirst(b))->sequence;

	return left < right ? -1 : left > right;
}

/* Runs the round's tasks; appends what they return to results. */
static List *
run_tasks(DistModifyState *state, Round *round, UpsertSlots *slots, List *results)
{
	TaskSet    *set = task_set_start(&round->spec);
	Task	   *task;

	while (task_set_next(set, slots->row, &task))
	{
		Batch	   *batch = modify_round_batch(round, task);
		int64		index = DatumGetInt64(slots->row->tts_values[0]) - 1;
		UpsertResult *result = palloc(sizeof(UpsertResult));
		bool		isnull;

		if (index < 0 || index >= batch->nchanges)
			elog(ERROR, "a task returned a row that was not asked for");
		result->shard = batch->shard;
		result->change = batch->changes[index];
		result->row = ExecCopySlotMinimalTuple(slots->row);
		ExecStoreMinimalTuple(result->change, slots->change, false);
		result->sequence = DatumGetInt64(slot_getattr(slots->change, CHANGE_SEQUENCE + 1, &isnull));
		results = lappend(results, result);
	}
	task_set_end(set);
	return results;
}

/*
 * Runs the texts; a list of what they return, in the order of the child's
 * rows.  Shards are written one after the other: otherwise two statements that
 * write the same keys in the same order could wait for each other.
 */
static List *
insert_waiting_rows(DistModifyState *state, UpsertSlots *slots)
{
	List	   *results = NIL;
	Round		round;

	modify_round_begin(state, &state->pending.upserts, slots->change, &round);
	slots->row = MakeSingleTupleTableSlot(round.spec.columns, &TTSOpsVirtual);
	if (state->table->kind == DIST_REFERENCE)
		results = run_tasks(state, &round, slots, results);
	else
	{
		foreach_ptr(Batch, batch, round.batches)
		{
			round.spec.tasks = list_make1(batch->task);
			results = run_tasks(state, &round, slots, results);
		}
	}
	ExecDropSingleTupleTableSlot(slots->row);
	slots->row = MakeSingleTupleTableSlot(round.spec.columns, &TTSOpsMinimalTuple);
	list_sort(results, compare_upsert_results);
	return results;
}

/* Whether a result is that of a row that was inserted. */
static bool
was_inserted(UpsertResult *result, UpsertSlots *slots)
{
	bool		isnull;

	ExecStoreMinimalTuple(result->row, slots->row, false);
	(void) slot_getattr(slots->row, 2, &isnull);
	return isnull;
}

/* subtransaction_run's work: false if the row must be sent elsewhere. */
static bool
attempt_insert(void *arg)
{
	Attempt    *attempt = arg;
	DistModifyState *state = attempt->state;
	bool		inserted;

	attempt->results = insert_waiting_rows(state, attempt->slots);
	inserted = attempt->results != NIL && was_inserted(linitial(attempt->results), attempt->slots);
	if (attempt->conflicts)
		return !inserted && (attempt->results != NIL || !state->plan.do_update);
	return !inserted || global_key_methods->claim(attempt->rel, attempt->arbiters, attempt->proposed);
}

/* Takes the only row that waits; sets its shard. */
static MinimalTuple
take_waiting_row(DistModifyState *state, TupleTableSlot *slot, int *shard)
{
	Tuplestorestate **stores = state->pending.upserts.stores;

	for (*shard = 0; *shard < state->table->nshards; ++*shard)
		if (stores[*shard] != NULL && tuplestore_gettupleslot(stores[*shard], true, false, slot))
			return ExecCopySlotMinimalTuple(slot);
	elog(ERROR, "no row waits");
}

/* Lets a row wait for one shard. */
static void
wait_for_shard(DistModifyState *state, MinimalTuple change, int shard, TupleTableSlot *slot)
{
	ChangeList *upserts = &state->pending.upserts;

	modify_end_changes(state, upserts);
	upserts->stores[shard] = tuplestore_begin_heap(false, false, work_mem);
	ExecStoreMinimalTuple(change, slot, false);
	tuplestore_puttupleslot(upserts->stores[shard], slot);
	upserts->nchanges = 1;
	upserts->bytes = change->t_len;
}

/* Whether a row's key has an entry; then sets the shard of its row. */
static bool
find_key(const Attempt *attempt, int *shard)
{
	NullableDatum value;
	bool		found = global_key_methods->find(attempt->rel, attempt->arbiters, attempt->proposed, &value);

	if (found)
		*shard = shard_index_of_stored(attempt->state->table, value.value, value.isnull);
	return found;
}

/* Those indexes of a partition that are listed, or belong to listed ones. */
static List *
indexes_of_partition(Relation partition, List *indexes)
{
	List	   *result = NIL;

	foreach_oid(indexid, RelationGetIndexList(partition))
	{
		List	   *ancestors = get_rel_relispartition(indexid) ? get_partition_ancestors(indexid) : NIL;

		foreach_oid(index, lcons_oid(indexid, ancestors))
			if (list_member_oid(indexes, index))
				result = list_append_unique_oid(result, indexid);
	}
	return result;
}

/*
 * Opens the table that a row is attempted to be inserted into; if it is a
 * partition, the row is converted.
 */
static void
open_upsert_target(Attempt *attempt, TupleTableSlot *row)
{
	DistModifyState *state = attempt->state;
	TupleConversionMap *map;

	attempt->proposed = row;
	attempt->arbiters = state->plan.arbiters;
	if (!state->partitioned)
	{
		attempt->rel = table_open(state->plan.relid, NoLock);
		return;
	}
	attempt->rel = table_open(modify_partition_of(state, row->tts_values, row->tts_isnull), NoLock);
	attempt->arbiters = indexes_of_partition(attempt->rel, state->plan.arbiters);
	map = convert_tuples_by_name(state->row_desc, RelationGetDescr(attempt->rel));
	if (map != NULL)
		attempt->proposed = execute_attr_map_slot(map->attrMap, row,
												  MakeSingleTupleTableSlot(RelationGetDescr(attempt->rel), &TTSOpsVirtual));
}

static void
close_upsert_target(Attempt *attempt, TupleTableSlot *row)
{
	if (attempt->proposed != row)
		ExecDropSingleTupleTableSlot(attempt->proposed);
	table_close(attempt->rel, NoLock);
}

/* The same for one row whose conflicts are with rows of all shards. */
static List *
insert_waiting_row(DistModifyState *state, UpsertSlots *slots)
{
	TupleTableSlot *proposed = MakeSingleTupleTableSlot(state->row_desc, &TTSOpsVirtual);
	Attempt		attempt = {.state = state, .slots = slots};
	int			own_shard;
	MinimalTuple change = take_waiting_row(state, slots->change, &own_shard);
	bool		asks = true;
	bool		isnull;

	modify_deform_row(state, slot_getattr(slots->change, CHANGE_NEW_ROW + 1, &isnull), proposed->tts_values,
					  proposed->tts_isnull);
	triggers_compute_columns(state->triggers, proposed->tts_values, proposed->tts_isnull);
	ExecStoreVirtualTuple(proposed);
	ExecMaterializeSlot(proposed);
	open_upsert_target(&attempt, proposed);
	for (int attempts = 0; attempts < MAX_ATTEMPTS; attempts++)
	{
		int			shard = own_shard;
		ErrorData  *error;

		CHECK_FOR_INTERRUPTS();
		attempt.conflicts = asks && find_key(&attempt, &shard);
		wait_for_shard(state, change, shard, slots->change);
		if (subtransaction_run(attempt_insert, &attempt, &error))
		{
			close_upsert_target(&attempt, proposed);
			return attempt.results;
		}
		if (error != NULL && !(attempt.conflicts && error->sqlerrcode == ERRCODE_FOREIGN_KEY_VIOLATION))
			catch_rethrow(error);
		asks = !attempt.conflicts;	/* else the insertion waits */
	}
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("could not find the row that a row to be inserted conflicts with"),
			 errhint("Compare the table's global indexes with its rows by citus_check_global_index().")));
}

/* A row has been inserted: its columns are in excluded. */
static void
finish_insert(DistModifyState *state, UpsertResult *result, UpsertSlots *slots)
{
	int			position = UPSERT_FIXED_COLUMNS + modify_returned_position(state, SelfItemPointerAttributeNumber);

	(void) modify_first_change(state, result->shard,
							   (ItemPointer) DatumGetPointer(slots->row->tts_values[position]));
	triggers_after_insert(state->triggers, slots->excluded, slots->excluded_nulls);
	if (state->plan.can_set_tag)
		state->css.ss.ps.state->es_processed++;
	modify_add_output(state, &state->pending.upserts, result->change, result->sequence, slots->row, slots->change);
}

/*
 * Stores the old row, in values and nulls, and the excluded one in the slot
 * that DO UPDATE's expressions use.
 */
static void
store_scan_row(DistModifyState *state, UpsertSlots *slots, Datum ctid)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		AttrNumber	attno = list_nth_int(state->plan.column_attnos, i);
		bool	   *isnull = &slot->tts_isnull[i];

		*isnull = false;
		if (list_nth_int(state->plan.column_resnos, i) == COLUMN_EXCLUDED)
			slot->tts_values[i] = modify_row_column(state, attno, slots->excluded, slots->excluded_nulls, isnull);
		else if (attno >= 0)
			slot->tts_values[i] = modify_row_column(state, attno, slots->values, slots->nulls, isnull);
		else if (attno == SelfItemPointerAttributeNumber)
			slot->tts_values[i] = ctid;
		else if (attno == TableOidAttributeNumber)
			slot->tts_values[i] = ObjectIdGetDatum(state->partitioned ? state->partition : state->plan.relid);
		else
			*isnull = true;		/* only RETURNING asks for it */
	}
	ExecStoreVirtualTuple(slot);
	state->css.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
}

/* A row conflicts with one that is now locked: executes DO UPDATE. */
static void
resolve_conflict(DistModifyState *state, UpsertResult *result, UpsertSlots *slots)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	ModifyAction *action = linitial(state->actions);
	Datum		ctid = slots->row->tts_values[1];
	Datum		row = modify_returned_row(state, slots->row->tts_values[2]);
	int64		sequence = state->sequence;
	HeapTuple	old;
	RowIdentity identity;

	if (modify_has_changed(state, result->shard, (ItemPointer) DatumGetPointer(ctid)))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("ON CONFLICT DO UPDATE command cannot affect row a second time"),
				 errhint("Ensure that no rows proposed for insertion within the same command have duplicate "
						 "constrained values.")));
	modify_deform_row(state, row, slots->values, slots->nulls);
	triggers_compute_columns(state->triggers, slots->excluded, slots->excluded_nulls);
	store_scan_row(state, slots, ctid);
	if (action->qual >= 0 && !modify_is_true(state, action->qual, econtext))
		return;
	old = modify_old_tuple(state, slots->values, slots->nulls);
	modify_evaluate_action(state, action, econtext, slots->values, slots->nulls);
	if (state->partitioned && modify_partition_of(state, slots->values, slots->nulls) != state->partition)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("invalid ON UPDATE specification"),
				 errdetail("The result tuple would appear in a different partition than the original tuple.")));
	identity = modify_row_identity(state, row, ctid);
	state->sequence = result->sequence;
	if (modify_add_update(state, slots->row, result->shard, &identity, old, slots->values, slots->nulls))
		(void) modify_first_change(state, result->shard, (ItemPointer) DatumGetPointer(ctid));
	state->sequence = sequence;
}

static void
finish_row(DistModifyState *state, UpsertResult *result, UpsertSlots *slots)
{
	bool		isnull;

	CHECK_FOR_INTERRUPTS();
	ExecStoreMinimalTuple(result->change, slots->change, false);
	modify_deform_row(state, slot_getattr(slots->change, CHANGE_NEW_ROW + 1, &isnull),
					  slots->excluded, slots->excluded_nulls);
	ExecStoreMinimalTuple(result->row, slots->row, false);
	slot_getallattrs(slots->row);
	/* what it conflicts with stands there, too: keys contain partition keys */
	if (state->partitioned)
		modify_note_partition(state, result->shard, modify_partition_of(state, slots->excluded, slots->excluded_nulls));
	if (slots->row->tts_isnull[1])
		finish_insert(state, result, slots);
	else
		resolve_conflict(state, result, slots);
}

/*
 * Inserts the pending rows, and resolves their conflicts; the resulting
 * UPDATEs become pending changes.
 */
static void
apply_upserts(DistModifyState *state)
{
	int			natts = Max(state->row_desc->natts, 1);
	UpsertSlots slots;
	MemoryContext context;
	MemoryContext row_context;
	MemoryContext old_context;
	ListCell   *cell;
	List	   *results;

	if (state->pending.upserts.nchanges == 0 || state->resolving)
		return;
	state->resolving = true;
	context = AllocSetContextCreate(state->context, "citus upserts", ALLOCSET_DEFAULT_SIZES);
	row_context = AllocSetContextCreate(context, "citus upsert row", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	slots.change = MakeSingleTupleTableSlot(state->pending.desc, &TTSOpsMinimalTuple);
	slots.values = palloc0(sizeof(Datum) * natts);
	slots.nulls = palloc0(sizeof(bool) * natts);
	slots.excluded = palloc0(sizeof(Datum) * natts);
	slots.excluded_nulls = palloc0(sizeof(bool) * natts);

	results = state->plan.arbiters != NIL ? insert_waiting_row(state, &slots) : insert_waiting_rows(state, &slots);
	modify_end_changes(state, &state->pending.upserts);
	MemoryContextSwitchTo(row_context);
	foreach(cell, results)
	{
		finish_row(state, lfirst(cell), &slots);
		MemoryContextReset(row_context);
	}
	ExecDropSingleTupleTableSlot(slots.change);
	ExecDropSingleTupleTableSlot(slots.row);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	state->resolving = false;
}

void
modify_apply_all(DistModifyState *state)
{
	apply_upserts(state);
	modify_apply_changes(state, &state->pending.deletes);
	modify_apply_changes(state, &state->pending.moves);
	modify_apply_changes(state, &state->pending.updates);
	modify_apply_changes(state, &state->pending.inserts);
}

void
modify_consider_upserts(DistModifyState *state)
{
	if (state->pending.upserts.nchanges == 0)
		return;
	if (state->plan.row_by_row || state->pending.upserts.nchanges >= UPSERT_ROWS || state->pending.upserts.bytes >= modify_round_bytes())
		modify_apply_all(state);
	if (state->plan.arbiters != NIL)
		triggers_write_entries(state->triggers);
}
