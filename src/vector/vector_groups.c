/*-------------------------------------------------------------------------
 *
 * vector_groups.c
 *	  The groups of a ColumnarAggregate, found by the rows of a batch.
 *
 * Groups are in a hash table of the server's, which compares keys by their
 * types' equality.  Most rows don't get there:
 *
 * - If all keys of a chunk group have dictionaries, their codes together are
 *	 the number of the group in an array, which is filled as they come.
 * - Otherwise, keys are compared bit by bit with those that were found
 *	 before, in a table that has one slot for each hash value: keys passed by
 *	 value themselves, codes instead of others.  Keys that are equal but differ
 *	 in bits (0 and -0) have several entries there, for the same group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/foreach.h"
#include "compat/tuple_hash.h"
#include "vector/vector_expression.h"
#include "vector/vector_groups.h"

/* Groups of a chunk group that are found by their codes. */
#define MAX_CODES 65536

/* Slots of keys that were found before; a power of two. */
#define RECENT_KEYS 8192

/* Groups after which their memory is measured. */
#define MEASURE_EVERY 64

/* What a group takes in the hash table's array. */
#define SLOT_BYTES 48

/* Most keys that are remembered. */
#define MAX_RECENT_WORDS 4

typedef struct RecentKey
{
	TransitionState *states;	/* NULL: free */
	uint64		nulls;			/* bit by key */
	uint64		words[MAX_RECENT_WORDS];
} RecentKey;

struct VectorGroups
{
	const VectorAggregatePlan *plan;
	Transition **transitions;
	int			ntransitions;
	MemoryContext context;		/* of the groups */
	MemoryContext temporary;	/* of comparisons */
	TransitionState *only;		/* not grouped: the only group */
	bool		returned;		/* it was */
	TupleHashTable table;
	TupleHashIterator iterator;
	bool		iterating;
	TupleTableSlot *slot;		/* of what a group carries */
	TupleTableSlot *stored;		/* the same, of the table */
	int64		count;
	bool		full;			/* no new one is made */
	RecentKey  *recent;
	bool		recent_of_chunks;	/* words have codes in them */
};

/* A key of a batch: values by row of the chunk group. */
typedef struct KeyVector
{
	const Datum *values;
	const bool *nulls;			/* NULL: none is */
	const uint8 *codes;
	int			ndistinct;
	bool		byval;
	bool		of_chunk;		/* what bits mean depends on the chunk */
} KeyVector;

static void
make_table(VectorGroups *groups, PlanState *parent, TupleDesc tupdesc)
{
	const VectorAggregatePlan *plan = groups->plan;
	AttrNumber *numbers = palloc(plan->nkeys * sizeof(AttrNumber));
	Oid		   *operators = palloc(plan->nkeys * sizeof(Oid));
	Oid		   *collations = palloc(plan->nkeys * sizeof(Oid));
	Oid		   *equal;
	FmgrInfo   *hash;

	for (int i = 0; i < plan->nkeys; i++)
	{
		numbers[i] = i + 1;
		operators[i] = list_nth_oid(plan->operators, i);
		collations[i] = list_nth_oid(plan->collations, i);
	}
	execTuplesHashPrepare(plan->nkeys, operators, &equal, &hash);
	groups->table = BuildTupleHashTable(parent, tupdesc, &TTSOpsVirtual, plan->nkeys, numbers, equal, hash, collations,
										Min(Max(plan->ngroups, 64), 65536), sizeof(void *), CurrentMemoryContext,
										groups->context, groups->temporary, false);
}

VectorGroups *
vector_groups_make(PlanState *parent, const VectorAggregatePlan *plan, TupleDesc tupdesc)
{
	VectorGroups *groups = palloc0(sizeof(VectorGroups));
	TupleDesc	carried = CreateTemplateTupleDesc(plan->ncarried);

	groups->plan = plan;
	groups->context = AllocSetContextCreate(CurrentMemoryContext, "columnar groups", ALLOCSET_DEFAULT_SIZES);
	groups->temporary = AllocSetContextCreate(CurrentMemoryContext, "columnar group keys", ALLOCSET_SMALL_SIZES);
	for (int i = 1; i <= plan->ncarried; i++)
		TupleDescCopyEntry(carried, i, tupdesc, i);
	groups->slot = MakeSingleTupleTableSlot(carried, &TTSOpsVirtual);
	groups->stored = MakeSingleTupleTableSlot(carried, &TTSOpsMinimalTuple);
	if (plan->grouped)
	{
		make_table(groups, parent, carried);
		groups->recent = palloc0(RECENT_KEYS * sizeof(RecentKey));
	}
	return groups;
}

void
vector_groups_set_transitions(VectorGroups *groups, Transition **transitions, int ntransitions)
{
	groups->transitions = transitions;
	groups->ntransitions = ntransitions;
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

		get_typlenbyval(exprType(expr), &column->len, &column->byval);
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
	groups->returned = false;
	groups->iterating = false;
	groups->count = 0;
	groups->full = false;
	if (groups->table != NULL)
	{
		ResetTupleHashTable(groups->table);
		memset(groups->recent, 0, RECENT_KEYS * sizeof(RecentKey));
	}
	MemoryContextReset(groups->context);
}

static TransitionState *
make_states(VectorGroups *groups)
{
	TransitionState *states = MemoryContextAlloc(groups->context, Max(groups->ntransitions, 1) * sizeof(TransitionState));

	for (int i = 0; i < groups->ntransitions; i++)
		transition_state_begin(groups->transitions[i], &states[i]);
	return states;
}

/* The group without keys. */
static TransitionState *
only_group(VectorGroups *groups)
{
	if (groups->only == NULL)
		groups->only = make_states(groups);
	return groups->only;
}

/* Looks from time to time whether the groups fill the memory for them. */
static void
count_group(VectorGroups *groups)
{
	if (++groups->count % MEASURE_EVERY == 0)
		groups->full = MemoryContextMemAllocated(groups->context, true) + groups->count * SLOT_BYTES >
			get_hash_memory_limit();
}

/* The group of what is in the slot, or NULL. */
static TransitionState *
find_group(VectorGroups *groups)
{
	bool		isnew = false;
	TupleHashEntry entry;
	void	  **states = NULL;

	ExecStoreVirtualTuple(groups->slot);
	entry = LookupTupleHashEntry(groups->table, groups->slot, groups->full ? NULL : &isnew, NULL);
	if (entry != NULL)
		states = tuple_hash_additional(groups->table, entry);
	if (isnew)
	{
		*states = make_states(groups);
		count_group(groups);
	}
	MemoryContextReset(groups->temporary);
	return states != NULL ? *states : NULL;
}

TransitionState *
vector_groups_find_row(VectorGroups *groups, const GroupColumn *columns, ScanState *scan)
{
	ExprContext *econtext = scan->ps.ps_ExprContext;

	if (!groups->plan->grouped)
		return only_group(groups);
	ExecClearTuple(groups->slot);
	for (int i = 0; i < groups->plan->ncarried; i++)
		groups->slot->tts_values[i] = ExecEvalExprSwitchContext(columns[i].state, econtext,
																&groups->slot->tts_isnull[i]);
	return find_group(groups);
}

/* The group of a row of a batch, by the table. */
static TransitionState *
find_group_of_row(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, uint32 row)
{
	ResetExprContext(batch->scan->ps.ps_ExprContext);
	for (int i = 0; i < groups->plan->ncarried; i++)
		vector_batch_load_row(batch, columns[i].columns, row);
	return vector_groups_find_row(groups, columns, batch->scan);
}

/* The same of an expression that has a vector form; false if it hasn't now. */
static bool
load_key_vector(const GroupColumn *column, const VectorBatch *batch, KeyVector *key)
{
	Vector		vector;
	Datum	   *values;
	bool	   *nulls;

	if (column->vector == NULL || vector_expression_kind(column->vector) == VECTOR_DATUM ||
		!vector_expression_evaluate(column->vector, batch, &vector))
		return false;
	values = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(Datum));
	nulls = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(bool));
	for (uint32 i = 0; i < batch->count; i++)
	{
		values[batch->rows[i]] = vector.values[i];
		nulls[batch->rows[i]] = vector.nulls != NULL && vector.nulls[i];
	}
	key->values = values;
	key->nulls = nulls;
	key->byval = true;
	key->of_chunk = vector.kind == VECTOR_NUMERIC;	/* its scale is */
	return true;
}

/* The values of a key for the rows of a batch, in the batch's memory. */
static void
load_key(const GroupColumn *column, const VectorBatch *batch, KeyVector *key)
{
	ExprContext *econtext = batch->scan->ps.ps_ExprContext;
	const ColumnVector *vector;
	Datum	   *values;
	bool	   *nulls;

	memset(key, 0, sizeof(KeyVector));
	key->byval = column->byval;
	if (column->column >= 0)
	{
		vector = &batch->reader->vectors[column->column];
		key->values = vector->values;
		key->nulls = vector->has_nulls ? vector->nulls : NULL;
		key->codes = vector->codes;
		key->ndistinct = vector->ndistinct;
		if (vector->integers != NULL)
		{
			key->values = (const Datum *) vector->integers;
			key->byval = true;
		}
		key->of_chunk = !column->byval;
		return;
	}
	if (load_key_vector(column, batch, key) || !column->byval)
		return;
	values = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(Datum));
	nulls = arena_alloc(batch->arena, batch->reader->group_rows * sizeof(bool));
	for (uint32 i = 0; i < batch->count; i++)
	{
		uint32		row = batch->rows[i];

		ResetExprContext(econtext);
		vector_batch_load_row(batch, column->columns, row);
		values[row] = ExecEvalExprSwitchContext(column->state, econtext, &nulls[row]);
	}
	key->values = values;
	key->nulls = nulls;
}

/* All keys have dictionaries with few codes together. */
static bool
find_by_codes(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
			  TransitionState **states)
{
	int			nkeys = groups->plan->nkeys;
	TransitionState **by_code;
	uint32	   *codes;
	uint32		ncodes = 1;

	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].codes == NULL || ncodes * keys[i].ndistinct > MAX_CODES)
			return false;
		ncodes *= keys[i].ndistinct;
	}
	by_code = vector_batch_alloc_zeroed(batch, ncodes * sizeof(TransitionState *));
	codes = vector_batch_alloc_zeroed(batch, batch->count * sizeof(uint32));
	for (int k = 0; k < nkeys; k++)
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
			*slot = find_group_of_row(groups, columns, batch, batch->rows[i]);
		states[i] = *slot;
	}
	return true;
}

/* Whether all keys have bits to compare; those of codes differ by chunk. */
static bool
keys_have_words(const VectorGroups *groups, const KeyVector *keys, bool *of_chunk)
{
	*of_chunk = false;
	for (int i = 0; i < groups->plan->nkeys; i++)
	{
		if (keys[i].values == NULL || (!keys[i].byval && keys[i].codes == NULL))
			return false;
		*of_chunk |= keys[i].of_chunk;
	}
	return groups->plan->nkeys <= MAX_RECENT_WORDS;
}

/* Keys as words of a row; the rest are 0. */
static inline void
make_words(const KeyVector *keys, int nkeys, uint32 row, RecentKey *wanted)
{
	for (int k = 0; k < nkeys; k++)
	{
		bool		isnull = keys[k].nulls != NULL && keys[k].nulls[row];

		wanted->nulls |= (uint64) isnull << k;
		wanted->words[k] = isnull ? 0 : keys[k].byval ? keys[k].values[row] : keys[k].codes[row];
	}
}

static void
find_by_words(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch, const KeyVector *keys,
			  TransitionState **states)
{
	int			nkeys = groups->plan->nkeys;

	for (uint32 i = 0; i < batch->count; i++)
	{
		RecentKey	wanted = {0};
		RecentKey  *recent;
		uint64		hash;

		make_words(keys, nkeys, batch->rows[i], &wanted);
		hash = wanted.nulls;
		for (int k = 0; k < nkeys; k++)
			hash = (hash ^ wanted.words[k]) * UINT64CONST(0x9E3779B97F4A7C15);
		recent = &groups->recent[(hash >> 32) % RECENT_KEYS];
		wanted.states = recent->states;
		if (recent->states == NULL || memcmp(&wanted, recent, offsetof(RecentKey, words) + nkeys * sizeof(uint64)) != 0)
		{
			wanted.states = find_group_of_row(groups, columns, batch, batch->rows[i]);
			if (wanted.states != NULL)
				*recent = wanted;
		}
		states[i] = wanted.states;
	}
}

void
vector_groups_find(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch,
				   TransitionState **states)
{
	KeyVector  *keys;
	bool		of_chunk;

	if (!groups->plan->grouped)
	{
		TransitionState *only = only_group(groups);

		for (uint32 i = 0; i < batch->count; i++)
			states[i] = only;
		return;
	}
	keys = arena_alloc(batch->arena, groups->plan->nkeys * sizeof(KeyVector));
	for (int i = 0; i < groups->plan->nkeys; i++)
		load_key(&columns[i], batch, &keys[i]);
	if (find_by_codes(groups, columns, batch, keys, states))
		return;
	if (keys_have_words(groups, keys, &of_chunk))
	{
		if (of_chunk || groups->recent_of_chunks)
			memset(groups->recent, 0, RECENT_KEYS * sizeof(RecentKey));
		groups->recent_of_chunks = of_chunk;
		find_by_words(groups, columns, batch, keys, states);
		return;
	}
	for (uint32 i = 0; i < batch->count; i++)
		states[i] = find_group_of_row(groups, columns, batch, batch->rows[i]);
}

TransitionState *
vector_groups_next(VectorGroups *groups, TupleTableSlot *slot)
{
	TupleHashEntry entry;

	if (!groups->plan->grouped)
	{
		if (groups->returned)
			return NULL;
		groups->returned = true;
		return only_group(groups);
	}
	if (!groups->iterating)
		InitTupleHashIterator(groups->table, &groups->iterator);
	groups->iterating = true;
	entry = ScanTupleHashTable(groups->table, &groups->iterator);
	if (entry == NULL)
		return NULL;
	ExecStoreMinimalTuple(entry->firstTuple, groups->stored, false);
	slot_getallattrs(groups->stored);
	memcpy(slot->tts_values, groups->stored->tts_values, groups->plan->ncarried * sizeof(Datum));
	memcpy(slot->tts_isnull, groups->stored->tts_isnull, groups->plan->ncarried * sizeof(bool));
	return *tuple_hash_additional(groups->table, entry);
}
