/*-------------------------------------------------------------------------
 *
 * task_follow.h
 *	  Replaces tasks whose shards were moved, split or merged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_FOLLOW_H
#define CITUS_EXECUTOR_TASK_FOLLOW_H

#include "compat/noreturn.h"
#include "executor/task.h"

/*
 * Errors, in terms that clients know: a shard was moved, and a task can't
 * follow it.  detail: its node's message, or NULL.
 */
pg_noreturn extern void task_report_moved(const char *detail);

/*
 * Sets the node of a task for one shard.  Errors if the task writes and its
 * snapshot is older than the move that has brought the shard to its node.
 */
extern void task_place_checked(const TaskSetSpec *spec, Task *task);

/*
 * The tasks (List) that replace a refused one, by the present metadata; in
 * CurrentMemoryContext.
 */
extern List *task_followers(const TaskSetSpec *spec, const DistTable *now, const Task *refused);

#endif							/* CITUS_EXECUTOR_TASK_FOLLOW_H */
