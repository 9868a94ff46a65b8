/*-------------------------------------------------------------------------
 *
 * reference_lock_rows.c
 *	  The executor node of a ReferenceLock: locks the rows of a reference table
 *	  on other nodes, before LockRows locks them here.
 *
 * A row is locked on the node with the lowest group id, where writers of the
 * table begin, by its key.  FOR UPDATE must also exclude rows that reference
 * it, whose checks lock the copy on their own node: if a foreign key
 * references the table, FOR UPDATE locks the row on all nodes, the lowest
 * first.  So FOR KEY SHARE, which only these and writers of the row's key
 * conflict with, on all nodes too, locks it on this node alone.
 *
 * Without a key, copies of a row can't be told apart: the lock of the table's
 * writers (reference_write.c) stands for all row locks, on the lowest node
 * too.  Those that share rows share it.
 *
 * A row that another transaction has changed on the lowest node, but not yet
 * here, is left to LockRows, which waits for that transaction's end here and
 * then rechecks the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "executor/reference_lock_rows.h"
#include "executor/reference_write.h"
#include "executor/scan_tasks.h"
#include "executor/task_set.h"
#include "lib/run_as.h"
#include "planner/reference_lock_path.h"

typedef struct ReferenceLockState
{
	CustomScanState css;		/* must be first */
	ReferenceLockPlan plan;
	Oid			user;			/* current user at its start */
	bool		everywhere;		/* lock the row on all nodes */
	bool		here;			/* on this one alone */
	bool		table_locked;	/* the lock that stands for all rows is held */
	TupleTableSlot *table_slot; /* a row of this node's copy */
	MemoryContext row_context;	/* reset for each row */
} ReferenceLockState;

static PlanState *
reference_lock_child(ReferenceLockState *state)
{
	return linitial(state->css.custom_ps);
}

/* Whether a foreign key references the table. */
static bool
table_is_referenced(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		if (RI_FKey_trigger_type(rel->trigdesc->triggers[i].tgfoid) == RI_TRIGGER_PK)
			return true;
	}
	return false;
}

static void
reference_lock_begin(CustomScanState *node, EState *estate, int eflags)
{
	ReferenceLockState *state = (ReferenceLockState *) node;
	CustomScan *plan_node = (CustomScan *) node->ss.ps.plan;
	Relation	rel = table_open(state->plan.relid, NoLock);

	node->custom_ps = list_make1(ExecInitNode(linitial(plan_node->custom_plans), estate, eflags & ~EXEC_FLAG_REWIND));
	state->user = GetUserId();
	state->everywhere = state->plan.strength == LCS_FORUPDATE && table_is_referenced(rel);
	state->here = state->plan.strength == LCS_FORKEYSHARE && table_is_referenced(rel);
	state->table_slot = ExecInitExtraTupleSlot(estate, CreateTupleDescCopy(RelationGetDescr(rel)),
											   table_slot_callbacks(rel));
	state->row_context = AllocSetContextCreate(estate->es_query_cxt, "citus row to lock", ALLOCSET_DEFAULT_SIZES);
	table_close(rel, NoLock);
}

/* The key of the row in table_slot, as the parameters of the text. */
static ParamListInfo
key_params(ReferenceLockState *state)
{
	TupleDesc	desc = state->table_slot->tts_tupleDescriptor;
	ParamListInfo params = makeParamList(list_length(state->plan.key_attnos));
	int			position = 0;

	foreach_int(attno, state->plan.key_attnos)
	{
		ParamExternData *param = &params->params[position++];

		param->value = slot_getattr(state->table_slot, attno, &param->isnull);
		param->pflags = PARAM_FLAG_CONST;
		param->ptype = TupleDescAttr(desc, attno - 1)->atttypid;
	}
	return params;
}

/* Locks the row on a node other than this one; whether it is locked there. */
static bool
lock_row_at(ReferenceLockState *state, const DistTable *table, Task *task)
{
	TaskSetSpec spec = {.table = table,.write = true,.latest = true,.traits = {.flags = TASK_FILTERED,.check_as = state->plan.check_as_user}};
	TupleTableSlot *slot;
	TaskSet    *set;
	bool		locked = false;

	task->keep_rows = true;
	spec.tasks = list_make1(task);
	spec.columns = scan_columns(list_make1_int(INT4OID), list_make1_int(-1));
	slot = MakeSingleTupleTableSlot(spec.columns, &TTSOpsVirtual);
	set = task_set_start(&spec);
	while (task_set_next(set, slot, NULL))
		locked = true;
	ExecDropSingleTupleTableSlot(slot);
	task_set_end(set);
	return locked;
}

/*
 * Locks the row in table_slot on other nodes; false if SKIP LOCKED shall skip
 * it.
 */
static bool
lock_copies(ReferenceLockState *state, const DistTable *table)
{
	List	   *tasks = reference_tasks(table, state->plan.text, key_params(state));
	bool		skips = state->plan.wait_policy == LockWaitSkip;

	foreach_ptr(Task, task, tasks)
	{
		if (task->groupid != metadata_local_group() && !lock_row_at(state, table, task) && skips)
			return false;
		if (!state->everywhere)
			break;
	}
	return true;
}

/* The same by the lock of the table's writers. */
static bool
lock_table_instead(ReferenceLockState *state)
{
	bool		exclusive = state->plan.strength >= LCS_FORNOKEYUPDATE;

	if (state->table_locked)
		return true;
	if (state->plan.wait_policy == LockWaitBlock)
		reference_lock(state->plan.relid, exclusive);
	else if (!reference_lock_now(state->plan.relid, exclusive))
	{
		if (state->plan.wait_policy == LockWaitSkip)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on row in relation \"%s\"", get_rel_name(state->plan.relid)),
				 errdetail("A reference table without a key is locked as a whole."),
				 errhint("Give the table a primary key.")));
	}
	state->table_locked = true;
	return true;
}

/* Locks a row of the child; false if SKIP LOCKED shall skip it. */
static bool
lock_child_row(ReferenceLockState *state, TupleTableSlot *slot)
{
	const DistTable *table = metadata_lookup(state->plan.relid);
	EState	   *estate = state->css.ss.ps.state;
	bool		isnull;
	Datum		ctid = slot_getattr(slot, state->plan.ctid_resno, &isnull);
	MemoryContext old_context;
	Relation	rel;
	RunAs		caller;
	bool		found;

	if (isnull || table == NULL || table->kind != DIST_REFERENCE)
		return true;
	rel = table_open(state->plan.relid, NoLock);
	found = table_tuple_fetch_row_version(rel, (ItemPointer) DatumGetPointer(ctid), estate->es_snapshot,
										  state->table_slot);
	table_close(rel, NoLock);
	if (!found)
		return true;
	MemoryContextReset(state->row_context);
	old_context = MemoryContextSwitchTo(state->row_context);
	caller = run_as_begin(state->user);
	found = state->plan.text != NULL ? lock_copies(state, table) : lock_table_instead(state);
	run_as_end(caller);
	MemoryContextSwitchTo(old_context);
	ExecClearTuple(state->table_slot);
	return found;
}

/* ExecScan's access method. */
static TupleTableSlot *
reference_lock_next(ScanState *node)
{
	ReferenceLockState *state = (ReferenceLockState *) node;
	TupleTableSlot *slot;

	for (;;)
	{
		slot = ExecProcNode(reference_lock_child(state));
		if (TupIsNull(slot))
			return ExecClearTuple(node->ss_ScanTupleSlot);
		if (state->here || lock_child_row(state, slot))
			return ExecCopySlot(node->ss_ScanTupleSlot, slot);
		CHECK_FOR_INTERRUPTS();
	}
}

/* ExecScan's recheck method, of a row that LockRows has found changed. */
static bool
reference_lock_recheck(ScanState *node, TupleTableSlot *slot)
{
	ReferenceLockState *state = (ReferenceLockState *) node;
	TupleTableSlot *changed;

	changed = ExecProcNode(reference_lock_child(state));
	if (TupIsNull(changed))
		return false;
	ExecCopySlot(slot, changed);
	return true;
}

static TupleTableSlot *
reference_lock_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, reference_lock_next, reference_lock_recheck);
}

static void
reference_lock_end(CustomScanState *node)
{
	ExecEndNode(reference_lock_child((ReferenceLockState *) node));
	node->custom_ps = NIL;
}

static void
reference_lock_rescan(CustomScanState *node)
{
	PlanState  *child = reference_lock_child((ReferenceLockState *) node);

	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
	ExecScanReScan(&node->ss);
}

static const CustomExecMethods reference_lock_exec_methods = {
	.CustomName = "ReferenceLock",
	.BeginCustomScan = reference_lock_begin,
	.ExecCustomScan = reference_lock_exec,
	.EndCustomScan = reference_lock_end,
	.ReScanCustomScan = reference_lock_rescan,
};

static Node *
reference_lock_create(CustomScan *node)
{
	ReferenceLockState *state = (ReferenceLockState *) newNode(sizeof(ReferenceLockState), T_CustomScanState);

	state->css.methods = &reference_lock_exec_methods;
	reference_lock_plan_unpack(node, &state->plan);
	return (Node *) state;
}

void
reference_lock_rows_init(void)
{
	reference_lock_methods.CreateCustomScanState = reference_lock_create;
	RegisterCustomScanMethods(&reference_lock_methods);
}
