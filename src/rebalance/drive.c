/*-------------------------------------------------------------------------
 *
 * drive.c
 *	  Functions for a session that drives an operation on shards.
 *
 * The driver sends statements, which commit by themselves, to other sessions
 * that do the work, and may die at any time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog/relations.h"
#include "compat/acl.h"
#include "lib/run_as.h"
#include "lib/wait_event.h"
#include "rebalance/drive.h"
#include "sharding/hash.h"

/* How many times the time between attempts to switch is doubled. */
#define MAX_DOUBLINGS 4

int			drive_pause_limit = 1000;
int			drive_switch_timeout = 300000;
int			drive_rate_limit = 0;

/* The copy whose rate is limited. */
static TimestampTz pace_began;
static double pace_bytes;

void
drive_init(void)
{
	DefineCustomIntVariable("citus.move_pause_limit",
							"Sets how long writers of a shard may have to wait while its move ends.",
							"If the new node can't catch up in that time, or other transactions hold the shard, they go on, and it is tried again.",
							&drive_pause_limit, 1000, 10, 3600 * 1000, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.move_switch_timeout",
							"Sets how long a move waits for transactions that use the shard to end.",
							NULL,
							&drive_switch_timeout, 5 * 60 * 1000, 100, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.move_rate_limit",
							"Sets how much of a shard a move, split or merge copies in a second while the shard is written.",
							"0 means no limit. What has changed meanwhile is sent without one.",
							&drive_rate_limit, 0, 0, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB, NULL, NULL, NULL);
}

void
drive_pause(long ms)
{
	wait_pause(ms, WAIT_SHARD_MOVE);
}

void
drive_back_off(int attempt)
{
	drive_pause(DRIVE_BETWEEN_MS << Min(attempt, MAX_DOUBLINGS));
}

void
drive_pace_begin(void)
{
	pace_began = GetCurrentTimestamp();
	pace_bytes = 0;
}

void
drive_pace(size_t bytes)
{
	if (drive_rate_limit == 0)
		return;
	pace_bytes += bytes;
	for (;;)
	{
		TimestampTz due = pace_began + (int64) (pace_bytes / (drive_rate_limit * 1024.0) * USECS_PER_SEC);
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), due);

		if (ms <= 0)
			return;
		drive_pause(Min(ms, DRIVE_BETWEEN_MS));
	}
}

/*
 * The role whose sessions do the work, which takes a superuser: the caller, or
 * else the owner of the extension.
 */
static Oid
driving_role(void)
{
	HeapTuple	tuple;
	Oid			owner;

	if (superuser())
		return InvalidOid;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(dist_relid(PG_DIST_CLEANUP)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for pg_dist_cleanup");
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

RemoteConn *
drive_open_replication(const ClusterNode *node)
{
	RunAs		caller = run_as_begin(driving_role());
	RemoteConn *conn = remote_replication_open(node->host, node->port);

	run_as_end(caller);
	return conn;
}

RemoteConn *
drive_open(const ClusterNode *node)
{
	RunAs		caller = run_as_begin(driving_role());
	RemoteConn *conn = remote_plain_open(node->host, node->port, NULL);

	run_as_end(caller);
	(void) remote_plain_exec(conn, "SET search_path TO pg_catalog; SET citus.enable_ddl_propagation TO off; SET statement_timeout TO 0; "
							 "SET idle_session_timeout TO 0; SET default_transaction_isolation TO 'read committed'; "
							 "SET default_transaction_read_only TO off", ERROR);
	return conn;
}

char *
drive_ask(RemoteConn *conn, const char *sql)
{
	return remote_only_value(remote_plain_exec(conn, sql, ERROR));
}

bool
drive_is_true(RemoteConn *conn, const char *sql)
{
	return remote_is_true(remote_plain_exec(conn, sql, ERROR));
}

const ShardInfo *
drive_find_shard(const DistTable *table, int64 shardid)
{
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].shardid == shardid)
			return &table->shards[i];
	}
	return NULL;
}

const ShardInfo *
drive_require_shard(const DistTable *table, int64 shardid)
{
	const ShardInfo *shard = drive_find_shard(table, shardid);

	if (shard == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("shard " INT64_FORMAT " does not exist any more", shardid),
				 errdetail("It was split, or merged with another one."),
				 errhint("citus_shards has the shards of table \"%s\" now.", get_rel_name(table->relid))));
	return shard;
}

/*
 * The group that has not dropped a former relation of the shard yet; -1 if
 * there is none.
 */
static int32
former_group(Oid relid, int64 shardid)
{
	const ShardInfo *shard;

	AcceptInvalidationMessages();
	shard = drive_find_shard(drive_require_table(relid), shardid);
	return shard == NULL ? -1 : shard->former_group;
}

void
drive_await_former(Oid relid, int64 shardid)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_switch_timeout);
	int32		groupid;

	while ((groupid = former_group(relid, shardid)) >= 0)
	{
		const ClusterNode *node = node_of_group(groupid);
		RemoteConn *conn;

		if (GetCurrentTimestamp() >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("shard " INT64_FORMAT " was moved, split or merged before on node %s:%d, where transactions still need what it was",
							shardid, node->host, node->port),
					 errhint("Try again when those that began before that have ended.")));
		conn = drive_open(node);
		(void) remote_plain_exec(conn, "SELECT citus_internal.cleanup()", ERROR);
		remote_plain_close(conn);
		drive_pause(DRIVE_POLL_MS);
	}
}

void
drive_clear_remains(RemoteConn *conn, const DistTable *table, HashRange range)
{
	for (int i = 0; i < table->nshards; i++)
	{
		HashRange	common = range;

		if (!table->shards[i].leaving || !hash_range_intersect(&common, table->shards[i].range))
			continue;
		(void) drive_ask(conn, "SELECT citus_internal.cleanup()");
		return;
	}
}

bool
drive_switch(RemoteConn *conn, const char *call)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_switch_timeout);

	for (int attempt = 0; !drive_is_true(conn, call); attempt++)
	{
		if (GetCurrentTimestamp() >= deadline)
			return false;
		drive_back_off(attempt);
	}
	return true;
}

const ClusterNode *
drive_require_node(const ClusterNode *node, const char *what)
{
	if (!node->is_active || !node->is_primary || !node->has_metadata)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot %s node %s:%d", what, node->host, node->port),
				 errdetail("It is not an active primary node.")));
	return node;
}

void
drive_locktag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, dist_relid(PG_DIST_CLEANUP), 0, 0);
	tag->locktag_lockmethodid = USER_LOCKMETHOD;
}

void
drive_check_tables(List *relids)
{
	foreach_oid(relid, relids)
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("a table was dropped while its shards were moved, split or merged"),
					 errhint("Try again, if the shard group has other tables.")));
}

const DistTable *
drive_require_table(Oid relid)
{
	drive_check_tables(list_make1_oid(relid));
	return metadata_require(relid);
}

void
drive_check_owner(const DistTable *table)
{
	List	   *tables = table->colocation_id == 0 ? list_make1_oid(table->relid) : metadata_tables(table->colocation_id);

	foreach_oid(relid, tables)
	{
		drive_check_tables(list_make1_oid(relid));
		if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	}
}

void
drive_check_caller(const char *what)
{
	LOCKTAG		tag;

	if (IsTransactionBlock())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot %s inside a transaction block", what),
				 errdetail("That commits by itself.")));
	drive_locktag(&tag);
	(void) LockAcquire(&tag, ShareLock, false, false);
}
