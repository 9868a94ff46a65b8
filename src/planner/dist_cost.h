/*-------------------------------------------------------------------------
 *
 * dist_cost.h
 *	  What work on the nodes costs, in the server's units.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_COST_H
#define CITUS_PLANNER_DIST_COST_H

extern double dist_round_trip_cost; /* to the nodes and back */
extern double dist_task_cost;	/* of each task */
extern double dist_shard_cost;	/* of each shard of a task that covers
								 * several */
extern double dist_lookup_cost; /* of finding rows by an index, for a join on a
								 * node */
extern double dist_value_cost;	/* of sending a value along to a node, and of
								 * reading it there */
extern double dist_tuple_cost;	/* of moving a row */
extern double dist_exchange_cost;	/* of connecting nodes that send rows to
									 * each other */
extern double dist_lock_cost;	/* of locking a row that may not be written:
								 * other sessions may wait needlessly */

/*
 * The number of rows whose filtering on the initiator costs as much as one run
 * of a scan with this many tasks.
 */
extern double dist_cost_rows_of_run(int ntasks);

/* Defines the settings. */
extern void dist_cost_init(void);

#endif							/* CITUS_PLANNER_DIST_COST_H */
