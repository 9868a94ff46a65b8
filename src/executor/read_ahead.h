/*-------------------------------------------------------------------------
 *
 * read_ahead.h
 *	  Scans read their rows before something happens that they must not see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_READ_AHEAD_H
#define CITUS_EXECUTOR_READ_AHEAD_H

#include "executor/scan.h"

extern void read_ahead_init(void);

/* A scan begins; it is forgotten with its statement's memory at the latest. */
extern void read_ahead_link(DistScanState *state);
extern void read_ahead_unlink(DistScanState *state);

/*
 * Has all scans that are under way read their rows to the end, because something is about to be written.  Those of the
 * writing statement do so only if it writes in a CTE.  writer: its state, NULL if it has none.
 */
extern void read_ahead_all(EState *writer);

/* The same, without the scans of the writing statement. */
extern void read_ahead_others(EState *writer);

/*
 * Has the scans of the writing statement read the rows of all their runs to come; false if some can't, and so may see
 * what the statement writes.
 */
extern bool read_ahead_own(EState *writer);

/* Whether a scan is read in another subtransaction than it began in, and so should read all rows now. */
extern bool read_ahead_due(DistScanState *state);

#endif							/* CITUS_EXECUTOR_READ_AHEAD_H */
