/*-------------------------------------------------------------------------
 *
 * strategy.h
 *	  Rebalance strategies: costs of shards and capacities of nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_STRATEGY_H
#define CITUS_REBALANCE_STRATEGY_H

#include "postgres.h"

#include "fmgr.h"

/* A row of pg_dist_rebalance_strategy. */
typedef struct RebalanceStrategy
{
	char	   *name;
	FmgrInfo	shard_cost;		/* (shardid bigint) returns real */
	FmgrInfo	node_capacity;	/* (nodeid integer) returns real */
	FmgrInfo	shard_allowed;	/* (shardid bigint, nodeid integer) returns
								 * boolean */
	float4		default_threshold;
	float4		minimum_threshold;
	float4		improvement_threshold;
} RebalanceStrategy;

/*
 * The strategy with a name, or the default one (NULL); palloc'd.  Errors if
 * there is none.
 */
extern RebalanceStrategy *strategy_find(const char *name);

/* The results of the functions; each errors if its result is invalid. */
extern double strategy_shard_cost(RebalanceStrategy *strategy, int64 shardid);
extern double strategy_node_capacity(RebalanceStrategy *strategy, int32 nodeid);
extern bool strategy_shard_allowed(RebalanceStrategy *strategy, int64 shardid, int32 nodeid);

#endif							/* CITUS_REBALANCE_STRATEGY_H */
