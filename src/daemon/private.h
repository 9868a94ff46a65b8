/*-------------------------------------------------------------------------
 *
 * private.h
 *	  What the files of src/daemon share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DAEMON_PRIVATE_H
#define CITUS_DAEMON_PRIVATE_H

#include "postgres.h"

#include "daemon/daemon.h"

/* launcher.c */
extern void launcher_init(void);

/* Shows this process as the maintenance worker of its database; false if there is one. */
extern bool launcher_worker_starts(Oid database);

/* The worker ends; the launcher won't start another one until asked again, if final. */
extern void launcher_worker_ends(Oid database, bool final);

#endif							/* CITUS_DAEMON_PRIVATE_H */
