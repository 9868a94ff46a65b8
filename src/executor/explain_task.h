/*-------------------------------------------------------------------------
 *
 * explain_task.h
 *	  The measured plans of tasks, kept for their initiator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXPLAIN_TASK_H
#define CITUS_EXECUTOR_EXPLAIN_TASK_H

#include "executor/execdesc.h"

#include "resolve/tag.h"

/*
 * Called before a task starts whose tag requests its plan: sets the
 * instruments, and keeps the plan.
 */
extern void explain_task_start(QueryDesc *query_desc, const TaskTag *tag);

#endif							/* CITUS_EXECUTOR_EXPLAIN_TASK_H */
