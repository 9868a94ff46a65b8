/*-------------------------------------------------------------------------
 *
 * cancel_function.c
 *	  Cancel requests that clients have sent to another node's gateway.
 *
 * A gateway process stores a request for a client that it doesn't have on the
 * area, and has any session of the server call gateway_pass_cancels, which
 * sends the requests in the area to the other nodes.  These store them on
 * their areas (gateway_cancel), until the process that may have the client
 * takes it, at most a tick of its loop later.
 *
 * The request contains the client's secret key.  So it is never part of a
 * text, which other clients with the session's role could see.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/guc.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"
#include "lib/subtransaction.h"
#include "remote/connection.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_internal_gateway_cancel);
SQL_FUNCTION(citus_internal_gateway_pass_cancels);

/* How long a node may take to connect, and to answer. */
#define PASS_TIMEOUT 2000

/* A request for another node. */
typedef struct PassedCancel
{
	int32		groupid;
	uint64		request;		/* process id and key */
} PassedCancel;

/* Stores a request for the process of this server that may have its client. */
static bool
take_cancel(uint64 request)
{
	int32		pid = (int32) (request >> 32);
	int			number = CANCEL_PID_PROCESS(pid);

	return gateway_area != NULL && number >= 0 && number < Min(gateway_processes, MAX_GATEWAY_PROCESSES) &&
		gateway_put_cancel(gateway_area->cancels[number], pid, (int32) request);
}

/* gateway_cancel(pid, key): false if there is no such process, or no room. */
Datum
citus_internal_gateway_cancel(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	PG_RETURN_BOOL(take_cancel((uint64) (uint32) PG_GETARG_INT32(0) << 32 | (uint32) PG_GETARG_INT32(1)));
}

/* For subtransaction_run. */
static bool
pass_to_node(void *arg)
{
	const PassedCancel *passed = arg;
	(void) remote_read_within(passed->groupid, node_call(NODE_gateway_cancel, node_int((int32) (passed->request >> 32)),
														 node_int((int32) passed->request)),
							  NULL, PASS_TIMEOUT);
	return true;
}

/* Gives a request to all nodes; those that can't be reached are left out. */
static void
pass_on(uint64 request)
{
	List	   *nodes = node_active_primaries_remote();
	ListCell   *cell;

	(void) take_cancel(request);
	foreach(cell, nodes)
	{
		PassedCancel passed = {((ClusterNode *) lfirst(cell))->groupid, request};
		ErrorData  *error;

		if (!subtransaction_run(pass_to_node, &passed, &error))
			FreeErrorData(error);
	}
}

Datum
citus_internal_gateway_pass_cancels(PG_FUNCTION_ARGS)
{
	int			level = NewGUCNestLevel();

	if (gateway_area == NULL)
		PG_RETURN_VOID();
	(void) set_config_option("citus.node_connection_timeout", psprintf("%dms", PASS_TIMEOUT), PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	for (int number = 0; number < MAX_GATEWAY_PROCESSES; number++)
	{
		for (int i = 0; i < MAX_REQUESTS; i++)
		{
			uint64		request = pg_atomic_read_u64(&gateway_area->forwarded[number][i]);

			if (request != 0 && pg_atomic_compare_exchange_u64(&gateway_area->forwarded[number][i], &request, 0))
				pass_on(request);
		}
	}
	AtEOXact_GUC(true, level);
	PG_RETURN_VOID();
}
