/*-------------------------------------------------------------------------
 *
 * task_settings.h
 *	  Settings that functions of users change while a session runs another
 *	  session's statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TASK_SETTINGS_H
#define CITUS_EXECUTOR_TASK_SETTINGS_H

#include "postgres.h"

#include "compat/executor_run.h"

/*
 * For an ExecutorRun_hook: calls the next one (NULL: the server's), and undoes
 * the changes of settings meanwhile.  Errors so that the client's own node
 * runs the statement if it is a delegated call that has changed some.
 */
extern void task_settings_run(ExecutorRun_hook_type next, QueryDesc *query_desc, ScanDirection direction,
							  uint64 count EXECUTE_ONCE_PARAMETER);

extern void task_settings_init(void);

#endif							/* CITUS_EXECUTOR_TASK_SETTINGS_H */
