/*-------------------------------------------------------------------------
 *
 * local_task.h
 *	  A task for the node's own shards, run inside this backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_LOCAL_TASK_H
#define CITUS_EXECUTOR_LOCAL_TASK_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/params.h"

typedef struct LocalTask LocalTask;

/*
 * Analyses, plans and starts a task's text (with its tag) in this backend.
 * write: under a new command id, and the active snapshot, or, with latest, one
 * that is taken now, unless the transaction has one for all its statements;
 * otherwise under the active snapshot.  analyst, if valid: the role with whose
 * rights names are looked up.  Memory comes from CurrentMemoryContext.
 */
extern LocalTask *local_task_start(const char *text, ParamListInfo params, Oid analyst, bool write, bool latest);

/* Next row, or NULL at the end; valid until the next call. */
extern TupleTableSlot *local_task_next(LocalTask *task);

/*
 * Ends the task; returns the number of rows processed (for commands that
 * write) or returned.
 */
extern uint64 local_task_end(LocalTask *task);

#endif							/* CITUS_EXECUTOR_LOCAL_TASK_H */
