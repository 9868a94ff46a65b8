/*-------------------------------------------------------------------------
 *
 * modify_change.c
 *	  From a row of the table to its change.
 *
 * BEFORE ROW triggers are called here, since the row that they leave
 * determines the shard.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"

#include "executor/cursor.h"
#include "executor/modify.h"
#include "sharding/hash.h"

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

int
modify_stored_shard(DistModifyState *state, Datum *values, bool *nulls)
{
	AttrNumber	dist = state->table->dist_attno;

	return dist == 0 ? 0 :
		shard_index_of_stored(state->table, values[dist - 1], nulls[dist - 1]);
}

bool
modify_add_update(DistModifyState *state, TupleTableSlot *child, int shard, const RowIdentity *identity,
				  HeapTuple old, Datum *values, bool *nulls)
{
	int			new_shard = shard;

	if (state->triggers != NULL && !triggers_before_update(state->triggers, old, values, nulls))
		return false;
	modify_check_new_row(state, values, nulls);
	if (state->plan.moves_rows)
		new_shard = modify_stored_shard(state, values, nulls);
	if (new_shard == shard && !state->plan.replaces_rows)
		modify_add_change(state, &state->pending.updates, shard, identity, values, nulls, child);
	else
	{
		cursor_row_moves(state->plan.relid);
		modify_add_change(state, &state->pending.moves, shard, identity, NULL, NULL, child);
		modify_add_change(state, &state->pending.inserts, new_shard, identity, values, nulls, child);
	}
	if (state->triggers != NULL)
		triggers_after_update(state->triggers, old, values, nulls);
	return true;
}
