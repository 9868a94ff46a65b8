/*-------------------------------------------------------------------------
 *
 * executor_start.c
 *	  ExecutorStart_hook: decisions when the executor starts a statement.
 *
 * It is the only hook of the executor that every session has.  The hooks for
 * later steps are installed by the first statement that needs them, so that
 * sessions with ordinary tables don't call them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
#include "utils/plancache.h"
#include "utils/portal.h"

#include "columnar/index_columns.h"
#include "columnar/stripe_writer.h"
#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "catalog/standby_writes.h"
#include "executor/delegated_call_run.h"
#include "executor/executor_start.h"
#include "executor/explain_task.h"
#include "executor/fire_triggers.h"
#include "executor/left_shard.h"
#include "executor/modify.h"
#include "executor/moved_rows.h"
#include "executor/own_shard.h"
#include "executor/reference_write.h"
#include "executor/row_texts.h"
#include "executor/scan_state.h"
#include "executor/statement_snapshot.h"
#include "planner/modify_plan.h"
#include "remote/identity.h"
#include "resolve/tag.h"
#include "tenants/statement_stats.h"
#include "tenants/tenant.h"
#include "txn/serializable.h"
#include "txn/unpublished.h"

/* A plan of so many relations takes long to make: one of 128 took 14 ms. */
#define MANY_RELATIONS 64

/* After how many custom plans the server considers a generic one. */
#define CUSTOM_PLANS 5

uint64		executor_statements = 0;

static ExecutorStart_hook_type prev_start = NULL;

/* The next hook in the chain, or the server's own function. */
static void
start_executor_next(QueryDesc *query_desc, int eflags)
{
	if (prev_start)
		prev_start(query_desc, eflags);
	else
		standard_ExecutorStart(query_desc, eflags);
}

/*
 * On a standby, a statement that writes on other nodes only: the server would
 * refuse it.  Nothing runs in between but the start itself.
 */
static void
start_on_standby(QueryDesc *query_desc, int eflags)
{
	XactReadOnly = false;
	PG_TRY();
	{
		start_executor_next(query_desc, eflags);
	}
	PG_FINALLY();
	{
		XactReadOnly = true;
	}
	PG_END_TRY();
}

/*
 * The server runs statements of foreign keys in a special security context, by
 * which our planner recognizes them and plans them for this node only.  When
 * they start, they have been planned, and statements of users' functions that
 * they call (BEFORE triggers, defaults, checks) must be planned as usual, so
 * this resets the context.  The server restores the context at the end of the
 * statement.
 */
static void
leave_foreign_key_context(void)
{
	Oid			user;
	int			context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(user, context & ~SECURITY_NOFORCE_RLS);
}

/* Called when a task of a single tenant starts. */
static void
tenant_task_starts(const QueryDesc *query_desc, const TaskTag *tag)
{
	ParamListInfo params = query_desc->params;

	if (tag->traits.tenant == TENANT_IS_GROUP)
		(void) tenant_statement_starts(query_desc, tag->colocation_id, tag->range.min, NULL);
	else if (params != NULL && tag->traits.tenant <= params->numParams)
		(void) tenant_statement_starts(query_desc, tag->colocation_id, tag->range.min,
									   &params->params[tag->traits.tenant - 1]);
}

/*
 * A prepared task of very many shards takes longer to plan than to run, if it
 * looks up a few rows in each.  Has the server compare a generic plan with the
 * custom one by their costs, as it does after CUSTOM_PLANS, at the task's next
 * execution.
 */
static void
consider_generic_plan(const QueryDesc *query_desc)
{
	const Portal portal = ActivePortal;
	PreparedStatement *prepared;
	CachedPlanSource *source;

	if (list_length(query_desc->plannedstmt->relationOids) < MANY_RELATIONS ||
		portal == NULL || portal->prepStmtName == NULL || portal->sourceText != query_desc->sourceText)
		return;
	prepared = FetchPreparedStatement(portal->prepStmtName, false);
	if (prepared == NULL)
		return;
	source = prepared->plansource;
	if (source->num_custom_plans > 0 && source->num_custom_plans < CUSTOM_PLANS)
	{
		source->total_custom_cost *= (double) CUSTOM_PLANS / source->num_custom_plans;
		source->num_custom_plans = CUSTOM_PLANS;
	}
}

/*
 * Whether some part of a plan reads or writes shards, and isn't the whole
 * statement, which counts itself when it is known which tenant it is about.
 */
static bool
has_dist_part(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (is_dist_scan(node->plan))
		return ((DistScanState *) node)->plan.kind != DIST_PLAN_FAST_PATH && ((DistScanState *) node)->plan.kind != DIST_PLAN_ROUTER;
	return is_dist_modify(node->plan) || planstate_tree_walker(node, has_dist_part, context);
}

static void
start_executor(QueryDesc *query_desc, int eflags)
{
	const char *text = query_desc->sourceText;
	DistSnapshot *outer = statement_snapshot_current();
	TaskTag		tag = {TAG_NONE};
	ExecutorStart_hook_type start = start_executor_next;
	bool		own_snapshot;
	bool		checks_key;

	executor_statements++;
	if (unlikely(trace_sampling))
		trace_statement(text, false);
	if (query_desc->plannedstmt->parallelModeNeeded)
		stripe_writer_flush_all();
	node_call_forget(text);
	if (unlikely(triggers_are_called()))
		triggers_statement_starts(query_desc->snapshot);
	if (task_tag_parse(text, &tag))
	{
		identity_settle();
		if (unlikely(tag.trace != NULL))
			trace_task_begin(tag.trace);
		if ((tag.traits.flags & TASK_CALL) != 0)
			delegated_call_starts();
		if (tag.traits.explain != 0)
			explain_task_start(query_desc, &tag);
	}
	else
		follower_check_token();
	if (tag.traits.tenant != 0 && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		tenant_task_starts(query_desc, &tag);
	if (tag.kind == TAG_SHARD)
	{
		follower_check_staleness();
		consider_generic_plan(query_desc);
	}
	else if (unlikely(XactReadOnly) && tag.kind == TAG_NONE && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
			 standby_statement_writes(query_desc->plannedstmt))
		start = start_on_standby;
	if (tag.kind == TAG_NODE)
		reference_task_starts(query_desc, eflags);
	else
		modify_lock_references(query_desc, eflags);
	own_snapshot = statement_snapshot_choose(query_desc, eflags, &tag);
	if (!own_shard_start(query_desc, eflags, start_executor_next))
		start(query_desc, eflags);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		serializable_runs_here(query_desc->estate);
		index_columns_choose(query_desc->planstate);
	}
	tenant_statement_started(query_desc);
	if (statement_stats_on() && tag.kind == TAG_NONE && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
		has_dist_part(query_desc->planstate, NULL))
		statement_stats_count(query_desc->plannedstmt->queryId, NULL);
	if (tag.kind == TAG_NODE)
	{
		reference_task_started(query_desc);
		triggers_suppress(query_desc);
	}
	if (tag.kind != TAG_NONE && (query_desc->plannedstmt->commandType != CMD_SELECT || query_desc->plannedstmt->hasModifyingCTE))
		row_texts_allow(query_desc->estate->es_query_cxt);
	if (unlikely((tag.traits.flags & TASK_MOVES) != 0))
	{
		triggers_refuse_delete(query_desc);
		moved_rows_mark(query_desc);
	}
	if (unlikely((tag.traits.flags & TASK_UNPUBLISHED) != 0))
		unpublished_transaction();
	statement_snapshot_started(query_desc, own_snapshot, outer);
	if (unlikely(trace_running))
		trace_executor_started(query_desc);
	checks_key = unlikely(InNoForceRLSOperation()) && metadata_available();
	left_shard_start(query_desc, checks_key);
	if (checks_key)
		leave_foreign_key_context();
}

void
executor_start_init(void)
{
	prev_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
