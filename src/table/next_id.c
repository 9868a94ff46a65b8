/*-------------------------------------------------------------------------
 *
 * next_id.c
 *	  Cluster-wide unique ids of shards, nodes and the like.
 *
 * All ids come from the sequences of the coordinator, whichever node asks.
 * Users need no rights on the sequences: any user may distribute a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/next_id.h"

SQL_FUNCTION(citus_internal_next_id);

static const DistRelation id_sequences[] = {
	PG_DIST_SHARDID_SEQ,
	PG_DIST_PLACEMENTID_SEQ,
	PG_DIST_COLOCATIONID_SEQ,
	PG_DIST_NODEID_SEQ,
	PG_DIST_GROUPID_SEQ,
	PG_DIST_OPERATIONID_SEQ,
};

int64 *
next_ids(DistRelation sequence, int count)
{
	int64	   *ids = palloc(count * sizeof(int64));
	RemoteResult *result;

	if (metadata_local_group() == COORDINATOR_GROUP)
	{
		for (int i = 0; i < count; i++)
			ids[i] = dist_next_id(sequence);
		return ids;
	}
	result = remote_read(COORDINATOR_GROUP,
						 psprintf("%s FROM pg_catalog.generate_series(1, %d)",
								  node_call(NODE_next_id, node_text(psprintf("pg_catalog.%s", get_rel_name(dist_relid(sequence))))),
								  count));
	if (result->nrows != count)
		elog(ERROR, "expected %d ids, got %d", count, result->nrows);
	for (int i = 0; i < count; i++)
		ids[i] = remote_int64(result, i, 0);
	return ids;
}

int64
next_id(DistRelation sequence)
{
	return next_ids(sequence, 1)[0];
}

/* citus_internal.next_id(sequence regclass) */
Datum
citus_internal_next_id(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	for (int i = 0; i < lengthof(id_sequences); i++)
	{
		if (PG_GETARG_OID(0) == dist_relid(id_sequences[i]))
			PG_RETURN_INT64(dist_next_id(id_sequences[i]));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("relation with OID %u is not a sequence of ids", PG_GETARG_OID(0))));
}
