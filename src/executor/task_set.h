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
#include "nodes/params.h"

#include "catalog/metadata.h"
#include "resolve/tag.h"
#include "txn/snapshot.h"

typedef struct Task
{
	int			shard_index;	/* in the spec's table; -1: the whole node (reference table); the lowest of a set */
	Bitmapset  *shards;			/* indexes of a set of several, all on one node; NULL for one */
	int32		groupid;
	const char *text;			/* without tag */
	ParamListInfo params;		/* types as they are here; may be NULL */
	int			retries;		/* because the shard was not where we thought */
	uint64		processed;		/* rows written, or returned, once it ended */
	bool		keep_rows;		/* false: its rows are thrown away */
} Task;

typedef struct TaskSet TaskSet;

typedef struct TaskSetSpec
{
	const DistTable *table;		/* its colocation group and placements */
	List	   *tasks;			/* of Task; read, and processed is set */
	TupleDesc	columns;		/* of the rows; NULL if none are expected */
	const AttrNumber *positions;	/* per column, the 0-based slot position it
									 * goes to, or a system attribute number (ctid only); NULL: one to one */
	bool		write;			/* writes, or locks rows */
	bool		partial;		/* returns transition states of aggregates, as the tasks' tags say */
	int			rights;			/* for the tasks' tags (TASK_LOCKS and the like) */
	int			npolicies;
	bool		latest;			/* own tasks write under a snapshot of now, as those of other
								 * nodes do: rows may have been locked since the statement began */
	bool		commits;		/* its one task is the whole transaction, and commits by itself */
	DistSnapshot *snapshot;		/* point in time to read as of; NULL: now */
	Oid			check_as;		/* whose rights to tables count (a view's owner);
								 * InvalidOid: the current user's */
	bool		first_alone;	/* the first task ends before others begin */
	int			explain;		/* for the tasks' tags; one connection per node then */
} TaskSetSpec;

extern int	citus_slow_start_interval;

/* A task on one shard of the table, params shared. */
extern Task *task_make(const DistTable *table, int shard_index, const char *text, ParamListInfo params);

/* Its tag, but for snapshot and rights. */
extern TaskTag task_tag(const TaskSetSpec *spec, const Task *task);

/* Tasks (List) on shards of the table: one for all that are on the same node. */
extern List *tasks_make_by_node(const DistTable *table, const Bitmapset *shards, const char *text, ParamListInfo params);

/*
 * Starts; the spec and what it refers to must outlive the task set.  Memory
 * comes from CurrentMemoryContext.
 */
extern TaskSet *task_set_start(const TaskSetSpec *spec);

/*
 * Stores the next row, of any task, in slot (virtual); false at the end.
 * Values are valid until the next call.  *task, if not NULL, is set to its task.
 */
extern bool task_set_next(TaskSet *set, TupleTableSlot *slot, Task **task);

/*
 * Reads all rows that are still to come, so that what is written from now on
 * has no effect on them; task_set_next returns them later.  Stops when it holds so many
 * rows; whether it came to the end.
 */
extern bool task_set_prefetch(TaskSet *set, int most);

/* The statement has failed: nobody will ask for its rows any more. */
extern void task_set_abandon(TaskSet *set);

/* After task_set_prefetch: task_set_next starts again with the first prefetched row. */
extern void task_set_rewind(TaskSet *set);

/* Reads to the end, throwing rows away; the sum of processed. */
extern uint64 task_set_finish(TaskSet *set);

/*
 * An error has ended the subtransaction that ran the set's tasks, and took its connections: only
 * task_set_end may be called now.
 */
extern void task_set_lose_connections(TaskSet *set);

/* Gives connections back; outstanding tasks are cancelled. */
extern void task_set_end(TaskSet *set);

#endif							/* CITUS_EXECUTOR_TASK_SET_H */
