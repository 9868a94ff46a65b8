/*-------------------------------------------------------------------------
 *
 * dist_cost.h
 *	  What work on the nodes costs, in the server's units.
 *
 * Measured on loopback: a lookup of one row takes about 0.25 ms, each shard
 * that a task covers 10 to 20 us, and a row of a few columns 1 to 2 us.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_COST_H
#define CITUS_PLANNER_DIST_COST_H

#define DIST_ROUND_TRIP_COST 20.0	/* to the nodes and back */
#define DIST_TASK_COST 15.0		/* of each task */
#define DIST_SHARD_COST 0.5		/* of each shard of a task that covers several */
#define DIST_LOOKUP_COST 2.0	/* of finding rows by an index, for a join on a node */
#define DIST_ARRAY_COST 0.02	/* of sending a value along to a node, and of reading it there */
#define DIST_TUPLE_COST 0.1		/* of moving a row */

#endif							/* CITUS_PLANNER_DIST_COST_H */
