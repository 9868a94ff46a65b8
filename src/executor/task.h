/*-------------------------------------------------------------------------
 *
 * task.h
 *	  A text that runs on one shard, on several of one node, or on a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_H
#define CITUS_EXECUTOR_TASK_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/params.h"

#include "catalog/metadata.h"
#include "resolve/tag.h"
#include "txn/snapshot.h"

typedef struct Task
{
	const DistTable *table;		/* that the indexes refer to: a newer version
								 * of the spec's; NULL: the spec's */
	int			shard_index;	/* -1: the whole node (reference table); the
								 * lowest of a set */
	Bitmapset  *shards;			/* indexes of a set of several, all on one
								 * node; NULL for one */
	const HashRange *part;		/* the only rows of its one shard that it
								 * reads; NULL: all */
	int32		groupid;
	TaskReads	reads;			/* FORMER: a placement that was moved away, or
								 * replaced, since its snapshot was taken */
	const char *text;			/* without tag */
	ParamListInfo params;		/* types as they are here; may be NULL */
	int			retries;		/* because the node didn't have the shard */
	uint64		processed;		/* rows written, or returned, once it ended */
	bool		keep_rows;		/* false: its rows are thrown away */
	int64		waited_us;		/* if traits.explain: until it was sent .. */
	int64		took_us;		/* .. and from then until its end */
} Task;

/*
 * Finds the shards of a read again, if shards have been split or merged since
 * its tasks were made: indexes in the current metadata.
 */
typedef Bitmapset *(*FindShards) (void *arg, const DistTable *table);

/* Tasks that run together. */
typedef struct TaskSetSpec
{
	const DistTable *table;		/* its colocation group and placements */
	List	   *tasks;			/* of Task; read, and processed is set */
	TupleDesc	columns;		/* of the rows; NULL if none are expected */
	const AttrNumber *positions;	/* per column, the 0-based slot position it
									 * goes to, or a system attribute number
									 * (ctid only); NULL: one to one */
	bool		write;			/* writes, or locks rows */
	TaskTraits	traits;			/* explain: one connection per node */
	bool		latest;			/* local tasks write under a new snapshot, like
								 * those of other nodes, since rows may have
								 * been locked after the statement began */
	bool		commits;		/* its one task is the whole transaction, and
								 * commits by itself */
	DistSnapshot *snapshot;		/* point in time to read as of; NULL: now */
	Snapshot	as_of;			/* this node's, of that time or of the
								 * transaction; NULL: now */
	Snapshot	ctids_of;		/* the one under which ctids were read that a
								 * write compares its rows' with; NULL: there
								 * are none */
	FindShards	find_shards;	/* NULL: tasks can't follow splits and merges,
								 * which wait for the statement */
	void	   *find_arg;
	bool		stays;			/* tasks can't follow moved shards: rows were
								 * sent to their nodes */
	bool		whole;			/* its one task is the whole statement */
	bool		first_alone;	/* the first task ends before others begin */
	uint64	   *received;		/* counts the bytes of rows from other nodes;
								 * NULL: not requested */
} TaskSetSpec;

/* A task on one shard of the table, params shared. */
extern Task *task_make(const DistTable *table, int shard_index, const char *text, ParamListInfo params);

/* Sets the node of a task for one shard, as of a snapshot (NULL: now). */
extern void task_place(Task *task, Snapshot as_of);

/* A task's tag as another node gets it, but not yet TASK_AS_OF. */
extern TaskTag task_tag(const TaskSetSpec *spec, const Task *task);

/*
 * Adds a task for one shard: to the one of tasks (List) for its node, if there
 * is one.
 */
extern List *task_add_to_node(List *tasks, Task *added);

/* A task for one shard, placed as of a snapshot (NULL: now). */
extern Task *task_make_as_of(const DistTable *table, int shard_index, const char *text, ParamListInfo params,
							 Snapshot as_of);

/*
 * Tasks (List) on shards of the table: one for all that are, or were as of the
 * snapshot, on the same node.
 */
extern List *tasks_make_by_node(const DistTable *table, const Bitmapset *shards, const char *text, ParamListInfo params,
								Snapshot as_of);

#endif							/* CITUS_EXECUTOR_TASK_H */
