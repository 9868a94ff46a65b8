/*-------------------------------------------------------------------------
 *
 * task_set_private.h
 *	  What the files of the adaptive executor share: task_set.c, and
 *	  task_offer.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_SET_PRIVATE_H
#define CITUS_EXECUTOR_TASK_SET_PRIVATE_H

#include "postgres.h"

#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "executor/local_task.h"
#include "executor/row_codec.h"
#include "executor/task.h"
#include "lib/trace.h"
#include "remote/connection.h"

/* A task that is being measured. */
typedef struct TaskTime
{
	TraceSpan	span;			/* for a trace */
	TimestampTz sent;			/* for EXPLAIN; 0: it doesn't ask */
} TaskTime;

/* One connection at work for the set. */
typedef struct Worker
{
	RemoteConn *conn;
	Task	   *task;			/* in progress; NULL when idle */
	bool		lost;			/* the connection was lost, and the task is in
								 * the queue again */
	TaskTime	time;			/* of the task */
	bool		just_sent;		/* no answer can have arrived yet */
	bool		answered;		/* the task has returned something */
	bool		guarded;		/* a savepoint is in front of the task */
	bool		refused;		/* can't read as of the statement's snapshot */
	bool		row_waits;		/* a row has been read and not been taken */
} Worker;

/* The tasks for one node that have not begun. */
typedef struct NodeQueue
{
	int32		groupid;
	List	   *pending;
	int			nworkers;		/* connections we hold */
} NodeQueue;

struct TaskSet
{
	RemoteOwner owner;			/* must be first */
	const TaskSetSpec *spec;
	RowCodec   *codec;			/* NULL if no rows are expected */
	MemoryContext context;
	MemoryContext row_context;

	NodeQueue **queues;
	int			nqueues;
	int			max_queues;
	Worker	   *workers;
	int			nworkers;
	int			max_workers;
	int			last_ready;		/* worker whose row came last */
	TimestampTz last_growth;
	TimestampTz started;		/* if its time is measured; else 0 */

	List	   *local_pending;	/* tasks of this node */
	LocalTask  *local;			/* running */
	Task	   *local_current;
	TaskTime	local_time;

	Tuplestorestate *spilled;	/* rows of connections given up */
	TupleTableSlot *spill_slot;
	List	   *spilled_tasks;	/* task of each spilled row, in order */
	int			spilled_read;	/* rows read back */
	ResourceOwner resowner;		/* of their file; NULL when they won't be
								 * read */

	Task	   *alone;			/* runs before any other; NULL when done */

	bool		offering;		/* not all have accepted the snapshot */
	bool		must_ask;		/* nor will they */
};

/*
 * Whether the node's primary connection, inside its transaction, must do all.
 */
extern bool task_set_needs_primary(struct TaskSet *set);

/*
 * task_time.c: around a task, from sending it to its last row; measures it if
 * the statement is traced, or explained, or if slow tasks are logged.
 */
extern TaskTime task_time_begin(const struct TaskSet *set, Task *task);
extern void task_time_end(const TaskTime *time, Task *task);

/*
 * Reports tasks that are about to be executed, if they are for several shards:
 * citus.multi_task_query_log_level (0: off).
 */
extern int	multi_task_level;
extern void task_set_announce(const TaskSetSpec *spec);

/* Whether tasks for other nodes have not begun. */
extern bool task_set_has_pending(struct TaskSet *set);

/* Whether something is under way on a worker's connection. */
extern bool task_worker_expects(const Worker *worker);

/*
 * Opens the first connection to each node that has tasks, and more when it is
 * time and these can't have all of them, however long they take to connect.
 */
extern void task_set_grow(struct TaskSet *set);

/* Gives idle workers a task, or releases their connection. */
extern void task_set_assign(struct TaskSet *set);

/* remote_poll for whatever a worker's connection is doing. */
extern RemotePoll task_set_poll(struct TaskSet *set, Worker *worker);

/* Waits for the network; wakes up in time to grow if tasks are waiting. */
extern void task_set_wait(struct TaskSet *set);

/* The next row of this node's own tasks; false if there is none. */
extern bool task_set_next_own(struct TaskSet *set, TupleTableSlot *slot, Task **task);

/* Creates the tuplestore for stored rows, and a slot for one of them. */
extern TupleTableSlot *task_set_begin_spilling(struct TaskSet *set);

/* Stores a row for later, unless the set's rows are no longer wanted. */
extern void task_set_spill(struct TaskSet *set, TupleTableSlot *slot, Task *task);

#endif							/* CITUS_EXECUTOR_TASK_SET_PRIVATE_H */
