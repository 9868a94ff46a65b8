/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  Finds the shard of a distribution value.
 *
 * The int4 range is cut into equal slices; the last one takes the remainder.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/metadata_rows.h"
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

Datum
shard_value(const DistTable *table, Datum value, Oid type)
{
	Oid			output;
	Oid			input;
	Oid			ioparam;
	bool		is_varlena;

	if (getBaseType(type) == getBaseType(table->dist_type))
		return value;
	getTypeOutputInfo(type, &output, &is_varlena);
	getTypeInputInfo(table->dist_type, &input, &ioparam);
	return OidInputFunctionCall(input, OidOutputFunctionCall(output, value), ioparam, table->dist_typmod);
}

int
shard_index_of_hash(const DistTable *table, int32 hash)
{
	return hash_position(&table->shards[0].range.min, sizeof(ShardInfo), table->nshards, hash);
}

int
shard_index_of_range(const DistTable *table, HashRange range)
{
	int			index = shard_index_of_hash(table, range.min);

	if (table->nshards == 0 || table->shards[index].range.min != range.min || table->shards[index].range.max != range.max)
		return -1;
	return index;
}

const ShardInfo *
shard_of_range(const DistTable *table, HashRange range)
{
	int			index = shard_index_of_range(table, range);
	const ShardInfo *newest = NULL;

	if (index >= 0)
		return &table->shards[index];
	for (int i = 0; i < table->nidle; i++)
	{
		const ShardInfo *idle = &table->idle[i];

		if (idle->former_group < 0 && idle->range.min == range.min && idle->range.max == range.max &&
			(newest == NULL || newest->shardid < idle->shardid))
			newest = idle;
	}
	return newest;
}

const ShardInfo *
shard_colocated_with(const DistTable *table, const DistTable *other, const ShardInfo *shard)
{
	int			index = shard_index_of_range(other, shard->range);

	if (index < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no shard colocated with shard " INT64_FORMAT " of table \"%s\"",
						get_rel_name(other->relid), shard->shardid, get_rel_name(table->relid)),
				 errdetail("Their shards have been split or merged meanwhile."),
				 errhint("Try again.")));
	return &other->shards[index];
}

int64 *
colocated_shardids(int64 shardid, int *n)
{
	const DistTable *table = metadata_require(metadata_require_shard(shardid));
	List	   *tables = table->colocation_id == 0 ? list_make1_oid(table->relid) : metadata_tables(table->colocation_id);
	int64	   *shardids = palloc(list_length(tables) * sizeof(int64));
	const ShardInfo *shard = NULL;

	for (int i = 0; i < table->nshards; i++)
		if (table->shards[i].shardid == shardid)
			shard = &table->shards[i];
	*n = 0;
	foreach_oid(relid, tables)
	{
		const DistTable *other = metadata_require(relid);
		int			index = shard == NULL ? -1 : shard_index_of_range(other, shard->range);

		if (relid == table->relid)
			shardids[(*n)++] = shardid;
		else if (index >= 0)
			shardids[(*n)++] = other->shards[index].shardid;
	}
	return shardids;
}

int
shard_cuts(const DistTable *table, int first, int last)
{
	uint32		cuts = 0;

	for (int i = first + 1; i <= last; i++)
		cuts = hash_combine(cuts, murmurhash32((uint32) table->shards[i].range.min));
	return first == last ? 0 : (int) (cuts & PG_INT32_MAX) | 1;
}

bool
hash_range_intersect(HashRange *range, HashRange other)
{
	range->min = Max(range->min, other.min);
	range->max = Min(range->max, other.max);
	return range->min <= range->max;
}

/*
 * The hash value of an enum: of its label.  The server would hash the label's
 * OID, which differs between nodes.
 */
int32
hash_enum_value(Datum value)
{
	char	   *label = DatumGetCString(DirectFunctionCall1(enum_out, value));
	int32		hash = (int32) hash_bytes((const unsigned char *) label, strlen(label));

	pfree(label);
	return hash;
}

int32
shard_hash_of_value(const DistTable *table, Datum value)
{
	if (unlikely(table->hash_opcintype == ANYENUMOID))
		return hash_enum_value(value);
	return DatumGetInt32(FunctionCall1Coll((FmgrInfo *) &table->hash_fn, table->dist_collation, value));
}

int
shard_index_of_value(const DistTable *table, Datum value)
{
	return table->kind == DIST_HASH ? shard_index_of_hash(table, shard_hash_of_value(table, value)) : 0;
}

int
shard_index_of_null(const DistTable *table)
{
	return table->kind == DIST_HASH ? shard_index_of_hash(table, 0) : 0;
}

int
shard_index_of_stored(const DistTable *table, Datum value, bool isnull)
{
	return isnull ? shard_index_of_null(table) : shard_index_of_value(table, value);
}
