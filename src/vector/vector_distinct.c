/*-------------------------------------------------------------------------
 *
 * vector_distinct.c
 *	  The different values of an aggregate with DISTINCT, by group.
 *
 * Pairs of a group and a value are in a hash table.  When it has filled the
 * memory for hash tables, it stays as it is, and further pairs that aren't in
 * it are sorted in the end (on disk, if need be), where equal ones are
 * neighbours.  So no pair counts twice, and memory is bounded.
 *
 * Only aggregates whose result doesn't depend on the order of values are
 * computed so, of types whose values are equal if their bytes are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "columnar/column_chunk.h"
#include "compat/varlena.h"
#include "vector/vector_distinct.h"

/* Slots of a new table; a power of two. */
#define FIRST_SLOTS 1024

typedef struct DistinctPair
{
	TransitionState *states;	/* of the group; NULL: the slot is free */
	Datum		value;
} DistinctPair;

struct VectorDistinct
{
	Transition *transition;
	Oid			type;
	bool		is_text;
	MemoryContext context;		/* of the table and its values */
	DistinctPair *slots;
	uint64		nslots;
	uint64		count;
	bool		full;
	Tuplesortstate *kept;		/* pairs that had no room, or NULL */
	TupleDesc	tupdesc;		/* of these: address of the states, value */
	TupleTableSlot *slot;
};

bool
vector_distinct_can(const Aggref *aggref)
{
	Oid			type;

	switch (aggref->aggfnoid)
	{
		case F_COUNT_ANY:
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
			break;
		default:
			return false;
	}
	if (list_length(aggref->args) != 1)
		return false;
	type = exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
	if (type == TEXTOID)
		return OidIsValid(aggref->inputcollid) && get_collation_isdeterministic(aggref->inputcollid);
	return column_is_ordered_as_integer(type);
}

VectorDistinct *
vector_distinct_make(Transition *transition)
{
	VectorDistinct *distinct = palloc0(sizeof(VectorDistinct));

	distinct->transition = transition;
	distinct->type = exprType((Node *) linitial_node(TargetEntry, transition->aggref->args)->expr);
	distinct->is_text = distinct->type == TEXTOID;
	distinct->context = AllocSetContextCreate(CurrentMemoryContext, "distinct values", ALLOCSET_DEFAULT_SIZES);
	distinct->tupdesc = CreateTemplateTupleDesc(2);
	TupleDescInitEntry(distinct->tupdesc, 1, "group", INT8OID, -1, 0);
	TupleDescInitEntry(distinct->tupdesc, 2, "value", distinct->type, -1, 0);
	distinct->slot = MakeSingleTupleTableSlot(distinct->tupdesc, &TTSOpsMinimalTuple);
	return distinct;
}

static bool
pair_equals(const VectorDistinct *distinct, const DistinctPair *pair, const TransitionState *states, Datum value)
{
	Size		len;

	if (pair->states != states)
		return false;
	if (pair->value == value || !distinct->is_text)
		return pair->value == value;
	len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	return VARSIZE_ANY_EXHDR(DatumGetPointer(pair->value)) == len &&
		memcmp(VARDATA_ANY(DatumGetPointer(pair->value)), VARDATA_ANY(DatumGetPointer(value)), len) == 0;
}

/* The slot of a pair, or the free one where it belongs. */
static DistinctPair *
find_pair(const VectorDistinct *distinct, const TransitionState *states, Datum value)
{
	uint64		hash = (uint64) (uintptr_t) states;
	uint64		at;

	hash ^= distinct->is_text ? hash_bytes((unsigned char *) VARDATA_ANY(DatumGetPointer(value)),
										   (int) VARSIZE_ANY_EXHDR(DatumGetPointer(value))) : (uint64) value;
	hash *= UINT64CONST(0x9E3779B97F4A7C15);
	at = (hash >> 20) & (distinct->nslots - 1);
	while (distinct->slots[at].states != NULL && !pair_equals(distinct, &distinct->slots[at], states, value))
		at = (at + 1) & (distinct->nslots - 1);
	return &distinct->slots[at];
}

/* Makes room for more pairs, if there is memory. */
static void
grow_distinct_table(VectorDistinct *distinct)
{
	DistinctPair *old = distinct->slots;
	uint64		nold = distinct->nslots;
	uint64		nslots = Max(nold * 2, FIRST_SLOTS);

	if (MemoryContextMemAllocated(distinct->context, false) + nslots * sizeof(DistinctPair) > get_hash_memory_limit() &&
		nold > 0)
	{
		distinct->full = true;
		return;
	}
	distinct->slots = MemoryContextAllocExtended(distinct->context, nslots * sizeof(DistinctPair),
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	distinct->nslots = nslots;
	for (uint64 i = 0; i < nold; i++)
	{
		if (old[i].states != NULL)
			*find_pair(distinct, old[i].states, old[i].value) = old[i];
	}
	if (old != NULL)
		pfree(old);
}

static void
keep_pair(VectorDistinct *distinct, TransitionState *states, Datum value)
{
	if (distinct->kept == NULL)
	{
		AttrNumber	numbers[2] = {1, 2};
		Oid			operators[2] = {Int8LessOperator, lookup_type_cache(distinct->type, TYPECACHE_LT_OPR)->lt_opr};
		Oid			collations[2] = {InvalidOid, distinct->is_text ? C_COLLATION_OID : InvalidOid};
		bool		nulls_first[2] = {false, false};
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(distinct));

		distinct->kept = tuplesort_begin_heap(distinct->tupdesc, 2, numbers, operators, collations, nulls_first, work_mem,
											  NULL, TUPLESORT_NONE);
		MemoryContextSwitchTo(old);
	}
	ExecClearTuple(distinct->slot);
	ExecForceStoreHeapTuple(heap_form_tuple(distinct->tupdesc, (Datum[])
											{
												Int64GetDatum((int64) (uintptr_t) states), value
	}
											,(bool[])
											{
												false, false
	}), distinct->slot, true);
	tuplesort_puttupleslot(distinct->kept, distinct->slot);
}

bool
vector_distinct_add(VectorDistinct *distinct, TransitionState *states, Datum value)
{
	DistinctPair *pair;

	if (!distinct->full && distinct->count * 4 >= distinct->nslots * 3)
		grow_distinct_table(distinct);
	pair = find_pair(distinct, states, value);
	if (pair->states != NULL)
		return false;
	if (distinct->full)
	{
		keep_pair(distinct, states, value);
		return false;
	}
	pair->states = states;
	pair->value = value;
	if (distinct->is_text)
	{
		MemoryContext old = MemoryContextSwitchTo(distinct->context);

		pair->value = datumCopy(value, false, -1);
		MemoryContextSwitchTo(old);
	}
	distinct->count++;
	return true;
}

/* Whether a value of the sorted ones is another than the one before. */
static bool
value_differs(const VectorDistinct *distinct, Datum one, Datum other)
{
	DistinctPair pair = {NULL, one};

	return !pair_equals(distinct, &pair, NULL, other);
}

void
vector_distinct_finish(VectorDistinct *distinct)
{
	Transition *transition = distinct->transition;
	NullableDatum *arg = &transition->call->args[1];
	int64		group = 0;
	Datum		last = 0;
	bool		isnull;

	if (distinct->kept == NULL)
		return;
	tuplesort_performsort(distinct->kept);
	while (tuplesort_gettupleslot(distinct->kept, true, true, distinct->slot, NULL))
	{
		int64		states = DatumGetInt64(slot_getattr(distinct->slot, 1, &isnull));
		Datum		value = slot_getattr(distinct->slot, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (states == group && !value_differs(distinct, last, value))
			continue;
		if (distinct->is_text && group != 0)
			pfree(DatumGetPointer(last));
		group = states;
		last = distinct->is_text ? datumCopy(value, false, -1) : value;
		arg->value = last;
		arg->isnull = false;
		transition_advance(transition, &((TransitionState *) (uintptr_t) states)[transition->number]);
	}
	ExecClearTuple(distinct->slot);
	tuplesort_end(distinct->kept);
	distinct->kept = NULL;
}

void
vector_distinct_reset(VectorDistinct *distinct)
{
	ExecClearTuple(distinct->slot);
	if (distinct->kept != NULL)
		tuplesort_end(distinct->kept);
	distinct->kept = NULL;
	MemoryContextReset(distinct->context);
	distinct->slots = NULL;
	distinct->nslots = 0;
	distinct->count = 0;
	distinct->full = false;
}
