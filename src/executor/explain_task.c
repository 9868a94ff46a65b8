/*-------------------------------------------------------------------------
 *
 * explain_task.c
 *	  The measured plans of tasks, kept for their initiator.
 *
 * If its tag says so, a task runs with instruments, and when it ends, its plan
 * is written to a string, which the initiator fetches over the same connection
 * (citus_internal.task_plan).  Plans are kept until the transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat/explain.h"
#include "compat/sql_function.h"
#include "executor/explain_task.h"
#include "lib/transaction_end.h"
#include "resolve/tag.h"

typedef struct KeptPlan
{
	int			colocation_id;	/* 0: of a task for the node */
	HashRange	range;			/* the first one in the tag */
	int			explain;		/* as in the tag */
	QueryDesc  *query_desc;		/* while it runs, else NULL */
	char	   *text;			/* once it has run */
	struct KeptPlan *next;
} KeptPlan;

static KeptPlan *kept_plans = NULL; /* in TopTransactionContext */
static ExecutorEnd_hook_type prev_end = NULL;

/* The plan as text, in CurrentMemoryContext. */
static char *
print_plan(QueryDesc *query_desc, int options)
{
	ExplainState *es = NewExplainState();

	es->analyze = true;
	es->verbose = (options & TASK_EXPLAIN_VERBOSE) != 0;
	es->costs = (options & TASK_EXPLAIN_COSTS) != 0;
	es->buffers = (options & TASK_EXPLAIN_BUFFERS) != 0;
	es->timing = (options & TASK_EXPLAIN_TIMING) != 0;
	es->wal = (options & TASK_EXPLAIN_WAL) != 0;
	es->format = (options >> TASK_EXPLAIN_FORMAT_SHIFT) & 3;

	ExplainBeginOutput(es);
	ExplainOpenGroup("Query", NULL, true, es);
	ExplainPrintPlan(es, query_desc);
	ExplainCloseGroup("Query", NULL, true, es);
	ExplainEndOutput(es);
	if (es->str->len > 0 && es->str->data[es->str->len - 1] == '\n')
		es->str->data[--es->str->len] = '\0';
	return es->str->data;
}

static void
forget_plans(void)
{
	kept_plans = NULL;
}

static void
end_executor(QueryDesc *query_desc)
{
	for (KeptPlan *plan = kept_plans; plan != NULL; plan = plan->next)
	{
		if (plan->query_desc == query_desc)
		{
			MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

			plan->text = print_plan(query_desc, plan->explain);
			plan->query_desc = NULL;
			MemoryContextSwitchTo(old_context);
		}
	}
	if (prev_end)
		prev_end(query_desc);
	else
		standard_ExecutorEnd(query_desc);
}

/* Notes that the plan must be kept after the task. */
static void
note_task(QueryDesc *query_desc, const TaskTag *tag)
{
	static TransactionEnd end = {forget_plans};
	KeptPlan   *plan = MemoryContextAllocZero(TopTransactionContext, sizeof(KeptPlan));

	plan->colocation_id = tag->kind == TAG_SHARD ? tag->colocation_id : 0;
	plan->range = tag->range;
	plan->explain = tag->traits.explain;
	plan->query_desc = query_desc;
	plan->next = kept_plans;
	kept_plans = plan;
	at_transaction_end(&end);
}

void
explain_task_start(QueryDesc *query_desc, const TaskTag *tag)
{
	static bool hooked = false;
	int			explain = tag->traits.explain;

	note_task(query_desc, tag);

	query_desc->instrument_options |=
		(explain & TASK_EXPLAIN_TIMING ? INSTRUMENT_TIMER : INSTRUMENT_ROWS) |
		(explain & TASK_EXPLAIN_BUFFERS ? INSTRUMENT_BUFFERS : 0) |
		(explain & TASK_EXPLAIN_WAL ? INSTRUMENT_WAL : 0);
	if (!hooked)
	{
		prev_end = ExecutorEnd_hook;
		ExecutorEnd_hook = end_executor;
		hooked = true;
	}
}

/*
 * citus_internal.task_plan(colocation group or 0, hash values from and to,
 * what the tag said after explain): the plan kept last.
 */
SQL_FUNCTION(citus_internal_task_plan);
Datum
citus_internal_task_plan(PG_FUNCTION_ARGS)
{
	int			colocation_id = PG_GETARG_INT32(0);
	HashRange	range = {PG_GETARG_INT32(1), PG_GETARG_INT32(2)};
	int			explain = PG_GETARG_INT32(3);

	for (KeptPlan *plan = kept_plans; plan != NULL; plan = plan->next)
	{
		if (plan->text != NULL && plan->colocation_id == colocation_id && plan->range.min == range.min &&
			plan->range.max == range.max && plan->explain == explain)
			PG_RETURN_TEXT_P(cstring_to_text(plan->text));
	}
	PG_RETURN_NULL();
}
