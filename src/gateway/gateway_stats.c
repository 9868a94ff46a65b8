/*-------------------------------------------------------------------------
 *
 * gateway_stats.c
 *	  What the gateway's processes do, for the server to show, and what it asks of them.
 *
 * Gateway processes leave the server's shared memory, so they have a board of
 * their own: memory that the server maps before it has any child, and that no
 * process of it ever unmaps.  Each gateway process writes its own counters,
 * and reads whether it is to pause, and how often DDL has changed what texts
 * may mean; there is no lock, and a reader may see counters of different
 * moments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat/sql_function.h"
#include "gateway/gateway.h"
#include "gateway/gateway_stats.h"

SQL_FUNCTION(citus_internal_gateway_processes);
SQL_FUNCTION(citus_gateway_pause);
SQL_FUNCTION(citus_gateway_resume);

static GatewayStats no_stats;

GatewayBoard *gateway_board = NULL;
GatewayStats *gateway_stats = &no_stats;

void
gateway_board_create(void)
{
	void	   *memory = mmap(NULL, sizeof(GatewayBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		ereport(FATAL,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map memory for the gateway: %m")));
	gateway_board = memory;
	pg_atomic_init_u64(&gateway_board->ddl, 0);
	pg_atomic_init_u64(&gateway_board->defaults, 0);
	for (int i = 0; i < MAX_GATEWAY_PROCESSES; i++)
		for (int slot = 0; slot < MAX_BOARD_CANCELS; slot++)
		{
			pg_atomic_init_u64(&gateway_board->cancels[i][slot], 0);
			pg_atomic_init_u64(&gateway_board->strays[i][slot], 0);
		}
}

bool
gateway_put_cancel(pg_atomic_uint64 *slots, int32 pid, int32 key)
{
	uint64		request = (uint64) (uint32) pid << 32 | (uint32) key;

	for (int i = 0; i < MAX_BOARD_CANCELS; i++)
	{
		uint64		empty = 0;

		if (pg_atomic_compare_exchange_u64(&slots[i], &empty, request))
			return true;
	}
	return false;
}

Datum
citus_internal_gateway_processes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; gateway_board != NULL && i < gateway_processes; i++)
	{
		GatewayStats stats = gateway_board->processes[i];
		Datum		values[] = {
			Int32GetDatum((int32) stats.pid), BoolGetDatum(gateway_board->paused),
			Int64GetDatum(stats.clients), Int64GetDatum(stats.waiting), Int64GetDatum(stats.active),
			Int64GetDatum(stats.pools), Int64GetDatum(stats.sessions), Int64GetDatum(stats.node_sessions),
			Int64GetDatum(stats.logins), Int64GetDatum(stats.transactions), Int64GetDatum(stats.routed),
			Int64GetDatum(stats.pipelined), Int64GetDatum(stats.resent),
			Int64GetDatum(stats.restores), Float8GetDatum(stats.max_wait / 1000.0),
		};
		bool		nulls[lengthof(values)] = {false};

		if (stats.pid != 0)
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static void
set_paused(bool paused)
{
	if (gateway_board == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server has no gateway"),
				 errhint("Set citus.gateway_port, and restart the server.")));
	gateway_board->paused = paused;
}

/*
 * citus_gateway_pause(): no client is lent a session from now on; those that
 * have one keep it to the end of their transaction.
 */
Datum
citus_gateway_pause(PG_FUNCTION_ARGS)
{
	set_paused(true);
	PG_RETURN_VOID();
}

/* citus_gateway_resume() */
Datum
citus_gateway_resume(PG_FUNCTION_ARGS)
{
	set_paused(false);
	PG_RETURN_VOID();
}
