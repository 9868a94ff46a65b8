/*-------------------------------------------------------------------------
 *
 * modify_pending.c
 *	  The changes of a DistributedModify that wait to be applied.
 *
 * They are in tuplestores, one per kind and shard.  Which rows of the target
 * the statement has changed is known for its whole duration.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "compat/tuple_desc.h"
#include "executor/modify.h"

/* The minimal memory of a tuplestore. */
#define MIN_STORE_KILOBYTES 32

/*
 * citus.write_buffer_size, in kB; an array of rows can't have more than 1 GB
 */
static int	write_buffer_size = 16 * 1024;

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

void
modify_pending_init(void)
{
	DefineCustomIntVariable("citus.write_buffer_size",
							"Sets the memory that a write to a distributed table may use for rows under way.",
							"For INSERT .. SELECT and other writes whose rows are computed before they are sent.",
							&write_buffer_size, 16 * 1024, 256, 1024 * 1024, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/*
 * Kilobytes that the changes of one kind and shard may take before they go to
 * disk.
 */
static int
store_kilobytes(const DistModifyState *state)
{
	return Max(write_buffer_size / 2 / Max(state->table->nshards, 1), MIN_STORE_KILOBYTES);
}

Size
modify_buffer_bytes(void)
{
	return (Size) write_buffer_size * 1024;
}

Size
modify_round_bytes(void)
{
	return modify_buffer_bytes() / 4;
}

/*
 * What another write of the statement to the same table has changed, or NULL.
 */
static HTAB *
shared_seen(DistModifyState *state)
{
	foreach_ptr(PlanState, other, state->css.ss.ps.state->es_auxmodifytables)
		if (is_dist_modify(other->plan) && ((DistModifyState *) other)->plan.relid == state->plan.relid)
			return ((DistModifyState *) other)->pending.seen;
	return NULL;
}

/*
 * The descriptor of changes: fixed columns, those that RETURNING takes from
 * the child, and the key's.
 */
static TupleDesc
make_change_desc(DistModifyState *state, TupleDesc child_desc)
{
	List	   *resnos = state->plan.column_resnos;
	AttrNumber	next = CHANGE_OTHERS + list_length(resnos);
	TupleDesc	desc = CreateTemplateTupleDesc(next + list_length(state->plan.key_attnos));

	TupleDescInitEntry(desc, CHANGE_SEQUENCE + 1, "sequence", INT8OID, -1, 0);
	TupleDescInitEntry(desc, CHANGE_IDENTITY + 1, "identity",
					   state->table->kind == DIST_REFERENCE ? BYTEAOID : TIDOID, -1, 0);
	TupleDescInitEntry(desc, CHANGE_NEW_ROW + 1, "new_row", state->row_type, -1, 0);
	TupleDescInitEntry(desc, CHANGE_PARTITION + 1, "partition", INT8OID, -1, 0);
	for (int i = 0; i < list_length(resnos); i++)
	{
		int			resno = list_nth_int(resnos, i);

		/* columns that do not come from the child have a position, too */
		TupleDescInitEntry(desc, CHANGE_OTHERS + i + 1, NULL,
						   resno > 0 ? TupleDescAttr(child_desc, resno - 1)->atttypid : INT4OID, -1, 0);
	}
	foreach_int(attno, state->plan.key_attnos)
		TupleDescInitEntry(desc, ++next, NULL, TupleDescAttr(state->row_desc, attno - 1)->atttypid, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

static void
init_changes(DistModifyState *state, ChangeList *changes, const char *text)
{
	changes->text = text;
	changes->has_ordinal = true;
	changes->nfixed = 1;
	changes->returns = state->plan.has_returning || state->plan.notes_written;
	changes->counts = true;
	changes->stores = palloc0(sizeof(Tuplestorestate *) * Max(state->table->nshards, 1));
}

void
modify_begin_pending(DistModifyState *state)
{
	HASHCTL		control = {.keysize = sizeof(RowGroupKey),.entrysize = sizeof(RowGroup)};

	state->pending.desc = make_change_desc(state, ExecGetResultType(state->input.child));
	init_changes(state, &state->pending.inserts, state->plan.insert_text);
	init_changes(state, &state->pending.updates, state->plan.update_text);
	init_changes(state, &state->pending.deletes, state->plan.delete_text);
	init_changes(state, &state->pending.moves, state->plan.move_text);
	init_changes(state, &state->pending.upserts, state->plan.upsert_text);
	state->pending.upserts.nfixed = UPSERT_FIXED_COLUMNS;
	state->pending.inserts.has_ordinal = false;
	state->pending.inserts.nfixed = 0;
	state->pending.moves.returns = false;
	state->pending.moves.counts = false;
	state->pending.seen = shared_seen(state);
	if (state->pending.seen != NULL)
		return;
	control.hcxt = CurrentMemoryContext;
	state->pending.seen = hash_create("citus rows changed", 256, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
modify_add_change(DistModifyState *state, ChangeList *changes, int shard, const RowIdentity *identity,
				  Datum *values, bool *nulls, TupleTableSlot *child)
{
	int			natts = state->pending.desc->natts;
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
		changes->stores[shard] = tuplestore_begin_heap(false, false, store_kilobytes(state));
	tuplestore_putvalues(changes->stores[shard], state->pending.desc, change, change_nulls);
	changes->nchanges++;
	changes->bytes += heap_compute_data_size(state->pending.desc, change, change_nulls);
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
	RowGroup   *group = hash_search(state->pending.seen, &key, make ? HASH_ENTER : HASH_FIND, &found);

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

void
modify_end_changes(DistModifyState *state, ChangeList *changes)
{
	for (int i = 0; i < Max(state->table->nshards, 1); i++)
	{
		if (changes->stores[i] != NULL)
			tuplestore_end(changes->stores[i]);
		changes->stores[i] = NULL;
	}
	changes->nchanges = 0;
	changes->bytes = 0;
	changes->next_shard = 0;
}

void
modify_end_pending(DistModifyState *state)
{
	modify_end_changes(state, &state->pending.inserts);
	modify_end_changes(state, &state->pending.updates);
	modify_end_changes(state, &state->pending.deletes);
	modify_end_changes(state, &state->pending.moves);
	modify_end_changes(state, &state->pending.upserts);
}
