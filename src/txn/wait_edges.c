/*-------------------------------------------------------------------------
 *
 * wait_edges.c
 *	  The wait edges of this node: citus_internal.local_wait_graph().
 *
 * Four kinds of rows come out:
 *
 *	  p	 a process that is in a transaction, what it does, and the session that
 *		 it works for
 *	  l	 a process waits for a lock that another one holds, or that another one
 *		 in front of it in the queue waits for
 *	  x	 a process waits for a lock that a prepared transaction holds
 *	  c	 a process has opened a connection to a process of another node
 *
 * The edges of one waiter are read under all locks of the lock manager's
 * partitions (GetBlockerStatusData), those of different waiters may be of
 * different moments.  The search for cycles therefore reads everything twice.
 *
 * Waits that can't be part of a deadlock are left out: for the extension of a
 * relation, for pages and speculative insertions, which end by themselves, and
 * for autovacuum, which gives way.  Members of a lock group count as their
 * leader.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "catalog/backends.h"
#include "compat/proc.h"
#include "compat/sql_function.h"
#include "txn/private.h"
#include "txn/wait_graph.h"
#include "txn/wait_reach.h"

SQL_FUNCTION(citus_internal_local_wait_graph);

#define ROW_COLUMNS 9

/* The present state of a process. */
static char
state_of(PGPROC *proc)
{
	uint32		event = proc->wait_event_info;

	if (proc->waitLock != NULL)
		return WAIT_STATE_LOCK;
	if (event == WAIT_EVENT_CLIENT_READ)
		return WAIT_STATE_READS;
	if (event == WAIT_EVENT_CLIENT_WRITE)
		return WAIT_STATE_WRITES;
	return WAIT_STATE_BUSY;
}

/* Whether a process is in a transaction in this database. */
static bool
in_transaction(PGPROC *proc)
{
	return proc->pid != 0 && proc->databaseId == MyDatabaseId &&
		LocalTransactionIdIsValid(PROC_LXID(proc)) && !(proc->statusFlags & PROC_IS_AUTOVACUUM);
}

/* The kind of victim that a process is (WAIT_VICTIM_*). */
static char
victim_of(PGPROC *proc, int procno, int pid)
{
	BackendPeer peers[BACKEND_MAX_PEERS];

	if (PROC_IS_REGULAR_BACKEND(proc))
		return WAIT_VICTIM_SESSION;
	return backend_peers(procno, pid, peers) > 0 ? WAIT_VICTIM_WORKER : WAIT_VICTIM_NONE;
}

static void
put_edge(ReturnSetInfo *rsinfo, char kind, int pid, uint32 lxid, Datum *values, bool *nulls)
{
	values[0] = CharGetDatum(kind);
	values[1] = Int32GetDatum(pid);
	values[2] = Int64GetDatum(lxid);
	nulls[0] = nulls[1] = nulls[2] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_process(ReturnSetInfo *rsinfo, int procno, int pid, uint32 lxid)
{
	PGPROC	   *proc = &ProcGlobal->allProcs[procno];
	Datum		values[ROW_COLUMNS] = {0};
	bool		nulls[ROW_COLUMNS];
	int32		group;
	int			root;

	memset(nulls, true, sizeof(nulls));
	values[5] = Int64GetDatum(active_number_of(procno));
	nulls[5] = false;
	backend_root(procno, pid, &group, &root);
	values[3] = Int32GetDatum(group);
	values[4] = Int32GetDatum(root);
	nulls[3] = nulls[4] = false;
	values[8] = CStringGetTextDatum(psprintf("%c%c", state_of(proc), victim_of(proc, procno, pid)));
	nulls[8] = false;
	put_edge(rsinfo, 'p', pid, lxid, values, nulls);
}

static void
put_peers(ReturnSetInfo *rsinfo, int procno, int pid, uint32 lxid)
{
	BackendPeer peers[BACKEND_MAX_PEERS];
	int			n = backend_peers(procno, pid, peers);

	for (int i = 0; i < n; i++)
	{
		Datum		values[ROW_COLUMNS] = {0};
		bool		nulls[ROW_COLUMNS];

		memset(nulls, true, sizeof(nulls));
		values[3] = Int32GetDatum(peers[i].groupid);
		values[4] = Int32GetDatum(peers[i].pid);
		nulls[3] = nulls[4] = false;
		put_edge(rsinfo, 'c', pid, lxid, values, nulls);
	}
}

static bool
can_deadlock(const LOCKTAG *tag)
{
	return tag->locktag_type != LOCKTAG_RELATION_EXTEND && tag->locktag_type != LOCKTAG_PAGE &&
		tag->locktag_type != LOCKTAG_SPECULATIVE_TOKEN;
}

/* Whether a process stands in front of the waiter in the queue. */
static bool
is_ahead(const BlockedProcsData *data, const BlockedProcData *waiter, int pid)
{
	for (int i = 0; i < waiter->num_waiters; i++)
		if (data->waiter_pids[waiter->first_waiter + i] == pid)
			return true;
	return false;
}

/* A lock as PostgreSQL's own deadlock report names it. */
static char *
describe_wait(const LockInstanceData *wait)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s on ", GetLockmodeName(wait->locktag.locktag_lockmethodid, wait->waitLockMode));
	DescribeLockTag(&text, &wait->locktag);
	return text.data;
}

/*
 * The transaction of the leader of an entry's lock group; 0 if it is in none,
 * and holds a lock of its session.  False if there is no such process, or it
 * gives way to others.
 */
static bool
leader_lxid(const LockInstanceData *instance, uint32 *lxid)
{
	PGPROC	   *proc = BackendPidGetProc(instance->leaderPid);

	if (proc == NULL || (proc->statusFlags & PROC_IS_AUTOVACUUM) != 0)
		return false;
	*lxid = instance->pid == instance->leaderPid ? LOCK_INSTANCE_LXID(instance) : PROC_LXID(proc);
	return true;
}

/* The transaction id of a prepared transaction. */
static TransactionId
prepared_xid(const LockInstanceData *instance)
{
	bool		more = false;

	return TwoPhaseGetXidByVirtualXID(lock_instance_vxid(instance), &more);
}

/*
 * The wait of one process, and the other processes that hold or want the lock.
 */
typedef struct LockWait
{
	BlockedProcsData *data;
	BlockedProcData *waiter;
	LockInstanceData *wait;		/* its own entry */
	LOCKMASK	conflicts;		/* modes that are in its way */
	TimestampTz start;
} LockWait;

/*
 * Reads what a process waits for; false if the wait has just begun or has
 * ended, or if it can't be part of a deadlock.
 */
static bool
read_wait(PGPROC *proc, int pid, LockWait *result)
{
	result->start = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);
	if (result->start == 0)
		return false;
	result->data = GetBlockerStatusData(pid);
	if (result->start != (TimestampTz) pg_atomic_read_u64(&proc->waitStart))
		return false;

	for (int i = 0; i < result->data->nprocs; i++)
	{
		result->waiter = &result->data->procs[i];
		for (int j = 0; j < result->waiter->num_locks && result->waiter->pid == pid; j++)
		{
			result->wait = &result->data->locks[result->waiter->first_lock + j];
			if (result->wait->pid != pid)
				continue;
			result->conflicts = GetLockTagsMethodTable(&result->wait->locktag)->conflictTab[result->wait->waitLockMode];
			return can_deadlock(&result->wait->locktag);
		}
	}
	return false;
}

/* The edges of one waiter. */
static void
put_edges(ReturnSetInfo *rsinfo, const LockWait *lock)
{
	const LockInstanceData *wait = lock->wait;
	int64		age = Max((GetCurrentTimestamp() - lock->start) / 1000, 0);
	char	   *what = describe_wait(wait);
	uint32		lxid;

	if (!leader_lxid(wait, &lxid))
		return;
	for (int i = 0; i < lock->waiter->num_locks; i++)
	{
		LockInstanceData *other = &lock->data->locks[lock->waiter->first_lock + i];
		Datum		values[ROW_COLUMNS];
		bool		nulls[ROW_COLUMNS] = {false};
		bool		prepared = other->pid == 0;
		uint32		other_lxid;

		if (other->leaderPid == wait->leaderPid)
			continue;
		if ((lock->conflicts & other->holdMask) == 0 &&
			!(other->waitLockMode != NoLock && (lock->conflicts & LOCKBIT_ON(other->waitLockMode)) &&
			  is_ahead(lock->data, lock->waiter, other->pid)))
			continue;
		if (prepared)
			other_lxid = prepared_xid(other);
		else if (!leader_lxid(other, &other_lxid))
			continue;
		nulls[3] = true;
		values[4] = Int32GetDatum(other->leaderPid);
		values[5] = Int64GetDatum(other_lxid);
		values[6] = Int64GetDatum(lock->start);
		values[7] = Int64GetDatum(age);
		values[8] = CStringGetTextDatum(what);
		put_edge(rsinfo, prepared ? 'x' : 'l', wait->leaderPid, lxid, values, nulls);
	}
}

/* Whether this process holds what a process waits for. */
static bool
leads_here(PGPROC *proc, int pid)
{
	LockWait	lock;

	if (!read_wait(proc, pid, &lock))
		return false;
	for (int i = 0; i < lock.waiter->num_locks; i++)
	{
		LockInstanceData *other = &lock.data->locks[lock.waiter->first_lock + i];

		if (other->leaderPid == MyProcPid && (lock.conflicts & other->holdMask) != 0)
			return true;
	}
	return false;
}

bool
wait_edges_lead_here(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus wait edges",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	bool		found = false;

	for (int i = 0; i < MaxBackends && !found; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		int			pid = proc->pid;

		if (pid != MyProcPid && proc->waitLock != NULL && in_transaction(proc))
			found = leads_here(proc, pid);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return found;
}

/* citus_internal.local_wait_graph(): the rows described above. */
Datum
citus_internal_local_wait_graph(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context;
	MemoryContext old_context;

	InitMaterializedSRF(fcinfo, 0);
	context = AllocSetContextCreate(CurrentMemoryContext, "citus wait edges", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	for (int i = 0; i < MaxBackends; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		int			pid = proc->pid;
		uint32		lxid = PROC_LXID(proc);
		LockWait	lock;

		if (pid == MyProcPid || !in_transaction(proc))
			continue;
		put_process(rsinfo, i, pid, lxid);
		put_peers(rsinfo, i, pid, lxid);
		if (proc->waitLock != NULL && read_wait(proc, pid, &lock))
			put_edges(rsinfo, &lock);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return (Datum) 0;
}

bool
wait_graph_wanted(int64 min_age_ms)
{
	TimestampTz since = GetCurrentTimestamp() - min_age_ms * 1000;

	for (int i = 0; i < MaxBackends; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		TimestampTz wait_start = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);

		if (wait_start != 0 && wait_start <= since && proc->waitLock != NULL && in_transaction(proc))
			return true;
	}
	return false;
}
