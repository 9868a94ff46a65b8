/*-------------------------------------------------------------------------
 *
 * separate_copy.c
 *	  Makes a copy of all nodes a cluster of its own.
 *
 * The servers of a copy (restored backups, cloned disks) don't connect to any
 * node while the addresses that they know lead to the original
 * (remote/own_address.c).  citus_separate_copy, run on the copied coordinator,
 * gives all of them new addresses, a new identity and a new secret, which the
 * original refuses and which refuse the original's.
 *
 * Everything is checked before the first change: each new address must lead to
 * a copy of the right node.  The nodes, and this one, change their catalogs
 * over plain connections, in one transaction each, and this one commits last.
 * If that is interrupted, the call may be repeated: a node that has changed
 * already knows of which cluster it was a copy.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "remote/own_address.h"
#include "cluster/candidate.h"
#include "cluster/members.h"

SQL_FUNCTION(citus_internal_is_copy);
SQL_FUNCTION(citus_separate_copy);

/* What keeps the secret out of logs and pg_stat_activity. */
#define UNSEEN "SET log_statement = 'none'; SET log_min_duration_statement = -1; SET log_min_duration_sample = -1; " \
	"SET log_min_error_statement = 'panic'; SET log_transaction_sample_rate = 0; SET track_activities = off"

/* A node of the original, and where its copy is. */
typedef struct CopiedNode
{
	const ClusterNode *node;
	char	   *host;
	int			port;
	RemoteConn *conn;			/* to the copy; NULL for a disabled node */
} CopiedNode;

/* citus_internal.is_copy() */
Datum
citus_internal_is_copy(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(own_address_answer() != OWN_ADDRESS_OURS);
}

/* Splits "host:port"; errors if it isn't that. */
static void
read_copy_address(const char *address, CopiedNode *copied)
{
	const char *colon = strrchr(address, ':');

	copied->port = colon == NULL ? 0 : atoi(colon + 1);
	if (colon == NULL || colon == address || copied->port < 1 || copied->port > 65535)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid address of a node: \"%s\"", address),
				 errhint("An address is a host and a port, such as \"db0.example:5432\".")));
	copied->host = pnstrdup(address, colon - address);
}

/* The new address of a node in the function's argument; errors without one. */
static char *
copy_address_of(const ClusterNode *node, Jsonb *addresses)
{
	char	   *key = psprintf("%s:%d", node->host, node->port);
	JsonbValue	buffer;
	JsonbValue *value = getKeyJsonValueFromContainer(&addresses->root, key, strlen(key), &buffer);

	if (value == NULL || value->type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no address is given for the copy of node %s", key),
				 errhint("The nodes of the cluster are listed in pg_dist_node.")));
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/*
 * The primaries of the copy; secondaries are left out.  Errors if one has no
 * new address, or one that is a node's of the original, or another copy's.
 */
static List *
copied_nodes(Jsonb *addresses)
{
	List	   *result = NIL;

	if (!JB_ROOT_IS_OBJECT(addresses))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the addresses of a copy must be a JSON object"),
				 errhint("Its keys are the addresses in pg_dist_node, its values those of the copies, as \"host:port\".")));
	foreach_ptr(ClusterNode, node, node_all())
	{
		CopiedNode *copied = palloc0(sizeof(CopiedNode));

		if (!node->is_primary)
			continue;
		copied->node = node;
		read_copy_address(copy_address_of(node, addresses), copied);
		if (node_at_address(copied->host, copied->port) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s:%d is the address of a node of the original cluster", copied->host, copied->port),
					 errhint("Give each node of the copy an address of its own.")));
		foreach_ptr(CopiedNode, other, result)
			if (other->port == copied->port && strcmp(other->host, copied->host) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("%s:%d is given as the address of two nodes", copied->host, copied->port)));
		result = lappend(result, copied);
	}
	return result;
}

/* Connects to a copy, and checks that it is that node's, and not in use. */
static void
connect_copied_node(CopiedNode *copied, const char *former)
{
	const ClusterNode *node = copied->node;
	char	   *query = psprintf("SELECT pg_catalog.count(*) FROM pg_catalog.pg_dist_local_group, pg_catalog.pg_dist_node_metadata "
								 "WHERE groupid = %d AND (metadata OPERATOR(pg_catalog.->>) 'copy_of' = %s "
								 "OR metadata OPERATOR(pg_catalog.->>) '%s' = %s AND citus_internal.is_copy())",
								 node->groupid, quote_literal_cstr(former),
								 node->groupid == COORDINATOR_GROUP ? "server_id" : "cluster_id", quote_literal_cstr(former));
	char	   *instance;
	char	   *fits;
	bool		is_this;

	copied->conn = remote_plain_open_unchecked(copied->host, copied->port, remote_connection_timeout(), NULL);
	instance = remote_only_value(remote_plain_exec(copied->conn, "SELECT citus_internal.server_instance()", ERROR));
	is_this = instance != NULL && strcmp(instance, own_address_instance()) == 0;
	fits = remote_only_value(remote_plain_exec(copied->conn, query, ERROR));
	if (fits == NULL || strcmp(fits, "1") != 0 || is_this != (node->groupid == metadata_local_group()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("server %s:%d is not a copy of node %s:%d", copied->host, copied->port, node->host, node->port),
				 errhint("Give the address of the server with the copied data of that node.")));
}

/* The addresses for become_copy. */
static NodeArgument
copied_addresses(List *nodes)
{
	StringInfoData json;

	initStringInfo(&json);
	foreach_ptr(CopiedNode, copied, nodes)
		appendStringInfo(&json, "%s%s, pg_catalog.jsonb_build_object('host', %s::pg_catalog.text, 'port', %d)",
						 json.len == 0 ? "" : ", ", quote_literal_cstr(psprintf("%d", copied->node->nodeid)),
						 quote_literal_cstr(copied->host), copied->port);
	return (NodeArgument) {JSONBOID, psprintf("pg_catalog.jsonb_build_object(%s)", json.data)};
}

/* A random number of 32 bytes, in hexadecimal digits. */
static char *
random_secret(void)
{
	return spi_value("SELECT pg_catalog.replace(pg_catalog.gen_random_uuid()::pg_catalog.text "
					 "OPERATOR(pg_catalog.||) pg_catalog.gen_random_uuid()::pg_catalog.text, '-', '')");
}

/*
 * Has the connected copies change their catalogs; the coordinator's, which is
 * the first, commits last.
 */
static void
separate_copied_nodes(List *nodes, const char *former)
{
	char	   *command = node_call_with("BEGIN; SELECT ", NODE_become_copy, copied_addresses(nodes), node_text(former),
										 node_text(spi_value("SELECT pg_catalog.gen_random_uuid()")),
										 node_text(random_secret()));

	foreach_ptr(CopiedNode, copied, nodes)
	{
		if (copied->conn == NULL)
			continue;
		(void) remote_plain_exec(copied->conn, UNSEEN, ERROR);
		(void) remote_plain_exec(copied->conn, command, ERROR);
	}
	for (int i = list_length(nodes) - 1; i >= 0; i--)
	{
		CopiedNode *copied = list_nth(nodes, i);

		if (copied->conn == NULL)
			continue;
		(void) remote_plain_exec(copied->conn, "COMMIT", ERROR);
		remote_plain_close(copied->conn);
	}
}

/*
 * citus_separate_copy(addresses jsonb): from the addresses in pg_dist_node to
 * those of the copies.
 */
Datum
citus_separate_copy(PG_FUNCTION_ARGS)
{
	List	   *nodes;
	char	   *former = cluster_id();

	require_coordinator();
	if (own_address_answer() == OWN_ADDRESS_OURS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server is not a copy"),
				 errdetail("The address of the coordinator in pg_dist_node leads to this server.")));
	nodes = copied_nodes(PG_GETARG_JSONB_P(0));
	foreach_ptr(CopiedNode, copied, nodes)
		if (copied->node->is_active)
			connect_copied_node(copied, former);
	separate_copied_nodes(nodes, former);
	PG_RETURN_VOID();
}
