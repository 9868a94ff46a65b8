/*-------------------------------------------------------------------------
 *
 * analyze.c
 *	  Statistics of logical tables, which the planner of every node reads.
 *
 * The logical table is empty, so ANALYZE of it would be useless.  Pages and
 * rows are the sums over the shards of all nodes; column statistics come from
 * a sample (column_statistics.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "analyze/analyze.h"
#include "analyze/column_statistics.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/maintains_table.h"
#include "compat/pgstat_analyze.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_local_shard_sizes);
SQL_FUNCTION(citus_internal_set_relation_sizes);

/*
 * Pages and rows of a relation, as pg_class has them; 0 if the number of rows
 * isn't known.
 */
static void
read_sizes(Oid relid, int64 *pages, double *tuples)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		return;
	*pages += ((Form_pg_class) GETSTRUCT(tuple))->relpages;
	*tuples += Max(((Form_pg_class) GETSTRUCT(tuple))->reltuples, 0);
	ReleaseSysCache(tuple);
}

/* Pages and rows of the table's shards on this node. */
static void
local_sizes(const DistTable *table, int64 *pages, double *tuples)
{
	foreach_oid(shard, local_shard_relids(table))
		read_sizes(shard, pages, tuples);
}

/* Writes pages and rows of the logical table into this node's pg_class. */
static void
set_sizes(Oid relid, int64 pages, double tuples)
{
	Relation	pg_class;
	HeapTuple	tuple;
	Form_pg_class form;

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	pg_class = table_open(RelationRelationId, RowExclusiveLock);
	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relid)));
	form = (Form_pg_class) GETSTRUCT(tuple);
	form->relpages = (int32) Min(pages, PG_INT32_MAX);
	form->reltuples = (float4) tuples;
	CatalogTupleUpdate(pg_class, &tuple->t_self, tuple);
	table_close(pg_class, RowExclusiveLock);
	CommandCounterIncrement();
}

bool
lock_for_statistics(Oid relid)
{
	do
	{
		if (metadata_lookup(relid) == NULL || !compat_may_vacuum(relid))
			return false;
	} while (!lock_everywhere(list_make1_oid(relid), ShareUpdateExclusiveLock));
	return true;
}

void
analyze_logical_table(Oid relid)
{
	const DistTable *table = metadata_require(relid);
	char	   *name;
	int64		pages = 0;
	double		tuples = 0;
	List	   *commands;

	if (table->kind == DIST_REFERENCE)
		return;
	name = relation_qualified_name(relid);
	local_sizes(table, &pages, &tuples);
	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
	{
		RemoteResult *result = remote_query(node->groupid,
											node_call_with("SELECT pages, tuples FROM ", NODE_local_shard_sizes,
														   node_text(name)), NULL);

		if (result->nrows == 1)
		{
			pages += remote_int64(result, 0, 0);
			tuples += strtod(remote_value(result, 0, 1), NULL);
		}
	}
	commands = column_statistics_commands(relid, pages, tuples);
	commands = lappend(commands, node_call(NODE_set_relation_sizes, node_text(name), node_bigint(pages),
										   node_float(tuples)));
	run_commands(commands);
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(commands));
}

/*
 * citus_internal.local_shard_sizes(relation regclass, OUT pages bigint, OUT
 * tuples float8)
 */
Datum
citus_internal_local_shard_sizes(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};
	int64		pages = 0;
	double		tuples = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	local_sizes(metadata_require(PG_GETARG_OID(0)), &pages, &tuples);
	values[0] = Int64GetDatum(pages);
	values[1] = Float8GetDatum(tuples);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * citus_internal.set_relation_sizes(relation regclass, pages bigint, tuples
 * float8)
 */
Datum
citus_internal_set_relation_sizes(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	double		tuples = PG_GETARG_FLOAT8(2);
	Relation	rel;

	node_function_check(fcinfo);
	if (!compat_may_vacuum(relid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	(void) metadata_require(relid);
	set_sizes(relid, PG_GETARG_INT64(1), tuples);

	/*
	 * pg_stat_user_tables shows it; autoanalyze compares the time with the
	 * shards'
	 */
	rel = table_open(relid, NoLock);
	compat_pgstat_report_analyze(rel, (int64) tuples);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}
