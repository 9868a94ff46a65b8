/*-------------------------------------------------------------------------
 *
 * sizes.c
 *	  Sizes of distributed tables: the sum over their shards.
 *
 * Each node that holds shards of the table is asked once, for the sum of
 * those that it holds.  Copies of a reference table all count.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "cluster/node_query.h"

SQL_FUNCTION(citus_table_size);
SQL_FUNCTION(citus_relation_size);
SQL_FUNCTION(citus_total_relation_size);
SQL_FUNCTION(citus_internal_shard_sizes);
SQL_FUNCTION(citus_local_disk_space_stats);

/* Adds the shards' names on the node of a group; "" if it has none. */
static char *
names_of_shards(const DistTable *table, const char *name, int32 groupid)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < table->nshards; i++)
	{
		const ShardInfo *shard = &table->shards[i];
		char	   *qualified;

		if (shard->groupid != groupid)
			continue;
		qualified = quote_qualified_identifier(SHARD_SCHEMA, shard_relation_name(name, shard->shardid));
		appendStringInfo(&buf, "%s%s", buf.len > 0 ? ", " : "", quote_literal_cstr(qualified));
	}
	return buf.data;
}

static void
sum_sizes(int32 groupid, int ncolumns, char **values, void *arg)
{
	if (values[0] != NULL)
		*(int64 *) arg += pg_strtoint64(values[0]);
}

/*
 * Sum of what a size function says of the relation's parts: a table, or an
 * index of one.
 */
static int64
distributed_size(Oid relid, const char *function)
{
	bool		is_index = get_rel_relkind(relid) == RELKIND_INDEX || get_rel_relkind(relid) == RELKIND_PARTITIONED_INDEX;
	const DistTable *table = metadata_require(is_index ? IndexGetRelation(relid, false) : relid);
	char	   *name = get_rel_name(relid);
	int64		size = 0;

	foreach_int(groupid, node_groups())
	{
		char	   *names;

		if (table->kind == DIST_REFERENCE)
			names = quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name));
		else
			names = names_of_shards(table, name, groupid);
		if (names[0] == '\0')
			continue;

		node_query(groupid,
				   psprintf("SELECT pg_catalog.sum(pg_catalog.%s(pg_catalog.to_regclass(name)))::pg_catalog.int8 "
							"FROM pg_catalog.unnest(ARRAY[%s]::pg_catalog.text[]) name", function, names),
				   sum_sizes, &size);
	}
	return size;
}

Datum
citus_table_size(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(distributed_size(PG_GETARG_OID(0), "pg_table_size"));
}

Datum
citus_relation_size(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(distributed_size(PG_GETARG_OID(0), "pg_relation_size"));
}

/*
 * citus_total_relation_size(logicalrelid, fail_on_error)
 *
 * With fail_on_error false, NULL for a table that is not distributed.
 */
Datum
citus_total_relation_size(PG_FUNCTION_ARGS)
{
	if (!PG_GETARG_BOOL(1) && metadata_lookup(PG_GETARG_OID(0)) == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT64(distributed_size(PG_GETARG_OID(0), "pg_total_relation_size"));
}

static void
put_shard_size(int32 groupid, int ncolumns, char **values, void *arg)
{
	ReturnSetInfo *result = arg;
	Datum		row[3];
	bool		nulls[3] = {false};

	row[0] = Int32GetDatum(groupid);
	row[1] = Int64GetDatum(pg_strtoint64(values[0]));
	nulls[2] = values[1] == NULL;
	row[2] = nulls[2] ? (Datum) 0 : Int64GetDatum(pg_strtoint64(values[1]));
	tuplestore_putvalues(result->setResult, result->setDesc, row, nulls);
}

/*
 * citus_internal.shard_sizes(OUT groupid, OUT shardid, OUT size)
 *
 * Sizes of all placements of all tables; one question to each node that can
 * be reached.
 */
Datum
citus_internal_shard_sizes(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	node_query_all("SELECT shardid, size FROM citus_internal.local_shard_sizes()", put_shard_size, fcinfo->resultinfo);
	return (Datum) 0;
}

/* Free space is what the server's user may fill. */
Datum
citus_local_disk_space_stats(PG_FUNCTION_ARGS)
{
	struct statvfs stats;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (statvfs(DataDir, &stats) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not get the free space of directory \"%s\": %m", DataDir)));
	values[0] = Int64GetDatum((int64) stats.f_bavail * stats.f_frsize);
	values[1] = Int64GetDatum((int64) stats.f_blocks * stats.f_frsize);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
