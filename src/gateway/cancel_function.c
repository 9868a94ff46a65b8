/*-------------------------------------------------------------------------
 *
 * cancel_function.c
 *	  Takes cancel requests that clients have sent to another node's gateway.
 *
 * Who calls the function knows the client's secret number, as a client that
 * sends a request.  The request lies on the board, a slot each, until the
 * process that may have the client takes it, at most a tick of its loop later.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat/sql_function.h"
#include "gateway/gateway.h"
#include "gateway/gateway_stats.h"

SQL_FUNCTION(citus_internal_gateway_cancel);

/* gateway_cancel(pid, key): false if there is no such process, or no room. */
Datum
citus_internal_gateway_cancel(PG_FUNCTION_ARGS)
{
	int32		pid = PG_GETARG_INT32(0);
	int32		key = PG_GETARG_INT32(1);
	int			number = CANCEL_PID_PROCESS(pid);
	uint64		request = (uint64) (uint32) pid << 32 | (uint32) key;

	if (gateway_board == NULL || number < 0 || number >= Min(gateway_processes, MAX_GATEWAY_PROCESSES))
		PG_RETURN_BOOL(false);
	for (int i = 0; i < MAX_BOARD_CANCELS; i++)
	{
		uint64		empty = 0;

		if (pg_atomic_compare_exchange_u64(&gateway_board->cancels[number][i], &empty, request))
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}
