/*-------------------------------------------------------------------------
 *
 * scan_tasks.h
 *	  What a DistributedScan asks of which nodes, and the rows that come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SCAN_TASKS_H
#define CITUS_EXECUTOR_SCAN_TASKS_H

#include "executor/scan_state.h"

/*
 * Setting citus.enable_node_tasks: whether a scan may have one task for all
 * shards of a node.
 */
extern bool scan_by_node;

/* Starts the tasks of a run, and ends those of the present one. */
extern void scan_start_tasks(DistScanState *state);
extern void scan_stop_tasks(DistScanState *state);

/*
 * The next row of a set of the scan, or with a slot of NULL the rest, at most
 * so many.
 */
extern bool scan_next_row(DistScanState *state, TaskSet *set, TupleTableSlot *slot, int most);

/*
 * Reads all rows that are still to come; starts the tasks if need be.  See
 * read_ahead.c for when.
 */
extern void scan_read_rest(DistScanState *state);

/* Reading ahead has failed: later requests for rows raise another error. */
extern void scan_fail(DistScanState *state);

/*
 * Has later runs take rows that are read now, at most so many; whether there
 * were no more.
 */
extern bool scan_keep_rows(DistScanState *state, int most);

/*
 * Evaluates the parameters and finds the tasks, in the run context.  Sets
 * spec.  Used by execution and by EXPLAIN.
 */
extern void scan_prepare(DistScanState *state);

/* Whose rights to tables count. */
extern Oid	scan_rights(const DistScanState *state);

/* A tuple descriptor from lists of types and typmods. */
extern TupleDesc scan_columns(List *types, List *typmods);

#endif							/* CITUS_EXECUTOR_SCAN_TASKS_H */
