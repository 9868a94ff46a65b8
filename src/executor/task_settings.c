/*-------------------------------------------------------------------------
 *
 * task_settings.c
 *	  Settings that functions of users change while a session runs another
 *	  session's statement.
 *
 * A node's session, and a session that a gateway shares, have the settings of
 * the session that they work for, which remembers what it has sent
 * (remote/settings.c).  A function that calls set_config() in a task, in a
 * CHECK constraint for instance, must not change them for later statements,
 * which may be another client's.  So changes are undone at the end of the
 * task.  On a single server they would last; therefore a delegated call that
 * has changed settings is refused, and the initiator runs it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/guc.h"

#include "catalog/node_session.h"
#include "compat/guc.h"
#include "executor/task_settings.h"
#include "resolve/tag.h"

static ExecutorRun_hook_type task_run_next = NULL;

/*
 * Whether a setting has been changed since the nesting level began, and would
 * keep its value on a single server.
 */
static bool
any_setting_lasts(int nest)
{
	int			n;
	struct config_generic **all = guc_all(&n);

	for (int i = 0; i < n; i++)
	{
		const GucStack *change = all[i]->stack;

		if (change == NULL || change->nest_level < nest || change->state == GUC_SAVE)
			continue;
		if (change->state != GUC_LOCAL || IsTransactionBlock())
			return true;
	}
	return false;
}

void
task_settings_run(ExecutorRun_hook_type next, QueryDesc *query_desc, ScanDirection direction,
				  uint64 count EXECUTE_ONCE_PARAMETER)
{
	int			nest = NewGUCNestLevel();

	if (next != NULL)
		next(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else
		standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	if (node_session_runs_call() && any_setting_lasts(nest))
		node_session_check_call();
	AtEOXact_GUC(false, nest);
}

/* ExecutorRun_hook */
static void
run_in_session(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	if (strncmp(query_desc->sourceText, TASK_TAG_START, strlen(TASK_TAG_START)) == 0 &&
		is_client_text(query_desc->sourceText) && node_session())
		task_settings_run(task_run_next, query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else if (task_run_next != NULL)
		task_run_next(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else
		standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
}

void
task_settings_init(void)
{
	task_run_next = ExecutorRun_hook;
	ExecutorRun_hook = run_in_session;
}
