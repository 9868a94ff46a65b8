/*-------------------------------------------------------------------------
 *
 * task_follow.h
 *	  What becomes of a task whose shards were moved, split or merged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_FOLLOW_H
#define CITUS_EXECUTOR_TASK_FOLLOW_H

#include "compat/noreturn.h"
#include "executor/task.h"

/*
 * Errors, in the words that clients know: a shard was moved, and a task can't
 * be sent after it.  detail: what its node said, or NULL.
 */
pg_noreturn extern void task_report_moved(const char *detail);

/*
 * Sets where a task for one shard goes.  Errors if that is a write of what an
 * older snapshot can't see, since a move has brought it where it is.
 */
extern void task_place_checked(const TaskSetSpec *spec, Task *task);

/*
 * The tasks (List) that do what a refused one was to do, by what is known now;
 * in CurrentMemoryContext.
 */
extern List *task_followers(const TaskSetSpec *spec, const DistTable *now, const Task *refused);

#endif							/* CITUS_EXECUTOR_TASK_FOLLOW_H */
