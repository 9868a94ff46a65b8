/*-------------------------------------------------------------------------
 *
 * private.h
 *	  Declarations shared by the files of src/jobs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_JOBS_PRIVATE_H
#define CITUS_JOBS_PRIVATE_H

#include "postgres.h"

/*
 * The backend type of a process that runs a task in pg_stat_activity;
 * job_cancel in SQL looks for it.
 */
#define TASK_PROCESS_TYPE "citus background task"

/* The arguments of a task's process. */
typedef struct TaskProcess
{
	Oid			database;
	Oid			owner;
	int64		task_id;
} TaskProcess;

/*
 * executor.c: locks the process of a task for as long as the task's process
 * lives (session) or to the end of the transaction; false if it is locked by
 * another process and wait is not set.
 */
extern bool task_process_lock(int64 task_id, bool session, bool wait);

/*
 * run_sql.c: runs the statements of a text as a client's would be run.
 * Returns the tag of the last one; errors leave the transaction to be aborted.
 * Outside a transaction.
 */
extern char *run_sql(const char *sql);

#endif							/* CITUS_JOBS_PRIVATE_H */
