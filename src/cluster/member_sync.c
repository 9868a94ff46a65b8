/*-------------------------------------------------------------------------
 *
 * member_sync.c
 *	  Sends nodes the membership changes that they have missed.
 *
 * Removing, disabling and moving nodes must be possible while other nodes are
 * down.  These are marked in pg_dist_node (metadatasynced), and get all its
 * rows when they are back, from the coordinator's maintenance daemon or
 * start_metadata_sync_to_all_nodes().
 *
 * Tables can't have changed meanwhile, since that needs all active nodes; the
 * only dependent rows are placements of reference tables, which removed and
 * inactive nodes don't have, and former placements of shards on a node that
 * was removed.  Those of shards stay with a disabled node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "lib/exact_text.h"
#include "remote/connection.h"
#include "cluster/candidate.h"
#include "cluster/member_sync.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "cluster/placements.h"

SQL_FUNCTION(start_metadata_sync_to_all_nodes);

int			metadata_sync_interval = 5000;

void
member_sync_init(void)
{
	DefineCustomIntVariable("citus.metadata_sync_interval",
							"Sets how often the coordinator looks for nodes that have missed changes of nodes.",
							"-1 means never.",
							&metadata_sync_interval, 5000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

/* Groups of the other active nodes that have missed something. */
static List *
unsynced_groups(void)
{
	List	   *groups = NIL;

	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		if (!node->metadata_synced)
			groups = lappend_int(groups, node->groupid);
	return groups;
}

/* Replaces the node's rows of pg_dist_node by ours. */
static void
send_node_rows(int32 groupid)
{
	List	   *commands = NIL;
	int			nest;

	commands = lappend(commands, "LOCK TABLE pg_catalog.pg_dist_node IN EXCLUSIVE MODE");
	commands = lappend(commands, "DELETE FROM pg_catalog.pg_dist_node");
	foreach_ptr(ClusterNode, node, node_all())
		commands = lappend(commands, members_row_command(node->nodeid));
	commands = lappend(commands, "DELETE FROM pg_catalog.pg_dist_placement WHERE groupid NOT IN "
					   "(SELECT groupid FROM pg_catalog.pg_dist_node WHERE isactive AND noderole = 'primary') "
					   "AND " PLACEMENT_OF_REFERENCE);
	commands = lappend(commands, placements_forget_command("NOT IN (SELECT groupid FROM pg_catalog.pg_dist_node)"));
	nest = exact_names_begin();
	remote_exec_list(groupid, commands);
	AtEOXact_GUC(true, nest);
}

void
members_sync(void)
{
	List	   *unsynced;
	List	   *back = NIL;

	if (!metadata_available() || metadata_local_group() != COORDINATOR_GROUP)
		return;
	unsynced = unsynced_groups();
	foreach_int(groupid, unsynced)
	{
		ClusterNode *node = node_primary_of(groupid);
		char	   *error;

		if (server_writable(node->host, node->port, &error))
			back = lappend_int(back, node->groupid);
	}
	if (back == NIL)
		return;

	node_exclude_changes_everywhere(unsynced);
	foreach_int(groupid, back)
		members_set(node_primary_of(groupid)->nodeid, "metadatasynced = true", unsynced);
	foreach_int(groupid, back)
		send_node_rows(groupid);
}

/*
 * start_metadata_sync_to_all_nodes(): whether all nodes know of all changes
 * now.
 */
Datum
start_metadata_sync_to_all_nodes(PG_FUNCTION_ARGS)
{
	require_coordinator();
	members_sync();
	PG_RETURN_BOOL(unsynced_groups() == NIL);
}
