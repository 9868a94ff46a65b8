/*-------------------------------------------------------------------------
 *
 * hash.h
 *	  From a distribution value to its shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_SHARDING_HASH_H
#define CITUS_SHARDING_HASH_H

#include "nodes/nodes.h"

#include "catalog/metadata.h"

/* Lower and upper bound (inclusive) of slice `index` of `count` equal slices of the int4 range. */
extern void shard_hash_range(int count, int index, int32 *min_hash, int32 *max_hash);

/* Position in table->shards of the shard that holds a hash value. */
extern int	shard_index_of_hash(const DistTable *table, int32 hash);

/* Position of the shard with exactly this range; -1 if there is none (any more). */
extern int	shard_index_of_range(const DistTable *table, HashRange range);

/* Position of the shard of a non-null value of the distribution column's type; 0 for DIST_SINGLE. */
extern int	shard_index_of_value(const DistTable *table, Datum value);

/*
 * The same of a value that is to be stored, and may be null: then it is a shard that refuses the row by the column's
 * NOT NULL constraint, as a single server would.  Errors if there is no such constraint.  command: the statement's,
 * CMD_UTILITY for COPY.
 */
extern int	shard_index_of_stored(const DistTable *table, Datum value, bool isnull, CmdType command);

#endif							/* CITUS_SHARDING_HASH_H */
