/*-------------------------------------------------------------------------
 *
 * hash.h
 *	  Finds the shard of a distribution value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_SHARDING_HASH_H
#define CITUS_SHARDING_HASH_H

#include "nodes/nodes.h"

#include "catalog/metadata.h"

/*
 * Lower and upper bound (inclusive) of slice `index` of `count` equal slices
 * of the int4 range.
 */
extern void shard_hash_range(int count, int index, int32 *min_hash, int32 *max_hash);

/*
 * A value of another type as one of the distribution column's, through its
 * text; errors if that isn't one.
 */
extern Datum shard_value(const DistTable *table, Datum value, Oid type);

/*
 * Position of what has a hash value, among n elements of that size in the
 * order of their least hash values; least is that of the first.
 */
static inline int
hash_position(const int32 *least, size_t size, int n, int32 hash)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (*(const int32 *) ((const char *) least + middle * size) <= hash)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Position in table->shards of the shard that holds a hash value. */
extern int	shard_index_of_hash(const DistTable *table, int32 hash);

/*
 * Position of the shard with exactly this range; -1 if there is none (any
 * more).
 */
extern int	shard_index_of_range(const DistTable *table, HashRange range);

/* The hash value of an enum, the same on all nodes. */
extern int32 hash_enum_value(Datum value);

/*
 * The shard with exactly this range, also one that a split or merge is making:
 * the newest, since an operation that died may have left others; NULL if there
 * is none.
 */
extern const ShardInfo *shard_of_range(const DistTable *table, HashRange range);

/*
 * The shard of another table of the colocation group with the range of a
 * table's shard; errors if it has none any more.
 */
extern const ShardInfo *shard_colocated_with(const DistTable *table, const DistTable *other, const ShardInfo *shard);

/*
 * Ids of a shard and of those colocated with it (*n, palloc'd), each once;
 * errors if there is no such shard.
 */
extern int64 *colocated_shardids(int64 shardid, int *n);

/*
 * A checksum of the boundaries between neighbouring shards, from the first to
 * the last position; 0 for one shard only.
 */
extern int	shard_cuts(const DistTable *table, int first, int last);

/*
 * The part of a range that is in another one, too; false if there is none.
 */
extern bool hash_range_intersect(HashRange *range, HashRange other);

/* The hash value of a non-null value of the distribution column's type. */
extern int32 shard_hash_of_value(const DistTable *table, Datum value);

/*
 * Position of the shard of a non-null value of the distribution column's type;
 * 0 for DIST_SINGLE.
 */
extern int	shard_index_of_value(const DistTable *table, Datum value);

/*
 * Index of the shard that has the rows whose distribution column is NULL: the
 * one with hash value 0.
 */
extern int	shard_index_of_null(const DistTable *table);

/* The same of a value that is to be stored, and may be null. */
extern int	shard_index_of_stored(const DistTable *table, Datum value, bool isnull);

#endif							/* CITUS_SHARDING_HASH_H */
