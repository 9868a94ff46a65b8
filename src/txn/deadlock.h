/*-------------------------------------------------------------------------
 *
 * deadlock.h
 *	  Deadlocks that span nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_DEADLOCK_H
#define CITUS_TXN_DEADLOCK_H

#include "postgres.h"

extern void deadlock_init(void);

/* Milliseconds between two searches, by the settings; 0 for never. */
extern int	deadlock_interval(void);

/*
 * Milliseconds before a wait for a lock counts as part of a deadlock; 0 if
 * none ever does.
 */
extern int	deadlock_grace(void);

/*
 * Searches, unless no backend on this node has waited for that long; a job of
 * the daemon.
 */
extern void deadlock_job(void);
extern bool deadlock_nobody_waits(void);

#endif							/* CITUS_TXN_DEADLOCK_H */
