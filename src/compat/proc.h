/*-------------------------------------------------------------------------
 *
 * proc.h
 *	  Local transaction ids of other backends, and what they are; no backend's
 *	  number; the oldest transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PROC_H
#define CITUS_COMPAT_PROC_H

#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"

#if PG_VERSION_NUM >= 170000
#define PROC_LXID(proc) ((proc)->vxid.lxid)
#define PROC_NUMBER(proc) ((proc)->vxid.procNumber)
#define LOCK_INSTANCE_LXID(instance) ((instance)->vxid.localTransactionId)
#else
#define INVALID_PROC_NUMBER InvalidBackendId
#define PROC_LXID(proc) ((proc)->lxid)
#define PROC_NUMBER(proc) ((proc)->backendId)
#define LOCK_INSTANCE_LXID(instance) ((instance)->lxid)
#endif

/*
 * Whether a process serves a client; until version 17, no background worker.
 */
#if PG_VERSION_NUM >= 190000
#define PROC_IS_REGULAR_BACKEND(proc) ((proc)->backendType == B_BACKEND)
#elif PG_VERSION_NUM >= 180000
#define PROC_IS_REGULAR_BACKEND(proc) ((proc)->isRegularBackend)
#else
#define PROC_IS_REGULAR_BACKEND(proc) (!(proc)->isBackgroundWorker)
#endif

/* The oldest transaction that runs, in any database; the next if none does. */
static inline TransactionId
oldest_active_xid(void)
{
#if PG_VERSION_NUM >= 190000
	return GetOldestActiveTransactionId(false, true);
#else
	return GetOldestActiveTransactionId();
#endif
}

/*
 * Whether this process's own entry has locks, but for those on relations that
 * are on the fast path.
 */
static inline bool
proc_holds_locks(PGPROC *proc)
{
	for (int i = 0; i < NUM_LOCK_PARTITIONS; i++)
	{
#if PG_VERSION_NUM >= 160000
		if (!dlist_is_empty(&proc->myProcLocks[i]))
			return true;
#else
		if (!SHMQueueEmpty(&proc->myProcLocks[i]))
			return true;
#endif
	}
	return false;
}

/* Whether more than n entries for sessions of clients are free. */
static inline bool
proc_has_free(int n)
{
#if PG_VERSION_NUM >= 160000
	int			nfree;

	return HaveNFreeProcs(n + 1, &nfree);
#else
	return HaveNFreeProcs(n + 1);
#endif
}

/* How many connections are kept for superusers and other special roles. */
static inline int
compat_reserved_connections(void)
{
#if PG_VERSION_NUM >= 160000
	return SuperuserReservedConnections + ReservedConnections;
#else
	return ReservedBackends;
#endif
}

/* The virtual transaction id of a lock's entry. */
static inline VirtualTransactionId
lock_instance_vxid(const LockInstanceData *instance)
{
#if PG_VERSION_NUM >= 170000
	return instance->vxid;
#else
	VirtualTransactionId vxid = {instance->backend, instance->lxid};

	return vxid;
#endif
}

#endif							/* CITUS_COMPAT_PROC_H */
