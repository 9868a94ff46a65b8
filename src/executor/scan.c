/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The executor node of a DistributedScan.
 *
 * Begin prepares expressions; the first call for a row evaluates parameters,
 * prunes, and starts the tasks.  A rescan starts them again.  A write without
 * RETURNING runs to its end in the first call.
 *
 * A scan in a correlated subquery may run once for each row of a query.  The
 * number of rescans isn't known in advance, nor the exact size of the table.
 * So after a few runs, the scan spends the same effort again on reading the
 * rows for all rescans (without the filters that change).  It keeps these
 * rows, unless there are so many that another run is cheaper than filtering
 * them.  So the cost is at most twice that of the better strategy.  If a run
 * finds its rows in a hash table (kept_rows.c), there may be more of them the
 * more runs there were, up to the memory that a hash table may use.  If the
 * values of the next runs are known (planner/look_ahead.h), the rows for
 * these are fetched together, which counts as one run.  If all runs return
 * the same rows, those of the second are kept, and its children don't run a
 * third time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/table.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "executor/broadcast.h"
#include "executor/explain.h"
#include "executor/kept_rows.h"
#include "executor/read_ahead.h"
#include "executor/scan.h"
#include "executor/scan_tasks.h"
#include "executor/statement_snapshot.h"
#include "planner/dist_cost.h"

/*
 * Rows are kept after this many runs: fetching as many rows as a run may
 * filter costs about eight times as much as a run.
 */
#define KEEP_AFTER_RUNS 8

/*
 * A run takes as long as fetching this part of the rows that it may filter,
 * many at a time.
 */
#define ROWS_OF_RUN_DIVISOR 4

/* What a row in the hash table takes besides its data. */
#define KEPT_ROW_BYTES 100

static Node *scan_create(CustomScan *node);
static void scan_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *scan_exec(CustomScanState *node);
static void scan_end(CustomScanState *node);
static void scan_rescan(CustomScanState *node);

static const CustomExecMethods scan_exec_methods = {
	.CustomName = "DistributedScan",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.ExplainCustomScan = explain_scan,
};

static Node *
scan_create(CustomScan *node)
{
	DistScanState *state = (DistScanState *) newNode(sizeof(DistScanState), T_CustomScanState);

	state->css.methods = &scan_exec_methods;
	dist_plan_unpack(node, &state->plan);
	return (Node *) state;
}

/*
 * Opens the tables that the scan reads, so that CheckTableNotInUse() prevents
 * TRUNCATE, for example, while a cursor is open.
 */
static List *
open_tables(const DistScanState *state, EState *estate)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, state->plan.relids)
		tables = lappend(tables, table_open(lfirst_oid(cell), NoLock));
	if (tables != NIL)
		return tables;
	if (state->plan.kind != DIST_PLAN_FAST_PATH && state->plan.kind != DIST_PLAN_ROUTER)
		return list_make1(table_open(state->plan.relid, NoLock));
	foreach_node(RangeTblEntry, rte, estate->es_range_table)
	{
		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_RELATION)
			tables = lappend(tables, table_open(rte->relid, NoLock));
	}
	return tables;
}

/* Whether the scan is an INSERT, UPDATE or DELETE. */
static bool
writes_rows(const DistScanState *state)
{
	return state->plan.writes && state->plan.command != CMD_SELECT;
}

/*
 * Whether all runs of the scan return the same rows: nothing that it or its
 * children compute depends on a row of a plan above.
 */
static bool
returns_same_rows(const DistScanState *state, const CustomScan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->custom_plans)
	{
		if (!bms_is_empty(((Plan *) lfirst(cell))->allParam))
			return false;
	}
	return state->plan.command == CMD_SELECT && !state->plan.writes && !state->plan.sends &&
		!needs_exec_params((Node *) plan->custom_exprs, NULL);
}

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	DistScanState *state = (DistScanState *) node;
	CustomScan *plan_node = (CustomScan *) node->ss.ps.plan;
	int			ncolumns = list_length(state->plan.types);

	state->exprs = expr_values_init(plan_node->custom_exprs, &node->ss.ps);
	if (state->plan.keep_text != NULL)
	{
		state->keep_columns = scan_columns(state->plan.types, state->plan.typmods);
		state->keep_quals = ExecInitQual(list_copy_tail(plan_node->custom_exprs, state->plan.keep_quals),
										 &node->ss.ps);
		state->kept.after = KEEP_AFTER_RUNS;
		kept_rows_init(state, list_copy_tail(plan_node->custom_exprs, state->plan.keep_quals));
	}
	state->columns = scan_columns(list_copy_head(state->plan.types, state->plan.ncolumns),
								  state->plan.typmods);
	state->positions = palloc(sizeof(AttrNumber) * Max(ncolumns, 1));
	for (int i = 0; i < ncolumns; i++)
		state->positions[i] = list_nth_int(state->plan.positions, i);
	state->run_context = AllocSetContextCreate(estate->es_query_cxt, "citus scan run",
											   ALLOCSET_DEFAULT_SIZES);
	state->user = GetUserId();
	state->row_security = row_security;
	if (dist_plan_reads_as_of(&state->plan))
		state->snapshot = statement_snapshot_current();
	state->repeats = (eflags & EXEC_FLAG_REWIND) != 0 || needs_exec_params((Node *) plan_node->custom_exprs, NULL);
	state->rerun = returns_same_rows(state, plan_node) ? RERUN_SAME : RERUN_TASKS;
	/* EvalPlanQualStart begins all subqueries before the plan itself */
	state->rechecks = estate->es_epq_active != NULL &&
		list_length(estate->es_subplanstates) == list_length(estate->es_plannedstmt->subplans);
	state->explain = explain_task_mask(estate->es_instrument);
	broadcast_begin(state, estate, eflags);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		state->tables = open_tables(state, estate);
		if (!state->plan.sends)
			read_ahead_link(state);
		/* a CTE's write is completed even if nothing reads its rows */
		if (writes_rows(state) && !state->plan.can_set_tag)
			estate->es_auxmodifytables = lcons(node, estate->es_auxmodifytables);
	}
}

/* Adds what the tasks wrote to the statement's count. */
static void
count_processed(DistScanState *state)
{
	if (state->plan.command == CMD_SELECT || !state->plan.can_set_tag)
		return;
	foreach_ptr(Task, task, state->spec.tasks)
	{
		if (task->keep_rows)
			state->css.ss.ps.state->es_processed += task->processed;
	}
}

/* How many rows a hash table may have. */
static double
rows_that_fit(const DistScanState *state)
{
	return get_hash_memory_limit() / (double) (state->css.ss.ps.plan->plan_width + KEPT_ROW_BYTES);
}

/*
 * Tries to keep the rows for all further runs: as many as can be fetched with
 * the effort of the runs before.  Sets when to try again.
 */
static void
try_to_keep(DistScanState *state)
{
	double		most = dist_cost_rows_of_run(list_length(state->spec.tasks));
	double		fit = rows_that_fit(state);

	if (state->kept.index != NULL)
		most = Max(most, Min(most / ROWS_OF_RUN_DIVISOR * state->asked, fit));
	if (!scan_keep_rows(state, &state->kept, NULL, (int) Min(most, INT_MAX)))
		state->kept.after = state->kept.index != NULL && most < fit ? state->asked * 2 : 0;
}

/* Sets where this run finds its rows, if they are, or should be, kept. */
static bool
find_kept(DistScanState *state)
{
	if (state->kept.set == NULL && state->kept.after > 0 && state->asked >= state->kept.after)
		try_to_keep(state);
	if (state->kept.set != NULL)
		state->found_in = &state->kept;
	else if (kept_rows_in_batch(state, (int) Min(rows_that_fit(state), INT_MAX)))
		state->found_in = &state->batch;
	else
		return false;
	scan_enter(state, SCAN_KEPT);
	if (state->found_in->index != NULL)
		kept_rows_begin_run(state);
	return true;
}

/* Starts a run: its own tasks, unless rows are kept, or should be kept now. */
static void
begin_run(DistScanState *state)
{
	if (find_kept(state))
		return;
	if (state->rerun == RERUN_REFUSED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read table \"%s\" in a correlated subquery after writing it",
						get_rel_name(state->plan.relid)),
				 errdetail("The subquery must not see what its own statement has written, and so would have to be read "
						   "before; but a sample, system columns and locked rows can only be read for one row after "
						   "the other."),
				 errhint("Use a separate statement for the subquery, or write one row at a time.")));
	if (state->runs > 0 && state->rerun == RERUN_SAME)
		scan_read_rest(state);	/* and has later runs read them again */
	else
	{
		if (writes_rows(state))
			read_ahead_all(state->css.ss.ps.state);
		scan_start_tasks(state);
		state->asked++;
		if (writes_rows(state) && !state->plan.can_set_tag && state->spec.columns != NULL)
			scan_read_rest(state);	/* before what the statement does next */
	}
}

/* The next row of this run: of its own tasks, or of those that are kept. */
static bool
next_of_run(DistScanState *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	if (state->phase != SCAN_KEPT)
		return scan_next_row(state, state->set, slot, 0);
	while (state->found_in->index != NULL ? kept_rows_next(state, slot) :
		   scan_next_row(state, state->kept.set, slot, 0))
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (ExecQual(state->keep_quals, econtext))
			return true;
	}
	return false;
}

/* ExecScan's access method. */
static TupleTableSlot *
scan_next(ScanState *node)
{
	DistScanState *state = (DistScanState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (state->phase == SCAN_FAILED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("rows of table \"%s\" that were still to come are lost", get_rel_name(state->plan.relid)),
				 errdetail("A write of the same transaction had to read them first, and failed.")));
	if (state->phase == SCAN_ENDED)
		return ExecClearTuple(slot);
	if (state->phase == SCAN_NEW)
		begin_run(state);
	if (read_ahead_due(state))
		scan_read_rest(state);

	if (next_of_run(state, slot))
	{
		slot->tts_tableOid = state->plan.relid;
		if (state->plan.tableoid_position >= 0)
		{
			slot->tts_values[state->plan.tableoid_position] = ObjectIdGetDatum(state->plan.relid);
			slot->tts_isnull[state->plan.tableoid_position] = false;
		}
		return slot;
	}
	scan_enter(state, SCAN_ENDED);
	count_processed(state);
	return ExecClearTuple(slot);
}

/* ExecScan's recheck method: the node that returned the row has checked it. */
static bool
scan_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	/* which of its rows was joined with the one that has changed is lost */
	if (((DistScanState *) node)->rechecks)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("A row that is joined with distributed table \"%s\", and locked or updated, has changed.",
						   get_rel_name(((DistScanState *) node)->plan.relid)),
				 errhint("Run the transaction again.")));
	return ExecScan(&node->ss, scan_next, scan_recheck);
}

static void
scan_end(CustomScanState *node)
{
	DistScanState *state = (DistScanState *) node;
	ListCell   *cell;

	read_ahead_unlink(state);
	scan_stop_tasks(state);
	broadcast_end(state);
	scan_forget_rows(&state->kept);
	scan_forget_rows(&state->batch);
	foreach(cell, state->tables)
		table_close(lfirst(cell), NoLock);
	state->tables = NIL;
}

static void
scan_rescan(CustomScanState *node)
{
	DistScanState *state = (DistScanState *) node;

	if (state->rerun == RERUN_STORED && state->phase != SCAN_FAILED)
	{
		task_set_rewind(state->set);
		scan_enter(state, SCAN_READ);
	}
	else
	{
		scan_stop_tasks(state);
		broadcast_rescan(state);
		state->runs++;
		if (state->kept.set != NULL)
			task_set_rewind(state->kept.set);
	}
	ExecScanReScan(&node->ss);
}

void
scan_init(void)
{
	dist_scan_methods.CreateCustomScanState = scan_create;
	RegisterCustomScanMethods(&dist_scan_methods);

	DefineCustomBoolVariable("citus.enable_node_tasks",
							 "Reads all shards of a node by one statement.",
							 "When off, each shard is read by a statement of its own.",
							 &scan_by_node, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.executor_slow_start_interval",
							"Time to wait before opening another connection to the same node.",
							"A statement opens its connections to a node one at a time, so that short "
							"statements open no more than they need.",
							&citus_slow_start_interval,
							10, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}
