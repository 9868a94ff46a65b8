/*-------------------------------------------------------------------------
 *
 * vector_groups.c
 *	  The groups of a ColumnarAggregate, found by the rows of a batch.
 *
 * Groups are in blocks of memory, in the order in which they came: what each
 * carries, then its states.  A table of their numbers is looked up by the hash
 * values of the keys, which are computed for a batch at a time.
 *
 * If all keys of a chunk group have dictionaries, their codes together are
 * the number of the group in an array, which is filled as they come.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "columnar/scaled_numeric.h"
#include "compat/foreach.h"
#include "compat/varlena.h"
#include "vector/vector_expression.h"
#include "vector/vector_groups.h"
#include "vector/vector_keys.h"

/* Groups of a chunk group that are found by their codes. */
#define MAX_CODES 65536

/* Groups of a block; after each block, their memory is measured. */
#define BLOCK_GROUPS 64

/* Of what groups carry that is passed by reference. */
#define BYTES_BLOCK 4096

/* Slots of a new table, powers of two. */
#define LEAST_SLOTS 256
#define MOST_FIRST_SLOTS 65536

/* Rows between asking for a slot and using it. */
#define SLOTS_AHEAD 8

typedef struct GroupSlot
{
	uint32		hash;			/* its lower half */
	uint32		number;			/* of the group, from 1; 0: free */
} GroupSlot;

/* A group is this, then its states. */
typedef struct GroupLayout
{
	Size		nulls_at;		/* of the values before */
	Size		words_at;		/* of numeric keys, by key */
	Size		states_at;
	Size		size;
} GroupLayout;

struct VectorGroups
{
	const VectorAggregatePlan *plan;
	VectorKey  *keys;
	TupleDesc	tupdesc;		/* its first columns are what groups carry */
	Transition **transitions;
	int			ntransitions;
	GroupLayout layout;
	MemoryContext context;		/* of the groups */
	MemoryContext temporary;	/* of comparisons */
	TransitionState *only;		/* not grouped: the only group */
	GroupSlot  *slots;			/* NULL: no group was made */
	uint32		nslots;
	char	  **blocks;
	int			blocks_room;
	uint32		count;
	uint32		returned;		/* by vector_groups_next() */
	char	   *bytes;			/* free ones */
	Size		bytes_left;
	bool		full;			/* no new one is made */
	Datum	   *values;			/* a new one's; those of a single row */
	bool	   *nulls;
	KeyVector  *row_keys;		/* of a single row */
	Arena	   *row_arena;
};

VectorGroups *
vector_groups_make(const VectorAggregatePlan *plan, TupleDesc tupdesc)
{
	VectorGroups *groups = palloc0(sizeof(VectorGroups));
	int			ncarried = plan->ncarried;

	groups->plan = plan;
	groups->tupdesc = tupdesc;
	groups->context = AllocSetContextCreate(CurrentMemoryContext, "columnar groups", ALLOCSET_DEFAULT_SIZES);
	groups->temporary = AllocSetContextCreate(CurrentMemoryContext, "columnar group keys", ALLOCSET_SMALL_SIZES);
	groups->values = palloc0(Max(ncarried, 1) * sizeof(Datum));
	groups->nulls = palloc0(Max(ncarried, 1) * sizeof(bool));
	if (plan->grouped)
	{
		groups->keys = vector_keys_make(tupdesc, plan->operators, plan->collations);
		groups->row_keys = palloc(plan->nkeys * sizeof(KeyVector));
		groups->row_arena = arena_make();
	}
	return groups;
}

void
vector_groups_set_transitions(VectorGroups *groups, Transition **transitions, int ntransitions)
{
	GroupLayout *layout = &groups->layout;

	groups->transitions = transitions;
	groups->ntransitions = ntransitions;
	layout->nulls_at = groups->plan->ncarried * sizeof(Datum);
	layout->words_at = MAXALIGN(layout->nulls_at + groups->plan->ncarried * sizeof(bool));
	layout->states_at = layout->words_at;
	for (int i = 0; i < groups->plan->nkeys; i++)
	{
		if (groups->keys[i].kind == KEY_NUMERIC)
			layout->states_at = layout->words_at + groups->plan->nkeys * sizeof(uint64);
	}
	layout->size = layout->states_at + transition_states_lay_out(transitions, ntransitions);
}

/* The column that an expression is, maybe varchar as text; -1: none. */
static int
column_of_key(Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return IsA(expr, Var) ? ((Var *) expr)->varattno - 1 : -1;
}

GroupColumn *
vector_groups_columns(List *exprs, ScanState *scan)
{
	GroupColumn *columns = palloc0(Max(list_length(exprs), 1) * sizeof(GroupColumn));
	int			count = 0;

	foreach_ptr(Node, expr, exprs)
	{
		GroupColumn *column = &columns[count++];

		column->column = column_of_key(expr);
		column->columns = vector_batch_columns(expr, scan);
		column->state = ExecInitExpr((Expr *) expr, &scan->ps);
		if (column->column < 0)
			column->vector = vector_expression_make(expr, scan);
	}
	return columns;
}

bool
vector_groups_are_full(const VectorGroups *groups)
{
	return groups->full;
}

MemoryContext
vector_groups_context(const VectorGroups *groups)
{
	return groups->context;
}

void
vector_groups_reset(VectorGroups *groups)
{
	groups->only = NULL;
	groups->slots = NULL;
	groups->nslots = 0;
	groups->blocks = NULL;
	groups->blocks_room = 0;
	groups->count = 0;
	groups->returned = 0;
	groups->bytes = NULL;
	groups->bytes_left = 0;
	groups->full = false;
	MemoryContextReset(groups->context);
}

static void
begin_states(VectorGroups *groups, TransitionState *states)
{
	for (int i = 0; i < groups->ntransitions; i++)
		transition_state_begin(groups->transitions[i], transition_state_of(groups->transitions[i], states));
}

/* The group without keys. */
static TransitionState *
only_group(VectorGroups *groups)
{
	if (groups->only == NULL)
	{
		groups->only = MemoryContextAlloc(groups->context, Max(groups->layout.size, 1));
		begin_states(groups, groups->only);
	}
	return groups->only;
}

static char *
group_by_number(const VectorGroups *groups, uint32 number)
{
	return groups->blocks[number / BLOCK_GROUPS] + (number % BLOCK_GROUPS) * groups->layout.size;
}

/* Makes the table of slots, or one of twice the size if there is memory. */
static void
grow_slots(VectorGroups *groups)
{
	GroupSlot  *old = groups->slots;
	uint32		nold = groups->nslots;
	uint32		nslots = LEAST_SLOTS;

	while (nold == 0 && nslots < MOST_FIRST_SLOTS && nslots * sizeof(GroupSlot) * 16 < get_hash_memory_limit() &&
		   nslots < groups->plan->ngroups)
		nslots *= 2;
	if (nold > 0)
		nslots = nold * 2;
	if (nold >= PG_UINT32_MAX / 2 ||
		(nold > 0 && MemoryContextMemAllocated(groups->context, true) + nslots * sizeof(GroupSlot) >
		 get_hash_memory_limit()))
	{
		groups->full = true;
		return;
	}
	groups->slots = MemoryContextAllocExtended(groups->context, nslots * sizeof(GroupSlot),
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	groups->nslots = nslots;
	for (uint32 i = 0; i < nold; i++)
	{
		uint32		at = old[i].hash & (nslots - 1);

		if (old[i].number == 0)
			continue;
		while (groups->slots[at].number != 0)
			at = (at + 1) & (nslots - 1);
		groups->slots[at] = old[i];
	}
	if (old != NULL)
		pfree(old);
}

/* Makes room for a block of groups, after it has looked at their memory. */
static void
add_block(VectorGroups *groups)
{
	int			number = groups->count / BLOCK_GROUPS;

	groups->full = number > 0 && MemoryContextMemAllocated(groups->context, true) > get_hash_memory_limit();
	if (number >= groups->blocks_room)
	{
		Size		room = Max(groups->blocks_room * 2, 16);

		groups->blocks = groups->blocks == NULL ? MemoryContextAlloc(groups->context, room * sizeof(char *)) :
			repalloc_huge(groups->blocks, room * sizeof(char *));
		groups->blocks_room = (int) room;
	}
	groups->blocks[number] = MemoryContextAllocHuge(groups->context, BLOCK_GROUPS * Max(groups->layout.size, 1));
}

/* Copies a value that a group carries into the memory of groups. */
static Datum
copy_to_group(VectorGroups *groups, Form_pg_attribute att, Datum value)
{
	Size		len;
	char	   *copy;
	bool		aligned;

	if (att->attbyval)
		return value;
	if (att->attlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
	{
		MemoryContext old = MemoryContextSwitchTo(groups->context);

		value = datumCopy(value, false, -1);
		MemoryContextSwitchTo(old);
		return value;
	}
	len = datumGetSize(value, false, att->attlen);
	aligned = att->attlen != -1 || !VARATT_IS_SHORT(DatumGetPointer(value));
	if (len + MAXIMUM_ALIGNOF > groups->bytes_left)
	{
		groups->bytes_left = Max(len + MAXIMUM_ALIGNOF, BYTES_BLOCK);
		groups->bytes = MemoryContextAllocHuge(groups->context, groups->bytes_left);
	}
	copy = aligned ? (char *) MAXALIGN(groups->bytes) : groups->bytes;
	memcpy(copy, DatumGetPointer(value), len);
	groups->bytes_left -= copy + len - groups->bytes;
	groups->bytes = copy + len;
	return PointerGetDatum(copy);
}

/* Makes a group, which carries what is in groups->values. */
static TransitionState *
make_group(VectorGroups *groups, const KeyVector *keys, uint32 row)
{
	const GroupLayout *layout = &groups->layout;
	int			nkeys = groups->plan->nkeys;
	char	   *group;

	if (groups->count % BLOCK_GROUPS == 0)
		add_block(groups);
	group = group_by_number(groups, groups->count);
	for (int i = 0; i < groups->plan->ncarried; i++)
	{
		bool		isnull = groups->nulls[i];

		((bool *) (group + layout->nulls_at))[i] = isnull;
		((Datum *) group)[i] = isnull ? 0 : copy_to_group(groups, TupleDescAttr(groups->tupdesc, i), groups->values[i]);
		if (i < nkeys && keys[i].words != NULL)
			((uint64 *) (group + layout->words_at))[i] = isnull ? 0 : keys[i].words[row];
	}
	begin_states(groups, (TransitionState *) (group + layout->states_at));
	groups->count++;
	return (TransitionState *) (group + layout->states_at);
}

static bool
group_has_keys(const VectorGroups *groups, const char *group, const KeyVector *keys, uint32 row)
{
	const GroupLayout *layout = &groups->layout;

	for (int k = 0; k < groups->plan->nkeys; k++)
	{
		bool		isnull = keys[k].nulls != NULL && keys[k].nulls[row];
		uint64		word = keys[k].words != NULL ? ((uint64 *) (group + layout->words_at))[k] : 0;

		if (((bool *) (group + layout->nulls_at))[k] != isnull ||
			(!isnull && !vector_key_equals(&groups->keys[k], &keys[k], row, ((Datum *) group)[k], word)))
			return false;
	}
	return true;
}

/*
 * The states of the group with a row's keys; NULL: there is none, and *slot is
 * the free one where it belongs.
 */
static inline TransitionState *
look_up_group(VectorGroups *groups, const KeyVector *keys, uint32 row, uint64 hash, GroupSlot **slot)
{
	uint32		at = (uint32) hash & (groups->nslots - 1);

	for (;; at = (at + 1) & (groups->nslots - 1))
	{
		char	   *group;

		*slot = &groups->slots[at];
		if ((*slot)->number == 0)
			return NULL;
		if ((*slot)->hash != (uint32) hash)
			continue;
		group = group_by_number(groups, (*slot)->number - 1);
		if (group_has_keys(groups, group, keys, row))
			return (TransitionState *) (group + groups->layout.states_at);
	}
}

/* Evaluates what a group carries, from a column on, on the scan tuple. */
static void
evaluate_carried(VectorGroups *groups, const GroupColumn *columns, int first, ExprContext *econtext)
{
	for (int i = first; i < groups->plan->ncarried; i++)
		groups->values[i] = ExecEvalExprSwitchContext(columns[i].state, econtext, &groups->nulls[i]);
}

/* Puts what a row's group carries into groups->values. */
static void
load_carried(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
			 uint32 row)
{
	int			nkeys = groups->plan->nkeys;

	for (int k = 0; k < nkeys; k++)
	{
		groups->nulls[k] = keys[k].nulls != NULL && keys[k].nulls[row];
		groups->values[k] = groups->nulls[k] ? 0 : vector_key_value(&keys[k], row);
	}
	if (nkeys == groups->plan->ncarried)
		return;
	ResetExprContext(batch->scan->ps.ps_ExprContext);
	for (int i = nkeys; i < groups->plan->ncarried; i++)
		vector_batch_load_row(batch, columns[i].columns, row);
	evaluate_carried(groups, columns, nkeys, batch->scan->ps.ps_ExprContext);
}

/*
 * The group of a row, a new one if need be and there is memory.  Without a
 * batch, what a new one carries is in groups->values.
 */
static TransitionState *
find_group(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
		   uint32 row, uint64 hash)
{
	GroupSlot  *slot;
	TransitionState *states;

	if (groups->count * UINT64CONST(4) >= groups->nslots * UINT64CONST(3) && !groups->full)
		grow_slots(groups);
	states = look_up_group(groups, keys, row, hash, &slot);
	if (states != NULL || groups->full)
		return states;
	if (batch != NULL)
		load_carried(groups, columns, batch, keys, row);
	states = make_group(groups, keys, row);
	slot->hash = (uint32) hash;
	slot->number = groups->count;
	return states;
}

TransitionState *
vector_groups_find_row(VectorGroups *groups, const GroupColumn *columns, ScanState *scan, uint64 *hash)
{
	int			nkeys = groups->plan->nkeys;
	uint32		row = 0;
	TransitionState *states;
	MemoryContext old;

	*hash = 0;
	if (!groups->plan->grouped)
		return only_group(groups);
	evaluate_carried(groups, columns, 0, scan->ps.ps_ExprContext);
	old = MemoryContextSwitchTo(groups->temporary);
	memset(groups->row_keys, 0, nkeys * sizeof(KeyVector));
	for (int k = 0; k < nkeys; k++)
	{
		if (!groups->nulls[k])
			groups->values[k] = vector_key_plain(&groups->keys[k], groups->values[k]);
		groups->row_keys[k].values = &groups->values[k];
		groups->row_keys[k].nulls = &groups->nulls[k];
	}
	arena_reset(groups->row_arena);
	vector_keys_hash(groups->keys, groups->row_keys, nkeys, &row, 1, 1, groups->row_arena, hash);
	states = find_group(groups, columns, NULL, groups->row_keys, row, *hash);
	MemoryContextSwitchTo(old);
	MemoryContextReset(groups->temporary);
	return states;
}

/* The values of a key that an array operation makes; false if it can't. */
static bool
load_key_vector(const GroupColumn *column, const VectorBatch *batch, KeyVector *key)
{
	Vector		vector;
	Datum	   *values;
	bool	   *nulls;

	if (column->vector == NULL || vector_expression_kind(column->vector) == VECTOR_DATUM ||
		!vector_expression_evaluate(column->vector, batch, &vector))
		return false;
	if (vector.kind == VECTOR_NUMERIC &&
		(vector.scale > SCALED_MAX_SCALE || vector.least <= -SCALED_LIMIT || vector.greatest >= SCALED_LIMIT))
		return false;
	values = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(Datum));
	nulls = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(bool));
	for (uint32 i = 0; i < batch->count; i++)
	{
		values[batch->rows[i]] = vector.values[i];
		nulls[batch->rows[i]] = vector.nulls != NULL && vector.nulls[i];
	}
	key->nulls = nulls;
	if (vector.kind == VECTOR_NUMERIC)
	{
		key->integers = (int64 *) values;
		key->scale = vector.scale;
	}
	else
		key->values = values;
	return true;
}

/* The values of a key that is an expression, row by row. */
static void
evaluate_key(const GroupColumn *column, const VectorKey *kind, const VectorBatch *batch, KeyVector *key)
{
	ExprContext *econtext = batch->scan->ps.ps_ExprContext;
	Datum	   *values = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(Datum));
	bool	   *nulls = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(bool));

	for (uint32 i = 0; i < batch->count; i++)
	{
		uint32		row = batch->rows[i];
		Datum		value;

		ResetExprContext(econtext);
		vector_batch_load_row(batch, column->columns, row);
		value = ExecEvalExprSwitchContext(column->state, econtext, &nulls[row]);
		if (!nulls[row])
			value = vector_key_plain(kind, value);
		if (!nulls[row] && !kind->byval)
		{
			Size		len = datumGetSize(value, false, kind->len);
			char	   *copy = arena_alloc(batch->arena, len);

			memcpy(copy, DatumGetPointer(value), len);
			value = PointerGetDatum(copy);
		}
		values[row] = value;
	}
	key->values = values;
	key->nulls = nulls;
}

/* The values of a key for the rows of a batch, in the batch's memory. */
static void
load_key(const GroupColumn *column, const VectorKey *kind, const VectorBatch *batch, KeyVector *key)
{
	const ColumnVector *vector;

	memset(key, 0, sizeof(KeyVector));
	if (column->column < 0)
	{
		if (!load_key_vector(column, batch, key))
			evaluate_key(column, kind, batch, key);
		return;
	}
	vector = &batch->reader->vectors[column->column];
	key->values = vector->integers == NULL ? vector->values : NULL;
	key->integers = vector->integers;
	key->scale = vector->scale;
	key->nulls = vector->has_nulls ? vector->nulls : NULL;
	key->codes = vector->codes;
	key->ndistinct = vector->ndistinct;
}

/* Whether all keys have dictionaries with few codes together. */
static bool
keys_have_few_codes(const KeyVector *keys, int nkeys, uint32 *ncodes)
{
	*ncodes = 1;
	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].codes == NULL || *ncodes * keys[i].ndistinct > MAX_CODES)
			return false;
		*ncodes *= keys[i].ndistinct;
	}
	return true;
}

/* Finds the groups by the codes of dictionaries. */
static void
find_by_codes(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
			  uint32 ncodes, const uint64 *hashes, TransitionState **states)
{
	TransitionState **by_code = vector_batch_alloc_zeroed(batch, ncodes * sizeof(TransitionState *));
	uint32	   *codes = vector_batch_alloc_zeroed(batch, batch->count * sizeof(uint32));

	for (int k = 0; k < groups->plan->nkeys; k++)
	{
		const uint8 *key_codes = keys[k].codes;
		uint32		factor = keys[k].ndistinct;

		for (uint32 i = 0; i < batch->count; i++)
			codes[i] = codes[i] * factor + key_codes[batch->rows[i]];
	}
	for (uint32 i = 0; i < batch->count; i++)
	{
		TransitionState **slot = &by_code[codes[i]];

		if (*slot == NULL)
			*slot = find_group(groups, columns, batch, keys, batch->rows[i], hashes[i]);
		states[i] = *slot;
	}
}

static void
find_by_hashes(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
			   const uint64 *hashes, TransitionState **states)
{
	for (uint32 i = 0; i < batch->count; i++)
	{
		if (i + SLOTS_AHEAD < batch->count && groups->slots != NULL)
			__builtin_prefetch(&groups->slots[(uint32) hashes[i + SLOTS_AHEAD] & (groups->nslots - 1)]);
		states[i] = find_group(groups, columns, batch, keys, batch->rows[i], hashes[i]);
	}
}

const uint64 *
vector_groups_find(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch,
				   TransitionState **states)
{
	int			nkeys = groups->plan->nkeys;
	KeyVector  *keys;
	uint64	   *hashes;
	uint32		ncodes;
	MemoryContext old;

	if (!groups->plan->grouped)
	{
		TransitionState *only = only_group(groups);

		for (uint32 i = 0; i < batch->count; i++)
			states[i] = only;
		return NULL;
	}
	old = MemoryContextSwitchTo(groups->temporary);
	keys = arena_alloc(batch->arena, nkeys * sizeof(KeyVector));
	for (int i = 0; i < nkeys; i++)
		load_key(&columns[i], &groups->keys[i], batch, &keys[i]);
	hashes = arena_alloc(batch->arena, batch->count * sizeof(uint64));
	vector_keys_hash(groups->keys, keys, nkeys, batch->rows, batch->count, batch->reader->group_rows, batch->arena,
					 hashes);
	if (keys_have_few_codes(keys, nkeys, &ncodes))
		find_by_codes(groups, columns, batch, keys, ncodes, hashes, states);
	else
		find_by_hashes(groups, columns, batch, keys, hashes, states);
	MemoryContextSwitchTo(old);
	MemoryContextReset(groups->temporary);
	return hashes;
}

TransitionState *
vector_groups_next(VectorGroups *groups, const Datum **values, const bool **nulls)
{
	char	   *group;

	if (!groups->plan->grouped)
	{
		*values = groups->values;
		*nulls = groups->nulls;
		return groups->returned++ == 0 ? only_group(groups) : NULL;
	}
	if (groups->returned == groups->count)
		return NULL;
	group = group_by_number(groups, groups->returned++);
	*values = (Datum *) group;
	*nulls = (bool *) (group + groups->layout.nulls_at);
	return (TransitionState *) (group + groups->layout.states_at);
}
