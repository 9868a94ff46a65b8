/*-------------------------------------------------------------------------
 *
 * gpid.c
 *	  Global process ids: node id * 10^10 + process id.
 *
 * A backend that serves another node's transaction has the global process id
 * of the backend that opened the connection, which travels in
 * application_name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"

#define GPID_NODE_FACTOR INT64CONST(10000000000)
#define GPID_PREFIX "citus_internal gpid="

SQL_FUNCTION(citus_backend_gpid);
SQL_FUNCTION(citus_calculate_gpid);
SQL_FUNCTION(citus_nodeid_for_gpid);
SQL_FUNCTION(citus_pid_for_gpid);

/* Id of this node; 0 if it is not in pg_dist_node. */
static int32
local_nodeid(void)
{
	int32		group = metadata_local_group();
	ListCell   *lc;

	foreach(lc, node_all())
	{
		ClusterNode *node = lfirst(lc);

		if (node->groupid == group && node->is_primary)
			return node->nodeid;
	}
	return 0;
}

Datum
citus_backend_gpid(PG_FUNCTION_ARGS)
{
	if (application_name != NULL && strncmp(application_name, GPID_PREFIX, strlen(GPID_PREFIX)) == 0)
	{
		long long	gpid = strtoll(application_name + strlen(GPID_PREFIX), NULL, 10);

		if (gpid > 0)
			PG_RETURN_INT64(gpid);
	}
	PG_RETURN_INT64(local_nodeid() * GPID_NODE_FACTOR + MyProcPid);
}

Datum
citus_calculate_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(PG_GETARG_INT32(0) * GPID_NODE_FACTOR + PG_GETARG_INT32(1));
}

Datum
citus_nodeid_for_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) (PG_GETARG_INT64(0) / GPID_NODE_FACTOR));
}

Datum
citus_pid_for_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) (PG_GETARG_INT64(0) % GPID_NODE_FACTOR));
}
