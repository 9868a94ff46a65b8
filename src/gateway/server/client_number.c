/*-------------------------------------------------------------------------
 *
 * client_number.c
 *	  The server's functions about processes, for clients of the gateway.
 *
 * A client of the gateway knows itself by the number that it got as process id
 * at its start, and has another session for each transaction.  So in sessions
 * that a gateway lends, the server's functions that return or take process ids
 * are replaced by ours (planner/replaced_function.c): pg_backend_pid() is the
 * client's number, pg_stat_activity and pg_locks show sessions by the numbers
 * of the clients that have them, pg_stat_activity also shows clients without a
 * session, and numbers can be given to pg_cancel_backend(),
 * pg_terminate_backend() and pg_blocking_pids().  In all other sessions of the
 * server, these show and take process ids, but numbers can be cancelled and
 * terminated too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "common/ip.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "catalog/backends.h"
#include "compat/sql_function.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"
#include "lib/wait_event.h"
#include "planner/replaced_function.h"

SQL_FUNCTION(citus_internal_gateway_backend_pid);
SQL_FUNCTION(citus_internal_gateway_activity);
SQL_FUNCTION(citus_internal_gateway_locks);
SQL_FUNCTION(citus_internal_gateway_prepared_statements);
SQL_FUNCTION(citus_internal_gateway_blocking_pids);
SQL_FUNCTION(citus_internal_gateway_cancel_backend);
SQL_FUNCTION(citus_internal_gateway_terminate_backend);

/* Milliseconds between two looks whether an order can be given, or is done. */
#define ORDER_LOOK 10

static bool numbers_are_shown = false;	/* a gateway lends this session */
static bool asks_server = false;	/* one of our functions calls the
									 * server's */

/*
 * Numbers of clients can be given to the server's functions in all sessions.
 */
static bool
numbers_are_taken(void)
{
	return !asks_server && !session_is_shared();
}

/*
 * Sessions that are lent to a node aren't shown numbers: nodes compare process
 * ids to find out that a pooler is between them (remote/settings.c).
 */
static bool
numbers_are_answers(void)
{
	return numbers_are_shown && numbers_are_taken() &&
		(application_name == NULL || strncmp(application_name, "citus_internal", strlen("citus_internal")) != 0);
}

static const ReplacedFunction number_functions[] = {
	{F_PG_BACKEND_PID, "gateway_backend_pid", 0, {0}, numbers_are_answers},
	{F_PG_STAT_GET_ACTIVITY, "gateway_activity", 1, {INT4OID}, numbers_are_answers},
	{F_PG_LOCK_STATUS, "gateway_locks", 0, {0}, numbers_are_answers},
	{F_PG_PREPARED_STATEMENT, "gateway_prepared_statements", 0, {0}, numbers_are_answers},
	{F_PG_BLOCKING_PIDS, "gateway_blocking_pids", 1, {INT4OID}, numbers_are_answers},
	{F_PG_CANCEL_BACKEND, "gateway_cancel_backend", 1, {INT4OID}, numbers_are_taken},
	{F_PG_TERMINATE_BACKEND, "gateway_terminate_backend", 2, {INT4OID, INT8OID}, numbers_are_taken},
};

/* The process that serves a client now, or the process id itself. */
static int
pid_of_number(int pid)
{
	ClientEntry client;

	return client_entry_find(pid, &client) && client.session != 0 ? client.session : pid;
}

/* The number of the client that a process serves now, or its id. */
static int
number_of_pid(int pid)
{
	int			number = client_number_of_session(pid);

	return number != 0 ? number : pid;
}

Datum
citus_internal_gateway_backend_pid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(number_of_pid(MyProcPid));
}

/* Replaces the process id in a column of a row, if there is such a column. */
static HeapTuple
with_number(HeapTuple row, TupleDesc desc, const char *name)
{
	int			column = SPI_fnumber(desc, name);
	bool		null;
	Datum		value;

	if (column <= 0)
		return row;
	value = heap_getattr(row, column, desc, &null);
	if (null || number_of_pid(DatumGetInt32(value)) == DatumGetInt32(value))
		return row;
	value = Int32GetDatum(number_of_pid(DatumGetInt32(value)));
	return heap_modify_tuple_by_cols(row, desc, 1, &column, &value, &null);
}

static bool
has_same_types(TupleDesc left, TupleDesc right)
{
	for (int i = 0; i < Min(left->natts, right->natts); i++)
		if (TupleDescAttr(left, i)->atttypid != TupleDescAttr(right, i)->atttypid)
			return false;
	return left->natts == right->natts;
}

/*
 * Puts the rows of a function of the server into our result, with numbers
 * instead of process ids.  sql has its argument, if pid isn't NULL.
 */
static void
put_rows_of_server(FunctionCallInfo fcinfo, const char *sql, const int *pid)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			type = INT4OID;
	Datum		value = pid == NULL ? (Datum) 0 : Int32GetDatum(*pid);
	bool		outer = asks_server;
	int			rc;

	SPI_connect();
	asks_server = true;
	PG_TRY();
	{
		rc = SPI_execute_with_args(sql, pid != NULL ? 1 : 0, &type, &value, NULL, true, 0);
	}
	PG_FINALLY();
	{
		asks_server = outer;
	}
	PG_END_TRY();
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "SPI failed: %s", SPI_result_code_string(rc));
	if (rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) && rsinfo->expectedDesc == NULL)
		rsinfo->expectedDesc = SPI_tuptable->tupdesc;
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC | MAT_SRF_BLESS);
	if (!has_same_types(SPI_tuptable->tupdesc, rsinfo->setDesc))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function is for the gateway's sessions only")));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];

		row = with_number(row, SPI_tuptable->tupdesc, "pid");
		row = with_number(row, SPI_tuptable->tupdesc, "leader_pid");
		tuplestore_puttuple(rsinfo->setResult, row);
	}
	rsinfo->expectedDesc = rsinfo->setDesc;
	SPI_finish();
}

/* gateway_locks(): pg_lock_status() with numbers */
Datum
citus_internal_gateway_locks(PG_FUNCTION_ARGS)
{
	put_rows_of_server(fcinfo, "SELECT * FROM pg_catalog.pg_lock_status()", NULL);
	return (Datum) 0;
}

/*
 * gateway_prepared_statements(): pg_prepared_statement() without our names
 * (statement_names.c)
 */
Datum
citus_internal_gateway_prepared_statements(PG_FUNCTION_ARGS)
{
	put_rows_of_server(fcinfo, "SELECT * FROM pg_catalog.pg_prepared_statement() "
					   "WHERE NOT pg_catalog.starts_with(name, '" PREPARED_NAME_PREFIX "')", NULL);
	return (Datum) 0;
}

/* When something happened that the gateway's clock noted. */
static TimestampTz
time_of_gateway(int64 moment)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return GetCurrentTimestamp() - ((int64) INSTR_TIME_GET_MICROSEC(now) - moment);
}

/* A column of pg_stat_get_activity for a client without a session. */
static bool
activity_of_client(const ClientEntry *client, const char *column, bool visible, Datum *value)
{
	char		host[NI_MAXHOST];
	char		port[NI_MAXSERV];
	bool		has_address = client->address.addr.ss_family != AF_UNIX &&
		pg_getnameinfo_all(&client->address.addr, client->address.salen, host, sizeof(host), port, sizeof(port),
						   NI_NUMERICHOST | NI_NUMERICSERV) == 0;

	if (strcmp(column, "datid") == 0)
		*value = ObjectIdGetDatum(client->database);
	else if (strcmp(column, "pid") == 0)
		*value = Int32GetDatum(client->number);
	else if (strcmp(column, "usesysid") == 0)
		*value = ObjectIdGetDatum(client->role);
	else if (strcmp(column, "application_name") == 0)
		*value = CStringGetTextDatum(client->application_name);
	else if (strcmp(column, "query") == 0)
		*value = CStringGetTextDatum(visible ? "" : "<insufficient privilege>");
	else if (!visible)
		return false;
	else if (strcmp(column, "state") == 0)
		*value = CStringGetTextDatum(client->state == CLIENT_SHOWN_ACTIVE ? "active" :
									 client->state == CLIENT_SHOWN_IN_BLOCK ? "idle in transaction" : "idle");
	else if (strcmp(column, "backend_start") == 0)
		*value = TimestampTzGetDatum(time_of_gateway(client->connected));
	else if (strcmp(column, "state_change") == 0)
		*value = TimestampTzGetDatum(time_of_gateway(client->since));
	else if (strcmp(column, "client_addr") == 0 && has_address)
	{
		clean_ipv6_addr(client->address.addr.ss_family, host);
		*value = DirectFunctionCall1(inet_in, CStringGetDatum(host));
	}
	else if (strcmp(column, "client_port") == 0 && has_address)
		*value = Int32GetDatum(atoi(port));
	else if (strcmp(column, "backend_type") == 0)
		*value = CStringGetTextDatum("client backend");
	else
		return false;
	return true;
}

static void
put_client(ReturnSetInfo *rsinfo, const ClientEntry *client)
{
	bool		visible = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), client->role);
	int			ncolumns = rsinfo->setDesc->natts;
	Datum	   *values = palloc0(sizeof(Datum) * ncolumns);
	bool	   *nulls = palloc(sizeof(bool) * ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute column = TupleDescAttr(rsinfo->setDesc, i);

		nulls[i] = !activity_of_client(client, NameStr(column->attname), visible, &values[i]) && column->atttypid != BOOLOID;
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * gateway_activity(pid): pg_stat_get_activity() with numbers, and clients
 * without a session
 */
Datum
citus_internal_gateway_activity(PG_FUNCTION_ARGS)
{
	bool		all = PG_ARGISNULL(0);
	int			number = all ? 0 : PG_GETARG_INT32(0);
	int			pid = pid_of_number(number);

	if (all)
		put_rows_of_server(fcinfo, "SELECT * FROM pg_catalog.pg_stat_get_activity(NULL)", NULL);
	else
		put_rows_of_server(fcinfo, "SELECT * FROM pg_catalog.pg_stat_get_activity($1)", &pid);
	for (int i = 0; gateway_area != NULL && i < client_entries_count(); i++)
	{
		ClientEntry client;

		if (client_entry_read(i, &client) && client.session == 0 && (all || client.number == number))
			put_client((ReturnSetInfo *) fcinfo->resultinfo, &client);
	}
	return (Datum) 0;
}

/* gateway_blocking_pids(pid): pg_blocking_pids() with numbers */
Datum
citus_internal_gateway_blocking_pids(PG_FUNCTION_ARGS)
{
	ArrayType  *pids = DatumGetArrayTypeP(DirectFunctionCall1(pg_blocking_pids,
															  Int32GetDatum(pid_of_number(PG_GETARG_INT32(0)))));
	int32	   *values = (int32 *) ARR_DATA_PTR(pids);

	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(pids), ARR_DIMS(pids)); i++)
		values[i] = number_of_pid(values[i]);
	PG_RETURN_ARRAYTYPE_P(pids);
}

/*
 * As for sessions of the server: whether a client may be ended or cancelled.
 */
static void
check_order(const ClientEntry *client, ClientOrder order)
{
	if (superuser_arg(client->role) && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 order == ORDER_CANCEL ? errmsg("must be a superuser to cancel superuser query") :
				 errmsg("must be a superuser to terminate superuser process")));
	if (!has_privs_of_role(GetUserId(), client->role) && !has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 order == ORDER_CANCEL ?
				 errmsg("must be a member of the role whose query is being canceled or member of pg_signal_backend") :
				 errmsg("must be a member of the role whose process is being terminated or member of pg_signal_backend")));
}

static void
wait_for_gateway(void)
{
	wait_pause(ORDER_LOOK, WAIT_GATEWAY_ORDER);
}

/*
 * Gives the order, if a number is that of another client of the gateway; else
 * false.
 */
static bool
order_client(int number, ClientOrder order)
{
	ClientEntry client;
	bool		checked = false;

	if (number == client_number_of_session(MyProcPid))
		return false;
	while (client_entry_find(number, &client))
	{
		if (!checked)
			check_order(&client, order);
		checked = true;
		if (client_order_give(number, order))
			return true;
		wait_for_gateway();
	}
	return checked;
}

Datum
citus_internal_gateway_cancel_backend(PG_FUNCTION_ARGS)
{
	int			number = PG_GETARG_INT32(0);

	if (order_client(number, ORDER_CANCEL))
		PG_RETURN_BOOL(true);
	return DirectFunctionCall1(pg_cancel_backend, Int32GetDatum(pid_of_number(number)));
}

Datum
citus_internal_gateway_terminate_backend(PG_FUNCTION_ARGS)
{
	int			number = PG_GETARG_INT32(0);
	int64		timeout = PG_GETARG_INT64(1);
	ClientEntry client;

	if (timeout < 0 || !order_client(number, ORDER_TERMINATE))
		return DirectFunctionCall2(pg_terminate_backend, Int32GetDatum(pid_of_number(number)), Int64GetDatum(timeout));
	if (timeout == 0)
		PG_RETURN_BOOL(true);
	for (int64 waited = 0; waited < timeout; waited += ORDER_LOOK)
	{
		if (!client_entry_find(number, &client))
			PG_RETURN_BOOL(true);
		wait_for_gateway();
	}
	ereport(WARNING,
			(errmsg_plural("backend with PID %d did not terminate within %lld millisecond",
						   "backend with PID %d did not terminate within %lld milliseconds",
						   timeout, number, (long long) timeout)));
	PG_RETURN_BOOL(false);
}

void
client_number_begin(void)
{
	numbers_are_shown = true;
}

void
client_number_init(void)
{
	replaced_functions_add(number_functions, lengthof(number_functions));
	backend_of_client = pid_of_number;
}
