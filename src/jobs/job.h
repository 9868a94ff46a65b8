/*-------------------------------------------------------------------------
 *
 * job.h
 *	  Background jobs: making them, and the queue that runs them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_JOBS_JOB_H
#define CITUS_JOBS_JOB_H

#include "postgres.h"

#include "compat/foreach.h"

/* A task that is to be added to a job. */
typedef struct NewTask
{
	Oid			owner;			/* the command runs as this role */
	const char *command;
	List	   *nodes;			/* IntList: ids of the nodes that it
								 * involves */
	List	   *depends_on;		/* of NewTask *: tasks added before, which must
								 * have succeeded */
	int64		task_id;		/* is set by job_add_task */
} NewTask;

extern void jobs_init(void);

/*
 * Makes a job, which runs once this transaction has committed; its number.
 * The caller has checked that the user may do so.
 */
extern int64 job_create(const char *type, const char *description);

/* Adds a task to a job of this transaction. */
extern void job_add_task(int64 job_id, NewTask *task);

/*
 * Runs a statement as the superuser, whatever the current user, in the
 * transaction; names in it are looked up in pg_catalog first.  Returns the
 * only row's only value, or NULL.  Types and values are those of the
 * parameters; a value of 0 of a type by reference is null.
 */
extern char *jobs_call(const char *sql, int nargs, Oid *types, Datum *values);

/* The newest job of a type that has not ended, or 0. */
extern int64 job_unfinished(const char *type);

/*
 * How often the maintenance worker calls jobs_run_queue:
 * citus.background_task_queue_interval.
 */
extern int	jobs_queue_interval;

/*
 * In the maintenance worker's transaction: starts a process for each task that
 * may run now.
 */
extern void jobs_run_queue(void);

/*
 * Whether jobs_run_queue has something to do before its next turn: a process
 * has ended, or there is a new job.
 */
extern bool jobs_queue_changed(void);

/* Whether it has nothing to do, since only the coordinator runs tasks. */
extern bool jobs_queue_needless(void);

/*
 * Ends all processes that this one has started, when the maintenance worker
 * exits.
 */
extern void jobs_stop(void);

#endif							/* CITUS_JOBS_JOB_H */
