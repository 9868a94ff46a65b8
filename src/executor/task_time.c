/*-------------------------------------------------------------------------
 *
 * task_time.c
 *	  How long tasks wait and run, for traces and for EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "postmaster/postmaster.h"
#include "utils/guc.h"

#include "catalog/backends.h"
#include "catalog/node.h"
#include "executor/task_set.h"
#include "executor/task_set_private.h"

/* Tasks that take so long are logged; -1: none. */
static int	slow_task_ms = -1;

/* The level at which statements over several shards are reported; 0: none. */
int			multi_task_level = 0;

static const struct config_enum_entry multi_task_level_options[] = {
	{"off", 0, false},
	{"debug5", DEBUG5, false},
	{"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false},
	{"debug2", DEBUG2, false},
	{"debug1", DEBUG1, false},
	{"debug", DEBUG1, true},
	{"log", LOG, false},
	{"info", INFO, false},
	{"notice", NOTICE, false},
	{"warning", WARNING, false},
	{"error", ERROR, false},
	{NULL, 0, false}
};

void
task_time_init(void)
{
	DefineCustomIntVariable("citus.log_min_task_duration",
							"Logs the parts of statements that run for at least this time on their node.",
							"With the text, the node, and the process id by which the other node's log and views name the client's session. "
							"-1 logs none, 0 all.",
							&slow_task_ms, -1, -1, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.multi_task_query_log_level",
							 "Reports statements that read or write several shards, at this level.",
							 "error refuses them.",
							 &multi_task_level, 0, multi_task_level_options, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Logs a task that has ended, if it was slow. */
static void
log_slow_task(const Task *task)
{
	const ClusterNode *node;

	if (slow_task_ms < 0 || task->took_us < (int64) slow_task_ms * 1000)
		return;
	node = node_primary_of(task->groupid);
	ereport(LOG_SERVER_ONLY,
			(errmsg("duration: %.3f ms  task on node %s:%d (gpid " UINT64_FORMAT "): %s", task->took_us / 1000.0,
					node == NULL ? node_local_hostname : node->host, node == NULL ? PostPortNumber : node->port, backend_gpid(), task->text),
			 errhidestmt(true)));
}

void
task_set_announce(const TaskSetSpec *spec)
{
	int			shards = 0;

	foreach_ptr(const Task, task, spec->tasks)
		shards += task->shards == NULL ? 1 : bms_num_members(task->shards);
	if (shards > 1)
		ereport(multi_task_level,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a statement reads or writes %d shards", shards),
				 errhint("Compare the distribution column with a value, so that one shard has all rows.")));
}

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
	if (unlikely(set->spec->traits.explain != 0 || slow_task_ms >= 0))
		time.sent = GetCurrentTimestamp();
	if (unlikely(set->spec->traits.explain != 0))
		task->waited_us = time.sent - set->started;
	return time;
}

void
task_time_end(const TaskTime *time, Task *task)
{
	if (unlikely(time->sent != 0))
	{
		task->took_us = GetCurrentTimestamp() - time->sent;
		log_slow_task(task);
	}
	if (unlikely(time->span.id != 0))
		trace_end(&time->span, TRACE_TASK, task->groupid, task->processed,
				  task->shards == NULL ? NULL : psprintf("%d shards", bms_num_members(task->shards)));
}
