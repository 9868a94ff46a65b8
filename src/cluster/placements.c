/*-------------------------------------------------------------------------
 *
 * placements.c
 *	  The placements of a node that leaves.
 *
 * The shards of distributed tables have one placement each, so that a node
 * can only leave once it has none; reference tables are on the other nodes
 * too.  Tables can't be created meanwhile: node_locks_changes has been called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "cluster/members.h"
#include "cluster/placements.h"

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

void
placements_delete(int32 groupid, List *left_out)
{
	members_exec(psprintf("DELETE FROM pg_catalog.pg_dist_placement WHERE groupid = %d AND " PLACEMENT_OF_REFERENCE,
						  groupid), left_out);
}
