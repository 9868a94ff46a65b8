/*-------------------------------------------------------------------------
 *
 * modify_apply.c
 *	  Applying the collected changes of a DistributedModify.
 *
 * Changes are sent in rounds: a batch for each of some or all shards, in
 * parallel.  A batch is one statement with arrays of rows as parameters.
 *
 * Memory: citus.write_buffer_size is for all of it, whatever the number of
 * shards.  Half is for pending changes, in a tuplestore per kind and shard,
 * and a quarter for those of a round, which exist as tuples and as arrays; a
 * batch per connection is being sent.  A tuplestore has a minimum of memory,
 * and a batch has at least one row.
 *
 * ON CONFLICT DO UPDATE must not write a row twice.  Within a batch the server
 * checks that.  If there are several rounds, the nodes are told that the
 * statement begins, and refuse rows written since (upsert_rows.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/heap.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"

#include "catalog/node.h"
#include "executor/modify.h"
#include "executor/reference_write.h"
#include "executor/row_texts.h"
#include "executor/scan_tasks.h"
#include "executor/task_set.h"
#include "executor/upsert_rows.h"
#include "resolve/tag.h"
#include "txn/transaction.h"

/*
 * A batch ends with this many rows, if not with its share of the round's
 * memory.
 */
#define BATCH_ROWS 5000

/* The least share of a round, since each statement has a cost. */
#define MIN_BATCH_BYTES (64 * 1024)

/* Whether the changes of one kind go out in one round. */
static bool
is_one_round(DistModifyState *state, ChangeList *changes)
{
	return state->plan.resolves || changes->bytes <= modify_round_bytes();
}

/* Whether a batch takes any number of rows. */
static bool
takes_any_number(DistModifyState *state, ChangeList *changes)
{
	return state->plan.resolves || (state->plan.do_update && is_one_round(state, changes));
}

/*
 * Reads the next batch of a shard into memory; NULL if there is none.  Adds
 * its size to *bytes.
 */
static Batch *
read_batch(Tuplestorestate *store, Size max_bytes, int max_rows, TupleTableSlot *slot, Size *total)
{
	Batch	   *batch = palloc0(sizeof(Batch));
	int			allocated = 64;
	Size		bytes = 0;

	batch->changes = palloc(sizeof(MinimalTuple) * allocated);
	while (batch->nchanges < max_rows && bytes < max_bytes && tuplestore_gettupleslot(store, true, false, slot))
	{
		MinimalTuple change = ExecCopySlotMinimalTuple(slot);

		if (batch->nchanges == allocated)
		{
			allocated *= 2;
			batch->changes = repalloc_huge(batch->changes, sizeof(MinimalTuple) * allocated);
		}
		batch->changes[batch->nchanges++] = change;
		bytes += change->t_len;
	}
	*total += bytes;
	return batch->nchanges > 0 ? batch : NULL;
}

/* A column of a batch as an array. */
static Datum
batch_array(DistModifyState *state, Batch *batch, int column, TupleTableSlot *slot)
{
	Oid			type = TupleDescAttr(state->pending.desc, column)->atttypid;
	ArrayBuildState *array = initArrayResult(type, CurrentMemoryContext, true);

	for (int i = 0; i < batch->nchanges; i++)
	{
		bool		isnull;
		Datum		value;

		ExecStoreMinimalTuple(batch->changes[i], slot, false);
		value = slot_getattr(slot, column + 1, &isnull);
		array = accumArrayResult(array, value, isnull, type, CurrentMemoryContext);
	}
	ExecClearTuple(slot);
	return makeArrayResult(array, CurrentMemoryContext);
}

static void
set_batch_param(ParamListInfo params, int index, Oid type, Datum value, bool isnull)
{
	params->params[index].ptype = type;
	params->params[index].value = value;
	params->params[index].isnull = isnull;
	params->params[index].pflags = PARAM_FLAG_CONST;
}

static void
set_array_param(DistModifyState *state, ParamListInfo params, int index, Batch *batch, int column,
				TupleTableSlot *slot)
{
	set_batch_param(params, index, get_array_type(TupleDescAttr(state->pending.desc, column)->atttypid),
			  batch_array(state, batch, column, slot), false);
}

/* The batch's new rows as a parameter. */
static void
set_rows_param(DistModifyState *state, ParamListInfo params, int index, Batch *batch, TupleTableSlot *slot)
{
	Datum	   *rows;

	if (!state->plan.row_texts)
	{
		set_array_param(state, params, index, batch, CHANGE_NEW_ROW, slot);
		return;
	}
	rows = palloc(sizeof(Datum) * batch->nchanges);
	for (int i = 0; i < batch->nchanges; i++)
	{
		bool		isnull;

		ExecStoreMinimalTuple(batch->changes[i], slot, false);
		rows[i] = slot_getattr(slot, CHANGE_NEW_ROW + 1, &isnull);
	}
	set_batch_param(params, index, TEXTARRAYOID, row_texts_make(state->row_desc, rows, batch->nchanges), false);
	ExecClearTuple(slot);
}

/* The parameters of an INSERT: rows, then what ON CONFLICT needs. */
static ParamListInfo
insert_params(DistModifyState *state, ChangeList *changes, Batch *batch, TupleTableSlot *slot)
{
	List	   *exprs = ((CustomScan *) state->css.ss.ps.plan)->custom_exprs;
	bool		plain = state->plan.resolves && changes == &state->pending.inserts;
	int			nconflict = plain ? 0 : state->plan.nconflict_params;
	ParamListInfo params = makeParamList(1 + nconflict);

	set_rows_param(state, params, 0, batch, slot);
	for (int i = 0; i < nconflict; i++)
	{
		bool		isnull;
		Datum		value = ExecEvalExpr((ExprState *) list_nth(state->expr_states, i),
										 state->css.ss.ps.ps_ExprContext, &isnull);

		set_batch_param(params, 1 + i, exprType(list_nth(exprs, i)), value, isnull);
	}
	return params;
}

/*
 * The parameters of an UPDATE or DELETE: identities, then new rows, then
 * partitions or keys.
 */
static ParamListInfo
change_params(DistModifyState *state, Batch *batch, bool with_rows, TupleTableSlot *slot)
{
	bool		with_partitions = state->partitioned;
	int			nkeys = list_length(state->plan.key_attnos);
	ParamListInfo params = makeParamList(1 + with_rows + with_partitions + nkeys);

	set_array_param(state, params, 0, batch, CHANGE_IDENTITY, slot);
	if (with_rows)
		set_rows_param(state, params, 1, batch, slot);
	if (with_partitions)
		set_array_param(state, params, 1 + with_rows, batch, CHANGE_PARTITION, slot);
	for (int i = 0; i < nkeys; i++)
		set_array_param(state, params, 1 + with_rows + i, batch, state->pending.desc->natts - nkeys + i, slot);
	return params;
}

/*
 * Columns that the text returns: an ordinal if there is one, an upsert text's
 * columns about conflicts, and the target's.
 */
static TupleDesc
result_columns(DistModifyState *state, ChangeList *changes)
{
	List	   *types = NIL;
	List	   *typmods = NIL;

	if (!changes->returns)
		return NULL;
	if (changes->has_ordinal)
	{
		types = lappend_int(types, INT8OID);
		typmods = lappend_int(typmods, -1);
	}
	if (changes == &state->pending.upserts)
	{
		types = list_concat(types, list_make2_int(TIDOID, (int) modify_returned_row_type(state)));
		typmods = list_concat(typmods, list_make2_int(-1, -1));
	}
	foreach_int(attno, list_concat_copy(state->plan.attnos, state->plan.old_attnos))
	{
		const FormData_pg_attribute *attribute;

		if (attno > 0)
			attribute = TupleDescAttr(state->row_desc, attno - 1);
		else if (attno < 0)
			attribute = SystemAttributeDefinition((AttrNumber) attno);
		else
			attribute = NULL;
		types = lappend_int(types, (int) (attribute ? attribute->atttypid : modify_returned_row_type(state)));
		typmods = lappend_int(typmods, attribute ? attribute->atttypmod : -1);
	}
	return scan_columns(types, typmods);
}

/*
 * Which change of its batch a returned row belongs to; NULL and a number in
 * order of arrival if unknown.
 */
static MinimalTuple
find_change(DistModifyState *state, ChangeList *changes, Batch *batch, TupleTableSlot *row,
			TupleTableSlot *change_slot, int64 *sequence)
{
	int64		index = changes->has_ordinal ? DatumGetInt64(row->tts_values[0]) - 1 :
		batch->returned;
	bool		isnull;

	batch->returned++;
	if (index < 0 || index >= batch->nchanges)
		elog(ERROR, "a task returned a row that was not asked for");
	ExecStoreMinimalTuple(batch->changes[index], change_slot, false);
	*sequence = state->plan.may_skip && !changes->has_ordinal ? state->sequence++ :
		DatumGetInt64(slot_getattr(change_slot, CHANGE_SEQUENCE + 1, &isnull));
	return batch->changes[index];
}

Batch *
modify_round_batch(Round *round, Task *task)
{
	foreach_ptr(Batch, batch, round->batches)
	{
		if (batch->task == task)
			return batch;
	}
	elog(ERROR, "a task returned a row that was not asked for");
}

/*
 * Notes a row that an INSERT or UPDATE has written, so that a later conflict
 * with it is seen.
 */
static void
note_written(DistModifyState *state, ChangeList *changes, Batch *batch, TupleTableSlot *row)
{
	int			position = changes->nfixed + modify_returned_position(state, SelfItemPointerAttributeNumber);

	(void) modify_first_change(state, batch->shard, (ItemPointer) DatumGetPointer(row->tts_values[position]));
}

/* Reads what the tasks of a round return. */
static void
read_results(DistModifyState *state, ChangeList *changes, Round *round, TupleTableSlot *change_slot)
{
	TaskSet    *set = task_set_start(&round->spec);
	TupleTableSlot *row = MakeSingleTupleTableSlot(round->spec.columns, &TTSOpsVirtual);
	Task	   *task;

	while (task_set_next(set, row, &task))
	{
		Batch	   *batch = modify_round_batch(round, task);
		int64		sequence;
		MinimalTuple change = find_change(state, changes, batch, row, change_slot, &sequence);

		if (state->plan.notes_written)
			note_written(state, changes, batch, row);
		modify_add_output(state, changes, change, sequence, row, change_slot);
	}
	ExecDropSingleTupleTableSlot(row);
	task_set_end(set);
}

/* Without RETURNING the tasks return no rows. */
static void
run_change_tasks(DistModifyState *state, TaskSetSpec *spec)
{
	TaskSet    *set = task_set_start(spec);

	(void) task_set_finish(set);
	task_set_end(set);
}

/*
 * Errors if a row that the statement was to change has been changed by one of
 * its triggers.
 */
static void
check_untouched(DistModifyState *state, ChangeList *changes, List *batches)
{
	foreach_ptr(Batch, batch, batches)
	{
		if (batch->task->processed < batch->nchanges)
			ereport(ERROR,
					(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					 errmsg("tuple to be %s was already modified by an operation triggered by the current command",
							state->plan.command == CMD_DELETE ? "deleted" : "updated"),
					 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes "
							 "to other rows.")));
	}
}

/* Whether policies decide which rows may be written. */
static bool
has_policies(DistModifyState *state)
{
	return check_enable_rls(state->plan.relid, state->plan.traits.check_as, true) == RLS_ENABLED;
}

/*
 * Errors because a policy has prevented the write of a row that the
 * statement's child has returned.
 */
static void
complain_of_policy(DistModifyState *state)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("target row violates row-level security policy (USING expression) for table \"%s\"",
					get_rel_name(state->plan.relid)),
			 state->plan.moves_rows ?
			 errdetail("A row that moves to another shard is deleted and inserted, which policies must allow.") : 0));
}

/*
 * Errors because a row of a reference table was not written: it has changed
 * meanwhile, or a policy forbids MERGE to write it.
 */
static void
complain_of_missing_row(DistModifyState *state)
{
	Oid			relid = state->plan.relid;

	if (state->plan.command == CMD_MERGE && has_policies(state))
		complain_of_policy(state);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("A row of reference table \"%s\" was changed while the statement computed its new value.",
					   get_rel_name(relid))));
}

/*
 * Errors if a locked row was not written and policies may be the reason: those
 * for MERGE's actions and for ON CONFLICT, which the child doesn't check.
 */
static void
check_policies(DistModifyState *state, List *batches)
{
	foreach_ptr(Batch, batch, batches)
		if (batch->task->processed < batch->nchanges && has_policies(state))
			complain_of_policy(state);
}

/*
 * Adds the round to the statement's count; complains if a reference table's
 * row was not written.
 */
static void
count_round(DistModifyState *state, ChangeList *changes, List *tasks, List *batches)
{
	foreach_ptr(Task, task, tasks)
	{
		if (state->table->kind == DIST_REFERENCE && changes->has_ordinal &&
			task->processed < ((Batch *) linitial(batches))->nchanges)
			complain_of_missing_row(state);
		if (changes->counts && state->plan.can_set_tag && task->keep_rows)
			state->css.ss.ps.state->es_processed += task->processed;
	}
}

/* The task of this node among those for a reference table. */
static Task *
own_task(List *tasks)
{
	foreach_ptr(Task, task, tasks)
	{
		if (task->keep_rows)
			return task;
	}
	return linitial(tasks);
}

/* Makes the tasks for a batch. */
static void
add_tasks(DistModifyState *state, ChangeList *changes, Batch *batch, TupleTableSlot *change_slot, TaskSetSpec *spec)
{
	ParamListInfo params = changes == &state->pending.inserts || changes == &state->pending.upserts ?
		insert_params(state, changes, batch, change_slot) :
		change_params(state, batch, changes == &state->pending.updates, change_slot);

	if (state->table->kind == DIST_REFERENCE)
	{
		spec->tasks = reference_tasks(state->table, changes->text, params);
		spec->first_alone = true;
		batch->task = own_task(spec->tasks);
		return;
	}
	batch->task = task_make(state->table, batch->shard, changes->text, params);
	spec->tasks = lappend(spec->tasks, batch->task);
}

/* Whether RETURNING is a list of columns, whose evaluation can't fail. */
static bool
text_returns_columns(DistModifyState *state)
{
	foreach_ptr(TargetEntry, entry, state->css.ss.ps.plan->targetlist)
	{
		if (!IsA(entry->expr, Var))
			return false;
	}
	return state->plan.checks == NIL;
}

/* Whether a round of one batch is its client's whole transaction. */
static bool
modify_commits_by_itself(DistModifyState *state, ChangeList *changes, List *batches)
{
	const PlannedStmt *statement = state->css.ss.ps.state->es_plannedstmt;

	return changes == &state->pending.inserts && state->table->kind != DIST_REFERENCE &&
		list_length(batches) == 1 && ((Batch *) linitial(batches))->nchanges == changes->nchanges &&
		state->triggers == NULL && (!changes->returns || text_returns_columns(state)) &&
		statement->planTree == state->css.ss.ps.plan && !statement->hasModifyingCTE &&
		txn_is_one_statement(statement, state->css.ss.ps.ps_ResultTupleDesc);
}

void
modify_round_begin(DistModifyState *state, ChangeList *changes, TupleTableSlot *change_slot, Round *round)
{
	int			nshards = Max(state->table->nshards, 1);
	bool		one_round = is_one_round(state, changes);
	Size		share = one_round ? MaxAllocHugeSize : Max(modify_round_bytes() / nshards, MIN_BATCH_BYTES);
	int			max_rows = takes_any_number(state, changes) ? INT_MAX : BATCH_ROWS;
	Size		bytes = 0;

	memset(round, 0, sizeof(Round));
	round->spec.table = state->table;
	round->spec.write = true;
	round->spec.latest = true;
	round->spec.traits = state->plan.traits;
	if (changes == &state->pending.inserts || changes == &state->pending.upserts)
		round->spec.traits.flags &= ~TASK_FILTERED;
	if (changes == &state->pending.moves || (state->plan.moves_rows && changes == &state->pending.inserts))
		round->spec.traits.flags |= TASK_ALLOWED;
	if (changes == &state->pending.moves)
		round->spec.traits.flags |= TASK_MOVES;
	for (int i = 0; i < nshards && (one_round || bytes < modify_round_bytes()); i++)
	{
		int			shard = changes->next_shard;
		Batch	   *batch = NULL;

		changes->next_shard = (shard + 1) % nshards;
		if (changes->stores[shard] != NULL)
			batch = read_batch(changes->stores[shard], share, max_rows, change_slot, &bytes);
		if (batch == NULL)
			continue;
		batch->shard = shard;
		add_tasks(state, changes, batch, change_slot, &round->spec);
		round->batches = lappend(round->batches, batch);
	}
	if (round->batches == NIL)
		return;
	round->spec.columns = result_columns(state, changes);
	round->spec.commits = modify_commits_by_itself(state, changes, round->batches);
}

/* One batch of each shard that has changes left; false if there was none. */
static bool
run_round(DistModifyState *state, ChangeList *changes, TupleTableSlot *change_slot)
{
	Round		round;

	modify_round_begin(state, changes, change_slot, &round);
	if (round.batches == NIL)
		return false;
	if (round.spec.columns != NULL)
		read_results(state, changes, &round, change_slot);
	else
		run_change_tasks(state, &round.spec);
	if (changes->has_ordinal && state->table->kind != DIST_REFERENCE &&
		(state->plan.command == CMD_MERGE || state->plan.resolves))
		check_policies(state, round.batches);
	if (state->triggers != NULL && changes->has_ordinal && state->table->kind != DIST_REFERENCE)
		check_untouched(state, changes, round.batches);
	count_round(state, changes, round.spec.tasks, round.batches);
	return true;
}

/*
 * Tells all nodes that get rows that the statement begins to write: later
 * batches must not write its rows again.
 */
static void
announce_upserts(DistModifyState *state, ChangeList *changes)
{
	List	   *groups = NIL;

	if (state->table->kind == DIST_REFERENCE)
	{
		foreach_ptr(ClusterNode, node, node_active_primaries())
			groups = lappend_int(groups, node->groupid);
	}
	else
	{
		for (int shard = 0; shard < state->table->nshards; shard++)
			if (changes->stores[shard] != NULL)
				groups = list_append_unique_int(groups, state->table->shards[shard].groupid);
	}
	list_sort(groups, list_int_cmp);
	foreach_int(groupid, groups)
	{
		if (groupid == metadata_local_group())
			upsert_rows_begin();
		else
			remote_exec(groupid, "SELECT citus_internal.upsert_begin()");
	}
}

void
modify_apply_changes(DistModifyState *state, ChangeList *changes)
{
	MemoryContext context;
	MemoryContext old_context;
	TupleTableSlot *change_slot;
	bool		more = changes->nchanges > 0;

	if (!more)
		return;
	if (changes == &state->pending.inserts && state->plan.again_text != NULL && !is_one_round(state, changes))
	{
		announce_upserts(state, changes);
		changes->text = state->plan.again_text;
	}
	context = AllocSetContextCreate(state->context, "citus changes", ALLOCSET_DEFAULT_SIZES);
	change_slot = MakeSingleTupleTableSlot(state->pending.desc, &TTSOpsMinimalTuple);
	while (more)
	{
		old_context = MemoryContextSwitchTo(context);
		more = run_round(state, changes, change_slot);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(context);
	}
	ExecDropSingleTupleTableSlot(change_slot);
	MemoryContextDelete(context);
	modify_end_changes(state, changes);
}

