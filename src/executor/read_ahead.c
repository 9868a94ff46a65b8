/*-------------------------------------------------------------------------
 *
 * read_ahead.c
 *	  Scans read their rows before something happens that they must not see.
 *
 * A statement sees the database as of its start, whatever its own transaction
 * writes meanwhile (a CTE, a function, an open cursor).  But its tasks share
 * connections with those writes, so tasks that begin later would see them.
 * Therefore all running scans read their remaining rows before anything is
 * written.
 *
 * The rollback of a subtransaction aborts commands that were sent in it, but
 * not cursors from outside.  So a scan that is read in another subtransaction
 * than it began in then reads all its rows.
 *
 * A scan that may be rescanned reads the rows for all possible rescans, and
 * keeps them.
 *
 * Scans of running statements are linked in a list.  They leave it when they
 * end, when what they use is released because they have failed, or with their
 * memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "executor/read_ahead.h"
#include "executor/scan_tasks.h"

static DistScanState *linked_scans = NULL;

void
read_ahead_unlink(DistScanState *state)
{
	for (DistScanState **link = &linked_scans; *link != NULL; link = &(*link)->next)
	{
		if (*link == state)
		{
			*link = state->next;
			return;
		}
	}
}

static void
memory_gone(void *arg)
{
	read_ahead_unlink(arg);
}

void
read_ahead_link(DistScanState *state)
{
	MemoryContext context = state->css.ss.ps.state->es_query_cxt;
	MemoryContextCallback *callback = MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	state->subid = GetCurrentSubTransactionId();
	state->resowner = CurrentResourceOwner;
	state->next = linked_scans;
	linked_scans = state;
	callback->func = memory_gone;
	callback->arg = state;
	MemoryContextRegisterResetCallback(context, callback);
}

/*
 * Called when the resources of a failed statement's scans are released, which
 * for a cursor is long before its memory is.
 */
static void
resources_released(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *arg)
{
	DistScanState *next;

	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (DistScanState *state = linked_scans; state != NULL; state = next)
	{
		next = state->next;
		if (state->resowner != CurrentResourceOwner)
			continue;
		if (state->set != NULL)
			task_set_abandon(state->set);
		if (state->kept.set != NULL)
			task_set_abandon(state->kept.set);
		if (state->batch.set != NULL)
			task_set_abandon(state->batch.set);
		read_ahead_unlink(state);
	}
}

/* Whether the scan has rows to read that can be read now. */
static bool
can_read(DistScanState *state)
{
	CustomScan *node = (CustomScan *) state->css.ss.ps.plan;

	if (state->busy)
		return false;
	if (state->phase == SCAN_STREAMS)
		return state->spec.columns != NULL;
	return state->phase == SCAN_NEW && state->plan.command == CMD_SELECT &&
		!needs_exec_params((Node *) node->custom_exprs, NULL);
}

/* Whether the scan may have later runs, whose rows have not been read. */
static bool
must_keep(DistScanState *state)
{
	return (state->repeats || state->runs > 0) && state->plan.keep_text != NULL &&
		!state->busy && state->phase != SCAN_FAILED && state->rerun != RERUN_STORED && state->kept.set == NULL;
}

/* Reads a scan's rows in the state of its own statement. */
static void
read_now(DistScanState *state)
{
	ResourceOwner current = CurrentResourceOwner;

	if (!can_read(state) && !must_keep(state))
		return;
	PushActiveSnapshot(state->css.ss.ps.state->es_snapshot);
	CurrentResourceOwner = state->resowner;
	PG_TRY();
	{
		if (can_read(state))
			scan_read_rest(state);
		if (must_keep(state))
			(void) scan_keep_rows(state, &state->kept, NULL, INT_MAX);
	}
	PG_CATCH();
	{
		CurrentResourceOwner = current;
		scan_fail(state);
		PG_RE_THROW();
	}
	PG_END_TRY();
	CurrentResourceOwner = current;
	PopActiveSnapshot();
}

/* read_ahead_all without the scans of the writing statement. */
static void
read_ahead_others(EState *writer)
{
	for (DistScanState *state = linked_scans; state != NULL; state = state->next)
	{
		if (state->css.ss.ps.state != writer)
			read_now(state);
	}
}

void
read_ahead_all(EState *writer)
{
	read_ahead_others(writer);
	if (writer == NULL || !writer->es_plannedstmt->hasModifyingCTE)
		return;
	for (DistScanState *state = linked_scans; state != NULL; state = state->next)
	{
		if (state->css.ss.ps.state == writer)
			read_now(state);
	}
}

/* Whether a scan reads one of some tables (oids). */
static bool
scan_reads_any(const DistScanState *state, List *relids)
{
	foreach_oid(relid, state->plan.relids)
	{
		if (list_member_oid(relids, relid))
			return true;
	}
	return list_member_oid(relids, state->plan.relid);
}

/* A walker over a plan's state; context is the list of tables. */
static bool
read_ahead_walker(PlanState *node, void *context)
{
	if (is_dist_scan(node->plan))
	{
		DistScanState *state = (DistScanState *) node;

		if (scan_reads_any(state, context))
		{
			read_now(state);
			if (state->kept.set == NULL && state->rerun != RERUN_STORED)
				state->rerun = RERUN_REFUSED;
		}
	}
	return planstate_tree_walker(node, read_ahead_walker, context);
}

void
read_ahead_subqueries(PlanState *node, List *relids)
{
	foreach_node(SubPlanState, subplan, node->initPlan)
		(void) read_ahead_walker(subplan->planstate, relids);
	foreach_node(SubPlanState, subplan, node->subPlan)
		(void) read_ahead_walker(subplan->planstate, relids);
}

bool
read_ahead_due(DistScanState *state)
{
	return state->subid != GetCurrentSubTransactionId() && state->plan.command == CMD_SELECT && can_read(state);
}

void
read_ahead_init(void)
{
	RegisterResourceReleaseCallback(resources_released, NULL);
}
