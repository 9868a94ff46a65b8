/*-------------------------------------------------------------------------
 *
 * node_health.c
 *	  Whether all nodes can connect to each other, and give the same answers.
 *
 * Each node is asked over a plain connection, so that a node that is down
 * doesn't keep the others from answering.  A node tests its connections to
 * another one itself (citus_internal.connection_problems): as the caller, and
 * for superusers as each role whose sessions will connect there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "catalog/node.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "cluster/candidate.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_internal_connection_problems);
SQL_FUNCTION(citus_internal_node_problems);
SQL_FUNCTION(citus_check_cluster_node_health);

/*
 * The roles that a superuser's check is about, as far as they need a password
 * or are used by nodes themselves.  One with REPLICATION is a standby's,
 * unless it has a password between nodes.
 */
#define ROLES_QUERY "SELECT oid FROM pg_catalog.pg_authid r WHERE rolcanlogin AND (oid = 10 OR rolname = session_user " \
	"OR (rolpassword IS NOT NULL AND (rolsuper OR NOT rolreplication)) OR EXISTS (SELECT FROM pg_catalog.pg_dist_authinfo a WHERE a.rolename = r.rolname)) " \
	"AND pg_catalog.has_database_privilege(oid, pg_catalog.current_database(), 'CONNECT') " \
	"AND (rolvaliduntil IS NULL OR rolvaliduntil > pg_catalog.now()) ORDER BY oid LIMIT 100"

/* A node that is asked about the others. */
typedef struct AskedNode
{
	const ClusterNode *node;
	RemoteConn *conn;			/* NULL: it can't be reached, .. */
	char	   *error;			/* for this reason */
	char	   *traits;			/* answer_traits(), or NULL */
} AskedNode;

/* What is wrong between two nodes. */
typedef struct NodeProblem
{
	char	   *role;			/* that can't connect; NULL: it is about
								 * something else */
	char	   *text;
} NodeProblem;

/* The roles whose connections are to be tested; the caller's is the first. */
static List *
roles_to_test(bool all_roles)
{
	List	   *roles = NIL;
	int			ncolumns;

	if (!superuser() || (!all_roles && GetUserId() == BOOTSTRAP_SUPERUSERID))
		return list_make1_oid(GetUserId());
	if (!all_roles)
		return list_make2_oid(GetUserId(), BOOTSTRAP_SUPERUSERID);
	foreach_ptr(SpiText, row, spi_rows(ROLES_QUERY, &ncolumns))
		roles = lappend_oid(roles, (Oid) strtoul(row[0], NULL, 10));
	return roles;
}

/*
 * citus_internal.connection_problems(host text, port integer, all_roles
 * boolean): for each role that can't connect from here to there its name and
 * the reason.  About all roles that need it, without all_roles about the
 * caller and the maintenance daemon's role, and for others than superusers
 * about the caller only.  Ends at the first problem that isn't one of the
 * login.
 */
Datum
citus_internal_connection_problems(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *host = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int32		port = PG_GETARG_INT32(1);
	bool		reached = true;

	InitMaterializedSRF(fcinfo, 0);
	foreach_oid(role, roles_to_test(PG_GETARG_BOOL(2)))
	{
		Datum		values[2];
		bool		nulls[2] = {false};
		char	   *error = remote_login_problem(host, port, role, &reached);

		if (error == NULL)
			continue;
		values[0] = DirectFunctionCall1(namein, CStringGetDatum(GetUserNameFromId(role, false)));
		values[1] = CStringGetTextDatum(error);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		if (!reached)
			break;
	}
	return (Datum) 0;
}

/*
 * A node's check of another one gets half the time that the node has to
 * answer.
 */
static void
limit_checks(RemoteConn *conn)
{
	int			timeout = remote_connection_timeout();
	char	   *error;

	remote_plain_limit(conn, timeout);
	remote_plain_send(conn, psprintf("SET citus.node_connection_timeout = %d", Max(timeout / 2, 10)));
	(void) remote_plain_result(conn, &error);
}

/* Connects to all active nodes; List of AskedNode. */
static List *
ask_nodes(void)
{
	List	   *nodes = NIL;

	foreach_ptr(ClusterNode, node, node_active_primaries())
	{
		AskedNode  *asked = palloc0(sizeof(AskedNode));
		RemoteResult *traits;

		asked->node = node;
		asked->conn = remote_plain_open(node->host, node->port, &asked->error);
		nodes = lappend(nodes, asked);
		if (asked->conn == NULL)
			continue;
		limit_checks(asked->conn);
		if (!superuser())
			continue;
		remote_plain_send(asked->conn, ANSWER_TRAITS_QUERY);
		traits = remote_plain_result(asked->conn, &asked->error);
		asked->traits = traits == NULL ? NULL : remote_only_value(traits);
	}
	return nodes;
}

static void
close_nodes(List *nodes)
{
	foreach_ptr(AskedNode, asked, nodes)
		if (asked->conn != NULL)
			remote_plain_close(asked->conn);
}

static NodeProblem *
make_problem(char *role, char *text)
{
	NodeProblem *problem = palloc(sizeof(NodeProblem));

	problem->role = role;
	problem->text = text;
	return problem;
}

/*
 * What is wrong between two nodes, as the first one sees it (List of
 * NodeProblem); *known is false if it could not be asked.
 */
static List *
problems_between(AskedNode *from, AskedNode *to, bool *known)
{
	List	   *problems = NIL;
	char	   *error;
	char	   *differences;
	RemoteResult *rows;

	*known = false;
	if (from->conn == NULL)
		return list_make1(make_problem(NULL, from->error));
	remote_plain_send(from->conn, candidate_problems_query(to->node->host, to->node->port, true));
	rows = remote_plain_result(from->conn, &error);
	if (rows == NULL)
		return list_make1(make_problem(NULL, error));
	*known = true;
	for (int i = 0; i < rows->nrows; i++)
		problems = lappend(problems, make_problem(remote_value(rows, i, 0), remote_value(rows, i, 1)));
	differences = answer_differences(from->traits, to->traits, false);
	if (differences != NULL)
		problems = lappend(problems, make_problem(NULL, psprintf("The nodes give different answers: %s.", differences)));
	return problems;
}

/*
 * Tells the client about the problems of a pair of nodes.  A difference of two
 * nodes is told once.
 */
static void
warn_of_problems(const ClusterNode *from, const ClusterNode *to, List *problems)
{
	foreach_ptr(NodeProblem, problem, problems)
	{
		if (problem->role != NULL)
			ereport(WARNING,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("node %s:%d can't connect to node %s:%d as role \"%s\"", from->host, from->port, to->host, to->port,
							problem->role),
					 errdetail_internal("%s", problem->text)));
		else if (from->groupid < to->groupid)
			ereport(WARNING,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("nodes %s:%d and %s:%d don't go together", from->host, from->port, to->host, to->port),
					 errdetail_internal("%s", problem->text)));
	}
}

/* The first columns of a row about two nodes. */
static void
put_addresses(Datum *values, const ClusterNode *from, const ClusterNode *to)
{
	values[0] = CStringGetTextDatum(from->host);
	values[1] = Int32GetDatum(from->port);
	values[2] = CStringGetTextDatum(to->host);
	values[3] = Int32GetDatum(to->port);
}

/*
 * One row for each pair of active nodes; result is NULL where the first one
 * could not be asked, and false if anything is wrong, which warnings tell.
 */
Datum
citus_check_cluster_node_health(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *nodes = ask_nodes();

	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(AskedNode, from, nodes)
	{
		foreach_ptr(AskedNode, to, nodes)
		{
			Datum		values[5];
			bool		nulls[5] = {false};
			bool		known;
			List	   *problems = problems_between(from, to, &known);

			put_addresses(values, from->node, to->node);
			values[4] = BoolGetDatum(problems == NIL);
			nulls[4] = !known;
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
			if (known)
				warn_of_problems(from->node, to->node, problems);
		}
	}
	close_nodes(nodes);
	return (Datum) 0;
}

/* citus_internal.node_problems(): the problems themselves. */
Datum
citus_internal_node_problems(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *nodes = ask_nodes();

	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(AskedNode, from, nodes)
	{
		foreach_ptr(AskedNode, to, nodes)
		{
			bool		known;

			foreach_ptr(NodeProblem, problem, problems_between(from, to, &known))
			{
				Datum		values[6];
				bool		nulls[6] = {false};

				put_addresses(values, from->node, to->node);
				nulls[4] = problem->role == NULL;
				values[4] = nulls[4] ? (Datum) 0 : DirectFunctionCall1(namein, CStringGetDatum(problem->role));
				values[5] = CStringGetTextDatum(problem->text);
				tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
			}
		}
	}
	close_nodes(nodes);
	return (Datum) 0;
}
