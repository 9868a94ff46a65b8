/*-------------------------------------------------------------------------
 *
 * executor_run.h
 *	  ExecutorRun and its hook.
 *
 * Version 18 took away the last argument, execute_once. A hook passes it on to
 * the next one on older servers, where it has a name between these macros:
 *
 *     run(QueryDesc *query_desc, uint64 count EXECUTE_ONCE_PARAMETER)
 *     {
 *         next_run(query_desc, count EXECUTE_ONCE_ARGUMENT);
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_EXECUTOR_RUN_H
#define CITUS_COMPAT_EXECUTOR_RUN_H

#include "postgres.h"

#include "executor/executor.h"

#if PG_VERSION_NUM >= 180000
#define EXECUTE_ONCE_PARAMETER
#define EXECUTE_ONCE_ARGUMENT
#else
#define EXECUTE_ONCE_PARAMETER , bool execute_once
#define EXECUTE_ONCE_ARGUMENT , execute_once
#define ExecutorRun(query_desc, direction, count) ExecutorRun(query_desc, direction, count, true)
#endif

#endif							/* CITUS_COMPAT_EXECUTOR_RUN_H */
