/*-------------------------------------------------------------------------
 *
 * hop.c
 *	  The cheapest way for a backend to fetch a row from another server.
 *
 * An upper bound for what a routed query can reach: bench_hop() does what no
 * implementation can leave out, and nothing else.  A session keeps one
 * connection, one named prepared statement and one wait set; a call sends the
 * statement with a binary parameter, waits once, and reads a binary result.
 *
 * There is no error handling worth the name: a failure ends the session's
 * statement, and the connection is used again as if nothing had happened.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq-fe.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "storage/latch.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_hop);

#define STATEMENT "SELECT abalance FROM bench_accounts WHERE aid = $1"

/* This session's connection and the set that waits for it; NULL before the first call. */
static PGconn *connection = NULL;
static WaitEventSet *wait_set = NULL;

static void fail(void) pg_attribute_noreturn();
static void open_connection(int port);
static PGresult *receive(void);

/*
 * bench_hop(port integer, key integer) RETURNS integer: the balance of an
 * account on the server at that port of this machine.
 */
Datum
bench_hop(PG_FUNCTION_ARGS)
{
	uint32		key = pg_hton32(PG_GETARG_INT32(1));
	const char *values[1] = {(char *) &key};
	int			lengths[1] = {sizeof(key)};
	int			formats[1] = {1};
	uint32		balance;
	PGresult   *result;

	if (connection == NULL)
		open_connection(PG_GETARG_INT32(0));

	if (!PQsendQueryPrepared(connection, "hop", 1, values, lengths, formats, 1) ||
		PQflush(connection) != 0)
		fail();
	result = receive();
	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
		fail();
	memcpy(&balance, PQgetvalue(result, 0, 0), sizeof(balance));
	PQclear(result);
	while ((result = receive()) != NULL)
		PQclear(result);

	PG_RETURN_INT32((int32) pg_ntoh32(balance));
}

/*
 * Connect, prepare the statement, make the wait set; all of it lives as long
 * as the session.
 */
static void
open_connection(int port)
{
	char		info[128];
	PGresult   *result;

	snprintf(info, sizeof(info), "host=127.0.0.1 port=%d user=postgres dbname=postgres application_name=bench_hop",
			 port);
	connection = PQconnectdb(info);
	if (PQstatus(connection) != CONNECTION_OK)
		fail();
	result = PQprepare(connection, "hop", STATEMENT, 0, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail();
	PQclear(result);
	PQsetnonblocking(connection, 1);

	wait_set = CreateWaitEventSet(TopMemoryContext, 2);
	AddWaitEventToSet(wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(wait_set, WL_SOCKET_READABLE, PQsocket(connection), NULL, NULL);
}

/*
 * Return the next result, or NULL at the end of the answer.
 */
static PGresult *
receive(void)
{
	while (PQisBusy(connection))
	{
		WaitEvent	event;

		WaitEventSetWait(wait_set, -1, &event, 1, PG_WAIT_EXTENSION);
		if (event.events & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		else if (!PQconsumeInput(connection))
			fail();
	}
	return PQgetResult(connection);
}

static void
fail(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("the other server did not answer: %s", PQerrorMessage(connection))));
}
