/*-------------------------------------------------------------------------
 *
 * node_functions.c
 *	  Adding, changing and removing nodes.
 *
 * All of these functions run on any active node, by superusers, and take
 * node_exclude_changes_everywhere first.  Whatever they change, they change on
 * all active nodes in the distributed transaction.  The node that is disabled,
 * removed or moved may be down; the others must answer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_enum.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/relations.h"
#include "remote/connection.h"
#include "cluster/candidate.h"
#include "cluster/clone_node.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "cluster/node_sync.h"
#include "cluster/node_users.h"
#include "cluster/placements.h"
#include "table/next_id.h"

#define DEFAULT_CLUSTER "default"

SQL_FUNCTION(citus_set_coordinator_host);
SQL_FUNCTION(citus_add_node);
SQL_FUNCTION(citus_add_inactive_node);
SQL_FUNCTION(citus_add_secondary_node);
SQL_FUNCTION(citus_activate_node);
SQL_FUNCTION(citus_disable_node);
SQL_FUNCTION(citus_remove_node);
SQL_FUNCTION(citus_update_node);
SQL_FUNCTION(citus_pause_node_within_txn);
SQL_FUNCTION(citus_set_node_property);

/* Label of a value of an enum type; palloc'd. */
static char *
enum_label(Oid value)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(value));
	char	   *label;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", value)));
	label = pstrdup(NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel));
	ReleaseSysCache(tuple);
	return label;
}

static void
check_role(const char *role, const char *cluster)
{
	if (strcmp(role, ROLE_PRIMARY) == 0 && strcmp(cluster, DEFAULT_CLUSTER) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a primary node must be in cluster \"%s\"", DEFAULT_CLUSTER)));
}

/*
 * Gives the coordinator an address, its first or a new one; returns its node
 * id.  node_exclude_changes_everywhere must have been called.
 */
static int32
set_coordinator_address(const char *host, int32 port, const char *role, const char *cluster)
{
	ClusterNode *coordinator = node_primary_of(COORDINATOR_GROUP);
	char	   *id = server_id_at(host, port);
	NewNode		node = {.groupid = COORDINATOR_GROUP, .host = host, .port = port, .role = role,
	.cluster = cluster, .active = true};

	/* the server may listen on another address for now */
	if (id != NULL && strcmp(id, cluster_id()) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("node %s:%d is not the coordinator", host, port),
				 errhint("The address must be the one by which other nodes reach this server.")));

	if (coordinator == NULL)
	{
		members_check_address_is_free(host, port);
		node.nodeid = (int32) next_id(PG_DIST_NODEID_SEQ);
		members_insert(&node);
		return node.nodeid;
	}

	if (strcmp(coordinator->host, host) != 0 || coordinator->port != port)
	{
		members_check_address_is_free(host, port);
		node_exclude_address_everywhere(COORDINATOR_GROUP, NIL, NO_COOLDOWN);
		members_set(coordinator->nodeid,
					psprintf("nodename = %s, nodeport = %d", quote_literal_cstr(host), port), NIL);
	}
	return coordinator->nodeid;
}

/*
 * Ensures that the coordinator has an address that a new node at `host` can
 * use, and that they and all nodes can connect to each other; own_address is
 * ours as that node sees it.
 */
static void
ensure_coordinator_address(const char *host, int32 port, const char *own_address)
{
	ClusterNode *coordinator = node_primary_of(COORDINATOR_GROUP);

	if (coordinator == NULL)
	{
		const char *address = host_is_loopback(own_address) ? node_local_hostname : own_address;

		set_coordinator_address(address, PostPortNumber, ROLE_PRIMARY, DEFAULT_CLUSTER);
	}
	else if (host_is_loopback(coordinator->host) && !host_is_loopback(host))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d can't know the coordinator as \"%s\"", host, port, coordinator->host),
				 errhint("Set an address of the coordinator that all nodes can reach with citus_set_coordinator_host.")));

	candidate_check_connections(host, port);
}

/*
 * Errors unless a node with that role may be added to the group (-1: a new
 * one).
 */
static void
check_group(int32 groupid, const char *role)
{
	ClusterNode *primary = groupid < 0 ? NULL : node_primary_of(groupid);

	if (strcmp(role, ROLE_PRIMARY) == 0 && primary != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("group %d already has a primary node", groupid),
				 errdetail("It is %s:%d.", primary->host, primary->port)));
	if (strcmp(role, ROLE_PRIMARY) != 0 && primary == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a %s node needs the group of a primary node", role)));
}

/* Brings an inactive primary into the cluster. */
static void
activate_node(ClusterNode *node)
{
	const char *own_address = candidate_check(node->host, node->port, node->groupid);

	ensure_coordinator_address(node->host, node->port, own_address);
	members_set(node->nodeid, "isactive = true, hasmetadata = true, metadatasynced = true",
				list_make1_int(node->groupid));
	node_sync(node_of_group(node->groupid));
}

/* Adds a node, or activates an existing one; returns its id. */
static int32
add_node(const char *host, int32 port, int32 groupid, const char *role, const char *cluster, bool active)
{
	bool		primary = strcmp(role, ROLE_PRIMARY) == 0;
	NewNode		node = {.groupid = groupid, .host = host, .port = port, .role = role, .cluster = cluster,
	.active = active || !primary, .should_have_shards = true};
	ClusterNode *present;

	members_check_address(host, port);
	check_role(role, cluster);
	node_exclude_changes_everywhere(NIL);

	present = node_at_address(host, port);
	if (present != NULL)
	{
		if (active && present->is_primary && !present->is_active)
			activate_node(present);
		return present->nodeid;
	}
	if (groupid == COORDINATOR_GROUP && primary)
		return set_coordinator_address(host, port, role, cluster);

	check_group(groupid, role);
	if (active && primary)
		ensure_coordinator_address(host, port, candidate_check(host, port, groupid));

	node.nodeid = (int32) next_id(PG_DIST_NODEID_SEQ);
	if (node.groupid < 0)
		node.groupid = members_next_groupid();
	members_insert(&node);
	if (active && primary)
		node_sync(node_of_group(node.groupid));
	return node.nodeid;
}

Datum
citus_set_coordinator_host(PG_FUNCTION_ARGS)
{
	char	   *host = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int32		port = PG_GETARG_INT32(1);
	char	   *role = enum_label(PG_GETARG_OID(2));
	char	   *cluster = NameStr(*PG_GETARG_NAME(3));

	members_check_address(host, port);
	check_role(role, cluster);
	node_exclude_changes_everywhere(NIL);
	set_coordinator_address(host, port, role, cluster);
	PG_RETURN_VOID();
}

Datum
citus_add_node(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(add_node(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), PG_GETARG_INT32(2),
							 enum_label(PG_GETARG_OID(3)), NameStr(*PG_GETARG_NAME(4)), true));
}

Datum
citus_add_inactive_node(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(add_node(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), PG_GETARG_INT32(2),
							 enum_label(PG_GETARG_OID(3)), NameStr(*PG_GETARG_NAME(4)), false));
}

Datum
citus_add_secondary_node(PG_FUNCTION_ARGS)
{
	ClusterNode *primary = members_require(text_to_cstring(PG_GETARG_TEXT_PP(2)), PG_GETARG_INT32(3));

	PG_RETURN_INT32(add_node(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), primary->groupid,
							 "secondary", NameStr(*PG_GETARG_NAME(4)), true));
}

Datum
citus_activate_node(PG_FUNCTION_ARGS)
{
	ClusterNode *node;

	node_exclude_changes_everywhere(NIL);
	node = members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));

	if (node->is_clone)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("node %s:%d is a clone", node->host, node->port),
				 errhint("citus_promote_clone_and_rebalance() makes it an active node.")));
	if (!node->is_active && node->is_primary)
		activate_node(node);
	else if (!node->is_active)
		members_set(node->nodeid, "isactive = true", NIL);
	PG_RETURN_INT32(node->nodeid);
}

/* Errors for this node itself. */
static void
check_other(const ClusterNode *node, const char *verb)
{
	if (node->is_primary && node->groupid == metadata_local_group() && node->groupid != COORDINATOR_GROUP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a node cannot %s itself", verb),
				 errhint("Connect to another node and run it again.")));
}

/*
 * The node's group in a list if the node itself takes part in changes as an
 * active primary.
 */
static List *
own_group(const ClusterNode *node)
{
	return node->is_primary ? list_make1_int(node->groupid) : NIL;
}

/*
 * citus_disable_node(nodename, nodeport, synchronous, force)
 *
 * force: the node may have shards of distributed tables, which are unavailable
 * until it is activated again; meanwhile, DROP TABLE is the only DDL allowed
 * on these tables.
 */
Datum
citus_disable_node(PG_FUNCTION_ARGS)
{
	ClusterNode *node;
	List	   *left_out;

	node = members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	if (node->groupid == COORDINATOR_GROUP && node->is_primary)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the coordinator can't be disabled")));
	check_other(node, "disable");
	if (!node->is_active)
		PG_RETURN_VOID();

	left_out = members_leave_out_unreachable(own_group(node));
	node_exclude_changes_everywhere(left_out);
	node_exclude_replicas_everywhere(left_out, NIL);
	if (node->is_primary)
	{
		if (!PG_GETARG_BOOL(3))
			placements_check_none(node, "disable");
		placements_delete(node->groupid, left_out);
		members_set(node->nodeid, "isactive = false, hasmetadata = false, metadatasynced = false", left_out);
	}
	else
		members_set(node->nodeid, "isactive = false", left_out);
	members_mark_unsynced(left_out, left_out);
	PG_RETURN_VOID();
}

/* Errors if the coordinator's row is still needed. */
static void
check_coordinator_removable(ClusterNode *coordinator)
{
	if (list_length(node_all()) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the coordinator can't be removed while the cluster has other nodes"),
				 errhint("To keep shards off it, use citus_set_node_property with shouldhaveshards.")));
	if (metadata_tables(0) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the coordinator can't be removed while there are distributed or reference tables")));
}

/* Errors if shards of a worker are still needed. */
static void
check_worker_removable(const ClusterNode *node, bool reachable)
{
	placements_check_none(node, "remove");
	if (reachable)
		placements_check_former(node);
}

/*
 * Removes the cluster's metadata from a node that is being removed, if it can
 * be reached.
 */
static void
dismiss_node(ClusterNode *node)
{
	char	   *error;

	if (server_reachable(node->host, node->port, &error))
		remote_exec(node->groupid, "SELECT citus_internal.leave_cluster()");
	else
		ereport(WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d is removed without its knowledge", node->host, node->port),
				 errdetail_internal("%s", error),
				 errhint("Run SELECT citus_internal.leave_cluster() there before using it otherwise.")));
}

Datum
citus_remove_node(PG_FUNCTION_ARGS)
{
	ClusterNode *node;
	List	   *left_out;
	bool		worker;
	bool		reachable;
	char	   *error;

	node = members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	check_other(node, "remove");
	clone_check_none(node);
	worker = node->is_primary && node->groupid != COORDINATOR_GROUP;
	if (node->is_primary && !worker)
		check_coordinator_removable(node);

	left_out = members_leave_out_unreachable(own_group(node));
	reachable = worker && node->is_active && server_reachable(node->host, node->port, &error);
	if (reachable)
		placements_clear_former(node);
	if (worker)
		check_worker_removable(node, reachable);
	node_users_await(node, reachable, left_out);
	node_exclude_changes_everywhere(left_out);
	node_exclude_leaving_everywhere(left_out, reachable ? node->groupid : 0);
	if (worker)
	{
		check_worker_removable(node, reachable);
		members_exec(placements_forget_command(psprintf("= %d", node->groupid)), left_out);
		if (node->is_active)
			dismiss_node(node);
	}
	members_delete(node->nodeid, left_out);
	members_mark_unsynced(left_out, left_out);
	PG_RETURN_VOID();
}

/*
 * citus_update_node(node_id, new_node_name, new_node_port, force,
 * lock_cooldown)
 *
 * Neither the node itself, at the old or the new address, nor other nodes need
 * to be up; those that aren't get the change later (member_sync.c).  Until
 * commit, writes to the node wait on all nodes that have the change, and so do
 * reads that can't reach it; then they use the new address.  force terminates
 * transactions that have written there and are still running after
 * lock_cooldown ms.
 *
 * The new address may be that of a secondary of the node, which has been
 * promoted: its row is removed.
 */
Datum
citus_update_node(PG_FUNCTION_ARGS)
{
	int32		nodeid = PG_GETARG_INT32(0);
	char	   *host = text_to_cstring(PG_GETARG_TEXT_PP(1));
	int32		port = PG_GETARG_INT32(2);
	bool		force = PG_GETARG_BOOL(3);
	int32		cooldown = PG_GETARG_INT32(4);
	char	   *assignments = psprintf("nodename = %s, nodeport = %d", quote_literal_cstr(host), port);
	ClusterNode *node;
	ClusterNode *present;
	int32		promoted = 0;
	List	   *left_out;
	char	   *error;

	members_check_address(host, port);
	node = node_require_id(nodeid);
	present = node_at_address(host, port);
	if (present != NULL && node->is_primary && present->is_secondary && present->groupid == node->groupid)
		promoted = present->nodeid;
	else if (present != NULL && present->nodeid != nodeid)
		members_check_address_is_free(host, port);
	else if (present != NULL)
		PG_RETURN_VOID();

	left_out = members_leave_out_unreachable(own_group(node));
	if (node->is_primary)
		node_exclude_address_everywhere(node->groupid, left_out, force ? Max(cooldown, 0) : NO_COOLDOWN);
	else
		node_exclude_changes_everywhere(left_out);
	if (promoted != 0)
		members_delete(promoted, left_out);
	members_set(nodeid, assignments, left_out);

	/* the node itself gets the change at its new address, or has it */
	if (node->groupid == metadata_local_group())
		left_out = list_delete_int(left_out, node->groupid);
	else if (list_member_int(left_out, node->groupid) && node->is_active && server_writable(host, port, &error))
	{
		left_out = list_delete_int(left_out, node->groupid);
		if (promoted != 0)
			remote_exec(node->groupid, psprintf("DELETE FROM pg_catalog.pg_dist_node WHERE nodeid = %d", promoted));
		remote_exec(node->groupid, psprintf("UPDATE pg_catalog.pg_dist_node SET %s WHERE nodeid = %d",
											assignments, nodeid));
	}
	members_mark_unsynced(left_out, left_out);
	PG_RETURN_VOID();
}

/*
 * citus_pause_node_within_txn(node_id, force, lock_cooldown): the first half
 * of citus_update_node.
 */
Datum
citus_pause_node_within_txn(PG_FUNCTION_ARGS)
{
	ClusterNode *node = node_require_id(PG_GETARG_INT32(0));
	int32		cooldown = PG_GETARG_BOOL(1) ? Max(PG_GETARG_INT32(2), 0) : NO_COOLDOWN;

	node_exclude_address_everywhere(node->groupid, members_leave_out_unreachable(own_group(node)), cooldown);
	PG_RETURN_VOID();
}

Datum
citus_set_node_property(PG_FUNCTION_ARGS)
{
	char	   *property = text_to_cstring(PG_GETARG_TEXT_PP(2));
	ClusterNode *node;

	if (strcmp(property, "shouldhaveshards") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown node property \"%s\"", property),
				 errhint("The only property is \"shouldhaveshards\".")));

	node_exclude_changes_everywhere(NIL);
	node = members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	members_set(node->nodeid, PG_GETARG_BOOL(3) ? "shouldhaveshards = true" : "shouldhaveshards = false",
				NIL);
	PG_RETURN_VOID();
}
