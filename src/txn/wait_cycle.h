/*-------------------------------------------------------------------------
 *
 * wait_cycle.h
 *	  Cycles in a wait graph.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_WAIT_CYCLE_H
#define CITUS_TXN_WAIT_CYCLE_H

#include "txn/wait_graph.h"

/*
 * Some cycle: its edges, each beginning where the one before ends, or NULL if
 * there is none.  Locks that have been waited for less than min_age_ms, and
 * processes that are removed, don't count.
 */
extern int *wait_cycle_find(const WaitGraph *graph, int64 min_age_ms, const bool *removed, int *length);

#endif							/* CITUS_TXN_WAIT_CYCLE_H */
