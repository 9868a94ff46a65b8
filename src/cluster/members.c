/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Rows of pg_dist_node, changed on all nodes in one transaction.
 *
 * A change is one SQL statement, run here through SPI and on the other
 * active nodes over the distributed transaction's connections.  Triggers on
 * pg_dist_node invalidate the caches of all sessions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "catalog/metadata.h"
#include "cluster/candidate.h"
#include "cluster/members.h"
#include "lib/exact_text.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "storage/lmgr.h"
#include "table/next_id.h"

#define MAX_HOST_LENGTH 255

void
require_coordinator(void)
{
	if (metadata_local_group() != COORDINATOR_GROUP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operation is not allowed on this node"),
				 errhint("Connect to the coordinator and run it again.")));
}

List *
members_other_groups(List *left_out)
{
	List	   *groups = NIL;

	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		if (!list_member_int(left_out, node->groupid))
			groups = lappend_int(groups, node->groupid);
	return groups;
}

void
members_exec_here(const char *sql)
{
	(void) spi_exec(sql);
	CommandCounterIncrement();
}

void
members_exec(const char *sql, List *left_out)
{
	List	   *groups = members_other_groups(left_out);
	int			nest = exact_names_begin();

	members_exec_here(sql);
	foreach_int(groupid, groups)
		remote_exec(groupid, sql);
	AtEOXact_GUC(true, nest);
}

List *
members_leave_out_unreachable(List *left_out)
{
	List	   *result = list_copy(left_out);

	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
	{
		char	   *error;

		if (list_member_int(left_out, node->groupid) || server_writable(node->host, node->port, &error))
			continue;
		ereport(WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d will be told later", node->host, node->port),
				 errdetail_internal("%s", error)));
		result = lappend_int(result, node->groupid);
	}
	return result;
}

void
members_mark_unsynced(List *groups, List *left_out)
{
	foreach_int(groupid, groups)
	{
		ClusterNode *node = node_primary_of(groupid);

		if (node != NULL && node->is_active && node->metadata_synced)
			members_set(node->nodeid, "metadatasynced = false", left_out);
	}
}

ClusterNode *
members_require(const char *host, int32 port)
{
	ClusterNode *node = node_at_address(host, port);

	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node %s:%d does not exist", host, port),
				 errhint("The nodes of the cluster are listed in pg_dist_node.")));
	return node;
}

void
members_check_address(const char *host, int32 port)
{
	if (host[0] == '\0' || strlen(host) > MAX_HOST_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid node name \"%s\"", host),
				 errhint("A node's name has from 1 to %d bytes.", MAX_HOST_LENGTH)));
	if (port < 1 || port > 65535)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid port %d", port),
				 errhint("A port is a number from 1 to 65535.")));
}

void
members_check_address_is_free(const char *host, int32 port)
{
	if (node_at_address(host, port) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("node %s:%d already exists", host, port)));
}

int32
members_next_groupid(void)
{
	int32		groupid;

	do
		groupid = (int32) next_id(PG_DIST_GROUPID_SEQ);
	while (node_primary_of(groupid) != NULL);
	return groupid;
}

static const char *
bool_literal(bool value)
{
	return value ? "true" : "false";
}

void
members_insert(const NewNode *node)
{
	members_exec(psprintf("INSERT INTO pg_catalog.pg_dist_node (nodeid, groupid, nodename, nodeport, "
						  "hasmetadata, isactive, noderole, nodecluster, metadatasynced, shouldhaveshards, nodeisclone, nodeprimarynodeid) "
						  "VALUES (%d, %d, %s, %d, %s, %s, %s, %s, %s, %s, %s, %d)",
						  node->nodeid, node->groupid, quote_literal_cstr(node->host), node->port,
						  bool_literal(node->active), bool_literal(node->active),
						  quote_literal_cstr(node->role), quote_literal_cstr(node->cluster),
						  bool_literal(node->active), bool_literal(node->should_have_shards),
						  bool_literal(node->clone_of != 0), node->clone_of),
				 strcmp(node->role, ROLE_PRIMARY) == 0 ? list_make1_int(node->groupid) : NIL);
}

void
members_set(int32 nodeid, const char *assignments, List *left_out)
{
	members_exec(psprintf("UPDATE pg_catalog.pg_dist_node SET %s WHERE nodeid = %d", assignments, nodeid),
				 left_out);
}

void
members_delete(int32 nodeid, List *left_out)
{
	members_exec(psprintf("DELETE FROM pg_catalog.pg_dist_node WHERE nodeid = %d", nodeid), left_out);
}

char *
members_row_command(int32 nodeid)
{
	char	   *query = psprintf("SELECT pg_catalog.format('INSERT INTO pg_catalog.pg_dist_node VALUES "
								 "(%%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L, %%L)', "
								 "nodeid, groupid, nodename, nodeport, noderack, hasmetadata, isactive, noderole, nodecluster, "
								 "metadatasynced, shouldhaveshards, nodeisclone, nodeprimarynodeid) "
								 "FROM pg_catalog.pg_dist_node WHERE nodeid = %d", nodeid);
	char	   *command = spi_value(query);

	if (command == NULL)
		elog(ERROR, "could not read the row of node %d", nodeid);
	return command;
}
