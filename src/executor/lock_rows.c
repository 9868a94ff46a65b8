/*-------------------------------------------------------------------------
 *
 * lock_rows.c
 *	  The executor node of a DistributedLock: locks rows when they are
 *	  requested.
 *
 * It reads as many rows of the plan below as the Limit above still needs,
 * locks them by one task for each shard, and returns the rows that it could
 * lock, in order.  It repeats that until there are enough, or no more rows, so
 * it never locks more rows than the statement returns.
 *
 * A row is still the one that was read if ctid and xmin are the same: the ctid
 * alone may have been reused.  If a shard has been moved since its rows were
 * read, they are at other places, and the statement fails with 40001.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "executor/lock_rows.h"
#include "executor/scan_tasks.h"
#include "executor/task_set.h"
#include "lib/expr_values.h"
#include "lib/run_as.h"
#include "planner/lock_path.h"
#include "sharding/hash.h"

/* Rows that are locked at a time if there is no LIMIT. */
#define LOCK_BATCH 100

/* A row of the plan below that is to be locked. */
typedef struct LockRow
{
	MinimalTuple tuple;
	ItemPointerData ctid;
	TransactionId xmin;
	int			shard;
	bool		locked;
} LockRow;

typedef struct DistLockState
{
	CustomScanState css;		/* must be first */
	LockPlan	plan;
	ExprValues *exprs;			/* LIMIT and OFFSET */
	Oid			user;			/* current user at its start */
	int64		wanted;			/* rows that are still to be returned; -1: not
								 * known yet */
	bool		child_done;
	MemoryContext batch_context;	/* of what follows */
	LockRow    *rows;
	int			nrows;
	int			next_row;
	TupleTableSlot *row_slot;	/* for MinimalTuples */
} DistLockState;

static PlanState *
lock_child(DistLockState *state)
{
	return linitial(state->css.custom_ps);
}

static void
lock_begin(CustomScanState *node, EState *estate, int eflags)
{
	DistLockState *state = (DistLockState *) node;
	CustomScan *plan_node = (CustomScan *) node->ss.ps.plan;

	node->custom_ps = list_make1(ExecInitNode(linitial(plan_node->custom_plans), estate, eflags & ~EXEC_FLAG_REWIND));
	state->exprs = expr_values_init(plan_node->custom_exprs, &node->ss.ps);
	state->user = GetUserId();
	state->wanted = -1;
	state->batch_context = AllocSetContextCreate(estate->es_query_cxt, "citus rows to lock", ALLOCSET_DEFAULT_SIZES);
	state->row_slot = ExecInitExtraTupleSlot(estate, ExecGetResultType(lock_child(state)), &TTSOpsMinimalTuple);
}

/* The most rows that the Limit above takes. */
static int64
count_wanted(DistLockState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int64		count = 0;

	if (state->exprs->exprs == NIL)
		return PG_INT64_MAX;
	for (int i = 0; i < list_length(state->exprs->exprs); i++)
	{
		bool		isnull;
		int64		value = DatumGetInt64(expr_value(state->exprs, i, econtext, &isnull));

		if (isnull && i == 0)
			return PG_INT64_MAX;
		if (!isnull && pg_add_s64_overflow(count, Max(value, 0), &count))
			return PG_INT64_MAX;
	}
	return count;
}

/* Keeps a row of the child for the batch. */
static void
add_lock_row(DistLockState *state, TupleTableSlot *slot, const DistTable *table)
{
	LockRow    *row = &state->rows[state->nrows];
	bool		isnull;
	Datum		value = slot_getattr(slot, state->plan.ctid_resno, &isnull);

	row->locked = false;
	row->shard = 0;
	ItemPointerSetInvalid(&row->ctid);
	if (isnull)					/* a row of an outer join: nothing to lock */
		row->locked = true;
	else
	{
		ItemPointerCopy((ItemPointer) DatumGetPointer(value), &row->ctid);
		row->xmin = DatumGetTransactionId(slot_getattr(slot, state->plan.xmin_resno, &isnull));
		if (state->plan.dist_resno > 0)
		{
			value = slot_getattr(slot, state->plan.dist_resno, &isnull);
			row->shard = shard_index_of_stored(table, value, isnull);
		}
	}
	row->tuple = ExecCopySlotMinimalTuple(slot);
	state->nrows++;
}

/* Takes the next rows of the child; false if there are none. */
static bool
fill_batch(DistLockState *state, const DistTable *table)
{
	int			size = (int) Min(state->wanted, LOCK_BATCH);
	MemoryContext old_context;
	TupleTableSlot *slot;

	MemoryContextReset(state->batch_context);
	state->nrows = state->next_row = 0;
	state->rows = MemoryContextAlloc(state->batch_context, sizeof(LockRow) * Max(size, 1));
	while (state->nrows < size && !state->child_done)
	{
		slot = ExecProcNode(lock_child(state));
		if (TupIsNull(slot))
		{
			state->child_done = true;
			break;
		}
		old_context = MemoryContextSwitchTo(state->batch_context);
		add_lock_row(state, slot, table);
		MemoryContextSwitchTo(old_context);
	}
	return state->nrows > 0;
}

/* The task that locks the batch's rows of a shard; NULL if it has none. */
static Task *
make_lock_task(DistLockState *state, const DistTable *table, int shard)
{
	ArrayBuildState *ctids = initArrayResult(TIDOID, CurrentMemoryContext, false);
	ParamListInfo params = makeParamList(1);

	for (int i = 0; i < state->nrows; i++)
	{
		LockRow    *row = &state->rows[i];

		if (!row->locked && row->shard == shard)
			accumArrayResult(ctids, PointerGetDatum(&row->ctid), false, TIDOID, CurrentMemoryContext);
	}
	if (ctids->nelems == 0)
		return NULL;
	params->params[0].value = makeArrayResult(ctids, CurrentMemoryContext);
	params->params[0].isnull = false;
	params->params[0].pflags = PARAM_FLAG_CONST;
	params->params[0].ptype = TIDARRAYOID;
	return task_make(table, shard, state->plan.text, params);
}

/*
 * A task has locked a row: notes it in the batch, where it may stand several
 * times.
 */
static void
note_locked(DistLockState *state, int shard, ItemPointer ctid, TransactionId xmin)
{
	for (int i = 0; i < state->nrows; i++)
	{
		LockRow    *row = &state->rows[i];

		if (row->shard == shard && ItemPointerIsValid(&row->ctid) && ItemPointerEquals(&row->ctid, ctid) &&
			TransactionIdEquals(row->xmin, xmin))
			row->locked = true;
	}
}

/* Locks the rows of the batch, all shards at once. */
static void
lock_batch(DistLockState *state, const DistTable *table)
{
	TaskSetSpec spec = {.table = table,.write = true,.latest = true,.traits = {.flags = TASK_FILTERED,.check_as = state->plan.check_as_user}};
	Bitmapset  *shards = NULL;
	TupleTableSlot *slot;
	TaskSet    *set;
	Task	   *task;
	int			shard = -1;

	for (int i = 0; i < state->nrows; i++)
		shards = bms_add_member(shards, state->rows[i].shard);
	while ((shard = bms_next_member(shards, shard)) >= 0)
	{
		task = make_lock_task(state, table, shard);
		if (task != NULL)
			spec.tasks = lappend(spec.tasks, task);
	}
	if (spec.tasks == NIL)
		return;
	spec.ctids_of = state->css.ss.ps.state->es_snapshot;
	spec.columns = scan_columns(list_make2_int(TIDOID, XIDOID), list_make2_int(-1, -1));
	slot = MakeSingleTupleTableSlot(spec.columns, &TTSOpsVirtual);
	set = task_set_start(&spec);
	while (task_set_next(set, slot, &task))
		note_locked(state, task->shard_index, (ItemPointer) DatumGetPointer(slot->tts_values[0]),
					DatumGetTransactionId(slot->tts_values[1]));
	ExecDropSingleTupleTableSlot(slot);
	task_set_end(set);
}

/* Reads and locks the next rows; false if there are none. */
static bool
next_batch(DistLockState *state)
{
	const DistTable *table = metadata_require(state->plan.relid);
	MemoryContext old_context;
	RunAs		caller;

	if (!fill_batch(state, table))
		return false;
	old_context = MemoryContextSwitchTo(state->batch_context);
	caller = run_as_begin(state->user);
	lock_batch(state, table);
	run_as_end(caller);
	MemoryContextSwitchTo(old_context);
	return true;
}

/* ExecScan's access method. */
static TupleTableSlot *
lock_next(ScanState *node)
{
	DistLockState *state = (DistLockState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (state->wanted < 0)
		state->wanted = count_wanted(state);
	while (state->wanted > 0)
	{
		if (state->next_row == state->nrows && !next_batch(state))
			break;
		if (!state->rows[state->next_row].locked)
		{
			state->next_row++;
			continue;
		}
		ExecStoreMinimalTuple(state->rows[state->next_row++].tuple, state->row_slot, false);
		state->wanted--;
		return ExecCopySlot(slot, state->row_slot);
	}
	return ExecClearTuple(slot);
}

/* ExecScan's recheck method: rows that have changed aren't returned. */
static bool
lock_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
lock_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, lock_next, lock_recheck);
}

static void
lock_end(CustomScanState *node)
{
	ExecEndNode(lock_child((DistLockState *) node));
	node->custom_ps = NIL;
}

static void
lock_rescan(CustomScanState *node)
{
	DistLockState *state = (DistLockState *) node;
	PlanState  *child = lock_child(state);

	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	state->wanted = -1;
	state->child_done = false;
	state->nrows = state->next_row = 0;
	ExecScanReScan(&node->ss);
}

static const CustomExecMethods lock_exec_methods = {
	.CustomName = "DistributedLock",
	.BeginCustomScan = lock_begin,
	.ExecCustomScan = lock_exec,
	.EndCustomScan = lock_end,
	.ReScanCustomScan = lock_rescan,
};

static Node *
lock_create(CustomScan *node)
{
	DistLockState *state = (DistLockState *) newNode(sizeof(DistLockState), T_CustomScanState);

	state->css.methods = &lock_exec_methods;
	lock_plan_unpack(node, &state->plan);
	return (Node *) state;
}

void
lock_rows_init(void)
{
	dist_lock_methods.CreateCustomScanState = lock_create;
	RegisterCustomScanMethods(&dist_lock_methods);
}
