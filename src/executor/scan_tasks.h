/*-------------------------------------------------------------------------
 *
 * scan_tasks.h
 *	  The tasks of a DistributedScan, and the rows that they return.
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

/* Changes the phase; errors if it can't follow the present one. */
extern void scan_enter(DistScanState *state, ScanPhase phase);

/* Starts the tasks of a run, and ends those of the present one. */
extern void scan_start_tasks(DistScanState *state);
extern void scan_stop_tasks(DistScanState *state);

/*
 * Returns the next row of a set of the scan or, if slot is NULL, prefetches
 * the remaining rows, up to a limit.
 */
extern bool scan_next_row(DistScanState *state, TaskSet *set, TupleTableSlot *slot, int most);

/* Reads all remaining rows; starts the tasks if needed.  See read_ahead.c. */
extern void scan_read_rest(DistScanState *state);

/* Reading ahead has failed: later requests for rows raise another error. */
extern void scan_fail(DistScanState *state);

/*
 * Reads the rows for all rescans, or those for any of some values (an array in
 * the context of the rows), up to a limit; returns whether these were all.
 */
extern bool scan_keep_rows(DistScanState *state, KeptRows *rows, const ParamExternData *values, int most);

/* The memory of such rows, which is made for the first of them. */
extern MemoryContext scan_rows_context(DistScanState *state, KeptRows *rows);

/* Forgets such rows. */
extern void scan_forget_rows(KeptRows *rows);

/*
 * Evaluates the parameters and finds the tasks, in the run context.  Sets
 * spec.  Used by execution and by EXPLAIN.
 */
extern void scan_prepare(DistScanState *state);

/* The role whose rights to tables are checked. */
extern Oid	scan_rights(const DistScanState *state);

/* A tuple descriptor from lists of types and typmods. */
extern TupleDesc scan_columns(List *types, List *typmods);

#endif							/* CITUS_EXECUTOR_SCAN_TASKS_H */
