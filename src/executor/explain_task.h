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
 * A task is about to start whose plan is asked for: has it measured as its tag
 * says, and kept.
 */
extern void explain_task_start(QueryDesc *query_desc, const TaskTag *tag);

#endif							/* CITUS_EXECUTOR_EXPLAIN_TASK_H */
