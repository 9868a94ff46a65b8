/*-------------------------------------------------------------------------
 *
 * own_shard.c
 *	  Statements of one shard that is on this node.
 *
 * When such a statement starts, its plan (a DistributedScan) is replaced by
 * the plan of its shard, which the server executes as usual; only the names of
 * shards in errors need our attention.  This requires that the distribution
 * value is a parameter or a constant; otherwise the DistributedScan runs, with
 * the same result.
 *
 * Executions with replaced plans are in a list, as long as their memory
 * contexts live.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "lib/ilist.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "catalog/standby_writes.h"
#include "catalog/stat_counters.h"
#include "compat/executor_run.h"
#include "compat/permissions.h"
#include "executor/local_plan.h"
#include "executor/own_shard.h"
#include "executor/statement_snapshot.h"
#include "lib/expr_values.h"
#include "planner/dist_plan.h"
#include "remote/shard_names.h"
#include "sharding/prune.h"
#include "tenants/statement_stats.h"
#include "tenants/tenant.h"

/* Statements with more parameters use the DistributedScan. */
#define MAX_PARAMS 64

typedef struct OwnRun
{
	QueryDesc  *query_desc;
	CachedPlan *plan;
	dlist_node	link;
	MemoryContextCallback callback;
} OwnRun;

static dlist_head own_runs = DLIST_STATIC_INIT(own_runs);

static ExecutorRun_hook_type prev_run = NULL;
static ExecutorFinish_hook_type prev_finish = NULL;

/*
 * The single shard of a plan, by a known value; -1 if it can't be determined
 * simply.
 */
static int
known_shard(const DistTable *table, const DistPlan *plan, List *exprs, ParamListInfo params)
{
	int			position = plan->dist_param;
	Oid			type = table->hash_opcintype;
	Datum		value;
	bool		isnull;

	if (table->kind == DIST_SINGLE)
		return 0;
	if (table->kind != DIST_HASH)
		return -1;
	if (position < 0)
	{
		const PrunePlanTerm *term = prune_plan_only_value(plan->prune);

		if (term == NULL)
			return -1;
		position = term->expr;
		type = term->type;
	}
	if (!expr_known_value(list_nth(exprs, position), params, &value, &isnull) || isnull)
		return -1;
	return prune_value_shard(table, type, value);
}

/*
 * The task's parameters, evaluated in CurrentMemoryContext.  *ran: whether
 * that executed functions, which may have side effects.
 */
static ParamListInfo
task_params(const Oid *types, int nparams, List *exprs, ParamListInfo outer, bool *ran)
{
	ParamListInfo params = nparams == 0 ? NULL : makeParamList(nparams);
	ExprContext *econtext = NULL;

	for (int i = 0; i < nparams; i++)
	{
		Expr	   *expr = list_nth(exprs, i);
		ParamExternData *param = &params->params[i];

		if (!expr_known_value(expr, outer, &param->value, &param->isnull))
		{
			if (econtext == NULL)
				econtext = CreateStandaloneExprContext();
			econtext->ecxt_param_list_info = outer;
			param->value = ExecEvalExpr(ExecInitExprWithParams(expr, outer), econtext, &param->isnull);
		}
		param->ptype = types[i];
		param->pflags = PARAM_FLAG_CONST;
	}
	*ran = econtext != NULL;
	return params;
}

/*
 * Whether an expression may be evaluated again, if there is no plan after all.
 */
static bool
may_repeat(Expr *expr)
{
	return IsA(expr, Const) || IsA(expr, Param) || !contain_volatile_functions((Node *) expr);
}

/*
 * Waits for the limits of the statement's tenant; returns whether there may
 * have been a wait.
 */
static bool
tenant_starts(const QueryDesc *query_desc, const DistTable *table, int shard, int tenant, ParamListInfo params)
{
	const ParamExternData *value = tenant > 0 ? &params->params[tenant - 1] : NULL;

	return (value != NULL || table->kind == DIST_SINGLE) &&
		tenant_statement_starts(query_desc, table->colocation_id, table->shards[shard].range.min, value);
}

/*
 * The plan for the shard that a statement is about, if it is on this node and
 * its plan is kept; *params is set to its parameters.  Else NULL.
 */
static CachedPlan *
own_plan(QueryDesc *query_desc, ParamListInfo *params)
{
	CustomScan *scan = (CustomScan *) query_desc->plannedstmt->planTree;
	DistPlan	plan;
	const DistTable *table;
	CachedPlanSource *source;
	Oid			types[MAX_PARAMS];
	int			shard;
	int			tenant;
	bool		ran;

	dist_plan_unpack(scan, &plan);
	if ((plan.kind != DIST_PLAN_FAST_PATH && plan.kind != DIST_PLAN_ROUTER) ||
		OidIsValid(plan.traits.check_as) || plan.nparams > MAX_PARAMS)
		return NULL;
	AcceptInvalidationMessages();
	table = metadata_lookup(plan.relid);
	if (table == NULL)
		return NULL;
	shard = known_shard(table, &plan, scan->custom_exprs, query_desc->params);
	if (shard < 0 || table->shards[shard].groupid != metadata_local_group() || table->shards[shard].leaving)
		return NULL;
	for (int i = 0; i < plan.nparams; i++)
	{
		Expr	   *expr = list_nth(scan->custom_exprs, i);

		if (!may_repeat(expr))
			return NULL;
		types[i] = exprType((Node *) expr);
	}
	source = local_plan_source(table, shard, plan.text, types, plan.nparams);
	if (source == NULL)
		return NULL;

	/* the logical tables' rights, before anything is evaluated */
	compat_check_statement(query_desc->plannedstmt);
	*params = task_params(types, plan.nparams, scan->custom_exprs, query_desc->params, &ran);
	tenant = dist_plan_tenant(&plan, scan->custom_exprs, *params);
	if (tenant_starts(query_desc, table, shard, tenant, *params) || ran)
	{
		AcceptInvalidationMessages();
		table = metadata_require(plan.relid);
		shard = known_shard(table, &plan, scan->custom_exprs, query_desc->params);
		if (shard < 0)
			return NULL;
		source = local_plan_source(table, shard, plan.text, types, plan.nparams);
		if (source == NULL)
			return NULL;
	}
	if (statement_stats_on())
		statement_stats_count(query_desc->plannedstmt->queryId, tenant > 0 ? &(*params)->params[tenant - 1] : NULL);
	return local_plan_get(source, *params);
}

/* Takes an execution out of the list; called when its memory goes. */
static void
forget_run(void *arg)
{
	OwnRun	   *run = arg;

	dlist_delete(&run->link);
	ReleaseCachedPlan(run->plan, NULL);
}

/*
 * Replaces the plan of a statement.  The statement goes on to ask for rights
 * to the logical tables, which libraries that log the use of tables see.
 */
static void
exchange_plan(QueryDesc *query_desc, CachedPlan *plan, ParamListInfo params)
{
	PlannedStmt *old = query_desc->plannedstmt;
	PlannedStmt *statement = makeNode(PlannedStmt);

	memcpy(statement, linitial_node(PlannedStmt, plan->stmt_list), sizeof(PlannedStmt));
	statement->queryId = old->queryId;
	statement->canSetTag = old->canSetTag;
	statement->stmt_location = old->stmt_location;
	statement->stmt_len = old->stmt_len;
	compat_add_permissions(statement, old);
	query_desc->plannedstmt = statement;
	query_desc->params = params;
}

/* Adds an execution to the list, which releases its plan later. */
static void
note_run(QueryDesc *query_desc, CachedPlan *plan)
{
	MemoryContext context = query_desc->estate->es_query_cxt;
	OwnRun	   *run = MemoryContextAlloc(context, sizeof(OwnRun));

	run->query_desc = query_desc;
	run->plan = plan;
	run->callback.func = forget_run;
	run->callback.arg = run;
	dlist_push_head(&own_runs, &run->link);
	MemoryContextRegisterResetCallback(context, &run->callback);
}

static bool
is_own_run(QueryDesc *query_desc)
{
	dlist_iter	iter;

	dlist_foreach(iter, &own_runs)
	{
		if (dlist_container(OwnRun, link, iter.cur)->query_desc == query_desc)
			return true;
	}
	return false;
}

static void
call_run(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	if (prev_run)
		prev_run(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else
		standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
}

static void
run_executor(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	MemoryContext context = CurrentMemoryContext;

	if (likely(dlist_is_empty(&own_runs)) || !is_own_run(query_desc))
	{
		call_run(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
		return;
	}
	PG_TRY();
	{
		call_run(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
}

static void
call_finish(QueryDesc *query_desc)
{
	if (prev_finish)
		prev_finish(query_desc);
	else
		standard_ExecutorFinish(query_desc);
}

/* Foreign keys are checked here. */
static void
finish_executor(QueryDesc *query_desc)
{
	MemoryContext context = CurrentMemoryContext;

	if (likely(dlist_is_empty(&own_runs)) || !is_own_run(query_desc))
	{
		call_finish(query_desc);
		return;
	}
	PG_TRY();
	{
		call_finish(query_desc);
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
}

/* Installs the hooks for executions with replaced plans. */
static void
install_hooks(void)
{
	static bool installed = false;

	if (installed)
		return;
	prev_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	prev_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
	installed = true;
}

/* Starts a statement with its shard's plan; false if that isn't possible. */
static bool
start_on_own_shard(QueryDesc *query_desc, int eflags, ExecutorStart_hook_type start)
{
	MemoryContext context = CurrentMemoryContext;
	CachedPlan *plan;
	ParamListInfo params;

	plan = own_plan(query_desc, &params);
	if (plan == NULL)
		return false;
	exchange_plan(query_desc, plan, params);
	stat_counter_add(STAT_SINGLE_SHARD);
	PG_TRY();
	{
		standby_refuse_own_shard(query_desc->operation);
		statement_snapshot_await_left(query_desc);
		start(query_desc, eflags);
		note_run(query_desc, plan);
		install_hooks();
	}
	PG_CATCH();
	{
		ReleaseCachedPlan(plan, NULL);
		shard_names_rethrow(context);
	}
	PG_END_TRY();
	return true;
}

bool
own_shard_start(QueryDesc *query_desc, int eflags, ExecutorStart_hook_type start)
{
	return eflags == 0 && query_desc->instrument_options == 0 &&
		is_dist_scan(query_desc->plannedstmt->planTree) &&
		(dist_plan_peek((CustomScan *) query_desc->plannedstmt->planTree)->traits.flags & TASK_CALL) == 0 && start_on_own_shard(query_desc, eflags, start);
}
