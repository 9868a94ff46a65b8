/*-------------------------------------------------------------------------
 *
 * repartition_run.h
 *	  Repartitioning: nodes send rows to each other before the tasks of a scan
 *	  start.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_REPARTITION_RUN_H
#define CITUS_EXECUTOR_REPARTITION_RUN_H

#include "executor/scan_state.h"

/* The parameters of exchange_read(). */
#define EXCHANGE_READ_PARAMS 3

/* The child as a scan that sends rows; NULL if it is another plan. */
extern DistScanState *repartition_child(PlanState *child);

/*
 * Names the exchange of such a child: sets the parameters
 * (EXCHANGE_READ_PARAMS of them) by which the tasks of the scan find its rows.
 * Their values are known after repartition_run.
 */
extern void repartition_announce(DistScanState *child, ParamExternData *params);

/*
 * Runs the children of a scan, which send their rows to the nodes of the
 * scan's tasks (spec.tasks, of which only some may remain).  Memory comes from
 * CurrentMemoryContext.
 */
extern void repartition_run(DistScanState *state);

/* Sets the last two parameters of a scan that sends rows: the destination. */
extern void repartition_set_params(const DistScanState *state, ParamExternData *params);

/* Drops the exchanges of a scan. */
extern void repartition_end(DistScanState *state);

#endif							/* CITUS_EXECUTOR_REPARTITION_RUN_H */
