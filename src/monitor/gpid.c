/*-------------------------------------------------------------------------
 *
 * gpid.c
 *	  Global process ids: node id * 10^10 + process id.
 *
 * A backend that another node has opened has the global process id of the
 * client's backend that it works for (catalog/backends.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "catalog/backends.h"
#include "compat/sql_function.h"

SQL_FUNCTION(citus_backend_gpid);
SQL_FUNCTION(citus_calculate_gpid);
SQL_FUNCTION(citus_nodeid_for_gpid);
SQL_FUNCTION(citus_pid_for_gpid);

Datum
citus_backend_gpid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(backend_gpid());
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
