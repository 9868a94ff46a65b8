/*-------------------------------------------------------------------------
 *
 * node_info.c
 *	  Facts about nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"
#include "utils/uuid.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "remote/connection.h"
#include "cluster/candidate.h"
#include "cluster/node_info.h"

#define CITUS_VERSION "13.2.0"	/* the interface that we are compatible with */

static char *interface_version = NULL;

SQL_FUNCTION(citus_version);
SQL_FUNCTION(citus_server_id);
SQL_FUNCTION(citus_is_coordinator);
SQL_FUNCTION(citus_is_primary_node);
SQL_FUNCTION(citus_coordinator_nodeid);
SQL_FUNCTION(citus_nodename_for_nodeid);
SQL_FUNCTION(citus_nodeport_for_nodeid);
SQL_FUNCTION(get_nodeid_for_groupid);
SQL_FUNCTION(citus_get_active_worker_nodes);
SQL_FUNCTION(citus_check_connection_to_node);

/* Defines citus.version, which can't be set. */
void
node_info_init(void)
{
	DefineCustomStringVariable("citus.version", "Shows the version of Citus whose SQL interface this is.", NULL,
							   &interface_version, CITUS_VERSION, PGC_INTERNAL, 0, NULL, NULL, NULL);
}

Datum
citus_version(PG_FUNCTION_ARGS)
{
	const char *platform = strstr(PG_VERSION_STR, " on ");

	PG_RETURN_TEXT_P(cstring_to_text(psprintf("Citus %s (Pomelo)%s", CITUS_VERSION,
											  platform == NULL ? "" : platform)));
}

Datum
citus_server_id(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(DirectFunctionCall1(uuid_in, CStringGetDatum(local_server_id())));
}

Datum
citus_is_coordinator(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(metadata_local_group() == COORDINATOR_GROUP);
}

/* NULL if this server is not in pg_dist_node. */
Datum
citus_is_primary_node(PG_FUNCTION_ARGS)
{
	int32		group = metadata_local_group();

	foreach_ptr(ClusterNode, node, node_all())
		if (node->groupid == group)
			PG_RETURN_BOOL(node->is_primary && !RecoveryInProgress());
	PG_RETURN_NULL();
}

/* The primary of a group, active or not; errors if there is none. */
static ClusterNode *
require_primary(int32 groupid)
{
	ClusterNode *node = node_primary_of(groupid);

	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("group %d has no primary node", groupid)));
	return node;
}

/* 0 if the coordinator is not in pg_dist_node. */
Datum
citus_coordinator_nodeid(PG_FUNCTION_ARGS)
{
	ClusterNode *node = node_primary_of(COORDINATOR_GROUP);

	PG_RETURN_INT32(node == NULL ? 0 : node->nodeid);
}

Datum
get_nodeid_for_groupid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(require_primary(PG_GETARG_INT32(0))->nodeid);
}

Datum
citus_nodename_for_nodeid(PG_FUNCTION_ARGS)
{
	ClusterNode *node = node_with_id(PG_GETARG_INT32(0));

	if (node == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(node->host));
}

Datum
citus_nodeport_for_nodeid(PG_FUNCTION_ARGS)
{
	ClusterNode *node = node_with_id(PG_GETARG_INT32(0));

	if (node == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT32(node->port);
}

/* Nodes other than the coordinator. */
Datum
citus_get_active_worker_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(ClusterNode, node, node_active_primaries())
	{
		Datum		values[2];
		bool		nulls[2] = {false};

		if (node->groupid == COORDINATOR_GROUP)
			continue;
		values[0] = CStringGetTextDatum(node->host);
		values[1] = Int64GetDatum(node->port);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
citus_check_connection_to_node(PG_FUNCTION_ARGS)
{
	char	   *error;

	PG_RETURN_BOOL(server_reachable(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), &error));
}
