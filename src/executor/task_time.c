/*-------------------------------------------------------------------------
 *
 * task_time.c
 *	  How long tasks wait and run, for traces and for EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/task_set.h"
#include "executor/task_set_private.h"

/* A traced task has waited since its set was started. */
static void
trace_queued(const TaskSet *set, const Task *task)
{
	TraceSpan	queued = trace_start_span();

	queued.start = set->started;
	if (set->started != 0)
		trace_end_wait(&queued, TRACE_QUEUE, task->groupid, NULL);
}

TaskTime
task_time_begin(const TaskSet *set, Task *task)
{
	TaskTime	time = {.span = trace_begin()};

	if (unlikely(time.span.id != 0))
		trace_queued(set, task);
	if (unlikely(set->spec->traits.explain != 0))
	{
		time.sent = GetCurrentTimestamp();
		task->waited_us = time.sent - set->started;
	}
	return time;
}

void
task_time_end(const TaskTime *time, Task *task)
{
	if (unlikely(time->sent != 0))
		task->took_us = GetCurrentTimestamp() - time->sent;
	if (unlikely(time->span.id != 0))
		trace_end(&time->span, TRACE_TASK, task->groupid, task->processed,
				  task->shards == NULL ? NULL : psprintf("%d shards", bms_num_members(task->shards)));
}
