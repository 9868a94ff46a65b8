/*-------------------------------------------------------------------------
 *
 * apply_worker.h
 *	  The worker of a subscription.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_APPLY_WORKER_H
#define CITUS_COMPAT_APPLY_WORKER_H

#include "postgres.h"

#include "miscadmin.h"
#include "replication/logicallauncher.h"
#include "replication/worker_internal.h"
#include "storage/lwlock.h"

/*
 * Options of a subscription whose owner is no superuser, and as whom its
 * worker runs.  Since version 16 they must be asked for.
 */
#if PG_VERSION_NUM >= 160000
#define COMPAT_RUNS_AS_OWNER ", password_required = false, run_as_owner = true"
#else
#define COMPAT_RUNS_AS_OWNER ""
#endif

/* Since version 19 a subscription's workers are told apart by their kind. */
#if PG_VERSION_NUM < 190000
#define logicalrep_worker_find(kind, subscription, relid, running) logicalrep_worker_find(subscription, relid, running)
#define logicalrep_worker_wakeup(kind, subscription, relid) logicalrep_worker_wakeup(subscription, relid)
#endif

/*
 * Has the server start the worker that applies a subscription's changes,
 * unless it has one.
 */
static inline void
compat_launch_apply_worker(Oid subscription, const char *name, Oid owner)
{
	bool		running;

	LWLockAcquire(LogicalRepWorkerLock, LW_SHARED);
	running = logicalrep_worker_find(WORKERTYPE_APPLY, subscription, InvalidOid, false) != NULL;
	LWLockRelease(LogicalRepWorkerLock);
	if (running)
		return;
#if PG_VERSION_NUM >= 190000
	(void) logicalrep_worker_launch(WORKERTYPE_APPLY, MyDatabaseId, subscription, name, owner, InvalidOid,
									DSM_HANDLE_INVALID, false);
#elif PG_VERSION_NUM >= 170000
	(void) logicalrep_worker_launch(WORKERTYPE_APPLY, MyDatabaseId, subscription, name, owner, InvalidOid,
									DSM_HANDLE_INVALID);
#elif PG_VERSION_NUM >= 160000
	(void) logicalrep_worker_launch(MyDatabaseId, subscription, name, owner, InvalidOid, DSM_HANDLE_INVALID);
#else
	logicalrep_worker_launch(MyDatabaseId, subscription, name, owner, InvalidOid);
#endif
}

#endif							/* CITUS_COMPAT_APPLY_WORKER_H */
