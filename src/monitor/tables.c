/*-------------------------------------------------------------------------
 *
 * tables.c
 *	  Which shard holds a value, and which tables are colocated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "sharding/hash.h"

SQL_FUNCTION(get_shard_id_for_distribution_column);
SQL_FUNCTION(worker_hash);
SQL_FUNCTION(get_colocated_table_array);
SQL_FUNCTION(get_colocated_shard_array);
SQL_FUNCTION(distributed_tables_colocated);

/*
 * get_shard_id_for_distribution_column(table_name regclass, distribution_value
 * anyelement)
 */
Datum
get_shard_id_for_distribution_column(PG_FUNCTION_ARGS)
{
	const DistTable *table;
	Datum		value;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("table cannot be NULL")));
	table = metadata_require(PG_GETARG_OID(0));

	if (table->nshards == 0)
		PG_RETURN_NULL();
	if (table->kind != DIST_HASH)
		PG_RETURN_INT64(table->shards[0].shardid);
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("distribution value cannot be NULL for table \"%s\"", get_rel_name(table->relid))));

	value = shard_value(table, PG_GETARG_DATUM(1), get_fn_expr_argtype(fcinfo->flinfo, 1));
	PG_RETURN_INT64(table->shards[shard_index_of_value(table, value)].shardid);
}

/*
 * worker_hash(value anyelement): the hash by which a value finds its shard.
 */
Datum
worker_hash(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);

	if (entry->typtype == TYPTYPE_ENUM)
		PG_RETURN_INT32(hash_enum_value(PG_GETARG_DATUM(0)));
	if (!OidIsValid(entry->hash_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s", format_type_be(type))));
	PG_RETURN_INT32(DatumGetInt32(FunctionCall1Coll(&entry->hash_proc_finfo, entry->typcollation,
													PG_GETARG_DATUM(0))));
}

/* Tables that are colocated with the table, including itself. */
Datum
get_colocated_table_array(PG_FUNCTION_ARGS)
{
	const DistTable *table = metadata_require(PG_GETARG_OID(0));
	List	   *tables = table->colocation_id == 0 ? list_make1_oid(table->relid) :
		metadata_tables(table->colocation_id);
	Datum	   *values = palloc(list_length(tables) * sizeof(Datum));

	foreach_oid(relid, tables)
		values[foreach_current_index(relid)] = ObjectIdGetDatum(relid);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, list_length(tables), REGCLASSOID, sizeof(Oid), true,
										  TYPALIGN_INT));
}

/* Shards that are colocated with a shard, including itself. */
Datum
get_colocated_shard_array(PG_FUNCTION_ARGS)
{
	int			n;
	int64	   *shardids = colocated_shardids(PG_GETARG_INT64(0), &n);
	Datum	   *values = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
		values[i] = Int64GetDatum(shardids[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Datum
distributed_tables_colocated(PG_FUNCTION_ARGS)
{
	const DistTable *left = metadata_require(PG_GETARG_OID(0));
	const DistTable *right = metadata_require(PG_GETARG_OID(1));

	PG_RETURN_BOOL(left->relid == right->relid ||
				   (left->colocation_id != 0 && left->colocation_id == right->colocation_id));
}
