/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  The executor node of a DistributedModify.
 *
 * The first call reads the child to its end, so that the child can't see rows
 * that the statement writes, and converts each row into changes of rows of
 * shards (modify_collect.c).  Then the changes are applied (modify_apply.c),
 * deletes first; an UPDATE that moves a row is a DELETE and an INSERT.  The
 * child's scan has locked the rows to be updated or deleted, so they haven't
 * changed since.
 *
 * If the table has triggers, or the initiator resolves conflicts, the child's
 * rows are stored until all are read, since the child must not see effects of
 * triggers and earlier rounds either.
 *
 * The rows of a large INSERT are sent as the child returns them
 * (modify_stream.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/stat_counters.h"
#include "compat/explain.h"
#include "executor/modify.h"
#include "executor/read_ahead.h"
#include "executor/reference_write.h"
#include "executor/statement_snapshot.h"
#include "lib/run_as.h"
#include "planner/foreign_key.h"

static void
init_merge_actions(DistModifyState *state)
{
	ListCell   *cell;

	foreach(cell, state->plan.actions)
	{
		ModifyAction *action = palloc0(sizeof(ModifyAction));

		modify_action_unpack(lfirst(cell), action);
		state->actions = lappend(state->actions, action);
	}
}

static void
modify_begin(CustomScanState *node, EState *estate, int eflags)
{
	DistModifyState *state = (DistModifyState *) node;
	CustomScan *plan_node = (CustomScan *) node->ss.ps.plan;
	Relation	relation = table_open(state->plan.relid, NoLock);

	state->context = CurrentMemoryContext;
	state->table = metadata_require(state->plan.relid);
	state->row_desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	state->row_type = relation->rd_rel->reltype;
	state->partitioned = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	table_close(relation, NoLock);

	state->input.child = ExecInitNode(linitial(plan_node->custom_plans), estate, eflags);
	node->custom_ps = list_make1(state->input.child);
	state->expr_states = ExecInitExprList(plan_node->custom_exprs, &node->ss.ps);
	if (state->table->kind == DIST_REFERENCE)
	{
		state->image = row_image_begin(state->row_desc);
		state->image_values = palloc(sizeof(Datum) * Max(state->row_desc->natts, 1));
		state->image_nulls = palloc(sizeof(bool) * Max(state->row_desc->natts, 1));
	}
	init_merge_actions(state);
	modify_check_begin(state);
	modify_begin_pending(state);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		modify_late_begin(state);

	/* a write in a CTE runs to its end even if its rows are not read */
	if (!state->plan.can_set_tag && !(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		estate->es_auxmodifytables = lcons(node, estate->es_auxmodifytables);
}

/* TriggerApply. */
static bool
apply_waiting(void *arg)
{
	DistModifyState *state = arg;

	const PendingChanges *pending = &state->pending;

	if (pending->deletes.nchanges + pending->moves.nchanges + pending->updates.nchanges + pending->inserts.nchanges +
		pending->upserts.nchanges == 0)
		return false;
	modify_apply_all(state);
	return true;
}

/*
 * Makes scans in subqueries of our expressions read their rows before
 * something is written that they must not see.
 */
static void
read_subqueries(DistModifyState *state)
{
	PlanState  *node = &state->css.ss.ps;

	if (node->initPlan != NIL || node->subPlan != NIL)
		read_ahead_subqueries(node, foreign_key_reach(state->plan.relid));
}

/*
 * As a single server does it: BEFORE STATEMENT triggers, then for each row
 * BEFORE ROW triggers and the write, and AFTER triggers at the end of the
 * statement.  The child reads as of the statement's start.
 */
static void
run_with_triggers(DistModifyState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	bool		reads_nothing = list_length(estate->es_plannedstmt->relationOids) == 1 &&
		state->plan.command == CMD_INSERT;

	state->triggers = triggers_begin(estate, state->plan.relid, state->plan.command, state->plan.commands,
									 (state->table->row_triggers & state->plan.triggers) != 0, state->plan.assigned, apply_waiting, state);
	if (state->plan.arbiters != NIL)
		triggers_has_entries(state->triggers);
	if (reads_nothing)
		triggers_before_statement(state->triggers);
	modify_read_input(state);
	read_ahead_all(estate);
	/*
	 * one row's DO UPDATE is computed before anything is written, unless by a
	 * trigger
	 */
	if (state->plan.has_returning || state->plan.triggers != 0 || tuplestore_tuple_count(state->input.rows) > 1)
		read_subqueries(state);
	if (!reads_nothing)
		triggers_before_statement(state->triggers);
	modify_collect(state);
	modify_apply_all(state);
	triggers_after_statement(state->triggers);
}

/*
 * Locks a reference table that the plan writes, on the first node and here;
 * false if it writes none.
 */
static bool
lock_reference(Plan *node)
{
	ModifyPlan	plan;
	RunAs		caller;
	bool		exclusive;

	if (node == NULL || !is_dist_modify(node))
		return false;
	modify_plan_unpack((CustomScan *) node, &plan);
	if (metadata_require(plan.relid)->kind != DIST_REFERENCE)
		return false;
	exclusive = plan.command != CMD_INSERT || plan.do_update;
	caller = run_as_begin(plan.traits.check_as);
	reference_lock(plan.relid, exclusive);
	run_as_end(caller);
	reference_lock_here(plan.relid, exclusive);
	return true;
}

void
modify_lock_references(QueryDesc *query_desc, int eflags)
{
	const PlannedStmt *statement = query_desc->plannedstmt;
	bool		locked;
	ListCell   *cell;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	locked = lock_reference(IsA(statement->planTree, Sort) ? outerPlan(statement->planTree) : statement->planTree);
	if (statement->hasModifyingCTE)
	{
		foreach(cell, statement->subplans)
			locked = lock_reference(lfirst(cell)) || locked;
	}
	if (locked)
		statement_snapshot_renew(query_desc);
}

/* Does all the work. */
static void
run_modify(DistModifyState *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	stat_counter_add(STAT_MULTI_SHARD);
	if (state->plan.has_returning)
		modify_begin_output(state);
	state->pending.deletes.counts = !state->late;
	if (state->late)
		modify_collect(state);
	else if (state->plan.triggers != 0 || state->plan.resolves)
		run_with_triggers(state);
	else
	{
		modify_collect(state);
		read_ahead_all(state->css.ss.ps.state);
		if (state->plan.has_returning)
			read_subqueries(state);
		modify_apply_all(state);
		modify_stream_end(state);
	}
	if (state->output.sorted != NULL)
		tuplesort_performsort(state->output.sorted);
	state->done = true;
	MemoryContextSwitchTo(old_context);
}

static TupleTableSlot *
modify_next(ScanState *node)
{
	DistModifyState *state = (DistModifyState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (!state->done)
		run_modify(state);
	if (modify_next_output(state, slot))
		modify_check_stored_row(state);
	return slot;
}

static bool
modify_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
modify_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, modify_next, modify_recheck);
}

static void
modify_end(CustomScanState *node)
{
	DistModifyState *state = (DistModifyState *) node;

	modify_end_pending(state);
	modify_check_end(state);
	if (state->triggers != NULL)
		triggers_end(state->triggers);
	modify_end_rows(state);
}

static void
modify_rescan(CustomScanState *node)
{
	/* like ModifyTable: a write is never executed twice */
	elog(ERROR, "DistributedModify can't be rescanned");
}

static void
modify_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	DistModifyState *state = (DistModifyState *) node;
	static const char *const names[] = {"Unknown", "Select", "Update", "Insert", "Delete", "Merge"};

	ExplainPropertyText("Operation",
						state->plan.command <= CMD_MERGE ? names[state->plan.command] : names[0], es);
	ExplainPropertyText("Target", get_rel_name(state->plan.relid), es);
}

static const CustomExecMethods modify_exec_methods = {
	.CustomName = "DistributedModify",
	.BeginCustomScan = modify_begin,
	.ExecCustomScan = modify_exec,
	.EndCustomScan = modify_end,
	.ReScanCustomScan = modify_rescan,
	.ExplainCustomScan = modify_explain,
};

static Node *
modify_create(CustomScan *node)
{
	DistModifyState *state = (DistModifyState *) newNode(sizeof(DistModifyState),
														 T_CustomScanState);

	state->css.methods = &modify_exec_methods;
	modify_plan_unpack(node, &state->plan);
	return (Node *) state;
}

void
modify_init(void)
{
	modify_pending_init();
	modify_stream_init();
	dist_modify_methods.CreateCustomScanState = modify_create;
	RegisterCustomScanMethods(&dist_modify_methods);
}
