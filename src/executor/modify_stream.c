/*-------------------------------------------------------------------------
 *
 * modify_stream.c
 *	  INSERTs of many rows, which are sent like those of COPY.
 *
 * DistributedModify applies changes by statements whose parameters are arrays
 * of rows, which works for any change, but is slow for many rows.  For an
 * INSERT without RETURNING, ON CONFLICT, triggers and policies, rows only have
 * to be stored.  If more rows are pending than citus.insert_stream_threshold,
 * the node begins a stream (src/copy/row_router.c), sends the pending rows
 * first, and then the child's rows as they come, without collecting them.
 *
 * The child must not see rows that are already stored.  The server's own scans
 * use the statement's snapshot.  If there are scans of distributed tables, or
 * functions that may run queries (ModifyPlan.reads_first), the child is read
 * to its end before the stream begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "executor/modify.h"
#include "executor/read_ahead.h"

const InsertStreamMethods *insert_stream_methods = NULL;

/* citus.insert_stream_threshold, in kB */
static int	insert_stream_threshold = 64;

void
modify_stream_init(void)
{
	DefineCustomIntVariable("citus.insert_stream_threshold",
							"Sets how large an INSERT .. SELECT must be for its rows to be sent as COPY sends them.",
							"0 has all be sent so, -1 none. Rows of statements with RETURNING, ON CONFLICT, triggers "
							"or row-level security are not.",
							&insert_stream_threshold, 64, -1, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/*
 * Whether the table's nodes accept the rows by COPY, which supports no
 * policies and no view owners.
 */
static bool
copy_may_store(const DistModifyState *state)
{
	Oid			user = state->plan.traits.check_as;

	return (!OidIsValid(user) || user == GetUserId()) &&
		check_enable_rls(state->plan.relid, InvalidOid, true) != RLS_ENABLED;
}

/* Puts the pending rows into the stream. */
static void
put_waiting(DistModifyState *state)
{
	TupleTableSlot *change = MakeSingleTupleTableSlot(state->pending.desc, &TTSOpsMinimalTuple);
	TupleTableSlot *row = MakeSingleTupleTableSlot(state->row_desc, &TTSOpsVirtual);

	for (int shard = 0; shard < state->table->nshards; shard++)
	{
		Tuplestorestate *store = state->pending.inserts.stores[shard];

		while (store != NULL && tuplestore_gettupleslot(store, true, false, change))
		{
			bool		isnull;

			modify_deform_row(state, slot_getattr(change, CHANGE_NEW_ROW + 1, &isnull), row->tts_values,
							  row->tts_isnull);
			ExecStoreVirtualTuple(row);
			insert_stream_methods->put(state->stream, row);
			ExecClearTuple(row);
		}
	}
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(change);
	modify_end_changes(state, &state->pending.inserts);
}

void
modify_stream_consider(DistModifyState *state)
{
	MemoryContext old_context;

	if (insert_stream_threshold < 0 || state->pending.inserts.bytes < (Size) insert_stream_threshold * 1024)
		return;
	if (!copy_may_store(state))
	{
		state->plan.streams = false;
		return;
	}
	old_context = MemoryContextSwitchTo(state->context);
	if (state->plan.reads_first)
		modify_read_input(state);
	read_ahead_all(state->css.ss.ps.state);
	state->stream_rel = table_open(state->plan.relid, NoLock);
	state->stream = insert_stream_methods->begin(state->stream_rel, modify_buffer_bytes());
	put_waiting(state);
	MemoryContextSwitchTo(old_context);
}

void
modify_stream_put(DistModifyState *state, TupleTableSlot *row)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	insert_stream_methods->put(state->stream, row);
	MemoryContextSwitchTo(old_context);
}

void
modify_stream_end(DistModifyState *state)
{
	uint64		rows;

	if (state->stream == NULL)
		return;
	rows = insert_stream_methods->end(state->stream);
	if (state->plan.can_set_tag)
		state->css.ss.ps.state->es_processed += rows;
	table_close(state->stream_rel, NoLock);
	state->stream = NULL;
}
