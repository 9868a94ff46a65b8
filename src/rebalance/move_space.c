/*-------------------------------------------------------------------------
 *
 * move_space.c
 *	  Whether a node's disk has room for a shard group.
 *
 * A server whose disk is full stops.  So a move asks both nodes before it
 * begins: how large the shards are, and what is free at the target.  It is an
 * estimate: other moves, and clients, may fill the disk meanwhile, and the
 * copy, without dead rows, may be smaller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/guc.h"

#include "sharding/hash.h"
#include "rebalance/drive.h"
#include "rebalance/move_space.h"
#include "remote/node_call.h"

static bool check_space = true;
static double percent_after_move = 10;

/* Bytes of a shard and those colocated with it. */
static int64
group_size(int64 shardid, RemoteConn *source)
{
	StringInfoData query;
	int			n;
	int64	   *shardids = colocated_shardids(shardid, &n);

	initStringInfo(&query);
	appendStringInfoString(&query, "SELECT coalesce(sum(size), 0)::bigint FROM citus_internal.local_shard_sizes() WHERE shardid IN (");
	for (int i = 0; i < n; i++)
		appendStringInfo(&query, "%s" INT64_FORMAT, i > 0 ? ", " : "", shardids[i]);
	appendStringInfoChar(&query, ')');
	return strtoi64(drive_ask(source, query.data), NULL, 10);
}

/* A number of bytes for people; palloc'd. */
static char *
pretty_size(int64 bytes)
{
	return text_to_cstring(DatumGetTextPP(DirectFunctionCall1(pg_size_pretty, Int64GetDatum(bytes))));
}

void
move_space_check(int64 shardid, RemoteConn *source, RemoteConn *target, const ClusterNode *node)
{
	RemoteResult *disk;
	int64		needed;
	int64		available;
	int64		total;

	if (!check_space)
		return;
	needed = group_size(shardid, source);
	disk = remote_plain_exec(target, "SELECT available_disk_size, total_disk_size FROM pg_catalog.citus_local_disk_space_stats()", ERROR);
	available = strtoi64(remote_value(disk, 0, 0), NULL, 10);
	total = strtoi64(remote_value(disk, 0, 1), NULL, 10);
	if (available - needed >= total * percent_after_move / 100)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DISK_FULL),
			 errmsg("could not move shard " INT64_FORMAT " because the disk of node %s:%d would have too little space", shardid, node->host, node->port),
			 errdetail("The shard and those colocated with it have %s; of %s there, %s are free. citus.desired_percent_disk_available_after_move is %g.",
					   pretty_size(needed), pretty_size(total), pretty_size(available), percent_after_move),
			 errhint("Move it to another node, give that one more space, or lower citus.desired_percent_disk_available_after_move.")));
}

void
move_space_init(void)
{
	DefineCustomBoolVariable("citus.check_available_space_before_move",
							 "Refuses moves of shards to nodes whose disk has too little space.",
							 NULL, &check_space, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("citus.desired_percent_disk_available_after_move",
							 "Sets how much of a node's disk must be free after a shard was moved there, in percent.",
							 "With citus.check_available_space_before_move.",
							 &percent_after_move, 10, 0, 100, PGC_USERSET, 0, NULL, NULL, NULL);
}
