/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  A hash table of the rows that a scan keeps for its runs.
 *
 * A run of a scan in a correlated subquery mostly asks for the rows with one
 * value of a column (b.parent = a.id).  The value is hashed by the function
 * that belongs to the equality, so the table returns all rows that can
 * satisfy it; the scan then evaluates all filters of the run.
 *
 * If a LookAhead knows the values of the next runs, the rows for these are
 * kept: a batch, which is larger the more batches there were.  A run whose
 * value isn't one of the batch, bit by bit, doesn't use it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/foreach.h"
#include "executor/kept_rows.h"
#include "executor/look_ahead_run.h"
#include "executor/scan_tasks.h"
#include "planner/look_ahead.h"

typedef struct KeptRow
{
	struct KeptRow *next;		/* in its bucket, in the order of the rows */
	uint32		hash;
	MinimalTuple row;
} KeptRow;

typedef struct KeptValue
{
	struct KeptValue *next;		/* in its bucket */
	uint32		hash;
	Datum		value;
} KeptValue;

/* How many values the first batch has, and any batch may have. */
#define FIRST_BATCH 16
#define MOST_VALUES 1024
#define BATCH_GROWTH 8

/* How often the nodes are asked for the rows of one value before that. */
#define ASKED_BEFORE_BATCH 1

struct KeptIndex
{
	AttrNumber	attno;			/* the column */
	ExprState  *value;			/* what it is compared with */
	FmgrInfo	hash_column;
	FmgrInfo	hash_value;
	Oid			collation;
	uint32		nrows;
	uint32		nbuckets;		/* a power of 2; 0: not built */
	KeptRow   **first;			/* of each bucket */
	KeptRow   **last;
	KeptRow    *next;			/* to be looked at by this run */
	uint32		hash;			/* of this run's value */

	/* of a batch: */
	Oid			type;			/* of its values */
	int16		typlen;
	bool		typbyval;
	char		typalign;
	int			nvalues;
	Datum	   *values;
	KeptValue **buckets;		/* MOST_VALUES: the same */
};

void
kept_rows_init(DistScanState *state, List *filters)
{
	const Scan *plan = (const Scan *) state->css.ss.ps.plan;

	/* a row in the table has no ctid */
	foreach_int(position, state->plan.positions)
		if (position < 0)
			return;
	foreach_ptr(OpExpr, op, filters)
	{
		bool		column_is_left;
		RegProcedure left;
		RegProcedure right;
		struct KeptIndex *index;

		if (!is_lookup(op, plan->scanrelid, &column_is_left) || !get_op_hash_functions(op->opno, &left, &right))
			continue;
		index = palloc0(sizeof(struct KeptIndex));
		index->type = exprType(list_nth(op->args, column_is_left ? 1 : 0));
		get_typlenbyvalalign(index->type, &index->typlen, &index->typbyval, &index->typalign);
		index->attno = ((Var *) list_nth(op->args, column_is_left ? 0 : 1))->varattno;
		index->value = ExecInitExpr(list_nth(op->args, column_is_left ? 1 : 0), &state->css.ss.ps);
		fmgr_info(column_is_left ? left : right, &index->hash_column);
		fmgr_info(column_is_left ? right : left, &index->hash_value);
		index->collation = op->inputcollid;
		state->kept.index = index;
		if (state->plan.look_ahead > 0)
		{
			state->batch.index = palloc(sizeof(struct KeptIndex));
			*state->batch.index = *index;
			state->batch_size = FIRST_BATCH;
		}
		return;
	}
}

/* Adds a row at the end of its bucket. */
static void
add_kept_row(struct KeptIndex *index, uint32 hash, MinimalTuple tuple)
{
	KeptRow    *row = palloc(sizeof(KeptRow));
	uint32		bucket = hash & (index->nbuckets - 1);

	*row = (KeptRow) {NULL, hash, tuple};
	if (index->last[bucket] != NULL)
		index->last[bucket]->next = row;
	else
		index->first[bucket] = row;
	index->last[bucket] = row;
}

/* Doubles the number of buckets, or makes the first ones. */
static void
make_buckets(struct KeptIndex *index)
{
	struct KeptIndex old = *index;

	index->nbuckets = Max(old.nbuckets * 2, 1024);
	index->first = palloc0(sizeof(KeptRow *) * index->nbuckets);
	index->last = palloc0(sizeof(KeptRow *) * index->nbuckets);
	for (uint32 i = 0; i < old.nbuckets; i++)
	{
		for (KeptRow *row = old.first[i], *next; row != NULL; row = next)
		{
			next = row->next;
			add_kept_row(index, row->hash, row->row);
			pfree(row);
		}
	}
}

/* The hash of a value, which is computed in the memory of one row. */
static uint32
hash_of(FmgrInfo *function, Oid collation, Datum value, ExprContext *econtext)
{
	MemoryContext old_context = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(function, collation, value));

	MemoryContextSwitchTo(old_context);
	return murmurhash32(hash);
}

/* Puts all rows into the table. */
static void
build_kept_index(DistScanState *state, KeptRows *rows)
{
	struct KeptIndex *index = rows->index;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext old_context = MemoryContextSwitchTo(rows->context);

	index->nrows = 0;
	make_buckets(index);
	task_set_rewind(rows->set);
	while (scan_next_row(state, rows->set, slot, 0))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, index->attno, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;			/* equal to nothing */
		ResetExprContext(econtext);
		if (++index->nrows > index->nbuckets)
			make_buckets(index);
		add_kept_row(index, hash_of(&index->hash_column, index->collation, value, econtext), ExecCopySlotMinimalTuple(slot));
	}
	MemoryContextSwitchTo(old_context);
	ExecClearTuple(slot);
}

/* This run's value, and its hash; false if it is NULL. */
static bool
evaluate_value(DistScanState *state, struct KeptIndex *index, Datum *value)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		isnull;

	*value = ExecEvalExprSwitchContext(index->value, econtext, &isnull);
	if (!isnull)
		index->hash = hash_of(&index->hash_value, index->collation, *value, econtext);
	return !isnull;
}

void
kept_rows_begin_run(DistScanState *state)
{
	struct KeptIndex *index = state->found_in->index;
	Datum		value;

	if (index->nbuckets == 0)
		build_kept_index(state, state->found_in);
	index->next = NULL;
	if (evaluate_value(state, index, &value))
		index->next = index->first[index->hash & (index->nbuckets - 1)];
}

bool
kept_rows_next(DistScanState *state, TupleTableSlot *slot)
{
	struct KeptIndex *index = state->found_in->index;

	while (index->next != NULL && index->next->hash != index->hash)
		index->next = index->next->next;
	if (index->next == NULL)
		return false;
	ExecForceStoreMinimalTuple(index->next->row, slot, false);
	index->next = index->next->next;
	return true;
}

/* Whether a batch has just this value, of index->hash. */
static bool
has_value(const struct KeptIndex *index, Datum value)
{
	for (const KeptValue *one = index->buckets[index->hash % MOST_VALUES]; one != NULL; one = one->next)
		if (one->hash == index->hash && datum_image_eq(one->value, value, index->typbyval, index->typlen))
			return true;
	return false;
}

/*
 * Adds the value that the parameters now give to the batch; a callback of
 * look_ahead.
 */
static void
add_batch_value(void *arg)
{
	DistScanState *state = arg;
	struct KeptIndex *index = state->batch.index;
	MemoryContext old_context;
	KeptValue  *one;
	Datum		value;

	if (evaluate_value(state, index, &value) && !has_value(index, value) && index->nvalues < MOST_VALUES)
	{
		old_context = MemoryContextSwitchTo(state->batch.context);
		one = palloc(sizeof(KeptValue));
		one->hash = index->hash;
		one->value = datumCopy(value, index->typbyval, index->typlen);
		one->next = index->buckets[one->hash % MOST_VALUES];
		index->buckets[one->hash % MOST_VALUES] = one;
		index->values[index->nvalues++] = one->value;
		MemoryContextSwitchTo(old_context);
	}
	ResetExprContext(state->css.ss.ps.ps_ExprContext);
}

/* Makes the batch that of this run's value and the next ones, without rows. */
static void
collect_values(DistScanState *state)
{
	struct KeptIndex *index = state->batch.index;

	scan_forget_rows(&state->batch);
	MemoryContextReset(scan_rows_context(state, &state->batch));
	index->nbuckets = 0;
	index->nvalues = 0;
	index->values = MemoryContextAlloc(state->batch.context, sizeof(Datum) * MOST_VALUES);
	index->buckets = MemoryContextAllocZero(state->batch.context, sizeof(KeptValue *) * MOST_VALUES);
	add_batch_value(state);
	look_ahead(state->css.ss.ps.state, state->plan.look_ahead, state->batch_size, add_batch_value, state);
}

/* The values of the batch, as an array. */
static ParamExternData
array_of_values(const DistScanState *state)
{
	struct KeptIndex *index = state->batch.index;
	MemoryContext old_context = MemoryContextSwitchTo(state->batch.context);
	ArrayType  *array = construct_array(index->values, index->nvalues, index->type, index->typlen, index->typbyval,
										index->typalign);

	MemoryContextSwitchTo(old_context);
	return (ParamExternData) {
		.value = PointerGetDatum(array),.pflags = PARAM_FLAG_CONST,.ptype = get_array_type(index->type)
	};
}

bool
kept_rows_in_batch(DistScanState *state, int most)
{
	struct KeptIndex *index = state->batch.index;
	ParamExternData array;
	Datum		value;

	if (index == NULL || !evaluate_value(state, index, &value))
		return false;
	if (state->batch.set != NULL && has_value(index, value))
		return true;
	if (state->batch_size == 0 || state->asked < ASKED_BEFORE_BATCH)
		return false;
	collect_values(state);
	if (index->nvalues < 2)
		return false;
	array = array_of_values(state);
	if (!scan_keep_rows(state, &state->batch, &array, most))
	{
		state->batch_size = state->batch_size > FIRST_BATCH ? state->batch_size / BATCH_GROWTH : 0;
		return false;
	}
	build_kept_index(state, &state->batch);
	state->largest_batch = Max(state->largest_batch, index->nvalues);
	if (index->nrows <= most / BATCH_GROWTH)
		state->batch_size = Min(state->batch_size * BATCH_GROWTH, MOST_VALUES - 1);
	return true;
}
