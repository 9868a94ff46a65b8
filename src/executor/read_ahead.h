/*-------------------------------------------------------------------------
 *
 * read_ahead.h
 *	  Scans read their rows before something happens that they must not see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_READ_AHEAD_H
#define CITUS_EXECUTOR_READ_AHEAD_H

#include "executor/scan_state.h"

extern void read_ahead_init(void);

/* A scan begins; it is forgotten with its statement's memory at the latest. */
extern void read_ahead_link(DistScanState *state);
extern void read_ahead_unlink(DistScanState *state);

/*
 * Has all scans that are under way read their rows to the end, because
 * something is about to be written.  Those of the writing statement do so only
 * if it writes in a CTE.  writer: its state, NULL if it has none.
 */
extern void read_ahead_all(EState *writer);

/*
 * Has the scans of some tables (Oids) in a node's subqueries read the rows of
 * all their runs to come, because the node is about to write those tables.  If
 * it can't be, a run that begins later is an error.
 */
extern void read_ahead_subqueries(PlanState *node, List *relids);

/*
 * Whether a scan is read in another subtransaction than it began in, and so
 * should read all rows now.
 */
extern bool read_ahead_due(DistScanState *state);

#endif							/* CITUS_EXECUTOR_READ_AHEAD_H */
