/*-------------------------------------------------------------------------
 *
 * node_sync.c
 *	  Creates on a node everything that all nodes have.
 *
 * Everything runs in the distributed transaction, so that a failure leaves the
 * node unchanged.  First, objects and metadata from a former membership are
 * dropped; then the node gets the rows of pg_dist_node, the objects and the
 * tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "catalog/node_session.h"
#include "remote/connection.h"
#include "cluster/candidate.h"
#include "cluster/members.h"
#include "cluster/node_password.h"
#include "cluster/node_sync.h"
#include "cluster/object_sync.h"

/* The commands that replace the node's rows about the cluster. */
static List *
membership_commands(const ClusterNode *node)
{
	List	   *commands = NIL;
	ListCell   *lc;

	commands = lappend(commands, "LOCK TABLE pg_catalog.pg_dist_node IN EXCLUSIVE MODE");
	commands = lappend(commands, "SELECT citus_internal.leave_cluster()");
	commands = lappend(commands, psprintf("UPDATE pg_catalog.pg_dist_local_group SET groupid = %d", node->groupid));
	commands = lappend(commands, psprintf("UPDATE pg_catalog.pg_dist_node_metadata SET metadata = metadata || "
										  "pg_catalog.jsonb_build_object('cluster_id', %s)",
										  quote_literal_cstr(cluster_id())));
	foreach(lc, node_all())
		commands = lappend(commands, members_row_command(((ClusterNode *) lfirst(lc))->nodeid));
	return commands;
}

/*
 * Sends the cluster's secret to the node, as a parameter, which
 * pg_stat_activity doesn't show.
 */
static void
send_secret(const ClusterNode *node)
{
	char	   *secret = node_secret_text();
	RemoteParams params = {1, (Oid[]) {TEXTOID}, &secret, NULL, NULL};

	(void) remote_query(node->groupid, "UPDATE pg_catalog.pg_dist_node_secret SET secret = $1::pg_catalog.bytea",
						&params);
}

void
node_sync(const ClusterNode *node)
{
	ObjectSync *objects = object_sync_prepare(node);
	List	   *tables;

	remote_exec_list(node->groupid, membership_commands(node));
	send_secret(node);
	node_passwords_send(node);
	object_sync_before_tables(objects);
	tables = table_sync_definitions(node);
	object_sync_after_tables(objects);
	object_sync_rows(node);
	table_sync_rest(node, tables);
}
