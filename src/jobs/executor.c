/*-------------------------------------------------------------------------
 *
 * executor.c
 *	  The process that runs one task of a background job.
 *
 * It connects as the task's owner, so that the command has only the owner's
 * rights.  Afterwards it records the result, as the superuser: all state of
 * the command but the session's settings is gone by then, and settings are
 * reset first.
 *
 * As long as it lives, the process holds a lock on its task
 * (task_process_lock), by which the queue knows that it is alive.  The queue
 * holds the same lock in the transaction that starts the process, so that the
 * process sees that transaction's changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat/signal_handler.h"
#include "jobs/job.h"
#include "jobs/private.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "txn/deadlock_victim.h"

extern PGDLLEXPORT void citus_task_main(Datum arg);

bool
task_process_lock(int64 task_id, bool own)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, get_relname_relid("pg_dist_background_task", PG_CATALOG_NAMESPACE),
					   (Oid) task_id, 0);
	/* the server gives these back when a session ends, others only an abort */
	tag.locktag_lockmethodid = USER_LOCKMETHOD;
	return LockAcquire(&tag, ExclusiveLock, own, !own) != LOCKACQUIRE_NOT_AVAIL;
}

static void
begin_bookkeeping(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	XactIsoLevel = XACT_READ_COMMITTED;
	XactReadOnly = false;
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
end_bookkeeping(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/*
 * Locks the task for the session, and takes its command; NULL if it must not
 * run any more.
 */
static char *
claim_task(int64 task_id)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *command;

	begin_bookkeeping();
	(void) task_process_lock(task_id, true);
	command = jobs_call("SELECT citus_internal.task_claim($1)", 1, (Oid[]) {INT8OID},
						(Datum[]) {Int64GetDatum(task_id)});
	if (command != NULL)
		command = MemoryContextStrdup(context, command);
	end_bookkeeping();
	MemoryContextSwitchTo(context);
	return command;
}

/* An error as it is kept in the task's message. */
static char *
error_text(const ErrorData *error)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "ERROR:  %s", error->message);
	if (error->detail != NULL)
		appendStringInfo(&text, "\nDETAIL:  %s", error->detail);
	if (error->hint != NULL)
		appendStringInfo(&text, "\nHINT:  %s", error->hint);
	if (error->context != NULL)
		appendStringInfo(&text, "\nCONTEXT:  %s", error->context);
	return text.data;
}

/*
 * Runs a command; its tag or the text of its error, which sqlstate tells
 * (NULL: none).
 */
static char *
run_command_of_task(const char *command, char **sqlstate)
{
	const CatchPoint point = catch_point();
	char	   *volatile message = NULL;

	*sqlstate = NULL;
	PG_TRY();
	{
		message = run_sql(command);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		HOLD_INTERRUPTS();
		EmitErrorReport();
		error = catch_copy(&point);
		AbortOutOfAnyTransaction();
		catch_end(&point);
		message = error_text(error);
		*sqlstate = pstrdup(unpack_sql_state(error->sqlerrcode));
	}
	PG_END_TRY();
	return message;
}

/*
 * Records the command's result.  A concurrent cancellation waits for that, or
 * has completed: it can't interrupt us any more.
 */
static void
note_task_end(int64 task_id, const char *sqlstate, const char *message)
{
	pqsignal(SIGINT, PG_SIG_IGN);
	QueryCancelPending = false;
	ResetAllOptions();
	begin_bookkeeping();
	(void) jobs_call("SELECT citus_internal.task_finish($1, $2, $3)", 3, (Oid[]) {INT8OID, TEXTOID, TEXTOID},
					 (Datum[]) {Int64GetDatum(task_id), sqlstate == NULL ? (Datum) 0 : CStringGetTextDatum(sqlstate),
					 CStringGetTextDatum(message)});
	end_bookkeeping();
}

void
citus_task_main(Datum arg)
{
	TaskProcess process;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "citus background task", ALLOCSET_DEFAULT_SIZES);
	char	   *command;
	char	   *sqlstate;
	char	   *message;

	memcpy(&process, MyBgworkerEntry->bgw_extra, sizeof(process));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(process.database, process.owner, 0);
	SetConfigOption("application_name", psprintf("citus background task " INT64_FORMAT, process.task_id), PGC_USERSET,
					PGC_S_SESSION);
	MemoryContextSwitchTo(context);

	deadlock_victim_prepare();
	command = claim_task(process.task_id);
	if (command == NULL)
		return;
	debug_query_string = command;
	pgstat_report_activity(STATE_RUNNING, command);
	DEBUG_POINT("task_run");
	message = run_command_of_task(command, &sqlstate);
	DEBUG_POINT("task_finish");
	MemoryContextSwitchTo(context);
	note_task_end(process.task_id, sqlstate, message);
}
