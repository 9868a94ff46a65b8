/*-------------------------------------------------------------------------
 *
 * clone_node.c
 *	  Clones: standbys of nodes that will become nodes themselves.
 *
 * A clone is a streaming standby of a worker.  Its row in pg_dist_node has a
 * group of its own, the role "unavailable", and is inactive, so nothing uses
 * it until rebalance/clone.c promotes it.
 *
 * A standby has the identity of its primary: the same system identifier, and
 * the same server_id.  Those show that it is that node's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "catalog/metadata.h"
#include "compat/sql_function.h"
#include "cluster/clone_node.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "remote/connection.h"
#include "table/next_id.h"

SQL_FUNCTION(citus_add_clone_node);
SQL_FUNCTION(citus_add_clone_node_with_nodeid);
SQL_FUNCTION(citus_remove_clone_node);
SQL_FUNCTION(citus_remove_clone_node_with_nodeid);

#define IDENTITY_QUERY "SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()), pg_catalog.citus_server_id()"

/*
 * Its row is that of a standby which streams.  The name by which it appears in
 * its primary's pg_stat_replication is that of the connection string, or else
 * cluster_name.
 */
#define STANDBY_QUERY "SELECT pg_catalog.pg_is_in_recovery(), r.status, r.slot_name, " \
	"coalesce(pg_catalog.substring(r.conninfo, '(?:^| )application_name=(\\S+)'), " \
	"pg_catalog.substring(r.conninfo, 'fallback_application_name=(\\S+)')) " \
	"FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_stat_get_wal_receiver() r ON true"

/* Columns of that row. */
enum
{
	STANDBY_IN_RECOVERY,
	STANDBY_STATUS,
	STANDBY_SLOT,
	STANDBY_APPLICATION,
};

const ClusterNode *
clone_require(int32 nodeid)
{
	const ClusterNode *node = node_require_id(nodeid);

	if (!node->is_clone)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("node %s:%d is not a clone", node->host, node->port),
				 errhint("citus_add_clone_node() registers a standby as a clone.")));
	return node;
}

void
clone_check_none(const ClusterNode *primary)
{
	foreach_ptr(ClusterNode, node, node_all())
		if (node->is_clone && node->clone_of == primary->nodeid)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("node %s:%d has a clone", primary->host, primary->port),
					 errdetail("It is %s:%d.", node->host, node->port),
					 errhint("Remove it with citus_remove_clone_node().")));
}

/* The error of a server that can't be a clone; detail says why. */
static void
refuse_standby(const char *host, int32 port, const ClusterNode *primary, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("server %s:%d can't be a clone of node %s:%d", host, port, primary->host, primary->port),
			 errdetail_internal("%s", detail),
			 errhint("A clone is an asynchronous streaming standby, such as pg_basebackup -R makes from the node.")));
}

char *
clone_check_standby(const char *host, int32 port, const ClusterNode *primary)
{
	RemoteConn *standby_conn = remote_plain_open(host, port, NULL);
	RemoteConn *primary_conn = remote_plain_open(primary->host, primary->port, NULL);
	RemoteResult *identity = remote_plain_exec(standby_conn, IDENTITY_QUERY, ERROR);
	RemoteResult *expected = remote_plain_exec(primary_conn, IDENTITY_QUERY, ERROR);
	RemoteResult *standby = remote_plain_exec(standby_conn, STANDBY_QUERY, ERROR);
	const char *application = remote_value(standby, 0, STANDBY_APPLICATION);
	const char *slot = remote_value(standby, 0, STANDBY_SLOT);
	RemoteResult *sync;

	for (int i = 0; i < 2; i++)
		if (remote_value(identity, 0, i) == NULL || remote_value(expected, 0, i) == NULL ||
			strcmp(remote_value(identity, 0, i), remote_value(expected, 0, i)) != 0)
			refuse_standby(host, port, primary, "It doesn't have that node's data.");
	if (strcmp(remote_value(standby, 0, STANDBY_IN_RECOVERY), "t") != 0)
		refuse_standby(host, port, primary, "It is not a standby, or has been promoted.");
	if (remote_value(standby, 0, STANDBY_STATUS) == NULL || strcmp(remote_value(standby, 0, STANDBY_STATUS), "streaming") != 0)
		refuse_standby(host, port, primary, "It doesn't stream.");
	sync = remote_plain_exec(primary_conn,
							 psprintf("SELECT pg_catalog.bool_or(sync_state <> 'async') FROM pg_catalog.pg_stat_replication "
									  "WHERE application_name = %s", quote_literal_cstr(application == NULL ? "" : application)), ERROR);
	if (remote_only_value(sync) == NULL)
		refuse_standby(host, port, primary, "It doesn't stream from that node itself.");
	if (remote_is_true(sync))
		refuse_standby(host, port, primary, "It is a synchronous standby, which commits on the node wait for.");
	slot = slot == NULL || slot[0] == '\0' ? NULL : pstrdup(slot);
	remote_plain_close(standby_conn);
	remote_plain_close(primary_conn);
	return (char *) slot;
}

/* Registers a standby of a node as a clone; returns its id. */
static int32
add_clone(const char *host, int32 port, const ClusterNode *primary)
{
	NewNode		node = {.host = host, .port = port, .role = "unavailable", .cluster = "default"};

	members_check_address(host, port);
	node_exclude_changes_everywhere(NIL);
	primary = node_require_id(primary->nodeid);
	if (!primary->is_primary || !primary->is_active || primary->groupid == COORDINATOR_GROUP)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d can't have a clone", primary->host, primary->port),
				 errdetail("Only active workers can.")));
	members_check_address_is_free(host, port);
	(void) clone_check_standby(host, port, primary);
	node.nodeid = (int32) next_id(PG_DIST_NODEID_SEQ);
	node.groupid = members_next_groupid();
	node.clone_of = primary->nodeid;
	members_insert(&node);
	return node.nodeid;
}

/*
 * citus_add_clone_node(replica_hostname, replica_port, primary_hostname,
 * primary_port)
 */
Datum
citus_add_clone_node(PG_FUNCTION_ARGS)
{
	const ClusterNode *primary = members_require(text_to_cstring(PG_GETARG_TEXT_PP(2)), PG_GETARG_INT32(3));

	PG_RETURN_INT32(add_clone(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), primary));
}

/*
 * citus_add_clone_node_with_nodeid(replica_hostname, replica_port,
 * primary_node_id)
 */
Datum
citus_add_clone_node_with_nodeid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(add_clone(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1),
							  node_require_id(PG_GETARG_INT32(2))));
}

/* The standby itself is left as it is, and need not be up. */
static void
remove_clone(int32 nodeid)
{
	List	   *left_out = members_leave_out_unreachable(NIL);

	node_exclude_changes_everywhere(left_out);
	members_delete(clone_require(nodeid)->nodeid, left_out);
	members_mark_unsynced(left_out, left_out);
}

/* citus_remove_clone_node(nodename, nodeport) */
Datum
citus_remove_clone_node(PG_FUNCTION_ARGS)
{
	remove_clone(members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1))->nodeid);
	PG_RETURN_VOID();
}

/* citus_remove_clone_node_with_nodeid(nodeid) */
Datum
citus_remove_clone_node_with_nodeid(PG_FUNCTION_ARGS)
{
	remove_clone(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}
