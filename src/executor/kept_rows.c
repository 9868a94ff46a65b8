/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  A hash table of the rows that a scan keeps for all its runs.
 *
 * A run of a scan in a correlated subquery mostly asks for the rows with one
 * value of a column (b.parent = a.id).  The value is hashed by the function
 * that belongs to the equality, so the table returns all rows that can
 * satisfy it; the scan then evaluates all filters of the run.  Rows stay in
 * the scan's keep_context.
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
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/foreach.h"
#include "executor/kept_rows.h"
#include "executor/scan_tasks.h"

typedef struct KeptRow
{
	struct KeptRow *next;		/* in its bucket, in the order of the rows */
	uint32		hash;
	MinimalTuple row;
} KeptRow;

struct KeptIndex
{
	AttrNumber	attno;			/* the column */
	ExprState  *value;			/* what it is compared with */
	FmgrInfo	hash_column;
	FmgrInfo	hash_value;
	Oid			collation;
	uint32		nbuckets;		/* a power of 2; 0: not built */
	KeptRow   **first;			/* of each bucket */
	KeptRow   **last;
	KeptRow    *next;			/* to be looked at by this run */
	uint32		hash;			/* of this run's value */
};

/*
 * Whether a filter compares a column of the scan with a value that is the same
 * for all rows of a run; sets where the column stands.
 */
static bool
is_lookup(const OpExpr *op, int scanrelid, bool *column_is_left)
{
	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	for (int i = 0; i < 2; i++)
	{
		const Var  *column = list_nth(op->args, i);

		if (IsA(column, Var) && column->varno == scanrelid && column->varattno > 0 &&
			!contain_var_clause(list_nth(op->args, 1 - i)))
		{
			*column_is_left = i == 0;
			return op_hashjoinable(op->opno, exprType(linitial(op->args))) && op_strict(op->opno);
		}
	}
	return false;
}

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
		index->attno = ((Var *) list_nth(op->args, column_is_left ? 0 : 1))->varattno;
		index->value = ExecInitExpr(list_nth(op->args, column_is_left ? 1 : 0), &state->css.ss.ps);
		fmgr_info(column_is_left ? left : right, &index->hash_column);
		fmgr_info(column_is_left ? right : left, &index->hash_value);
		index->collation = op->inputcollid;
		state->kept.index = index;
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
build_kept_index(DistScanState *state)
{
	struct KeptIndex *index = state->kept.index;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	uint32		count = 0;
	MemoryContext old_context = MemoryContextSwitchTo(state->kept.context);

	make_buckets(index);
	task_set_rewind(state->kept.set);
	while (scan_next_row(state, state->kept.set, slot, 0))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, index->attno, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;			/* equal to nothing */
		ResetExprContext(econtext);
		if (++count > index->nbuckets)
			make_buckets(index);
		add_kept_row(index, hash_of(&index->hash_column, index->collation, value, econtext), ExecCopySlotMinimalTuple(slot));
	}
	MemoryContextSwitchTo(old_context);
	ExecClearTuple(slot);
}

void
kept_rows_begin_run(DistScanState *state)
{
	struct KeptIndex *index = state->kept.index;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	Datum		value;
	bool		isnull;

	if (index->nbuckets == 0)
		build_kept_index(state);
	value = ExecEvalExprSwitchContext(index->value, econtext, &isnull);
	index->next = NULL;
	if (isnull)
		return;
	index->hash = hash_of(&index->hash_value, index->collation, value, econtext);
	index->next = index->first[index->hash & (index->nbuckets - 1)];
}

bool
kept_rows_next(DistScanState *state, TupleTableSlot *slot)
{
	struct KeptIndex *index = state->kept.index;

	while (index->next != NULL && index->next->hash != index->hash)
		index->next = index->next->next;
	if (index->next == NULL)
		return false;
	ExecForceStoreMinimalTuple(index->next->row, slot, false);
	index->next = index->next->next;
	return true;
}
