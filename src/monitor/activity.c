/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Sessions of all nodes: rows about them, and signals to them.
 *
 * The views over all nodes are SQL (sql/activity.sql); these functions send
 * their query to each node, and find the process of a global process id.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"

#include "catalog/backends.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/proc.h"
#include "compat/sql_function.h"
#include "cluster/node_query.h"
#include "lib/spi_query.h"
#include "remote/connection.h"

SQL_FUNCTION(citus_internal_rows_of_all_nodes);
SQL_FUNCTION(citus_internal_process_gpid);
SQL_FUNCTION(citus_internal_connections);
SQL_FUNCTION(citus_cancel_backend);
SQL_FUNCTION(citus_terminate_backend);

typedef struct RowSink
{
	Tuplestorestate *store;
	TupleDesc	desc;
	AttInMetadata *input;
} RowSink;

/* A NodeRowCallback: puts a row into the result. */
static void
put_row(int32 groupid, int ncolumns, char **values, void *arg)
{
	RowSink    *sink = arg;

	if (ncolumns != sink->desc->natts)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("query returns %d columns instead of %d", ncolumns, sink->desc->natts)));
	tuplestore_puttuple(sink->store, BuildTupleFromCStrings(sink->input, values));
}

/*
 * citus_internal.rows_of_all_nodes(query): a node that can't be reached is
 * left out with a warning.
 *
 * All roles may call it, and the other nodes take the text for this node's:
 * the space in front of it keeps it from being a task, or a call of a function
 * for nodes (catalog/node_session.c).
 */
Datum
citus_internal_rows_of_all_nodes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *sql = psprintf(" %s", text_to_cstring(PG_GETARG_TEXT_PP(0)));
	RowSink		sink;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	sink.store = rsinfo->setResult;
	sink.desc = rsinfo->setDesc;
	sink.input = TupleDescGetAttInMetadata(rsinfo->setDesc);

	node_query_all(sql, put_row, &sink);
	return (Datum) 0;
}

/*
 * citus_internal.process_gpid(pid, OUT global_pid, OUT nodeid, OUT
 * is_worker_query, OUT transaction_number): for which session a process of
 * this node works, and whether that is another one than its own.  If it is its
 * own, also the number of the transaction that it is in, if any.  NULL if the
 * process serves no client.
 */
Datum
citus_internal_process_gpid(PG_FUNCTION_ARGS)
{
	int			pid = backend_of_client != NULL ? backend_of_client(PG_GETARG_INT32(0)) : PG_GETARG_INT32(0);
	PGPROC	   *proc = BackendPidGetProc(pid);
	uint64		served = backend_served_gpid(pid);
	TupleDesc	desc;
	uint64		own = backend_make_gpid(pid);
	Datum		values[4];
	bool		nulls[4] = {false};
	uint32		lxid;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (proc == NULL || !OidIsValid(proc->databaseId) || !PROC_IS_REGULAR_BACKEND(proc) ||
		(proc->statusFlags & PROC_IS_AUTOVACUUM))
		PG_RETURN_NULL();
	values[0] = Int64GetDatum(served != 0 ? served : own);
	values[1] = Int32GetDatum(own / GPID_NODE_FACTOR);
	values[2] = BoolGetDatum(served != 0);
	lxid = PROC_LXID(proc);
	values[3] = Int64GetDatum(lxid);
	nulls[3] = served != 0 || !LocalTransactionIdIsValid(lxid);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* The group of the node with an id. */
static int32
group_of_nodeid(int64 nodeid, int64 gpid)
{
	foreach_ptr(ClusterNode, node, node_active_primaries())
		if (node->nodeid == nodeid)
			return node->groupid;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("global process id %lld belongs to no active node", (long long) gpid),
			 errdetail("It is the id of the node times %lld plus the process id; there is no active node %lld.",
					   (long long) GPID_NODE_FACTOR, (long long) nodeid)));
}

/*
 * The argument of our pg_cancel_backend() and pg_terminate_backend(): a
 * process id or a global one.  It is double precision so that calls aren't
 * ambiguous (resolve/process_parameter.c); only integers that it can tell from
 * their neighbours are ids.
 */
static int64
get_process_argument(FunctionCallInfo fcinfo)
{
	float8		value = PG_GETARG_FLOAT8(0);

	if (!(fabs(value) < (float8) (INT64CONST(1) << DBL_MANT_DIG)) || value != rint(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not a process id",
						DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(value))))));
	return (int64) value;
}

/*
 * Calls a function that signals a process, given as SQL, on the node of the
 * process.  On this node, too, it is a statement, in which the gateway knows
 * the numbers of its clients (gateway/server/client_number.c).
 */
static bool
signal_on_node(int32 groupid, const char *sql)
{
	if (groupid != metadata_local_group())
		return remote_is_true(remote_read(groupid, sql));
	return strcmp(spi_value(sql), "t") == 0;
}

/*
 * The group of a process, and its id there: an id below GPID_NODE_FACTOR is
 * one of this node.
 */
static int32
group_of_process(int64 id, int64 *pid)
{
	bool		global = id >= GPID_NODE_FACTOR;

	*pid = global ? id % GPID_NODE_FACTOR : id;
	return global ? group_of_nodeid(id / GPID_NODE_FACTOR, id) : metadata_local_group();
}

/* pg_cancel_backend(global_pid) */
Datum
citus_cancel_backend(PG_FUNCTION_ARGS)
{
	int64		pid;
	int32		groupid = group_of_process(get_process_argument(fcinfo), &pid);

	PG_RETURN_BOOL(signal_on_node(groupid, psprintf("SELECT pg_catalog.pg_cancel_backend('" INT64_FORMAT "'::integer)",
													pid)));
}

/* pg_terminate_backend(global_pid, timeout) */
Datum
citus_terminate_backend(PG_FUNCTION_ARGS)
{
	int64		pid;
	int32		groupid = group_of_process(get_process_argument(fcinfo), &pid);

	PG_RETURN_BOOL(signal_on_node(groupid, psprintf("SELECT pg_catalog.pg_terminate_backend('" INT64_FORMAT "'::integer, "
													INT64_FORMAT ")", pid, PG_GETARG_INT64(1))));
}

/*
 * citus_internal.connections(): for each connection of this server's processes
 * to another node, the process and the group of the node.
 */
Datum
citus_internal_connections(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < MaxBackends; i++)
	{
		BackendPeer peers[BACKEND_MAX_PEERS];
		int			pid = ProcGlobal->allProcs[i].pid;
		int			n = pid == 0 ? 0 : backend_peers(i, pid, peers);

		for (int j = 0; j < n; j++)
		{
			Datum		values[2] = {Int32GetDatum(pid), Int32GetDatum(peers[j].groupid)};
			bool		nulls[2] = {false};

			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}
