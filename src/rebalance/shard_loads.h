/*-------------------------------------------------------------------------
 *
 * shard_loads.h
 *	  The CPU time that shard groups use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_SHARD_LOADS_H
#define CITUS_REBALANCE_SHARD_LOADS_H

/*
 * Between these two calls, citus_shard_cost_by_load asks the nodes only once,
 * when it is first called.
 */
extern void shard_loads_begin(void);
extern void shard_loads_end(void);

#endif							/* CITUS_REBALANCE_SHARD_LOADS_H */
