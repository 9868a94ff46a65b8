/*-------------------------------------------------------------------------
 *
 * kept_rows.h
 *	  Finding the rows of a run among those that a scan keeps for its runs
 *	  (scan.c), by a hash table instead of by a look at each of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_KEPT_ROWS_H
#define CITUS_EXECUTOR_KEPT_ROWS_H

#include "executor/scan_state.h"

/*
 * Sets state->kept.index if one of the filters that change from run to run
 * compares a column for equality; called when the scan begins.
 */
extern void kept_rows_init(DistScanState *state, List *filters);

/*
 * Starts a run; the first one puts all kept rows into the hash table, by the
 * slot of the scan.
 */
extern void kept_rows_begin_run(DistScanState *state);

/* Stores the next row that may belong to the run; false at the end. */
extern bool kept_rows_next(DistScanState *state, TupleTableSlot *slot);

/*
 * Whether the batch has the rows of this run's value, after a new one was
 * fetched if need be, of at most so many rows.
 */
extern bool kept_rows_in_batch(DistScanState *state, int most);

#endif							/* CITUS_EXECUTOR_KEPT_ROWS_H */
