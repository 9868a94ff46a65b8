/*-------------------------------------------------------------------------
 *
 * kept_session.c
 *	  The node's side of connections that outlive the session of their opener
 *	  (kept_conn.c).
 *
 * The opener has the session run DISCARD ALL, and session_rest() after it.
 * The session then serves no client and holds nothing, until session_serve()
 * gives it the next one.  What DISCARD ALL doesn't undo prevents that: the
 * session ends instead of resting.  So does one whose opener would count
 * against somebody's limit.  When this server has not many free connections,
 * resting sessions end (free_slots.c), also when their database is to be
 * dropped (src/gateway/database_release.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc_tables.h"
#include "utils/syscache.h"

#include "access/htup_details.h"
#include "catalog/backends.h"
#include "catalog/node_session.h"
#include "compat/cancel_key.h"
#include "compat/guc.h"
#include "compat/sql_function.h"
#include "remote/free_slots.h"
#include "remote/private.h"

/* Whether connections are counted for the session's role or database. */
static bool
is_counted(void)
{
	HeapTuple	role = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetAuthenticatedUserId()));
	HeapTuple	database = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	bool		counted = !HeapTupleIsValid(role) || !HeapTupleIsValid(database) ||
		((Form_pg_authid) GETSTRUCT(role))->rolconnlimit >= 0 ||
		((Form_pg_database) GETSTRUCT(database))->datconnlimit >= 0;

	if (HeapTupleIsValid(role))
		ReleaseSysCache(role);
	if (HeapTupleIsValid(database))
		ReleaseSysCache(database);
	return counted;
}

/*
 * Whether a setting that no library defines was set: from then on it is an
 * empty string, where a new session doesn't know it.
 */
static bool
has_placeholders(void)
{
	int			n;
	struct config_generic **custom = guc_custom(&n);

	for (int i = 0; i < n; i++)
		if ((custom[i]->flags & GUC_CUSTOM_PLACEHOLDER) != 0 && custom[i]->source == PGC_S_DEFAULT)
			return true;
	return false;
}

static void
check_caller(FunctionCallInfo fcinfo)
{
	node_function_check(fcinfo);
	if (backend_served_gpid(MyProcPid) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no other node has opened this session")));
}

/* As whom the session is shown; the initial value names its first client. */
static void
show_name(const char *name)
{
	SetConfigOption("application_name", name, PGC_USERSET, PGC_S_SESSION);
}

/*
 * citus_internal.session_rest()
 *
 * Ends the session without a word if it can't rest, as its opener has left.
 */
SQL_FUNCTION(citus_internal_session_rest);
Datum
citus_internal_session_rest(PG_FUNCTION_ARGS)
{
	check_caller(fcinfo);
	pool_keep_idle();
	if (is_counted() || has_placeholders() || backend_database_is_wanted() || !free_slots_for_rest() || !backend_rest())
	{
		whereToSendOutput = DestNone;
		proc_exit(0);
	}
	show_name("citus_internal at rest");
	PG_RETURN_VOID();
}

/*
 * citus_internal.session_serve(gpid bigint)
 *
 * Returns what a client that takes the connection over has to know of the
 * session: its process id, cancel key, and the server's version.
 */
SQL_FUNCTION(citus_internal_session_serve);
Datum
citus_internal_session_serve(PG_FUNCTION_ARGS)
{
	char		key[2 * CANCEL_KEY_SIZE + 1];

	check_caller(fcinfo);
	if (!backend_serve(PG_GETARG_INT64(0)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session can't serve another client")));
	free_slots_forget();
	show_name(psprintf("citus_internal gpid=" INT64_FORMAT, PG_GETARG_INT64(0)));
	own_cancel_key(key);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%d %s %s", MyProcPid, key, PG_VERSION)));
}
