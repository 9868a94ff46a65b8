/*-------------------------------------------------------------------------
 *
 * private.h
 *	  Declarations shared by the files of src/daemon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DAEMON_PRIVATE_H
#define CITUS_DAEMON_PRIVATE_H

#include "postgres.h"

#include "daemon/daemon.h"

/*
 * maintenance.c: does something in a transaction, which pg_stat_activity shows
 * as name, unless the extension is dropped meanwhile; an error is logged.
 */
extern void daemon_in_transaction(void (*what) (void), const char *name);

/* autoanalyze.c */
extern void autoanalyze_init(void);

/*
 * Ends the process that analyzes tables, if there is one, when the maintenance
 * worker exits.
 */
extern void autoanalyze_stop(void);

/* launcher.c */
extern void launcher_init(void);

/*
 * Shows this process as the maintenance worker of its database; false if there
 * is one.
 */
extern bool launcher_worker_starts(Oid database);

/*
 * The worker ends; the launcher won't start another one until asked again, if
 * final.
 */
extern void launcher_worker_ends(Oid database, bool final);

#endif							/* CITUS_DAEMON_PRIVATE_H */
