/*-------------------------------------------------------------------------
 *
 * job.c
 *	  Rows of background jobs and tasks.
 *
 * The catalogs belong to the superuser, and jobs to the users who create them:
 * so C code writes the rows as the superuser, after it has checked the user's
 * rights.  The transitions of states are in sql/jobs.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "cluster/members.h"
#include "compat/sql_function.h"
#include "jobs/job.h"
#include "lib/run_as.h"

SQL_FUNCTION(citus_job_cancel);

char *
jobs_call(const char *sql, int nargs, Oid *types, Datum *values)
{
	MemoryContext context = CurrentMemoryContext;
	RunAs		saved = run_as_begin(BOOTSTRAP_SUPERUSERID);
	int			nest = NewGUCNestLevel();
	char	   *nulls = palloc(nargs + 1);
	char	   *result = NULL;

	for (int i = 0; i < nargs; i++)
		nulls[i] = values[i] == (Datum) 0 && !get_typbyval(types[i]) ? 'n' : ' ';
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0) < 0)
		elog(ERROR, "query failed: %s", sql);
	if (SPI_processed > 0 && SPI_tuptable != NULL)
		result = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (result != NULL)
		result = MemoryContextStrdup(context, result);
	SPI_finish();
	AtEOXact_GUC(true, nest);
	run_as_end(saved);
	return result;
}

int64
job_create(const char *type, const char *description)
{
	Oid			types[] = {NAMEOID, TEXTOID};
	Datum		values[] = {DirectFunctionCall1(namein, CStringGetDatum(type)), CStringGetTextDatum(description)};

	return pg_strtoint64(jobs_call("INSERT INTO pg_dist_background_job (job_type, description) "
								   "VALUES ($1, $2) RETURNING job_id", 2, types, values));
}

/* An array of numbers as a Datum; 0 (null) for an empty list. */
static Datum
node_array(List *nodes)
{
	Datum	   *elements = palloc(list_length(nodes) * sizeof(Datum));
	int			n = 0;

	if (nodes == NIL)
		return (Datum) 0;
	foreach_int(node, nodes)
		elements[n++] = Int32GetDatum(node);
	return PointerGetDatum(construct_array(elements, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

void
job_add_task(int64 job_id, NewTask *task)
{
	Oid			types[] = {INT8OID, OIDOID, TEXTOID, INT4ARRAYOID, TEXTOID};
	Datum		values[] = {Int64GetDatum(job_id), ObjectIdGetDatum(task->owner), CStringGetTextDatum(task->command),
	node_array(task->nodes), CStringGetTextDatum(task->depends_on == NIL ? "runnable" : "blocked")};
	ListCell   *cell;

	task->task_id = pg_strtoint64(jobs_call("INSERT INTO pg_dist_background_task "
											"(job_id, owner, command, nodes_involved, status) "
											"VALUES ($1, $2, $3, $4, $5::citus_task_status) "
											"RETURNING task_id", 5, types, values));
	foreach(cell, task->depends_on)
	{
		Datum		ids[] = {Int64GetDatum(job_id), Int64GetDatum(task->task_id),
		Int64GetDatum(((NewTask *) lfirst(cell))->task_id)};

		(void) jobs_call("INSERT INTO pg_dist_background_task_depend VALUES ($1, $2, $3)", 3,
						 (Oid[]) {INT8OID, INT8OID, INT8OID}, ids);
	}
}

int64
job_unfinished(const char *type)
{
	char	   *job = jobs_call("SELECT max(job_id) FROM pg_dist_background_job WHERE job_type = $1 AND finished_at IS NULL", 1, (Oid[]) {NAMEOID},
								(Datum[]) {DirectFunctionCall1(namein, CStringGetDatum(type))});

	return job == NULL ? 0 : pg_strtoint64(job);
}

/* Errors unless the user may act for each owner of the job's tasks. */
static void
check_may_cancel(int64 job_id)
{
	char	   *stranger = jobs_call("SELECT t.owner::oid FROM pg_dist_background_task t "
									 "WHERE t.job_id = $1 AND NOT pg_has_role($2, t.owner::oid, 'USAGE') LIMIT 1", 2,
									 (Oid[]) {INT8OID, OIDOID},
									 (Datum[]) {Int64GetDatum(job_id), ObjectIdGetDatum(GetUserId())});

	if (stranger != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to cancel job " INT64_FORMAT, job_id),
				 errdetail("It has a task of role \"%s\".", GetUserNameFromId(atooid(stranger), true))));
}

Datum
citus_job_cancel(PG_FUNCTION_ARGS)
{
	int64		job_id = PG_GETARG_INT64(0);

	require_coordinator();
	check_may_cancel(job_id);
	(void) jobs_call("SELECT citus_internal.job_cancel($1)", 1, (Oid[]) {INT8OID}, (Datum[]) {PG_GETARG_DATUM(0)});
	PG_RETURN_VOID();
}
