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
#include "utils/lsyscache.h"

#include "executor/cursor.h"
#include "executor/modify.h"
#include "planner/foreign_key.h"
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
		check_may_move(state);
		cursor_row_moves(state->plan.relid);
		state->nmoved++;
		modify_add_change(state, &state->pending.deletes, shard, identity, NULL, NULL, child);
		modify_add_change(state, &state->pending.inserts, new_shard, NULL, values, nulls, child);
	}
	if (state->triggers != NULL)
		triggers_after_update(state->triggers, old, values, nulls);
	return true;
}
