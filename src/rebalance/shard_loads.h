/*-------------------------------------------------------------------------
 *
 * shard_loads.h
 *	  What shard groups cost the nodes in CPU time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_SHARD_LOADS_H
#define CITUS_REBALANCE_SHARD_LOADS_H

/*
 * Between these two calls citus_shard_cost_by_load asks the nodes once, and
 * not at all if it isn't called.
 */
extern void shard_loads_begin(void);
extern void shard_loads_end(void);

#endif							/* CITUS_REBALANCE_SHARD_LOADS_H */
