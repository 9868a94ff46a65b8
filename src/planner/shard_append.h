/*-------------------------------------------------------------------------
 *
 * shard_append.h
 *	  In a task for several shards: a scan of only the shard of a value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SHARD_APPEND_H
#define CITUS_PLANNER_SHARD_APPEND_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/*
 * The contents of a ShardAppend besides its children: the ranges of their hash
 * values (IntLists), in the children's order.  Its one expression is a hash
 * value, null if no row can match.
 */
typedef struct ShardAppendPlan
{
	List	   *mins;
	List	   *maxs;
} ShardAppendPlan;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods shard_append_methods;

/* Reads what the planner packed into the plan node. */
extern void shard_append_unpack(const CustomScan *node, ShardAppendPlan *plan);

/*
 * Adds paths to a relation that is the shards of a task (resolve/shard_set.c);
 * nothing for others.  Called when the server has made its own.
 */
extern void shard_append_add_paths(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

#endif							/* CITUS_PLANNER_SHARD_APPEND_H */
