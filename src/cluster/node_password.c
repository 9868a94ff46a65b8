/*-------------------------------------------------------------------------
 *
 * node_password.c
 *	  Passwords by which nodes log in on each other, set on all nodes at once.
 *
 * pg_dist_authinfo is each node's own; a row is used by the sessions of a role
 * on that node, for their connections to another node or (nodeid 0) to all.
 * The passwords are sent as parameters, which logs and pg_stat_activity of the
 * other nodes don't show.
 *
 * To change a role's password without failing logins, a transaction sets it
 * here and by ALTER ROLE.  While that commits on one node after the other, a
 * refused login is tried again (remote/connect.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat/sql_function.h"
#include "catalog/node.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "cluster/node_password.h"
#include "remote/node_call.h"

SQL_FUNCTION(citus_set_node_password);

/*
 * citus_set_node_password(rolename name, password text): NULL removes it.
 *
 * The set of nodes is locked first.  This node's row is written before the
 * others', since the connections to them may need it.
 */
Datum
citus_set_node_password(PG_FUNCTION_ARGS)
{
	char	   *arguments[2] = {NULL, NULL};
	RemoteParams params = {2, node_types(NODE_put_node_password), arguments, NULL, NULL};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the name of the role can't be null")));
	arguments[0] = NameStr(*PG_GETARG_NAME(0));
	(void) get_role_oid(arguments[0], false);
	if (!PG_ARGISNULL(1))
		arguments[1] = text_to_cstring(PG_GETARG_TEXT_PP(1));

	if (node_all() != NIL)
		node_share_set_local();
	(void) spi_exec(node_call(NODE_put_node_password, node_text(arguments[0]), node_text(arguments[1])));
	CommandCounterIncrement();
	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		(void) remote_query(node->groupid, "SELECT citus_internal.put_node_password($1, $2)", &params);
	PG_RETURN_VOID();
}

void
node_passwords_send(const ClusterNode *node)
{
	int			ncolumns;

	foreach_ptr(SpiText, row, spi_rows("SELECT rolename, authinfo FROM pg_catalog.pg_dist_authinfo WHERE nodeid = 0", &ncolumns))
	{
		RemoteParams params = {2, (Oid[]) {NAMEOID, TEXTOID}, row, NULL, NULL};

		(void) remote_query(node->groupid, "INSERT INTO pg_catalog.pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, $1, $2) "
							"ON CONFLICT DO NOTHING", &params);
	}
}
