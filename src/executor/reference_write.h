/*-------------------------------------------------------------------------
 *
 * reference_write.h
 *	  Tasks and locks of writes to reference tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_REFERENCE_WRITE_H
#define CITUS_EXECUTOR_REFERENCE_WRITE_H

#include "executor/execdesc.h"
#include "nodes/params.h"

#include "catalog/dist_table.h"
#include "compat/foreach.h"

/*
 * The tasks for all nodes of a write to a reference table; lowest group first.
 */
extern List *reference_tasks(const DistTable *table, const char *text, ParamListInfo params);

/*
 * Orders writers of a reference table, to the end of the transaction: shared
 * for INSERT, exclusive for writes that don't commute with it.  Also keeps the
 * set of nodes from changing.  To be called before anything is read or
 * written.
 */
extern void reference_lock(Oid relid, bool exclusive);

/* The same without waiting: whether it has the lock. */
extern bool reference_lock_now(Oid relid, bool exclusive);

/* The same on this node alone, where rows are about to be written. */
extern void reference_lock_here(Oid relid, bool exclusive);

/*
 * A task that writes this node's copy of a reference table starts: takes its
 * lock, and then a new snapshot.
 */
extern void reference_task_starts(QueryDesc *query_desc, int eflags);

/* The same, once the executor has started: it may look for rows. */
extern void reference_task_started(QueryDesc *query_desc);

#endif							/* CITUS_EXECUTOR_REFERENCE_WRITE_H */
