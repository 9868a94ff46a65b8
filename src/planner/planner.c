/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  planner_hook: the ladder of planners, cheapest first.
 *
 * A rung that can't plan a statement says why; the reason reaches EXPLAIN and
 * the log at DEBUG2, never the client as an error.  The last rung can plan
 * everything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "parser/parse_collate.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "catalog/cache_limit.h"
#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "compat/planner_call.h"
#include "lib/trace.h"
#include "planner/cursor_plan.h"
#include "planner/dist_cost.h"
#include "planner/dist_rel.h"
#include "planner/foreign_key.h"
#include "planner/hide_shards.h"
#include "planner/look_ahead.h"
#include "planner/modify_plan.h"
#include "planner/named_objects.h"
#include "planner/partial_plan.h"
#include "planner/planner.h"
#include "planner/replica_identity.h"
#include "planner/replaced_function.h"
#include "planner/shippable.h"
#include "planner/sort_returning.h"
#include "planner/task_query.h"
#include "remote/identity.h"
#include "resolve/manual_change.h"
#include "resolve/query.h"
#include "txn/transaction.h"
#include "vector/vector_plan.h"

/* Rungs can be switched off; answers don't change. */
static bool enable_fast_path = true;
static bool enable_router = true;

PlanningContext *planning_context = NULL;
PlannedStmt *(*plan_by_global_index) (Query *query, const char *query_string, int cursor_options,
									  ParamListInfo params) = NULL;

Query	   *(*narrow_by_global_indexes) (Query *query, Cost cost) = NULL;

static planner_hook_type prev_planner = NULL;

/* The next planner in the chain. */
static PlannedStmt *
plan_onwards(Query *query, const char *query_string, int cursor_options, ParamListInfo params)
{
	return compat_plan_onwards(prev_planner, query, query_string, cursor_options, params);
}

/*
 * As above, with a context that our paths report to.  The planner's hooks have
 * no argument for it; planning can run a function that plans.
 */
static PlannedStmt *
plan_with_context(PlanningContext *context, Query *query, const char *query_string,
				  int cursor_options, ParamListInfo params)
{
	PlanningContext *outer = planning_context;
	PlannedStmt *plan;

	planning_context = context;
	PG_TRY();
	{
		plan = plan_onwards(query, query_string, cursor_options, params);
	}
	PG_FINALLY();
	{
		planning_context = outer;
	}
	PG_END_TRY();
	if (context->hidden != NIL)
		statement_add_relations(plan, context->hidden);
	/* a guessed cost is no reason to spend a second on compilation */
	if (context->guesses)
		plan->jitFlags = PGJIT_NONE;
	return plan;
}

/*
 * JIT compiles the expressions of a task for several shards once for each
 * shard, so the cost threshold is multiplied by their number.  The same holds
 * for partitions, and members of UNION ALL.
 */
static void
limit_compilation(PlannedStmt *plan)
{
	double		cost = plan->planTree->total_cost;
	Index	   *tops = palloc0(sizeof(Index) * (list_length(plan->rtable) + 1));
	int		   *counts = palloc0(sizeof(int) * (list_length(plan->rtable) + 1));
	int			most = 1;

	/* parents come before their children */
	foreach_ptr(const AppendRelInfo, append, plan->appendRelations)
	{
		Index		top = tops[append->parent_relid] != 0 ? tops[append->parent_relid] : append->parent_relid;

		tops[append->child_relid] = top;
		most = Max(most, ++counts[top]);
	}
	cost /= most;
	if (cost <= jit_above_cost)
		plan->jitFlags = PGJIT_NONE;
	if (cost <= jit_optimize_above_cost)
		plan->jitFlags &= ~PGJIT_OPT3;
	if (cost <= jit_inline_above_cost)
		plan->jitFlags &= ~PGJIT_INLINE;
}

/* A tagged text: this node's shards, or its own copy of a reference table. */
static PlannedStmt *
plan_task(const TaskTag *tag, Query *query, const char *query_string, int cursor_options,
		  ParamListInfo params)
{
	PlanningContext context = {0};
	PlannedStmt *plan;
	int			nest = NewGUCNestLevel();

	if (tag->kind == TAG_SHARD || tag->kind == TAG_NODE)
		resolve_query(query, tag, params);
	context.node_task = tag->kind == TAG_NODE;
	plan = plan_with_context(&context, query, query_string, cursor_options, params);
	if ((tag->traits.flags & TASK_PARTIAL) != 0)
		partial_plan_make(plan);
	limit_compilation(plan);
	AtEOXact_GUC(false, nest);	/* as task_settings_run does it */
	return plan;
}

/* Materializes a scan, so that its rows can be read backward. */
static Plan *
materialize_scan(Plan *scan)
{
	Plan	   *material = materialize_finished_plan(scan);
	ListCell   *cell;

	material->targetlist = NIL;
	foreach(cell, scan->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));
		Node	   *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
		material->targetlist = lappend(material->targetlist, entry);
	}
	return material;
}

/*
 * The same for all scans that a plan reads backward when it is, see
 * ExecSupportsBackwardScan().
 */
static Plan *
materialize_scans(Plan *node)
{
	ListCell   *cell;

	if (node == NULL)
		return NULL;
	if (is_dist_scan(node))
		return materialize_scan(node);
	switch (nodeTag(node))
	{
		case T_Result:
		case T_Limit:
			outerPlan(node) = materialize_scans(outerPlan(node));
			break;
		case T_SubqueryScan:
			((SubqueryScan *) node)->subplan = materialize_scans(((SubqueryScan *) node)->subplan);
			break;
		case T_Append:
			foreach(cell, ((Append *) node)->appendplans)
				lfirst(cell) = materialize_scans(lfirst(cell));
			break;
		default:
			break;
	}
	return node;
}

/*
 * A cursor can move backward as on a single server, even if it was not
 * declared with SCROLL.
 */
static PlannedStmt *
make_scrollable(PlannedStmt *plan, int cursor_options)
{
	if ((cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0 &&
		(cursor_options & CURSOR_OPT_NO_SCROLL) == 0 &&
		plan->commandType == CMD_SELECT)
		plan->planTree = materialize_scans(plan->planTree);
	return plan;
}

/*
 * A query with the same answer that PostgreSQL's planner may plan better with
 * our paths.
 */
typedef struct Candidate
{
	bool		(*applies) (const Query *query);	/* whether it is worth a
													 * copy of the statement */
	Query	   *(*rewrite) (Query *query, PlanningContext *context);	/* may work in place; NULL: nothing changes */
} Candidate;

/* In the order in which they are planned. */
static const Candidate ladder_candidates[] = {
	{NULL, NULL},				/* the statement as it is */
	{group_subqueries_apply, group_subqueries_mark},
	{decorrelate_applies, decorrelate},
	{decorrelate_applies, decorrelate_few},
	{eager_group_applies, eager_group},
};

/*
 * The statement as one that shard groups run as a whole, if its plan, which
 * context describes, shows that they can; else NULL.  A plan with calls for
 * shard groups doesn't tell the router: it lacks the scans of the subqueries
 * that they stand for.
 */
static PlannedStmt *
send_whole(Query *query, const PlanningContext *context, int cursor_options)
{
	PlannedStmt *plan;
	const char *reason;

	if (context->write_source != NULL)
	{
		if ((plan = pushed_write_plan(query, context, &reason)) != NULL)
			return plan;
		elog(DEBUG2, "write not pushed down: %s", reason);
	}
	if (enable_router && context->group_subqueries == NIL && (context->scans != NIL || context->modifies) &&
		!cursor_plan_stays_here(query, cursor_options))
	{
		if ((plan = router_plan(query, context, &reason)) != NULL)
			return plan;
		elog(DEBUG2, "not routed: %s", reason);
	}
	return NULL;
}

/*
 * Whether a candidate's plan is preferred to the best one so far.  Calls for
 * shard groups are, if the nodes run all of them, and not for a write that the
 * initiator computes.
 */
static bool
candidate_is_better(PlannedStmt *plan, const PlanningContext *context, const PlannedStmt *best)
{
	if (context->group_subqueries != NIL)
		return context->write_source == NULL && group_subqueries_are_gone(plan, context);
	return best == NULL || plan->planTree->total_cost < best->planTree->total_cost;
}

/* Errors if the initiator can't evaluate the policies of a written table. */
static void
check_writable(const PlanningContext *context)
{
	if (context->unwritable != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot evaluate the policies of table \"%s\" for %s",
						get_rel_name(context->unwritable_table), context->unwritable),
				 errdetail("A policy reads a distributed table."),
				 errhint("Use separate INSERT, UPDATE and DELETE statements.")));
}

/*
 * Plans the candidates until one shows that the statement can be sent as a
 * whole; if none does, the best of the plans.
 */
static PlannedStmt *
plan_candidates(Query *query, const char *query_string, int cursor_options, ParamListInfo params)
{
	PlanningContext best_context = {0};
	PlannedStmt *best = NULL;

	modify_simplify_returning(query);
	for (int i = 0; i < lengthof(ladder_candidates); i++)
	{
		const Candidate *candidate = &ladder_candidates[i];
		PlanningContext context = {0};
		PlannedStmt *plan;
		PlannedStmt *whole;
		Query	   *turned;

		if (candidate->applies != NULL && (!citus_enable_query_pushdown || !candidate->applies(query)))
			continue;
		turned = copyObject(query);
		modify_prepare(turned, &context);
		if (candidate->rewrite != NULL && (turned = candidate->rewrite(turned, &context)) == NULL)
			continue;
		plan = plan_with_context(&context, turned, query_string, cursor_options, params);
		if ((whole = send_whole(query, &context, cursor_options)) != NULL)
			return whole;
		if (candidate_is_better(plan, &context, best))
		{
			best = plan;
			best_context = context;
		}
	}
	check_writable(&best_context);
	look_ahead_add(best, query, cursor_options);
	return best;
}

/* The query with a condition on its distribution column. */
static Query *
add_pin(Query *query, Param *pin)
{
	Index		varno = query->resultRelation;
	const DistTable *table;
	Var		   *column;
	Node	   *condition;

	query = copyObject(query);
	if (varno == 0)
		varno = linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
	table = metadata_require(rt_fetch(varno, query->rtable)->relid);
	column = makeVar(varno, table->dist_attno, table->dist_type, table->dist_typmod, table->dist_collation, 0);
	condition = (Node *) make_op(NULL, list_make2(makeString("pg_catalog"), makeString("=")), (Node *) column,
								 (Node *) pin, NULL, -1);
	assign_expr_collations(NULL, condition);
	query->jointree->quals = make_and_qual(query->jointree->quals, condition);
	return query;
}

/* Whether a statement is sent to one shard group as a whole. */
static bool
is_sent_whole(const PlannedStmt *plan)
{
	DistPlanKind kind;

	if (!is_dist_scan(plan->planTree))
		return false;
	kind = dist_plan_peek((const CustomScan *) plan->planTree)->kind;
	return kind == DIST_PLAN_FAST_PATH || kind == DIST_PLAN_ROUTER;
}

/* Tries the rungs in order.  pin: see fast_path_plan. */
static PlannedStmt *
climb_ladder(Query *query, Param *pin, const char *query_string, int cursor_options, ParamListInfo params)
{
	PlannedStmt *plan = NULL;
	const char *reason;

	if (enable_fast_path && (plan = fast_path_plan(query, pin, &reason)) == NULL)
		elog(DEBUG2, "no fast path: %s", reason);
	if (plan == NULL)
		plan = plan_candidates(pin != NULL ? add_pin(query, pin) : query, query_string, cursor_options, params);
	named_objects_note(plan, query);
	return plan;
}

PlannedStmt *
plan_pinned(Query *query, Param *value, const char *query_string, int cursor_options, ParamListInfo params)
{
	return climb_ladder(query, value, query_string, cursor_options, params);
}

static PlannedStmt *
plan_distributed(Query *query, const char *query_string, int cursor_options, ParamListInfo params)
{
	bool		tracks_rows = cursor_plan_prepare(query, cursor_options);
	PlannedStmt *plan = NULL;

	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		follower_refuse_write();
	replica_identity_check(query);
	if (!tracks_rows && plan_by_global_index != NULL)
		plan = plan_by_global_index(query, query_string, cursor_options, params);
	if (plan == NULL)
	{
		Query	   *narrowed;

		plan = climb_ladder(query, NULL, query_string, cursor_options, params);
		if (query->commandType == CMD_SELECT && !tracks_rows && narrow_by_global_indexes != NULL && !is_sent_whole(plan) &&
			(narrowed = narrow_by_global_indexes(query, plan->planTree->total_cost)) != NULL)
			plan = climb_ladder(narrowed, NULL, query_string, cursor_options, params);
	}
	if (!tracks_rows)
		return sort_returning_apply(make_scrollable(plan, cursor_options));
	cursor_plan_wrap(plan, query);
	return plan;
}

static PlannedStmt *
plan_any_statement(Query *query, const char *query_string, int cursor_options, ParamListInfo params)
{
	PlannedStmt *there = NULL;
	TaskTag		tag;

	txn_statement_begins();
	if (metadata_available())
	{
		cache_limit_check();
		query = replaced_functions_apply(query);
		hide_shards(query);

		/* a statement of a foreign key: each node checks its own rows */
		if (InNoForceRLSOperation() || is_query_of_detach(query))
		{
			check_foreign_key_query(query);
			tag = (TaskTag) {.kind = TAG_NODE};
			return plan_task(&tag, query, query_string, cursor_options, params);
		}
		if (task_tag_parse(query_string, &tag) && tag.kind != TAG_FRAMES)
		{
			if (unlikely(tag.trace != NULL))
				trace_task_begin(tag.trace);
			identity_settle();
			return plan_task(&tag, query, query_string, cursor_options, params);
		}
		manual_change_check_query(query);
		if (query->commandType != CMD_UTILITY && query_has_distributed_table(query))
			return plan_distributed(query, query_string, cursor_options, params);
		if (planning_context == NULL && (there = delegated_call_of_query(query, query_string, cursor_options)) != NULL)
			return delegated_call_plan(plan_onwards(query, query_string, cursor_options, params), there);
	}
	if (planning_context != NULL)
	{
		PlanningContext nested = {0};	/* a function run by the planner plans
										 * this */

		return plan_with_context(&nested, query, query_string, cursor_options, params);
	}
	return plan_onwards(query, query_string, cursor_options, params);
}

static PlannedStmt *
citus_planner(Query *query, const char *query_string, int cursor_options, ParamListInfo params PLANNER_EXPLAIN_PARAMETER)
{
	TraceSpan	span;
	PlannedStmt *plan;

	if (unlikely(trace_sampling))
		trace_statement(query_string, true);
	span = trace_begin();
	plan = plan_any_statement(query, query_string, cursor_options, params);
	vector_plan_make(plan);
	/* the trace of a task begins while it is planned */
	if (unlikely(trace_running && span.id == 0))
		span = trace_since_begin();
	trace_end(&span, TRACE_PLAN, TRACE_NO_NODE, -1, NULL);
	return plan;
}

void
planner_init(void)
{
	prev_planner = planner_hook;
	planner_hook = citus_planner;
	dist_cost_init();
	dist_rel_init();
	delegated_call_plan_init();
	scan_path_init();
	modify_path_init();
	text_cache_init();
	named_objects_init();
	foreign_key_init();
	hide_shards_init();
	replaced_functions_init();

	DefineCustomBoolVariable("citus.enable_fast_path_router_planner",
							 "Plans statements of one table without PostgreSQL's planner where possible.",
							 NULL, &enable_fast_path, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_router_execution",
							 "Sends statements that concern one shard group there as a whole.",
							 NULL, &enable_router, true, PGC_USERSET, 0, NULL, NULL, NULL);
}
