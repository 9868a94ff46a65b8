/*-------------------------------------------------------------------------
 *
 * move.c
 *	  citus_move_shard_placement(): moves a shard group to another node.
 *
 * The caller's session sends statements that commit by themselves to two other
 * sessions, on the node that has the group (source.c) and on the node that
 * will have it (target.c).  It may be on any node, and may die at any time:
 * created objects are recorded (cleanup.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "cluster/members.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "rebalance/cpu_priority.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "rebalance/move_space.h"
#include "remote/connection.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_move_shard_placement);
SQL_FUNCTION(citus_move_shard_placement_with_nodeid);

/* The number of errors of the target's workers after which a move fails. */
#define MAX_WORKER_ERRORS 3

/* How many bytes of WAL the target may be behind when the switch is tried. */
#define ENOUGH_LAG (1024 * 1024)

/* For how many times citus.move_pause_limit a target may get no closer. */
#define STALLED_PAUSES 10

/* How much longer than the time between them pauses may be. */
#define MOST_PAUSES 16

#define SWITCH_CALL "SELECT citus_internal.move_switch()"

/* Columns of a row that citus_internal.move_publish returns. */
enum
{
	CHANNEL_SLOT_NAME,
	CHANNEL_PUBLICATION_NAME,
	CHANNEL_SUBSCRIPTION_NAME,
	CHANNEL_OWNER_NAME,
	CHANNEL_ROLE_NAME,
};

/* A column of the row that describes a new slot. */
#define SLOT_SNAPSHOT 2

/* The move that this session drives. */
typedef struct Drive
{
	int64		shardid;
	Oid			relid;
	const char *mode;
	const ClusterNode *source;
	const ClusterNode *target;
	RemoteConn *source_conn;
	RemoteConn *target_conn;
	const char *operation;		/* its number, if it is online */
	RemoteResult *channels;
	RemoteConn *slot_conn;		/* that keeps a slot's snapshot; NULL: none */
} Drive;

static int	replication_timeout = 2 * 60 * 60 * 1000;

void
move_init(void)
{
	DefineCustomIntVariable("citus.logical_replication_timeout",
							"Sets how long a shard that is moved may take to be copied.",
							NULL,
							&replication_timeout, 2 * 60 * 60 * 1000, 100, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("citus.defer_shard_delete_interval",
							"Sets how often what moves of shards have left behind is looked for.",
							"-1 means never.",
							&cleanup_interval, 15000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

static const char *
channel_name(const Drive *drive, int channel, int column)
{
	return remote_value(drive->channels, channel, column);
}

static void
report_users(const Drive *drive)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not move shard " INT64_FORMAT " because transactions on node %s:%d go on for long",
					drive->shardid, drive->source->host, drive->source->port),
			 errdetail("They did not end within citus.move_switch_timeout."),
			 errhint("The views citus_lock_waits and citus_dist_stat_activity show them.")));
}

static void
close_slot_conn(Drive *drive)
{
	if (drive->slot_conn != NULL)
		remote_plain_close(drive->slot_conn);
	drive->slot_conn = NULL;
}

/*
 * Creates a slot; returns the name of its exported snapshot, which slot_conn
 * holds.  The server waits until all transactions that have written on the
 * node have ended.
 */
static const char *
make_move_slot(Drive *drive, const char *slot)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_switch_timeout);
	RemoteResult *result;
	char	   *error = NULL;

	drive->slot_conn = drive_open_replication(drive->source);
	remote_plain_limit(drive->slot_conn, drive_switch_timeout);
	DEBUG_POINT("move-before-slot");
	remote_plain_send(drive->slot_conn,
					  psprintf("CREATE_REPLICATION_SLOT %s LOGICAL pgoutput (SNAPSHOT 'export')", quote_identifier(slot)));
	result = remote_plain_result(drive->slot_conn, &error);
	if (result == NULL && GetCurrentTimestamp() >= deadline)
		report_users(drive);
	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not make a replication slot on node %s:%d", drive->source->host, drive->source->port),
				 errdetail_internal("%s", error == NULL ? "" : error)));
	return remote_value(result, 0, SLOT_SNAPSHOT);
}

/* Makes the source copy the rows of a slot's snapshot. */
static void
copy_rows_of_slot(Drive *drive, const char *slot)
{
	const char *snapshot = make_move_slot(drive, slot);

	DEBUG_POINT("move-slot-made");
	(void) drive_ask(drive->source_conn,
					 psprintf("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT %s; "
							  "%s",
							  quote_literal_cstr(snapshot), node_call(NODE_move_copy, node_text(slot))));
	close_slot_conn(drive);
}

/* The operation's number, by which the nodes know it. */
static int64
drive_operation(const Drive *drive)
{
	return strtoi64(drive->operation, NULL, 10);
}

/* Runs a function of the target for the moved group and the operation. */
static void
ask_target(const Drive *drive, NodeFunction function)
{
	const DistTable *table = drive_require_table(drive->relid);
	const ShardInfo *shard = drive_require_shard(table, drive->shardid);

	(void) drive_ask(drive->target_conn,
					 node_call(function, node_int(table->colocation_id), node_int(shard->range.min),
							   node_int(shard->range.max), node_bigint(drive_operation(drive))));
}

/* Creates the copies on the target, with rows and indexes. */
static void
make_copies(Drive *drive)
{
	ask_target(drive, NODE_make_shard_copies);
	cpu_priority_of_sender(drive->source_conn);
	(void) remote_plain_exec(drive->source_conn,
							 psprintf("SET statement_timeout TO %d; SET citus.move_rate_limit TO %d", replication_timeout,
									  drive_rate_limit), ERROR);
	for (int i = 0; i < drive->channels->nrows; i++)
		copy_rows_of_slot(drive, channel_name(drive, i, CHANNEL_SLOT_NAME));
	(void) remote_plain_exec(drive->source_conn, "SET statement_timeout TO 0", ERROR);
	DEBUG_POINT("move-copied");
	ask_target(drive, NODE_index_shard_copies);
}

/* Makes the copies follow later changes. */
static void
start_replication(const Drive *drive)
{
	const DistTable *table = drive_require_table(drive->relid);
	HashRange	range = drive_require_shard(table, drive->shardid)->range;

	for (int i = 0; i < drive->channels->nrows; i++)
	{
		NodeArgument name = node_text(channel_name(drive, i, CHANNEL_SUBSCRIPTION_NAME));

		(void) drive_ask(drive->target_conn,
						 node_call(NODE_move_subscribe, node_int(table->colocation_id), node_int(range.min),
								   node_int(range.max), node_bigint(drive_operation(drive)), name,
								   node_int(drive->source->groupid),
								   node_text(channel_name(drive, i, CHANNEL_PUBLICATION_NAME)),
								   node_text(channel_name(drive, i, CHANNEL_SLOT_NAME)),
								   node_text(channel_name(drive, i, CHANNEL_OWNER_NAME)),
								   node_text(channel_name(drive, i, CHANNEL_ROLE_NAME))));
		(void) drive_ask(drive->target_conn, node_call(NODE_move_launch, name));
	}
	DEBUG_POINT("move-subscribed");
}

/* Errors if the target's workers fail repeatedly. */
static void
check_workers(const Drive *drive)
{
	for (int i = 0; i < drive->channels->nrows; i++)
	{
		const char *name = channel_name(drive, i, CHANNEL_SUBSCRIPTION_NAME);

		if (drive_is_true(drive->target_conn,
					psprintf("SELECT apply_error_count >= %d FROM pg_catalog.pg_stat_subscription_stats "
							 "WHERE subname = %s", MAX_WORKER_ERRORS, quote_literal_cstr(name))))
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("could not replicate the shards to node %s:%d", drive->target->host, drive->target->port),
					 errdetail("The worker of subscription \"%s\" has failed several times.", name),
					 errhint("The log of that node says why.")));
	}
}

/*
 * How many bytes of WAL are between what the source has written and what the
 * target has applied; PG_INT64_MAX if no worker there knows yet.  (The slot's
 * confirmed_flush_lsn stays behind while the target always has more to apply.)
 */
static int64
lag_of_target(const Drive *drive)
{
	int64		lag = 0;

	for (int i = 0; i < drive->channels->nrows; i++)
	{
		char	   *received = drive_ask(drive->target_conn,
										 psprintf("SELECT max(received_lsn) FROM pg_catalog.pg_stat_subscription WHERE subname = %s",
												  quote_literal_cstr(channel_name(drive, i, CHANNEL_SUBSCRIPTION_NAME))));
		char	   *behind = received == NULL ? NULL :
			drive_ask(drive->source_conn, psprintf("SELECT (pg_catalog.pg_current_wal_lsn() - pg_lsn %s)::bigint",
												   quote_literal_cstr(received)));

		lag = Max(lag, behind == NULL ? PG_INT64_MAX : strtoi64(behind, NULL, 10));
	}
	return lag;
}

/*
 * Waits until the target has nearly caught up.  If it doesn't get closer,
 * because changes are made faster than it applies them, their writers wait
 * again and again, as in an attempt to switch, half of the time or as much of
 * it as brings the target closer.  Whether such an attempt has succeeded.
 */
static bool
await_target(const Drive *drive)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), replication_timeout);
	TimestampTz stalled = PG_INT64_MAX; /* when the target counts as stalled */
	int64		patience = (int64) STALLED_PAUSES * drive_pause_limit;
	int64		least = PG_INT64_MAX;
	bool		paused = false;
	int			gap = drive_pause_limit;	/* between pauses, ms */
	int64		lag;

	while ((lag = lag_of_target(drive)) >= ENOUGH_LAG)
	{
		TimestampTz now = GetCurrentTimestamp();

		if (now >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("moving shard " INT64_FORMAT " took longer than citus.logical_replication_timeout",
							drive->shardid)));
		check_workers(drive);
		if (lag < least - least / 1000)
		{
			least = lag;
			if (!paused)
				stalled = TimestampTzPlusMilliseconds(now, patience);
		}
		else if (paused && gap > drive_pause_limit / MOST_PAUSES)
		{
			gap /= 2;
			least = lag;
		}
		else if (paused)
		{
			paused = false;		/* it doesn't help */
			patience *= 2;
			stalled = TimestampTzPlusMilliseconds(now, patience);
		}
		else if (now >= stalled && lag < PG_INT64_MAX)
		{
			paused = true;
			gap = drive_pause_limit;
			least = lag;		/* which pauses should reduce */
		}
		if (paused && drive_is_true(drive->source_conn, SWITCH_CALL))
			return true;
		drive_pause(paused ? gap : DRIVE_POLL_MS);
	}
	return false;
}

/* Switches the group to the target. */
static void
switch_over(const Drive *drive)
{
	if (!drive_switch(drive->source_conn, SWITCH_CALL))
		report_users(drive);
}

/* Drives the move, on open sessions. */
static void
drive_move(Drive *drive)
{
	const DistTable *table = drive_require_table(drive->relid);
	bool		switched = false;

	(void) remote_plain_exec(drive->source_conn, psprintf("SET citus.move_pause_limit TO %d", drive_pause_limit), ERROR);
	move_space_check(drive->shardid, drive->source_conn, drive->target_conn, drive->target);
	drive_clear_remains(drive->source_conn, table, drive_require_shard(table, drive->shardid)->range);
	drive->operation = drive_ask(drive->source_conn,
								 psprintf("SET LOCAL lock_timeout TO %d; %s", drive_switch_timeout,
										  node_call(NODE_move_begin, node_bigint(drive->shardid),
													node_int(drive->target->groupid), node_text(drive->mode))));
	DEBUG_POINT("move-begun");
	if (drive->operation != NULL)
	{
		drive->channels = remote_plain_exec(drive->source_conn, "SELECT * FROM citus_internal.move_publish()", ERROR);
		make_copies(drive);
		start_replication(drive);
		switched = await_target(drive);
	}
	else
		drive_pause(DRIVE_BETWEEN_MS);	/* for statements that don't know yet
										 * that the shards may move */
	DEBUG_POINT("move-before-switch");
	if (!switched)
		switch_over(drive);
	DEBUG_POINT("move-switched");
}

/* Makes the source clean up; its daemon will remove the rest. */
static void
end_move(Drive *drive)
{
	close_slot_conn(drive);
	if (drive->source_conn->state == REMOTE_IDLE &&
		remote_plain_exec(drive->source_conn, "SELECT citus_internal.move_end()", WARNING) != NULL)
		(void) remote_plain_exec(drive->source_conn, "SELECT citus_internal.cleanup()", WARNING);
	remote_plain_close(drive->source_conn);
	remote_plain_close(drive->target_conn);
}

/* Moves the group of a shard, or cleans up. */
static void
run_move(Drive *drive)
{
	const CatchPoint point = catch_point();

	drive_await_former(drive->relid, drive->shardid);
	drive->source_conn = drive_open(drive->source);
	drive->target_conn = drive_open(drive->target);
	PG_TRY();
	{
		drive_move(drive);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		if (drive->slot_conn != NULL)
			remote_plain_stop(drive->slot_conn, remote_connection_timeout());
		remote_plain_stop(drive->target_conn, remote_connection_timeout());
		remote_plain_stop(drive->source_conn, remote_connection_timeout());
		end_move(drive);
		catch_rethrow(error);
	}
	PG_END_TRY();
	end_move(drive);
}

void
move_run(int64 shardid, const ClusterNode *source, const ClusterNode *target, const char *mode)
{
	Drive		drive = {.shardid = shardid, .mode = mode};
	const ShardInfo *shard;

	drive_check_caller("move a shard");
	drive.relid = metadata_require_shard(shardid);
	drive_check_owner(drive_require_table(drive.relid));
	drive.source = drive_require_node(source, "move shards from");
	drive.target = drive_require_node(target, "move shards to");
	if (drive_require_table(drive.relid)->kind == DIST_REFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is a reference table, which is on all nodes", get_rel_name(drive.relid))));
	shard = drive_require_shard(drive_require_table(drive.relid), shardid);
	if (shard->groupid == target->groupid)
	{
		ereport(NOTICE,
				(errmsg("shard " INT64_FORMAT " is on node %s:%d already", shardid, target->host, target->port)));
		return;
	}
	if (shard->groupid != source->groupid)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("shard " INT64_FORMAT " is not on node %s:%d", shardid, source->host, source->port)));
	run_move(&drive);
}

/*
 * An argument that is a value of citus.shard_transfer_mode, or such a value as
 * text; errors if there is no such value.
 */
static char *
transfer_mode_argument(FunctionCallInfo fcinfo, int number)
{
	Oid		   *types;
	int			count;
	Oid			mode = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("shard_transfer_mode"),
									   ObjectIdGetDatum(get_namespace_oid("citus", false)));
	Datum		value = PG_GETARG_DATUM(number);

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
	if (types[number] == TEXTOID)
		value = OidInputFunctionCall(F_ENUM_IN, TextDatumGetCString(value), mode, -1);
	return OidOutputFunctionCall(F_ENUM_OUT, value);
}

/*
 * citus_move_shard_placement(shard_id bigint, source_node_name text,
 * source_node_port integer, target_node_name text, target_node_port integer,
 * shard_transfer_mode citus.shard_transfer_mode), or transfer_mode text
 */
Datum
citus_move_shard_placement(PG_FUNCTION_ARGS)
{
	move_run(PG_GETARG_INT64(0), members_require(text_to_cstring(PG_GETARG_TEXT_PP(1)), PG_GETARG_INT32(2)),
			 members_require(text_to_cstring(PG_GETARG_TEXT_PP(3)), PG_GETARG_INT32(4)),
			 transfer_mode_argument(fcinfo, 5));
	PG_RETURN_VOID();
}

/*
 * citus_move_shard_placement(shard_id bigint, source_node_id integer,
 * target_node_id integer, shard_transfer_mode citus.shard_transfer_mode), or
 * transfer_mode text
 */
Datum
citus_move_shard_placement_with_nodeid(PG_FUNCTION_ARGS)
{
	move_run(PG_GETARG_INT64(0), node_require_id(PG_GETARG_INT32(1)), node_require_id(PG_GETARG_INT32(2)),
			 transfer_mode_argument(fcinfo, 3));
	PG_RETURN_VOID();
}
