/*-------------------------------------------------------------------------
 *
 * broadcast.h
 *	  Broadcasts: rows that the initiator computes, and sends with a scan's
 *	  tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_BROADCAST_H
#define CITUS_EXECUTOR_BROADCAST_H

#include "executor/scan_state.h"

/*
 * Begins, rescans and ends the plans whose rows are broadcast: the scan's
 * custom_plans.
 */
extern void broadcast_begin(DistScanState *state, EState *estate, int eflags);
extern void broadcast_rescan(DistScanState *state);
extern void broadcast_end(DistScanState *state);

/*
 * Runs the plans to their end; each column of each becomes an array, the
 * task's parameter from position first (from 0) on.  Memory comes from
 * CurrentMemoryContext.
 */
extern void broadcast_collect(DistScanState *state, ParamListInfo params, int first);

#endif							/* CITUS_EXECUTOR_BROADCAST_H */
