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
 * executor.c: locks the process of a task.  The task's process itself (own)
 * waits for the lock, and has it as long as it lives; others have it to the
 * end of the transaction, or get false if another process has it.
 */
extern bool task_process_lock(int64 task_id, bool own);

/*
 * run_sql.c: runs the statements of a text as a client's would be run.
 * Returns the tag of the last one; errors leave the transaction to be aborted.
 * Outside a transaction.
 */
extern char *run_sql(const char *sql);

#endif							/* CITUS_JOBS_PRIVATE_H */
