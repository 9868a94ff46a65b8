/*-------------------------------------------------------------------------
 *
 * task_set.h
 *	  Runs one text on a set of shards (or nodes) and streams the rows back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_SET_H
#define CITUS_EXECUTOR_TASK_SET_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "executor/task.h"

typedef struct TaskSet TaskSet;

extern void task_time_init(void);

extern int	citus_slow_start_interval;

/*
 * Starts; the spec and what it refers to must outlive the task set.  Memory
 * comes from CurrentMemoryContext.
 */
extern TaskSet *task_set_start(const TaskSetSpec *spec);

/*
 * Stores the next row, of any task, in slot (virtual); false at the end.
 * Values are valid until the next call.  *task, if not NULL, is set to its
 * task.
 */
extern bool task_set_next(TaskSet *set, TupleTableSlot *slot, Task **task);

/*
 * Starts the tasks of a set whose snapshot is offered, and waits until each
 * node has accepted it by its first answer.  False if a node has refused, or
 * if another failure occurs that a restart of the statement avoids.  Then, or
 * if a snapshot can't be offered (*sent is false), only task_set_end may be
 * called.
 */
extern bool task_set_offer(TaskSet *set, bool *sent);

/*
 * Reads all remaining rows, so that later writes don't affect them;
 * task_set_next returns them later.  Stops at a maximum number of rows;
 * returns whether it reached the end.
 */
extern bool task_set_prefetch(TaskSet *set, int most);

/* The statement has failed: its rows won't be requested any more. */
extern void task_set_abandon(TaskSet *set);

/*
 * After task_set_prefetch: task_set_next starts again with the first
 * prefetched row.
 */
extern void task_set_rewind(TaskSet *set);

/* Reads to the end, discarding rows; returns the sum of processed. */
extern uint64 task_set_finish(TaskSet *set);

/*
 * An error has ended the subtransaction that ran the set's tasks, and took its
 * connections: only task_set_end may be called now.
 */
extern void task_set_lose_connections(TaskSet *set);

/* Releases the connections; outstanding tasks are cancelled. */
extern void task_set_end(TaskSet *set);

#endif							/* CITUS_EXECUTOR_TASK_SET_H */
