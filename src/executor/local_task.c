/*-------------------------------------------------------------------------
 *
 * local_task.c
 *	  A task for the node's own shards, run inside this backend.
 *
 * The text is processed as on another node: parser, rewriter, and our
 * planner_hook, which resolves its tag.  Rows are then fetched from the
 * executor one by one, without being copied or collected.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/standby_writes.h"
#include "compat/executor_run.h"
#include "compat/planner_call.h"
#include "executor/local_task.h"
#include "executor/task_follow.h"
#include "lib/exact_text.h"
#include "lib/run_as.h"
#include "remote/shard_names.h"
#include "resolve/tag.h"

struct LocalTask
{
	QueryDesc  *query_desc;
	bool		write;
	bool		returns_rows;
	uint64		rows;			/* returned so far */
	MemoryContext context;
};

/* The plan of a text that holds exactly one optimizable statement. */
static PlannedStmt *
plan_text(const char *text, ParamListInfo params, Oid analyst)
{
	List	   *raw = pg_parse_query(text);
	int			nparams = params ? params->numParams : 0;
	Oid		   *types = palloc0(sizeof(Oid) * Max(nparams, 1));
	RunAs		caller;
	int			nest;
	List	   *queries;

	for (int i = 0; i < nparams; i++)
		types[i] = params->params[i].ptype;

	Assert(list_length(raw) == 1);
	caller = run_as_begin(analyst);
	nest = exact_text_read_begin();
	queries = pg_analyze_and_rewrite_fixedparams(linitial(raw), text, types, nparams, NULL);
	exact_text_read_end(nest);
	run_as_end(caller);
	if (list_length(queries) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a rule makes a task into several statements"),
				 errdetail("Distributed tables can't have rules.")));
	return pg_plan_query(linitial(queries), text, CURSOR_OPT_PARALLEL_OK, params, NULL);
}

/* The work of local_task_start, in the task's own context. */
static void
start_task(LocalTask *task, const char *text, ParamListInfo params, Oid analyst, bool latest)
{
	PlannedStmt *plan;

	if (task->write)
	{
		CommandCounterIncrement();
		PushCopiedSnapshot(latest && !IsolationUsesXactSnapshot() ? GetLatestSnapshot() : GetActiveSnapshot());
		UpdateActiveSnapshotCommandId();
	}
	plan = plan_text(text, params, analyst);
	standby_refuse_own_shard(plan->commandType);
	task->returns_rows = plan->commandType == CMD_SELECT || plan->hasReturning;
	task->query_desc = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot,
									   None_Receiver, params, NULL, 0);
	ExecutorStart(task->query_desc, 0);
	if (task->write)
		PopActiveSnapshot();	/* the query descriptor holds it */
}

/*
 * Raises the error that a shard isn't here any more, in terms that clients
 * know.  The initiator has looked up and locked the shard, so it is a former
 * placement that is missing, which the transaction's snapshot should have
 * kept.
 */
static void
report_gone(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	task_report_moved(error->message);
}

LocalTask *
local_task_start(const char *text, ParamListInfo params, Oid analyst, bool write, bool latest)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus local task",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	LocalTask  *task = palloc0(sizeof(LocalTask));
	const char *own = pstrdup(text);
	const char *outer = task_tag_begin_own(own);

	task->context = context;
	task->write = write;
	PG_TRY();
	{
		start_task(task, own, params, analyst, latest);
	}
	PG_CATCH();
	{
		task_tag_end_own(outer);
		if (geterrcode() == ERRCODE_SHARD_NOT_HERE)
			report_gone(context);
		shard_names_rethrow(context);
	}
	PG_END_TRY();
	task_tag_end_own(outer);

	MemoryContextSwitchTo(old_context);
	return task;
}

/*
 * The next row of the plan, under the task's own snapshot, as functions and
 * triggers expect.
 */
static TupleTableSlot *
pull_row(LocalTask *task)
{
	EState	   *estate = task->query_desc->estate;
	TupleTableSlot *slot;

	PushActiveSnapshot(task->query_desc->snapshot);
	MemoryContextSwitchTo(estate->es_query_cxt);
	ResetPerTupleExprContext(estate);
	slot = ExecProcNode(task->query_desc->planstate);
	if (!TupIsNull(slot) && estate->es_junkFilter != NULL)
		slot = ExecFilterJunk(estate->es_junkFilter, slot);
	PopActiveSnapshot();
	return slot;
}

TupleTableSlot *
local_task_next(LocalTask *task)
{
	MemoryContext old_context = CurrentMemoryContext;
	TupleTableSlot *slot;

	if (!task->returns_rows)
		return NULL;
	PG_TRY();
	{
		slot = pull_row(task);
	}
	PG_CATCH();
	{
		shard_names_rethrow(old_context);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old_context);

	if (TupIsNull(slot))
		return NULL;
	task->rows++;
	return slot;
}

/* Runs what is left of the task; returns its count. */
static uint64
finish_task(LocalTask *task)
{
	QueryDesc  *query_desc = task->query_desc;
	uint64		processed;

	PushActiveSnapshot(query_desc->snapshot);
	if (!task->returns_rows)
		ExecutorRun(query_desc, ForwardScanDirection, 0);
	ExecutorFinish(query_desc);
	processed = task->write ? query_desc->estate->es_processed : task->rows;
	ExecutorEnd(query_desc);
	PopActiveSnapshot();
	FreeQueryDesc(query_desc);

	if (task->write)
		CommandCounterIncrement();
	return processed;
}

uint64
local_task_end(LocalTask *task)
{
	MemoryContext context = CurrentMemoryContext;
	uint64		processed;

	PG_TRY();
	{
		processed = finish_task(task);
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
	MemoryContextDelete(task->context);
	return processed;
}
