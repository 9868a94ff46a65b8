/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The executor node of a DistributedScan.
 *
 * Begin prepares expressions; the first call for a row evaluates parameters,
 * prunes, and starts the tasks.  A rescan starts them anew.  A write without
 * RETURNING runs to its end in the first call.
 *
 * A scan inside a correlated subquery may run once for each row of a query.  How often isn't known
 * beforehand, nor for sure how large the table is.  So after a few runs it spends as
 * much again on reading the rows of all runs (without the filters that change), and
 * keeps them if they are not so many that another run would be cheaper than filtering them here.
 * So it never costs more than twice what the better way would.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "executor/broadcast.h"
#include "executor/cursor.h"
#include "executor/explain.h"
#include "executor/read_ahead.h"
#include "executor/scan.h"
#include "executor/statement_snapshot.h"
#include "lib/run_as.h"
#include "sharding/hash.h"
#include "sharding/prune.h"
#include "txn/transaction.h"

/*
 * When rows are kept, and how many, from the costs in planner/scan_path.c: a row is filtered here for an eightieth
 * of a unit of cost, and fetched for a tenth, while a run costs 20 and 15 for each task.
 */
#define KEEP_AFTER_RUNS 8
#define KEEP_ROWS 1600
#define KEEP_ROWS_PER_TASK 1200

/* Whether a scan may have one task for all shards of a node. */
static bool enable_node_tasks = true;

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

TupleDesc
scan_columns(List *types, List *typmods)
{
	TupleDesc	columns = CreateTemplateTupleDesc(list_length(types));

	for (int i = 0; i < list_length(types); i++)
		TupleDescInitEntry(columns, i + 1, NULL, (Oid) list_nth_int(types, i),
						   list_nth_int(typmods, i), 0);
	return columns;
}

/*
 * Opens the tables that the scan reads, so that what must not happen to a table in use doesn't, as
 * TRUNCATE while a cursor is open.
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
	foreach(cell, estate->es_range_table)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_RELATION)
			tables = lappend(tables, table_open(rte->relid, NoLock));
	}
	return tables;
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
	state->same_rows = state->plan.command == CMD_SELECT && !state->plan.writes && plan_node->custom_plans == NIL &&
		!needs_exec_params((Node *) plan_node->custom_exprs, NULL);
	state->explain = explain_task_mask(estate->es_instrument);
	broadcast_begin(state, estate, eflags);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		state->tables = open_tables(state, estate);
		read_ahead_link(state);
	}
}

/* A task's parameters, evaluated: so many expressions from the first on, and then as many arrays of rows from here. */
static ParamListInfo
evaluate_params(DistScanState *state, int first, int nparams, int narrays)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	ParamListInfo params;

	if (nparams + narrays == 0)
		return NULL;
	params = makeParamList(nparams + narrays);
	if (narrays > 0)
		broadcast_collect(state, params, nparams);
	for (int i = 0; i < nparams; i++)
	{
		ParamExternData *param = &params->params[i];

		/* in CurrentMemoryContext, the run context: values outlive the row */
		param->value = expr_value(state->exprs, first + i, econtext, &param->isnull);
		param->ptype = exprType(list_nth(state->exprs->exprs, first + i));
		param->pflags = PARAM_FLAG_CONST;
	}
	return params;
}

/* An INSERT's distribution value: one of the task's parameters, or an expression behind them. */
static Datum
dist_value(DistScanState *state, ParamListInfo params, bool *isnull)
{
	int			position = state->plan.dist_param;

	if (position < state->plan.nparams)
	{
		*isnull = params->params[position].isnull;
		return params->params[position].value;
	}
	return expr_value(state->exprs, position, state->css.ss.ps.ps_ExprContext, isnull);
}

/* Evaluates which shards the tasks go to. */
static Bitmapset *
find_shards(DistScanState *state, const DistTable *table, List *prune, ParamListInfo params)
{
	Bitmapset  *shards;

	if (state->plan.dist_param >= 0)
	{
		bool		isnull;
		Datum		value = dist_value(state, params, &isnull);

		return bms_make_singleton(shard_index_of_stored(table, value, isnull, CMD_INSERT));
	}
	shards = prune_evaluate(table, prune, state->exprs, state->css.ss.ps.ps_ExprContext);

	/* a whole statement without qualifying rows still has an answer, on any shard */
	if (bms_is_empty(shards) &&
		(state->plan.kind == DIST_PLAN_FAST_PATH || state->plan.kind == DIST_PLAN_ROUTER))
		shards = bms_make_singleton(0);
	return shards;
}

/* From now on acts as the statement started: a cursor may have been opened by another role, or without row_security. */
static RunAs
as_started_begin(const DistScanState *state)
{
	RunAs		caller = run_as_begin(state->user);

	if (unlikely(row_security != state->row_security))
	{
		caller.nest = NewGUCNestLevel();
		(void) set_config_option("row_security", state->row_security ? "on" : "off", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	}
	return caller;
}

/*
 * The shard of the row that WHERE CURRENT OF means, now locked, and its ctid as the task's parameter; none if it
 * has gone.
 */
static Bitmapset *
find_current_row(DistScanState *state, const DistTable *table, ParamListInfo params)
{
	ParamExternData *param = &params->params[state->plan.current_row - 1];
	ItemPointer ctid = palloc(sizeof(ItemPointerData));
	bool		exclusive = state->css.ss.ps.state->es_plannedstmt->commandType == CMD_DELETE;
	bool		isnull;
	Datum		cursor = expr_value(state->exprs, state->plan.current_of - 1, state->css.ss.ps.ps_ExprContext, &isnull);
	RunAs		caller;
	int			shard;
	bool		found;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the variable that WHERE CURRENT OF names has no cursor")));
	caller = as_started_begin(state);
	found = current_row_lock(TextDatumGetCString(cursor), table, exclusive, &shard, ctid);
	run_as_end(caller);
	if (!found)
		return NULL;
	param->value = PointerGetDatum(ctid);
	param->isnull = false;
	return bms_make_singleton(shard);
}

/* Whether the scan is one write that is its client's whole transaction. */
static bool
commits_by_itself(DistScanState *state)
{
	const PlannedStmt *statement = state->css.ss.ps.state->es_plannedstmt;

	return state->plan.writes && state->plan.command != CMD_SELECT && state->explain == 0 && state->snapshot == NULL &&
		list_length(state->spec.tasks) == 1 &&
		statement->planTree == state->css.ss.ps.plan &&
		txn_is_one_statement(statement, state->spec.columns);
}

/* Sets the spec of a run, or of the one whose rows are kept. */
static void
prepare(DistScanState *state, bool to_keep)
{
	MemoryContext context = to_keep ? state->keep_context : state->run_context;
	MemoryContext old_context;
	const DistTable *table = metadata_require(state->plan.relid);
	const char *text = to_keep ? state->plan.keep_text : state->plan.text;
	TaskSetSpec *spec = to_keep ? &state->keep_spec : &state->spec;
	ParamListInfo params;
	int			shard = -1;
	Bitmapset  *shards;

	MemoryContextReset(context);
	old_context = MemoryContextSwitchTo(context);

	memset(spec, 0, sizeof(TaskSetSpec));
	spec->table = table;
	spec->columns = to_keep ? state->keep_columns :
		state->columns->natts > 0 || state->plan.command == CMD_SELECT ? state->columns : NULL;
	spec->positions = state->positions;
	spec->write = state->plan.writes;
	spec->partial = state->plan.partial;
	spec->rights = state->plan.rights;
	spec->npolicies = to_keep ? state->plan.keep_npolicies : state->plan.npolicies;
	spec->check_as = state->plan.check_as_user;
	spec->snapshot = state->snapshot;
	spec->explain = state->explain;
	params = to_keep ? evaluate_params(state, state->plan.keep_first, state->plan.keep_nparams, 0) :
		evaluate_params(state, 0, state->plan.nparams - state->plan.narrays, state->plan.narrays);
	if (state->plan.kind == DIST_PLAN_REFERENCE_WRITE)
	{
		spec->tasks = reference_tasks(table, text, params);
		spec->first_alone = true;
	}
	else
	{
		spec->latest = state->plan.current_of > 0;
		shards = spec->latest ? find_current_row(state, table, params) :
			find_shards(state, table, to_keep ? state->plan.keep_prune : state->plan.prune, params);
		if (state->plan.by_node && enable_node_tasks)
			spec->tasks = tasks_make_by_node(table, shards, text, params);
		else
			while ((shard = bms_next_member(shards, shard)) >= 0)
				spec->tasks = lappend(spec->tasks, task_make(table, shard, text, params));
		spec->commits = !to_keep && commits_by_itself(state);
	}
	MemoryContextSwitchTo(old_context);
}

void
scan_prepare(DistScanState *state)
{
	prepare(state, false);
}

/* Adds what the tasks wrote to the statement's count. */
static void
count_processed(DistScanState *state)
{
	ListCell   *cell;

	if (state->plan.command == CMD_SELECT || !state->plan.can_set_tag)
		return;
	foreach(cell, state->spec.tasks)
	{
		Task	   *task = lfirst(cell);

		if (task->keep_rows)
			state->css.ss.ps.state->es_processed += task->processed;
	}
}

/* The next row, or with a slot of NULL the rest, at most so many. */
static bool
next_row(DistScanState *state, TaskSet *set, TupleTableSlot *slot, int most)
{
	RunAs		caller = as_started_begin(state);
	bool		found = false;

	state->busy = true;
	if (slot == NULL)
		found = task_set_prefetch(set, most);
	else
		found = task_set_next(set, slot, NULL);
	state->busy = false;
	run_as_end(caller);
	return found;
}

Oid
scan_rights(const DistScanState *state)
{
	return OidIsValid(state->plan.check_as_user) ? state->plan.check_as_user : state->user;
}

static void
start_tasks(DistScanState *state)
{
	MemoryContext old_context;

	if (state->plan.writes && state->plan.command != CMD_SELECT)
		read_ahead_others(state->css.ss.ps.state);
	if (state->plan.kind == DIST_PLAN_REFERENCE_WRITE)
	{
		RunAs		caller = run_as_begin(scan_rights(state));

		reference_lock(state->plan.relid, state->plan.exclusive);
		run_as_end(caller);
	}
	state->busy = true;			/* child plans may run functions that write, and so have scans read ahead */
	scan_prepare(state);
	state->busy = false;
	old_context = MemoryContextSwitchTo(state->run_context);
	state->set = task_set_start(&state->spec);
	MemoryContextSwitchTo(old_context);
}

/* Ends the tasks of the present run. */
static void
stop_tasks(DistScanState *state)
{
	if (state->set != NULL)
		task_set_end(state->set);
	state->set = NULL;
	state->finished = false;
	state->rest_read = false;
}

bool
scan_keep_rows(DistScanState *state, int most)
{
	MemoryContext old_context;

	if (state->keep_context == NULL)
		state->keep_context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt, "citus kept rows",
													ALLOCSET_DEFAULT_SIZES);
	prepare(state, true);
	old_context = MemoryContextSwitchTo(state->keep_context);
	state->kept = task_set_start(&state->keep_spec);
	MemoryContextSwitchTo(old_context);
	if (next_row(state, state->kept, NULL, most))
		return true;
	task_set_end(state->kept);
	state->kept = NULL;
	return false;
}

void
scan_fail(DistScanState *state)
{
	state->failed = true;
	state->busy = false;
	if (state->set != NULL)
		task_set_lose_connections(state->set);
	if (state->kept != NULL)
		task_set_lose_connections(state->kept);
}

/* Starts a run: its own tasks, unless rows are kept or now worth to be. */
static void
begin_run(DistScanState *state)
{
	if (state->kept == NULL && state->plan.keep_text != NULL && state->runs >= KEEP_AFTER_RUNS &&
		!state->too_many)
		state->too_many = !scan_keep_rows(state, KEEP_ROWS +
										  KEEP_ROWS_PER_TASK * list_length(state->spec.tasks));
	state->from_kept = state->kept != NULL;
	if (!state->from_kept && state->too_late)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read table \"%s\" in a correlated subquery after writing it",
						get_rel_name(state->plan.relid)),
				 errdetail("The subquery must not see what its own statement has written, and so would have to be read "
						   "before; but a sample, system columns and locked rows can only be read for one row after "
						   "the other."),
				 errhint("Use a separate statement for the subquery, or write one row at a time.")));
	if (state->from_kept)
		return;
	if (state->runs > 0 && state->same_rows)
		scan_read_rest(state);	/* and has later runs read them again */
	else
		start_tasks(state);
}

/* The next row of this run: of its own tasks, or of those that are kept. */
static bool
next_of_run(DistScanState *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	while (next_row(state, state->from_kept ? state->kept : state->set, slot, 0))
	{
		if (!state->from_kept)
			return true;
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

	if (state->failed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("rows of table \"%s\" that were still to come are lost", get_rel_name(state->plan.relid)),
				 errdetail("A write of the same transaction had to read them first, and failed.")));
	if (state->finished)
		return ExecClearTuple(slot);
	if (state->set == NULL && !state->from_kept)
		begin_run(state);
	if (!state->from_kept && read_ahead_due(state))
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
	state->finished = true;
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
	return ExecScan(&node->ss, scan_next, scan_recheck);
}

void
scan_read_rest(DistScanState *state)
{
	bool		unread = state->set == NULL;

	if (unread)
		start_tasks(state);
	(void) next_row(state, state->set, NULL, INT_MAX);
	state->prefetched = state->prefetched || unread;
	state->rest_read = true;
}

static void
scan_end(CustomScanState *node)
{
	DistScanState *state = (DistScanState *) node;
	ListCell   *cell;

	read_ahead_unlink(state);
	stop_tasks(state);
	broadcast_end(state);
	if (state->kept != NULL)
		task_set_end(state->kept);
	state->kept = NULL;
	foreach(cell, state->tables)
		table_close(lfirst(cell), NoLock);
	state->tables = NIL;
}

static void
scan_rescan(CustomScanState *node)
{
	DistScanState *state = (DistScanState *) node;

	if (state->prefetched)
	{
		task_set_rewind(state->set);
		state->finished = false;
	}
	else
	{
		stop_tasks(state);
		broadcast_rescan(state);
		state->runs++;
		state->from_kept = false;
		if (state->kept != NULL)
			task_set_rewind(state->kept);
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
							 &enable_node_tasks, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.executor_slow_start_interval",
							"Time to wait before opening another connection to the same node.",
							"A statement opens its connections to a node one at a time, so that short "
							"statements open no more than they need.",
							&citus_slow_start_interval,
							10, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}
