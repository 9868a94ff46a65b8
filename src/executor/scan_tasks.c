/*-------------------------------------------------------------------------
 *
 * scan_tasks.c
 *	  The tasks of a DistributedScan, and the rows that they return.
 *
 * A run evaluates the parameters, prunes, and starts a task for each remaining
 * node or shard.  The tasks run as the user, and with the setting of
 * row_security, with which the scan began.  Rows that are kept for rescans
 * come from separate tasks, whose text lacks the filters that change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rls.h"

#include "catalog/stat_counters.h"
#include "compat/tuple_desc.h"
#include "executor/broadcast.h"
#include "executor/cursor.h"
#include "executor/delegated_call_run.h"
#include "executor/reference_write.h"
#include "executor/repartition_run.h"
#include "executor/scan_tasks.h"
#include "executor/statement_snapshot.h"
#include "lib/debug_point.h"
#include "lib/run_as.h"
#include "sharding/hash.h"
#include "sharding/prune.h"
#include "tenants/statement_stats.h"
#include "txn/transaction.h"

bool		scan_by_node = true;

TupleDesc
scan_columns(List *types, List *typmods)
{
	TupleDesc	columns = CreateTemplateTupleDesc(list_length(types));

	for (int i = 0; i < list_length(types); i++)
		TupleDescInitEntry(columns, i + 1, NULL, (Oid) list_nth_int(types, i),
						   list_nth_int(typmods, i), 0);
	TupleDescFinalize(columns);
	return columns;
}

/*
 * A task's parameters, evaluated: nparams expressions from first on, and the
 * arrays of broadcasts.
 */
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
	if (state->plan.sends)
		repartition_set_params(state, params->params + nparams + narrays - 2);
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

/*
 * An INSERT's distribution value: one of the task's parameters, or an
 * expression behind them.
 */
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

/* Finds the shards that the tasks are for. */
static Bitmapset *
find_shards(DistScanState *state, const DistTable *table, List *prune, ParamListInfo params)
{
	Bitmapset  *shards;

	if (state->plan.dist_param >= 0)
	{
		bool		isnull;
		Datum		value = dist_value(state, params, &isnull);

		return bms_make_singleton(shard_index_of_stored(table, value, isnull));
	}
	shards = prune_evaluate(table, prune, state->exprs, state->css.ss.ps.ps_ExprContext);

	/*
	 * a whole statement without qualifying rows still has an answer, on any
	 * shard
	 */
	if (bms_is_empty(shards) &&
		(state->plan.kind == DIST_PLAN_FAST_PATH || state->plan.kind == DIST_PLAN_ROUTER))
		shards = bms_make_singleton(0);
	return shards;
}

/*
 * Switches to the user and row_security with which the statement started,
 * since a cursor may have been opened under others.
 */
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
 * Finds and locks the row of WHERE CURRENT OF: sets its shard, and its ctid as
 * the task's parameter; no shard if it has gone.
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

	if ((state->plan.traits.flags & TASK_CALL) != 0)
		return delegated_call_commits();
	return state->plan.writes && state->plan.command != CMD_SELECT && state->explain == 0 && state->snapshot == NULL &&
		list_length(state->spec.tasks) == 1 &&
		statement->planTree == state->css.ss.ps.plan &&
		txn_is_one_statement(statement, state->spec.columns);
}

/*
 * The current metadata of the scan's table: in a transaction block, nothing
 * else may have processed the invalidation for a moved shard.
 */
static const DistTable *
present_table(const DistScanState *state)
{
	AcceptInvalidationMessages();
	return metadata_require(state->plan.relid);
}

/* The tenant of the statement, for tags. */
static int
statement_tenant(const DistScanState *state, const DistTable *table, ParamListInfo params)
{
	if (table->kind == DIST_HASH)
		return dist_plan_tenant(&state->plan, state->exprs->exprs, params);
	return table->kind == DIST_SINGLE ? TENANT_IS_GROUP : 0;
}

/* FindShards for a run, and for the run whose rows are kept. */
static Bitmapset *
find_shards_again(void *state, const DistTable *table)
{
	return find_shards(state, table, ((DistScanState *) state)->plan.prune, NULL);
}

static Bitmapset *
find_kept_again(void *state, const DistTable *table)
{
	return find_shards(state, table, ((DistScanState *) state)->plan.keep_prune, NULL);
}

/* Whether the scan has repartitioned sides. */
static bool
gets_rows(const DistScanState *state)
{
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
	{
		if (repartition_child(lfirst(cell)) != NULL)
			return true;
	}
	return false;
}

/*
 * Whether the tasks get ctids of rows that were read before: as parameters, or
 * from child plans.
 */
static bool
gets_ctids(const DistScanState *state, const ParamListInfo params)
{
	for (int i = 0; params != NULL && i < params->numParams; i++)
		if (params->params[i].ptype == TIDOID || params->params[i].ptype == TIDARRAYOID)
			return true;
	foreach_ptr(PlanState, child, state->css.custom_ps)
	{
		TupleDesc	columns = ExecGetResultType(child);

		for (int i = 0; i < columns->natts; i++)
			if (TupleDescAttr(columns, i)->atttypid == TIDOID)
				return true;
	}
	return false;
}

/* The parameters of the text for kept rows, or for a batch of values. */
static ParamListInfo
keep_params(DistScanState *state, const ParamExternData *values)
{
	int			count = state->plan.keep_nparams;
	ParamListInfo params = evaluate_params(state, state->plan.keep_first, count, 0);
	ParamListInfo with_values;

	if (values == NULL)
		return params;
	with_values = makeParamList(count + 1);
	if (count > 0)
		memcpy(with_values->params, params->params, sizeof(ParamExternData) * count);
	with_values->params[count] = *values;
	return with_values;
}

/*
 * Sets the spec of a run or, if rows is not NULL, of the run whose rows are
 * kept there: those with any of some values (an array), or all.
 */
static void
prepare_run(DistScanState *state, KeptRows *rows, const ParamExternData *values)
{
	bool		to_keep = rows != NULL;
	MemoryContext context = to_keep ? rows->context : state->run_context;
	MemoryContext old_context;
	const DistTable *table = present_table(state);
	const char *text = values != NULL ? state->plan.batch_text : to_keep ? state->plan.keep_text : state->plan.text;
	TaskSetSpec *spec = to_keep ? &rows->spec : &state->spec;
	ParamListInfo params;
	int			shard = -1;
	Bitmapset  *shards;

	if (values == NULL)
		MemoryContextReset(context);
	old_context = MemoryContextSwitchTo(context);

	memset(spec, 0, sizeof(TaskSetSpec));
	spec->table = table;
	spec->columns = to_keep ? state->keep_columns :
		state->columns->natts > 0 || state->plan.command == CMD_SELECT ? state->columns : NULL;
	spec->positions = state->positions;
	spec->write = state->plan.writes;
	spec->traits = state->plan.traits;
	if (to_keep)
		spec->traits.npolicies = state->plan.keep_npolicies;
	spec->snapshot = state->snapshot;
	if (state->snapshot != NULL || IsolationUsesXactSnapshot())
		spec->as_of = state->css.ss.ps.state->es_snapshot;
	spec->traits.explain = state->explain;
	spec->received = state->explain != 0 ? &state->received : NULL;
	if (!spec->write)
		spec->find_shards = to_keep ? find_kept_again : find_shards_again;
	spec->find_arg = state;
	spec->whole = state->plan.kind == DIST_PLAN_FAST_PATH || state->plan.kind == DIST_PLAN_ROUTER;
	params = to_keep ? keep_params(state, values) :
		evaluate_params(state, 0, state->plan.nparams - state->plan.narrays, state->plan.narrays);
	spec->traits.tenant = to_keep ? 0 : statement_tenant(state, table, params);
	if (spec->write && (state->plan.joins_ctid || gets_ctids(state, params)))
		spec->ctids_of = state->css.ss.ps.state->es_snapshot;
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
		spec->stays = gets_rows(state);
		if (state->plan.by_node && (scan_by_node || spec->stays))
			spec->tasks = tasks_make_by_node(table, shards, text, params, spec->as_of);
		else
			while ((shard = bms_next_member(shards, shard)) >= 0)
				spec->tasks = lappend(spec->tasks, task_make_as_of(table, shard, text, params, spec->as_of));
		spec->commits = !to_keep && commits_by_itself(state);
		if (spec->stays)
			repartition_run(state);
	}
	MemoryContextSwitchTo(old_context);
}

void
scan_prepare(DistScanState *state)
{
	prepare_run(state, NULL, NULL);
}

bool
scan_next_row(DistScanState *state, TaskSet *set, TupleTableSlot *slot, int most)
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
	return OidIsValid(state->plan.traits.check_as) ? state->plan.traits.check_as : state->user;
}

/* The phases that may follow each one. */
#define PHASE(phase) (1 << (phase))
#define ENDS (PHASE(SCAN_NEW) | PHASE(SCAN_ENDED))
static const int scan_transitions[] = {
	[SCAN_NEW] = PHASE(SCAN_NEW) | PHASE(SCAN_STREAMS) | PHASE(SCAN_KEPT) | PHASE(SCAN_FAILED),
	[SCAN_STREAMS] = PHASE(SCAN_READ) | ENDS | PHASE(SCAN_FAILED),
	[SCAN_READ] = PHASE(SCAN_READ) | ENDS | PHASE(SCAN_FAILED),
	[SCAN_KEPT] = ENDS,
	[SCAN_ENDED] = PHASE(SCAN_NEW) | PHASE(SCAN_READ) | PHASE(SCAN_FAILED),
	[SCAN_FAILED] = PHASE(SCAN_FAILED),
};

void
scan_enter(DistScanState *state, ScanPhase phase)
{
	if ((scan_transitions[state->phase] & PHASE(phase)) == 0)
		elog(ERROR, "a scan in phase %d can't enter phase %d", state->phase, phase);
	state->phase = phase;
}

/* Whether a run's tasks are for several shards of one table. */
static bool
asks_several_shards(const TaskSetSpec *spec)
{
	const Task *first = spec->tasks == NIL ? NULL : linitial(spec->tasks);

	return first != NULL && (first->shards != NULL || (first->shard_index >= 0 && list_length(spec->tasks) > 1));
}

/*
 * Starts the tasks together with the offer of the statement's snapshot.  If a
 * node refuses it, nothing has started, and the nodes are asked for another
 * snapshot.
 */
static bool
offer_snapshot(DistScanState *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->run_context);
	RunAs		caller = as_started_begin(state);
	TaskSet    *set = task_set_start(&state->spec);
	bool		sent;
	bool		accepted;

	DEBUG_POINT("snapshot-offered");
	state->busy = true;
	accepted = task_set_offer(set, &sent);
	state->busy = false;
	run_as_end(caller);
	MemoryContextSwitchTo(old_context);
	if (accepted)
	{
		state->set = set;
		scan_enter(state, SCAN_STREAMS);
		dist_snapshot_accepted(state->snapshot);
		return true;
	}
	task_set_end(set);
	statement_snapshot_settle(state->snapshot, sent);
	state->busy = true;
	scan_prepare(state);
	state->busy = false;
	return false;
}

/* Counts the statement, all of which the scan is. */
static void
count_whole_statement(const DistScanState *state)
{
	const Task *task = state->spec.tasks == NIL ? NULL : linitial(state->spec.tasks);
	int			tenant = task == NULL ? 0 : state->spec.traits.tenant;

	statement_stats_count(state->css.ss.ps.state->es_plannedstmt->queryId, tenant > 0 ? &task->params->params[tenant - 1] : NULL);
}

void
scan_start_tasks(DistScanState *state)
{
	MemoryContext old_context;

	if (state->plan.kind == DIST_PLAN_REFERENCE_WRITE)
	{
		RunAs		caller = run_as_begin(scan_rights(state));

		reference_lock(state->plan.relid, state->plan.exclusive);
		run_as_end(caller);
	}
	state->busy = true;			/* child plans may run functions that write,
								 * which makes scans read ahead */
	scan_prepare(state);
	state->busy = false;
	stat_counter_add(asks_several_shards(&state->spec) ? STAT_MULTI_SHARD : STAT_SINGLE_SHARD);
	if (statement_stats_on() && state->spec.whole)
		count_whole_statement(state);
	if (state->snapshot != NULL && state->snapshot->offered && offer_snapshot(state))
		return;
	old_context = MemoryContextSwitchTo(state->run_context);
	state->set = task_set_start(&state->spec);
	scan_enter(state, SCAN_STREAMS);
	MemoryContextSwitchTo(old_context);
}

void
scan_stop_tasks(DistScanState *state)
{
	if (state->set != NULL)
	{
		task_set_end(state->set);
		repartition_end(state);
	}
	state->set = NULL;
	scan_enter(state, state->phase == SCAN_FAILED ? SCAN_FAILED : SCAN_NEW);
}

MemoryContext
scan_rows_context(DistScanState *state, KeptRows *rows)
{
	if (rows->context == NULL)
		rows->context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt, "citus kept rows", ALLOCSET_DEFAULT_SIZES);
	return rows->context;
}

bool
scan_keep_rows(DistScanState *state, KeptRows *rows, const ParamExternData *values, int most)
{
	MemoryContext old_context;

	(void) scan_rows_context(state, rows);
	prepare_run(state, rows, values);
	old_context = MemoryContextSwitchTo(rows->context);
	rows->set = task_set_start(&rows->spec);
	MemoryContextSwitchTo(old_context);
	state->asked++;
	if (scan_next_row(state, rows->set, NULL, most))
		return true;
	scan_forget_rows(rows);
	return false;
}

void
scan_forget_rows(KeptRows *rows)
{
	if (rows->set != NULL)
		task_set_end(rows->set);
	rows->set = NULL;
}

void
scan_fail(DistScanState *state)
{
	scan_enter(state, SCAN_FAILED);
	state->busy = false;
	if (state->set != NULL)
		task_set_lose_connections(state->set);
	if (state->kept.set != NULL)
		task_set_lose_connections(state->kept.set);
	if (state->batch.set != NULL)
		task_set_lose_connections(state->batch.set);
}

void
scan_read_rest(DistScanState *state)
{
	bool		unread = state->phase == SCAN_NEW;

	if (unread)
		scan_start_tasks(state);
	(void) scan_next_row(state, state->set, NULL, INT_MAX);
	if (unread)
		state->rerun = RERUN_STORED;
	scan_enter(state, SCAN_READ);
}
