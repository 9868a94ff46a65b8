/*-------------------------------------------------------------------------
 *
 * explain_task.h
 *	  The measured plans of tasks, kept for their initiator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXPLAIN_TASK_H
#define CITUS_EXECUTOR_EXPLAIN_TASK_H

extern void explain_task_init(void);

#endif							/* CITUS_EXECUTOR_EXPLAIN_TASK_H */
