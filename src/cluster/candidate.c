/*-------------------------------------------------------------------------
 *
 * candidate.c
 *	  Checks a server that will join the cluster.
 *
 * All checks are made before the first change, over a plain connection, so
 * that errors are clear and nothing has to be undone.  Facts about the server
 * are fetched by one query and checked here.  A connection that an error
 * leaves open is closed at the end of the transaction.
 *
 * Membership: pg_dist_node_metadata holds an id of the server, made with the
 * extension, and, once it has joined a cluster, the id of that cluster, which
 * is its coordinator's server id.  A server that was removed while it could
 * not be reached is recognised by that and may join again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "cluster/candidate.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"

#define MAJOR_VERSION_QUERY "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000"
#define EXTENSION_VERSION_QUERY "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'"

/* The columns of the query about a server, in its order. */
typedef enum ServerFact
{
	FACT_SERVER_ID,
	FACT_CLUSTER_ID,
	FACT_GROUP,
	FACT_NODES,					/* rows of pg_dist_node that are not the
								 * server's own as a cluster of one */
	FACT_TABLES,				/* rows of pg_dist_partition */
	FACT_PREPARED,				/* max_prepared_transactions */
	FACT_CLIENT_ADDRESS,
	FACT_HELD,					/* this transaction holds its pg_dist_node */
} ServerFact;

static const char facts_query[] =
"SELECT (SELECT metadata OPERATOR(pg_catalog.->>) 'server_id' FROM pg_catalog.pg_dist_node_metadata), "
"(SELECT metadata OPERATOR(pg_catalog.->>) 'cluster_id' FROM pg_catalog.pg_dist_node_metadata), "
"(SELECT groupid FROM pg_catalog.pg_dist_local_group), "
"(SELECT pg_catalog.count(*) FROM pg_catalog.pg_dist_node WHERE groupid <> 0 OR nodename <> 'localhost'), "
"(SELECT pg_catalog.count(*) FROM pg_catalog.pg_dist_partition), "
"pg_catalog.current_setting('max_prepared_transactions'), "
"pg_catalog.host(pg_catalog.inet_client_addr()), "
"EXISTS (SELECT FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid "
"WHERE l.relation OPERATOR(pg_catalog.=) 'pg_catalog.pg_dist_node'::pg_catalog.regclass AND l.mode = 'ExclusiveLock' AND l.granted "
"AND a.application_name = pg_catalog.current_setting('application_name'))";

/* First column of the only row; NULL if there is no row, or a null. */
static char *
ask_value(RemoteConn *conn, const char *query)
{
	return remote_only_value(remote_plain_exec(conn, query, ERROR));
}

/* The server's facts, palloc'd; NULL where it has none. */
static char **
ask_facts(RemoteConn *conn)
{
	return remote_plain_exec(conn, facts_query, ERROR)->values;
}

/* An id in pg_dist_node_metadata. */
static char *
own_id(const char *key)
{
	char	   *id = spi_value(psprintf("SELECT metadata ->> %s FROM pg_catalog.pg_dist_node_metadata",
										quote_literal_cstr(key)));

	if (id == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("pg_dist_node_metadata has no %s", key),
				 errhint("Drop the extension and create it again.")));
	return id;
}

char *
local_server_id(void)
{
	return own_id("server_id");
}

char *
cluster_id(void)
{
	return own_id(metadata_local_group() == COORDINATOR_GROUP ? "server_id" : "cluster_id");
}

char *
answer_differences(const char *here, const char *there, bool joins)
{
	if (here == NULL || there == NULL || strcmp(here, there) == 0)
		return NULL;
	return spi_value(node_call(NODE_trait_differences, node_text(here), node_text(there), node_bool(joins)));
}

bool
host_is_loopback(const char *host)
{
	return pg_strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* Checks that major version and encoding are those of this server. */
static void
check_server(RemoteConn *conn, const char *host, int32 port)
{
	int			version = atoi(ask_value(conn, MAJOR_VERSION_QUERY));
	int			own_version = atoi(spi_value(MAJOR_VERSION_QUERY));
	char	   *encoding = ask_value(conn, "SELECT pg_catalog.pg_encoding_to_char(encoding) "
									 "FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()");

	if (version != own_version)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d runs another major version of PostgreSQL", host, port),
				 errdetail("It runs version %d, this node runs version %d.", version, own_version),
				 errhint("Install the same major version of PostgreSQL on all nodes.")));
	if (strcmp(encoding, GetDatabaseEncodingName()) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("database on node %s:%d has another encoding", host, port),
				 errdetail("It has %s, this database has %s.", encoding, GetDatabaseEncodingName()),
				 errhint("Create the databases of all nodes with the same encoding.")));
}

/* Checks that the extension exists, in our version. */
static void
check_extension(RemoteConn *conn, const char *host, int32 port)
{
	char	   *version = ask_value(conn, EXTENSION_VERSION_QUERY);
	char	   *own_version = spi_value(EXTENSION_VERSION_QUERY);

	if (version == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"citus\" does not exist on node %s:%d", host, port),
				 errhint("Run CREATE EXTENSION citus in database \"%s\" there.", get_database_name(MyDatabaseId))));
	if (own_version == NULL || strcmp(version, own_version) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"citus\" on node %s:%d has another version", host, port),
				 errdetail("It has version %s, this node has version %s.", version, own_version),
				 errhint("Install the same version of the extension on all nodes, and run ALTER EXTENSION citus UPDATE.")));
}

/*
 * Checks that the server gives the answers that this one gives: that
 * collations and settings on which these depend are the same.
 */
static void
check_answer_traits(RemoteConn *conn, const char *host, int32 port)
{
	char	   *traits = ask_value(conn, ANSWER_TRAITS_QUERY);
	char	   *differences = answer_differences(spi_value(ANSWER_TRAITS_QUERY), traits, true);

	if (differences != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d would give other answers than this node", host, port),
				 errdetail("On that node and this one: %s.", differences),
				 errhint("Create the database there with the locale, provider and encoding of this one, install the same versions "
						 "of ICU and the C library, and give these settings the same values in postgresql.conf.")));
}

/*
 * Checks that the server is in no cluster, or was in ours, in a group without
 * another server now.
 */
static void
check_membership(char **facts, const char *host, int32 port, int32 groupid)
{
	char	   *our_id = cluster_id();
	int32		server_group = facts[FACT_GROUP] == NULL ? 0 : atoi(facts[FACT_GROUP]);
	bool		ours = facts[FACT_CLUSTER_ID] != NULL && strcmp(facts[FACT_CLUSTER_ID], our_id) == 0;
	ClusterNode *present = ours ? node_primary_of(server_group) : NULL;

	if (facts[FACT_SERVER_ID] != NULL && strcmp(facts[FACT_SERVER_ID], our_id) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("node %s:%d is the coordinator", host, port),
				 errhint("Use citus_set_coordinator_host to set the coordinator's own address.")));
	if (present != NULL && present->groupid != groupid)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("node %s:%d is already in the cluster as %s:%d", host, port, present->host, present->port),
				 errhint("Use citus_update_node to change a node's address.")));
	if (!ours && (atoi(facts[FACT_NODES]) > 0 || server_group != COORDINATOR_GROUP))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d already belongs to a cluster", host, port),
				 errhint("Remove it from that cluster with citus_remove_node first.")));
	if (!ours && atoi(facts[FACT_TABLES]) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d has distributed tables of its own", host, port),
				 errhint("Drop them there, or turn them into local tables with undistribute_table.")));
}

/* Opens a connection, or errors. */
static RemoteConn *
connect_candidate(const char *host, int32 port)
{
	char	   *error = NULL;
	RemoteConn *conn = remote_plain_open(host, port, &error);

	if (conn == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not connect to node %s:%d", host, port),
				 error != NULL ? errdetail_internal("%s", error) : 0,
				 errhint("Make sure that the server runs, that it accepts connections from this one as \"%s\", "
						 "and that it has database \"%s\".",
						 GetUserNameFromId(GetUserId(), false), get_database_name(MyDatabaseId))));
	return conn;
}

const char *
candidate_check(const char *host, int32 port, int32 groupid)
{
	RemoteConn *conn = connect_candidate(host, port);
	char	  **facts;

	check_server(conn, host, port);
	check_extension(conn, host, port);
	check_answer_traits(conn, host, port);
	facts = ask_facts(conn);
	remote_plain_close(conn);

	check_membership(facts, host, port, groupid);

	/*
	 * it would be a second connection of this transaction, waiting for the
	 * first one
	 */
	if (facts[FACT_HELD] != NULL && strcmp(facts[FACT_HELD], "t") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("node %s:%d was removed in this transaction", host, port),
				 errhint("Commit the transaction before adding the node again.")));
	if (atoi(facts[FACT_PREPARED]) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d does not allow prepared transactions", host, port),
				 errhint("Set max_prepared_transactions there to at least max_connections, and restart the server.")));

	return facts[FACT_CLIENT_ADDRESS] == NULL ? "localhost" : facts[FACT_CLIENT_ADDRESS];
}

/*
 * Checks that a node can connect to a server, by the result of
 * citus_internal.connection_problems there: as the caller, else errors, and
 * as the role of its maintenance daemon, else warns.
 */
static void
check_no_problems(int nproblems, char *const *problems, const char *from_host, int32 from_port, const char *to_host, int32 to_port)
{
	for (int i = 0; i < nproblems; i++)
	{
		char	   *role = problems[2 * i];
		bool		is_caller = strcmp(role, GetUserNameFromId(GetUserId(), false)) == 0;

		ereport(is_caller ? ERROR : WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d can't connect to node %s:%d as role \"%s\"", from_host, from_port, to_host, to_port, role),
				 errdetail_internal("%s", problems[2 * i + 1]),
				 errhint("All nodes must reach each other at the addresses in pg_dist_node (citus_set_coordinator_host sets the "
						 "coordinator's), and accept each other in pg_hba.conf.%s",
						 is_caller ? "" : " Maintenance, such as the detection of deadlocks, uses this role.")));
	}
}

char *
candidate_problems_query(const char *host, int32 port, bool all_roles)
{
	return psprintf("SELECT role, problem FROM %s",
					node_expression(NODE_connection_problems, node_text(host), node_int(port), node_bool(all_roles)));
}

void
candidate_check_connections(const char *host, int32 port)
{
	RemoteConn *candidate = connect_candidate(host, port);
	int			ncolumns;

	foreach_ptr(ClusterNode, node, node_active_primaries())
	{
		RemoteResult *problems = remote_plain_exec(candidate, candidate_problems_query(node->host, node->port, false), ERROR);
		RemoteConn *conn;

		check_no_problems(problems->nrows, problems->values, host, port, node->host, node->port);
		if (node->groupid == metadata_local_group())
		{
			foreach_ptr(SpiText, row, spi_rows(candidate_problems_query(host, port, false), &ncolumns))
				check_no_problems(1, row, node->host, node->port, host, port);
			continue;
		}
		conn = remote_plain_open(node->host, node->port, NULL);
		problems = remote_plain_exec(conn, candidate_problems_query(host, port, false), ERROR);
		remote_plain_close(conn);
		check_no_problems(problems->nrows, problems->values, node->host, node->port, host, port);
	}
	remote_plain_close(candidate);
}

bool
server_reachable(const char *host, int32 port, char **error)
{
	RemoteConn *conn;

	*error = NULL;
	conn = remote_plain_open(host, port, error);
	if (conn == NULL)
		return false;
	remote_plain_close(conn);
	return true;
}

/* First value of a query's answer at an address, or NULL; *error says why. */
static char *
ask_at(const char *host, int32 port, const char *query, char **error)
{
	RemoteConn *conn;
	RemoteResult *result;

	*error = NULL;
	conn = remote_plain_open(host, port, error);
	if (conn == NULL)
		return NULL;
	remote_plain_send(conn, query);
	result = remote_plain_result(conn, error);
	remote_plain_close(conn);
	return result == NULL ? NULL : remote_only_value(result);
}

bool
server_writable(const char *host, int32 port, char **error)
{
	char	   *in_recovery = ask_at(host, port, "SELECT pg_catalog.pg_is_in_recovery()", error);

	if (in_recovery == NULL)
		return false;
	if (strcmp(in_recovery, "t") == 0)
		*error = "The server is in recovery.";
	return strcmp(in_recovery, "f") == 0;
}

char *
server_id_at(const char *host, int32 port)
{
	char	   *error;

	return ask_at(host, port, "SELECT metadata OPERATOR(pg_catalog.->>) 'server_id' FROM pg_catalog.pg_dist_node_metadata", &error);
}
