/*-------------------------------------------------------------------------
 *
 * statement_snapshot.h
 *	  Which point in time a statement reads as of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H
#define CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H

#include "postgres.h"

#include "txn/snapshot.h"

/* To be called after the init functions of all others that have a hook for the start of the executor. */
extern void statement_snapshot_init(void);

/* The snapshot of the statement that is being started, or NULL. */
extern DistSnapshot *statement_snapshot_current(void);

#endif							/* CITUS_EXECUTOR_STATEMENT_SNAPSHOT_H */
