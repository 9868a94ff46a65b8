/*-------------------------------------------------------------------------
 *
 * statement_snapshot.c
 *	  Chooses the point in time that a statement reads as of.
 *
 * When a statement starts:
 *
 * - a task whose tag asks for it runs under the snapshot of its initiator's
 *   statement;
 * - at READ COMMITTED, a statement that reads several shards gets a point in
 *   time of its own (dist_snapshot_take);
 * - at REPEATABLE READ, the first statement that uses distributed or
 *   reference tables fixes the transaction's.
 *
 * In each case the statement's snapshot on this node is replaced by one as of
 * that time, so that local tables and this node's shards are read as of the
 * same time.  At READ COMMITTED, a statement that is sent to one shard as a
 * whole needs no point in time, but waits for what other nodes have committed
 * in two phases and may have told their clients of, if it was left prepared
 * here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "executor/statement_snapshot.h"
#include "lib/transaction_end.h"
#include "planner/dist_plan.h"
#include "planner/modify_plan.h"
#include "sharding/prune.h"
#include "txn/commit_ring.h"
#include "txn/exported_snapshot.h"
#include "txn/transaction.h"

/*
 * A scan up to this cost, in the planner's units, is so short that its rows
 * can wait until all nodes have answered.
 */
#define OFFERED_COST 10000.0

/* How a plan uses distributed tables. */
typedef struct PlanUse
{
	bool		any;			/* uses them, or reads reference tables */
	bool		exports;		/* is a call of pg_export_snapshot() alone */
	bool		whole;			/* the whole statement is sent to one shard */
	bool		forced;			/* to be read as of a point in time of all
								 * nodes */
	Bitmapset  *groups;			/* nodes of the shards that it scans */
	int			nshards;		/* how many those are */
	uint64		generation;		/* of the metadata that groups and nshards are
								 * from */
	ParamListInfo params;		/* of the execution */
} PlanUse;

/* The snapshot of the statement that is being started, or NULL. */
static DistSnapshot *starting_snapshot = NULL;

static ExecutorEnd_hook_type prev_executor_end = NULL;
static bool end_is_hooked = false;	/* from the first statement with a snapshot
									 * of its own */

/* Whether statement_snapshot_force was called. */
static bool next_is_forced = false;

/*
 * Whether something was read in this REPEATABLE READ transaction before its
 * first distributed statement.
 */
static bool has_read = false;

/*
 * Whether this transaction has imported a snapshot that is of this node only.
 */
static bool snapshot_imported = false;

static void forget_reads(void);
static TransactionEnd transaction_end = {forget_reads};

static void plan_list_use(List *plans, PlanUse *use);

/*
 * Whether all of the scan's expressions are known now, and evaluating them has
 * no effect.
 */
static bool
exprs_are_known(CustomScan *scan)
{
	foreach_ptr(Node, expr, scan->custom_exprs)
	{
		if (!IsA(expr, Const) && !(IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_EXTERN))
			return false;
	}
	return true;
}

/*
 * Whether the scan is of a statement that a node of the plan runs with more
 * parameters, and which chooses a snapshot when it starts.
 */
static bool
is_of_inner_statement(CustomScan *scan, ParamListInfo params)
{
	foreach_ptr(Node, expr, scan->custom_exprs)
	{
		if (IsA(expr, Param) && ((Param *) expr)->paramkind == PARAM_EXTERN &&
			((Param *) expr)->paramid > (params == NULL ? 0 : params->numParams))
			return true;
	}
	return false;
}

/* The shards that a scan reads, or, if that is not known yet, could read. */
static Bitmapset *
scan_shards(CustomScan *scan, const DistPlan *plan, const DistTable *table, ParamListInfo params)
{
	ExprContext *econtext;
	Bitmapset  *shards;

	if (plan->prune == NIL || !exprs_are_known(scan))
		return bms_add_range(NULL, 0, table->nshards - 1);
	econtext = CreateStandaloneExprContext();
	econtext->ecxt_param_list_info = params;
	shards = prune_evaluate(table, plan->prune, expr_values_init(scan->custom_exprs, NULL), econtext);
	FreeExprContext(econtext, true);
	return shards;
}

/* The nodes of the shards that a scan reads. */
static void
add_groups(CustomScan *scan, PlanUse *use)
{
	DistPlan	plan;
	const DistTable *table;
	Bitmapset  *shards;
	int			i = -1;

	dist_plan_unpack(scan, &plan);
	table = metadata_lookup(plan.relid);
	if (table == NULL || IsolationUsesXactSnapshot() || is_of_inner_statement(scan, use->params))
		return;
	shards = scan_shards(scan, &plan, table, use->params);
	use->nshards += bms_num_members(shards);
	while ((i = bms_next_member(shards, i)) >= 0)
	{
		use->groups = bms_add_member(use->groups, table->shards[i].groupid);
		if (table->shards[i].former_group >= 0)
			use->groups = bms_add_member(use->groups, table->shards[i].former_group);
	}
}

/* Adds what a plan tree does to use. */
static void
plan_use(Plan *plan, PlanUse *use)
{
	if (plan == NULL)
		return;
	if (is_dist_scan(plan))
	{
		const DistPlan *dist = dist_plan_peek((CustomScan *) plan);

		use->any = true;
		plan_list_use(((CustomScan *) plan)->custom_plans, use);
		if (dist_plan_reads_as_of(dist))
			add_groups((CustomScan *) plan, use);
		else if (dist->kind == DIST_PLAN_FAST_PATH || dist->kind == DIST_PLAN_ROUTER)
			use->whole = true;
		return;
	}
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			use->any = use->any || is_dist_modify(plan);
			plan_list_use(((CustomScan *) plan)->custom_plans, use);
			break;
		case T_Append:
			plan_list_use(((Append *) plan)->appendplans, use);
			break;
		case T_MergeAppend:
			plan_list_use(((MergeAppend *) plan)->mergeplans, use);
			break;
		case T_SubqueryScan:
			plan_use(((SubqueryScan *) plan)->subplan, use);
			break;
		default:
			break;
	}
	plan_use(plan->lefttree, use);
	plan_use(plan->righttree, use);
}

static void
plan_list_use(List *plans, PlanUse *use)
{
	ListCell   *cell;

	foreach(cell, plans)
		plan_use(lfirst(cell), use);
}

/*
 * The same for a statement; sets all fields of use except params and forced.
 */
static void
statement_use(PlannedStmt *statement, PlanUse *use)
{
	*use = (PlanUse) {.params = use->params, .forced = use->forced, .generation = metadata_generation()};
	plan_use(statement->planTree, use);
	plan_list_use(statement->subplans, use);
	if (use->forced)
		foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
			use->groups = bms_add_member(use->groups, node->groupid);
	if (!bms_is_empty(use->groups))
		use->groups = bms_del_member(use->groups, metadata_local_group());
}

/* Replaces the statement's snapshot. */
static void
exchange_snapshot(QueryDesc *query_desc, Snapshot other)
{
	SnapshotData copy = *other;

	copy.copied = false;
	copy.active_count = copy.regd_count = 0;
	copy.curcid = query_desc->snapshot->curcid;
	other = RegisterSnapshot(&copy);
	UnregisterSnapshot(query_desc->snapshot);
	query_desc->snapshot = other;
}

void
statement_snapshot_renew(QueryDesc *query_desc)
{
	if (!IsolationUsesXactSnapshot())
		exchange_snapshot(query_desc, GetTransactionSnapshot());
}

void
statement_snapshot_await_left(QueryDesc *query_desc)
{
	bool		waited = false;

	if (likely(!prepared_ring_has_left()) || !distributed_snapshots || IsolationUsesXactSnapshot() ||
		query_desc->snapshot == InvalidSnapshot || dist_snapshot_find(query_desc->snapshot) != NULL)
		return;
	foreach_node(RangeTblEntry, rte, query_desc->plannedstmt->rtable)
		if (rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId)
			waited = prepared_ring_await_left(rte->relid) || waited;
	if (waited)
		statement_snapshot_renew(query_desc);
}

/* Whether nothing else will run in this transaction. */
static bool
is_lone_statement(QueryDesc *query_desc)
{
	return !IsTransactionBlock() && ActivePortal != NULL &&
		ActivePortal->sourceText == query_desc->sourceText;
}

/* Whether the statement owns a snapshot. */
static bool
has_own_snapshot(QueryDesc *query_desc)
{
	DistSnapshot *snapshot = dist_snapshot_find(query_desc->snapshot);

	return snapshot != NULL &&
		MemoryContextGetParent(GetMemoryChunkContext(snapshot)) == query_desc->estate->es_query_cxt;
}

static void
end_snapshot_use(QueryDesc *query_desc)
{
	bool		own = has_own_snapshot(query_desc);

	if (prev_executor_end)
		prev_executor_end(query_desc);
	else
		standard_ExecutorEnd(query_desc);
	if (own)
		dist_snapshot_end();
}

/* Called when the memory of a statement's snapshot is released. */
static void
snapshot_gone(void *snapshot)
{
	if (starting_snapshot == snapshot)
		starting_snapshot = NULL;		/* the statement failed while it was
										 * being started */
}

static void
note_snapshot(DistSnapshot *snapshot)
{
	MemoryContextCallback *callback = MemoryContextAlloc(GetMemoryChunkContext(snapshot), sizeof(*callback));

	callback->func = snapshot_gone;
	callback->arg = snapshot;
	MemoryContextRegisterResetCallback(GetMemoryChunkContext(snapshot), callback);
	if (!end_is_hooked)
	{
		prev_executor_end = ExecutorEnd_hook;
		ExecutorEnd_hook = end_snapshot_use;
		end_is_hooked = true;
	}
}

/*
 * The only scan of a plan, if it sends its tasks as soon as the plan runs: all
 * nodes above have one child, and it has no child plans, which would run
 * first.  Else NULL.  A cursor may be run much later.
 */
static CustomScan *
scan_that_starts_at_once(PlannedStmt *stmt)
{
	Plan	   *plan = stmt->planTree;

	if (stmt->subplans != NIL || (ActivePortal != NULL && (ActivePortal->cursorOptions & CURSOR_OPT_FAST_PLAN) != 0))
		return NULL;
	while (plan != NULL && !is_dist_scan(plan))
	{
		if (is_dist_modify(plan))
			plan = linitial(((CustomScan *) plan)->custom_plans);
		else
			plan = plan->righttree == NULL ? plan->lefttree : NULL;
	}
	return plan != NULL && ((CustomScan *) plan)->custom_plans == NIL ? (CustomScan *) plan : NULL;
}

/*
 * Whether a point in time may be offered to the nodes with the statement's
 * tasks, instead of asking the nodes before.  If a node refuses, the statement
 * starts again, so it must not have had an effect or returned rows, and all
 * rows wait for the first row of the slowest node.  Nodes drop the snapshot at
 * the end of the task, so nothing else, a user's function for instance, may
 * need it.
 */
static bool
may_be_offered(QueryDesc *query_desc, CustomScan *scan)
{
	PlannedStmt *stmt = query_desc->plannedstmt;

	return scan != NULL && scan->scan.plan.total_cost <= OFFERED_COST && stmt->commandType == CMD_SELECT &&
		stmt->rowMarks == NIL && stmt->invalItems == NIL && query_desc->instrument_options == 0 &&
		!txn_reads_in_xact() && exprs_are_known(scan);
}

/*
 * While a point in time is chosen, a shard may be moved to a node that wasn't
 * asked.  If our snapshot is later than the move, our metadata show it.
 * Returns whether all needed nodes were asked; if not, use has the nodes to
 * ask.
 */
static bool
all_were_asked(QueryDesc *query_desc, PlanUse *use)
{
	Bitmapset  *asked = use->groups;

	AcceptInvalidationMessages();
	if (use->generation == metadata_generation())
		return true;
	statement_use(query_desc->plannedstmt, use);
	return bms_is_subset(use->groups, asked);
}

/* Chooses the point in time. */
static DistSnapshot *
take_snapshot(QueryDesc *query_desc, PlanUse *use)
{
	for (;;)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus statement snapshot",
													  ALLOCSET_SMALL_SIZES);
		CustomScan *scan = scan_that_starts_at_once(query_desc->plannedstmt);
		DistSnapshot *snapshot = !use->forced && may_be_offered(query_desc, scan) ?
			dist_snapshot_offer(use->groups, query_desc->snapshot, context) : NULL;

		if (snapshot == NULL)
			snapshot = dist_snapshot_take(use->groups, query_desc->snapshot, scan == NULL, context);
		if (all_were_asked(query_desc, use))
			return snapshot;
		MemoryContextDelete(context);
	}
}

/*
 * Chooses a point in time for a statement at READ COMMITTED.  Returns whether
 * it is its own: a statement that runs as part of another one, under that
 * one's snapshot, shares it.
 */
static bool
start_statement(QueryDesc *query_desc, PlanUse *use)
{
	starting_snapshot = dist_snapshot_find(query_desc->snapshot);
	if (starting_snapshot != NULL || (!use->forced && (bms_is_empty(use->groups) || use->nshards < 2)))
		return false;
	starting_snapshot = take_snapshot(query_desc, use);
	note_snapshot(starting_snapshot);
	exchange_snapshot(query_desc, starting_snapshot->snapshot);
	starting_snapshot->snapshot = query_desc->snapshot;
	starting_snapshot->statement = query_desc;
	return true;
}

void
statement_snapshot_settle(DistSnapshot *snapshot, bool refused)
{
	QueryDesc  *query_desc = snapshot->statement;
	EState	   *estate = query_desc->estate;
	bool		is_active = GetActiveSnapshot() == query_desc->snapshot;
	PlanUse		use = {.params = query_desc->params};
	MemoryContext old_context = MemoryContextSwitchTo(GetMemoryChunkContext(snapshot));

	if (refused)
		dist_snapshot_offer_refused();
	statement_use(query_desc->plannedstmt, &use);
	do
		dist_snapshot_settle(snapshot, use.groups, query_desc->snapshot);
	while (!all_were_asked(query_desc, &use));
	MemoryContextSwitchTo(old_context);
	exchange_snapshot(query_desc, snapshot->snapshot);
	snapshot->snapshot = query_desc->snapshot;
	UnregisterSnapshot(estate->es_snapshot);
	estate->es_snapshot = RegisterSnapshot(query_desc->snapshot);
	if (!is_active)
		return;
	PopActiveSnapshot();
	PushActiveSnapshot(query_desc->snapshot);
}

static void
forget_reads(void)
{
	has_read = false;
	snapshot_imported = false;
	next_is_forced = false;
}

void
statement_snapshot_imported(const char *id)
{
	snapshot_imported = !exported_snapshot_take(id);
	at_transaction_end(&transaction_end);
}

/*
 * An imported snapshot of this node only doesn't determine what is visible on
 * other nodes.
 */
static void
check_not_imported(const PlanUse *use)
{
	if (snapshot_imported && use->any)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot use distributed tables in a transaction with another session's snapshot"),
				 errdetail("The snapshot is one of this node alone."),
				 errhint("Export it in a transaction at REPEATABLE READ, by a statement that does nothing else, "
						 "with citus.distributed_snapshots on.")));
}

/* The same for a transaction at REPEATABLE READ. */
static void
start_in_transaction(QueryDesc *query_desc, PlanUse *use)
{
	if (!use->any && !use->exports)
	{
		has_read = true;
		at_transaction_end(&transaction_end);
	}
	else if (!use->whole || !is_lone_statement(query_desc))
		exchange_snapshot(query_desc, dist_snapshot_of_transaction(!has_read));
	if (use->exports)
		exported_snapshot_offer();
}

/*
 * Whether a client's statement reads reference tables.  (Those that check
 * foreign keys have snapshots that the server has chosen for them.)
 */
static bool
reads_reference(QueryDesc *query_desc)
{
	if (InNoForceRLSOperation() || query_desc->crosscheck_snapshot != InvalidSnapshot)
		return false;
	foreach_node(RangeTblEntry, rte, query_desc->plannedstmt->rtable)
	{
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

		if (table != NULL && table->kind == DIST_REFERENCE)
			return true;
	}
	return false;
}

/* Whether a statement is SELECT pg_export_snapshot(). */
static bool
is_export(PlannedStmt *stmt)
{
	Plan	   *plan = stmt->planTree;
	Node	   *value;

	if (!IsA(plan, Result) || list_length(plan->targetlist) != 1)
		return false;
	value = (Node *) linitial_node(TargetEntry, plan->targetlist)->expr;
	return IsA(value, FuncExpr) && ((FuncExpr *) value)->funcid == F_PG_EXPORT_SNAPSHOT;
}

bool
statement_snapshot_choose(QueryDesc *query_desc, int eflags, const TaskTag *tag)
{
	PlanUse		use = {.params = query_desc->params,.forced = next_is_forced};

	next_is_forced = false;
	starting_snapshot = NULL;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker() ||
		query_desc->snapshot == InvalidSnapshot || query_desc->plannedstmt->commandType == CMD_UTILITY)
		return false;
	if ((tag->traits.flags & TASK_AS_OF) != 0 && (query_desc->operation == CMD_SELECT || query_desc->operation == CMD_INSERT) &&
		(!IsolationUsesXactSnapshot() || snapshot_is_offered()))
	{
		exchange_snapshot(query_desc, snapshot_for_task());
		return false;
	}
	if ((!distributed_snapshots && !snapshot_imported) || !metadata_available() || (follower_reads() && RecoveryInProgress()))
		return false;

	statement_use(query_desc->plannedstmt, &use);
	use.exports = is_export(query_desc->plannedstmt);
	check_not_imported(&use);
	if (!distributed_snapshots)
		return false;
	if (!IsolationUsesXactSnapshot())
	{
		statement_snapshot_await_left(query_desc);
		return (use.forced || !bms_is_empty(use.groups)) && start_statement(query_desc, &use);
	}
	use.any = use.any || (tag->kind == TAG_NONE && !is_lone_statement(query_desc) && reads_reference(query_desc));
	start_in_transaction(query_desc, &use);
	return false;
}

void
statement_snapshot_force(void)
{
	next_is_forced = true;
	/* the statement may fail before it starts */
	at_transaction_end(&transaction_end);
}

void
statement_snapshot_started(QueryDesc *query_desc, bool own, DistSnapshot *outer)
{
	if (own)
		MemoryContextSetParent(GetMemoryChunkContext(starting_snapshot), query_desc->estate->es_query_cxt);
	starting_snapshot = outer;
}

DistSnapshot *
statement_snapshot_current(void)
{
	return starting_snapshot;
}
