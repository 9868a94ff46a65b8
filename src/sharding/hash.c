/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  From a distribution value to its shard.
 *
 * The int4 range is cut into equal slices; the last one takes the remainder.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sharding/hash.h"

#define HASH_SPACE (UINT64CONST(1) << 32)

/* Width of every slice but the last. */
static uint64
slice_width(int count)
{
	return HASH_SPACE / count;
}

void
shard_hash_range(int count, int index, int32 *min_hash, int32 *max_hash)
{
	uint64		width = slice_width(count);

	Assert(index >= 0 && index < count);
	*min_hash = (int32) ((int64) PG_INT32_MIN + (int64) (width * index));
	*max_hash = index == count - 1 ? PG_INT32_MAX :
		(int32) ((int64) PG_INT32_MIN + (int64) (width * (index + 1)) - 1);
}

int
shard_index_of_hash(const DistTable *table, int32 hash)
{
	int			low = 0;
	int			high = table->nshards - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (table->shards[middle].range.min <= hash)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

int
shard_index_of_range(const DistTable *table, HashRange range)
{
	int			index = shard_index_of_hash(table, range.min);

	if (table->nshards == 0 || table->shards[index].range.min != range.min || table->shards[index].range.max != range.max)
		return -1;
	return index;
}

/*
 * The hash value of an enum: of its label.  What the server hashes is the
 * label's OID, which is another one on each node.
 */
static int32
hash_enum(Datum value)
{
	char	   *label = DatumGetCString(DirectFunctionCall1(enum_out, value));
	int32		hash = (int32) hash_bytes((const unsigned char *) label, strlen(label));

	pfree(label);
	return hash;
}

int
shard_index_of_value(const DistTable *table, Datum value)
{
	if (table->kind != DIST_HASH)
		return 0;
	if (unlikely(table->hash_opcintype == ANYENUMOID))
		return shard_index_of_hash(table, hash_enum(value));
	return shard_index_of_hash(table,
							   DatumGetInt32(FunctionCall1Coll((FmgrInfo *) &table->hash_fn,
															   table->dist_collation, value)));
}

/* Whether the distribution column has a NOT NULL constraint. */
static bool
dist_column_not_null(const DistTable *table)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table->relid), Int16GetDatum(table->dist_attno));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", table->dist_attno, table->relid);
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return result;
}

int
shard_index_of_stored(const DistTable *table, Datum value, bool isnull, CmdType command)
{
	if (!isnull || table->kind != DIST_HASH)
		return shard_index_of_value(table, value);
	if (dist_column_not_null(table))
		return 0;
	if (command == CMD_INSERT)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cannot perform an INSERT with NULL in the partition column")));
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("the partition column of table %s cannot be NULL",
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(table->relid)),
											   get_rel_name(table->relid)))));
}
