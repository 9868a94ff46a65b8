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

/*
 * Adds a scan that begins to the list; it leaves the list with its statement's
 * memory at the latest.
 */
extern void read_ahead_link(DistScanState *state);
extern void read_ahead_unlink(DistScanState *state);

/*
 * Makes all running scans read their rows to the end, because something is
 * about to be written.  Those of the writing statement do so only if it writes
 * in a CTE.  writer: its state, NULL if it has none.
 */
extern void read_ahead_all(EState *writer);

/*
 * Makes the scans of some tables (Oids) in a node's subqueries read the rows
 * for all later rescans, because the node is about to write those tables.  If
 * a scan can't, later rescans of it raise an error.
 */
extern void read_ahead_subqueries(PlanState *node, List *relids);

/*
 * Whether a scan is read in another subtransaction than it began in, and so
 * should read all rows now.
 */
extern bool read_ahead_due(DistScanState *state);

#endif							/* CITUS_EXECUTOR_READ_AHEAD_H */
