/*-------------------------------------------------------------------------
 *
 * placements.c
 *	  The placements of a node that leaves.
 *
 * The shards of distributed tables have one placement each, so that a node
 * can only leave once it has none; reference tables are on the other nodes
 * too.  Tables can't be created meanwhile: node_exclude_changes_everywhere has
 * been called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "cluster/members.h"
#include "cluster/placements.h"
#include "remote/connection.h"

void
placements_check_none(const ClusterNode *node, const char *verb)
{
	foreach_oid(relid, metadata_tables(0))
	{
		const DistTable *table = metadata_require(relid);

		for (int i = 0; i < table->nshards; i++)
		{
			if (table->kind != DIST_REFERENCE && table->shards[i].groupid == node->groupid)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("cannot %s node %s:%d because it has the only placement of shard " INT64_FORMAT,
								verb, node->host, node->port, table->shards[i].shardid),
						 errdetail("The shard belongs to table \"%s\".", get_rel_name(table->relid)),
						 errhint("Move its shards to other nodes first, or drop or undistribute the table.  To go on without "
								 "the shards of a node that is down, use citus_disable_node with force; if another "
								 "server has its data, use citus_update_node.")));
		}
	}
}

/* A shard of a table whose rows as of before are in a group; NULL: none. */
static const ShardInfo *
find_former(const DistTable *table, int32 groupid)
{
	for (int i = 0; i < table->nshards; i++)
		if (table->kind != DIST_REFERENCE && table->shards[i].former_group == groupid)
			return &table->shards[i];
	return NULL;
}

void
placements_check_former(const ClusterNode *node)
{
	foreach_oid(relid, metadata_tables(0))
	{
		const ShardInfo *shard = find_former(metadata_require(relid), node->groupid);

		if (shard != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot remove node %s:%d because transactions may still read there what shard " INT64_FORMAT
							" was before it was moved, split or merged", node->host, node->port, shard->shardid),
					 errdetail("The shard belongs to table \"%s\".", get_rel_name(relid)),
					 errhint("Try again when those that began before that have ended.")));
	}
}

void
placements_clear_former(const ClusterNode *node)
{
	RemoteConn *conn = NULL;
	char	   *error;

	foreach_oid(relid, superuser() ? metadata_tables(0) : NIL)
	{
		if (find_former(metadata_require(relid), node->groupid) == NULL)
			continue;
		conn = remote_plain_open(node->host, node->port, &error);
		break;
	}
	if (conn == NULL)
		return;
	(void) remote_plain_exec(conn, "SELECT citus_internal.cleanup()", WARNING);
	remote_plain_close(conn);
	AcceptInvalidationMessages();
}

char *
placements_forget_command(const char *condition)
{
	return psprintf("WITH gone AS (DELETE FROM pg_catalog.pg_dist_placement WHERE groupid %s RETURNING shardid) "
					"DELETE FROM pg_catalog.pg_dist_shard s USING gone WHERE s.shardid = gone.shardid AND NOT EXISTS "
					"(SELECT FROM pg_catalog.pg_dist_placement o WHERE o.shardid = s.shardid AND NOT o.groupid %s)",
					condition, condition);
}

void
placements_delete(int32 groupid, List *left_out)
{
	members_exec(psprintf("DELETE FROM pg_catalog.pg_dist_placement WHERE groupid = %d AND " PLACEMENT_OF_REFERENCE,
						  groupid), left_out);
}
