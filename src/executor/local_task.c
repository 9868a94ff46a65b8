/*-------------------------------------------------------------------------
 *
 * local_task.c
 *	  A task for the node's own shards, run inside this backend.
 *
 * The text goes the same way as on another node: parser, rewriter, and our
 * planner_hook, which resolves its tag.  The executor is then pulled row by
 * row, so nothing is copied or collected.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "executor/local_task.h"

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
plan_text(const char *text, ParamListInfo params)
{
	List	   *raw = pg_parse_query(text);
	int			nparams = params ? params->numParams : 0;
	Oid		   *types = palloc0(sizeof(Oid) * Max(nparams, 1));
	List	   *queries;

	for (int i = 0; i < nparams; i++)
		types[i] = params->params[i].ptype;

	Assert(list_length(raw) == 1);
	queries = pg_analyze_and_rewrite_fixedparams(linitial(raw), text, types, nparams, NULL);
	if (list_length(queries) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a rule makes a task into several statements"),
				 errdetail("Distributed tables can't have rules.")));
	return pg_plan_query(linitial(queries), text, CURSOR_OPT_PARALLEL_OK, params);
}

LocalTask *
local_task_start(const char *text, ParamListInfo params, bool write)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus local task",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	LocalTask  *task = palloc0(sizeof(LocalTask));
	PlannedStmt *plan;

	task->context = context;
	task->write = write;

	if (write)
	{
		CommandCounterIncrement();
		PushCopiedSnapshot(GetActiveSnapshot());
		UpdateActiveSnapshotCommandId();
	}
	plan = plan_text(text, params);
	task->returns_rows = plan->commandType == CMD_SELECT || plan->hasReturning;
	task->query_desc = CreateQueryDesc(plan, pstrdup(text), GetActiveSnapshot(), InvalidSnapshot,
									   None_Receiver, params, NULL, 0);
	ExecutorStart(task->query_desc, 0);
	if (write)
		PopActiveSnapshot();	/* the query descriptor holds it */

	MemoryContextSwitchTo(old_context);
	return task;
}

/* Runs f under the task's own snapshot, as functions and triggers expect. */
static void
push_task_snapshot(LocalTask *task)
{
	PushActiveSnapshot(task->query_desc->snapshot);
}

TupleTableSlot *
local_task_next(LocalTask *task)
{
	EState	   *estate = task->query_desc->estate;
	MemoryContext old_context;
	TupleTableSlot *slot;

	if (!task->returns_rows)
		return NULL;

	push_task_snapshot(task);
	old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	ResetPerTupleExprContext(estate);
	slot = ExecProcNode(task->query_desc->planstate);
	if (!TupIsNull(slot) && estate->es_junkFilter != NULL)
		slot = ExecFilterJunk(estate->es_junkFilter, slot);
	MemoryContextSwitchTo(old_context);
	PopActiveSnapshot();

	if (TupIsNull(slot))
		return NULL;
	task->rows++;
	return slot;
}

uint64
local_task_end(LocalTask *task)
{
	QueryDesc  *query_desc = task->query_desc;
	uint64		processed;

	push_task_snapshot(task);
	if (!task->returns_rows)
		ExecutorRun(query_desc, ForwardScanDirection, 0, true);
	ExecutorFinish(query_desc);
	processed = task->write ? query_desc->estate->es_processed : task->rows;
	ExecutorEnd(query_desc);
	PopActiveSnapshot();
	FreeQueryDesc(query_desc);

	if (task->write)
		CommandCounterIncrement();
	MemoryContextDelete(task->context);
	return processed;
}

uint64
local_task_run(const char *text, ParamListInfo params)
{
	LocalTask  *task = local_task_start(text, params, true);

	while (local_task_next(task) != NULL)
		;
	return local_task_end(task);
}
