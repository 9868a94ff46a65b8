/*-------------------------------------------------------------------------
 *
 * gateway_stats.c
 *	  The shared area: memory that the server and the gateway's processes share,
 *	  for counters and requests.
 *
 * Gateway processes detach from the server's shared memory, so the postmaster
 * maps the area before it forks, and it is never unmapped.  Each gateway
 * process writes its own counters, and reads whether it must pause, and how
 * often DDL has committed.  There is no lock; a reader may see counters of
 * different moments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

SQL_FUNCTION(citus_internal_gateway_processes);
SQL_FUNCTION(citus_internal_gateway_unrouted);
SQL_FUNCTION(citus_gateway_pause);
SQL_FUNCTION(citus_gateway_resume);

static GatewayStats no_stats;

GatewayArea *gateway_area = NULL;
GatewayStats *gateway_stats = &no_stats;

void
gateway_area_create(void)
{
	void	   *memory = mmap(NULL, sizeof(GatewayArea), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		ereport(FATAL,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map memory for the gateway: %m")));
	gateway_area = memory;
	pg_atomic_init_u64(&gateway_area->ddl, 0);
	pg_atomic_init_u64(&gateway_area->defaults, 0);
	pg_atomic_init_u64(&gateway_area->released, 0);
	client_entries_create();
	for (int i = 0; i < MAX_GATEWAY_PROCESSES; i++)
		for (int slot = 0; slot < MAX_REQUESTS; slot++)
		{
			pg_atomic_init_u64(&gateway_area->cancels[i][slot], 0);
			pg_atomic_init_u64(&gateway_area->forwarded[i][slot], 0);
		}
}

bool
gateway_put_cancel(pg_atomic_uint64 *slots, int32 pid, int32 key)
{
	uint64		request = (uint64) (uint32) pid << 32 | (uint32) key;

	for (int i = 0; i < MAX_REQUESTS; i++)
	{
		uint64		empty = 0;

		if (pg_atomic_compare_exchange_u64(&slots[i], &empty, request))
			return true;
	}
	return false;
}

void
gateway_stats_waited(int64 microseconds)
{
	int			bucket = microseconds <= 0 ? 0 : pg_leftmost_one_pos64(microseconds) + 1;

	gateway_stats->waits[Min(bucket, WAIT_BUCKETS - 1)]++;
	gateway_stats->max_wait = Max(gateway_stats->max_wait, microseconds);
}

/* A percentile of the waits, in milliseconds; at most twice the real value. */
static double
wait_of_share(const GatewayStats *stats, double share)
{
	int64		all = 0;
	int64		count = 0;
	int			bucket = 0;

	for (int i = 0; i < WAIT_BUCKETS; i++)
		all += stats->waits[i];
	while (bucket < WAIT_BUCKETS - 1 && (count += stats->waits[bucket]) < share * all)
		bucket++;
	return bucket == 0 ? 0 : Min((INT64CONST(1) << bucket) - 1, stats->max_wait) / 1000.0;
}

static int64
all_unrouted(const GatewayStats *stats)
{
	int64		all = 0;

	for (int i = 0; i < UNROUTED_REASONS; i++)
		all += stats->unrouted[i];
	return all;
}

/* gateway_unrouted(): a row for each process and reason */
Datum
citus_internal_gateway_unrouted(PG_FUNCTION_ARGS)
{
	static const char *const reasons[UNROUTED_REASONS] = {
		"nothing is known of it yet",
		"no parameter or literal decides on one shard",
		"the value that decides is null, or only the server can read it",
		"it is not sent in one piece, or its text can't be told from others",
		"its rows are on this node",
		"its node can't be reached",
		"a transaction block that may need this node",
	};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; gateway_area != NULL && i < gateway_processes; i++)
	{
		const GatewayStats *stats = &gateway_area->processes[i];

		for (int reason = 0; stats->pid != 0 && reason < UNROUTED_REASONS; reason++)
		{
			Datum		values[] = {
				Int32GetDatum((int32) stats->pid), CStringGetTextDatum(reasons[reason]),
				Int64GetDatum(stats->unrouted[reason]),
			};
			bool		nulls[lengthof(values)] = {false};

			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

Datum
citus_internal_gateway_processes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; gateway_area != NULL && i < gateway_processes; i++)
	{
		GatewayStats stats = gateway_area->processes[i];
		struct
		{
			const char *column;
			Datum		value;
		}			columns[] = {
			{"pid", Int32GetDatum((int32) stats.pid)}, {"paused", BoolGetDatum(gateway_area->paused)},
			{"clients", Int64GetDatum(stats.clients)}, {"waiting", Int64GetDatum(stats.waiting)},
			{"active", Int64GetDatum(stats.active)}, {"pools", Int64GetDatum(stats.pools)},
			{"sessions", Int64GetDatum(stats.sessions)}, {"node_sessions", Int64GetDatum(stats.node_sessions)},
			{"logins", Int64GetDatum(stats.logins)}, {"transactions", Int64GetDatum(stats.transactions)},
			{"routed", Int64GetDatum(stats.routed)}, {"pipelined", Int64GetDatum(stats.pipelined)},
			{"resent", Int64GetDatum(stats.resent)}, {"node_blocks", Int64GetDatum(stats.node_blocks)},
			{"moved_blocks", Int64GetDatum(stats.moved_blocks)}, {"unrouted", Int64GetDatum(all_unrouted(&stats))},
			{"restores", Int64GetDatum(stats.restores)}, {"received", Int64GetDatum(stats.received)},
			{"sent", Int64GetDatum(stats.sent)}, {"median_wait_ms", Float8GetDatum(wait_of_share(&stats, 0.5))},
			{"p99_wait_ms", Float8GetDatum(wait_of_share(&stats, 0.99))}, {"max_wait_ms", Float8GetDatum(stats.max_wait / 1000.0)},
		};
		Datum		values[lengthof(columns)];
		bool		nulls[lengthof(columns)] = {false};

		for (int column = 0; column < lengthof(columns); column++)
			values[SPI_fnumber(rsinfo->setDesc, columns[column].column) - 1] = columns[column].value;
		if (stats.pid != 0)
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static void
set_paused(bool paused)
{
	if (gateway_area == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server has no gateway"),
				 errhint("Set citus.gateway_port, and restart the server.")));
	gateway_area->paused = paused;
}

/*
 * citus_gateway_pause(): no client gets a session from now on; clients that
 * have one keep it until the end of their transaction.
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
