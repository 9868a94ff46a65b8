/*-------------------------------------------------------------------------
 *
 * shard_sizes.h
 *	  Disk space of shards, of all nodes at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_SHARD_SIZES_H
#define CITUS_REBALANCE_SHARD_SIZES_H

#include "postgres.h"

/* Setting citus.rebalancer_by_disk_size_base_cost */
extern void shard_sizes_init(void);

/*
 * Asks all nodes, once, for the sizes of their shards; shard_group_size uses
 * these until shard_sizes_forget.  Errors if a node doesn't answer.
 */
extern void shard_sizes_fetch(void);
extern void shard_sizes_forget(void);

/*
 * Bytes of a shard and those colocated with it; between those two calls.
 * Errors if there is no such shard.
 */
extern int64 shard_group_size(int64 shardid);

#endif							/* CITUS_REBALANCE_SHARD_SIZES_H */
