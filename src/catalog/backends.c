/*-------------------------------------------------------------------------
 *
 * backends.c
 *	  In shared memory: the client session that each backend of this server
 *	  serves, and the other ends of its connections.
 *
 * Each backend has a slot with the global process id of the client's backend
 * that it works for.  A node that opens a session sends that id in
 * application_name; it is read once, since the session may change the setting
 * later.  The slot also lists the other ends of the connections that this
 * backend has opened, from which the deadlock detector derives waits over the
 * network.
 *
 * A slot is filled when a session runs its first statement, and is valid while
 * its process id is that of the PGPROC.  So nothing needs to be done when a
 * process ends.
 *
 * A session that another node has opened may *rest*: its opener keeps it for
 * later clients.  Only such a session is ended by a signal here, and one that
 * was signaled serves nobody any more.
 *
 * One lightweight lock covers all slots.  It is taken exclusively when a
 * connection is opened or closed, or a session rests or serves, and no other
 * lock is taken while it is held.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/guc.h"
#include "lib/shared_area.h"
#include "catalog/backends.h"

#define GPID_PREFIX "citus_internal gpid="

/* More nodes than that are counted as fewer. */
#define MAX_OPENERS 1024

typedef enum BackendRest
{
	BACKEND_SERVES,
	BACKEND_RESTS,				/* no client, until another one comes */
	BACKEND_ENDS,				/* was signaled to end while it rested */
} BackendRest;

typedef struct BackendSlot
{
	int			pid;			/* whose slot it is */
	BackendRest rest;
	uint32		defaults;		/* BackendsShared.defaults when it began */
	int			npeers;
	uint64		gpid;			/* that it serves; 0: its own client's */
	BackendPeer peers[BACKEND_MAX_PEERS];
} BackendSlot;

typedef struct BackendsShared
{
	SharedHeader header;
	pg_atomic_uint32 defaults;	/* how often those of roles and databases have
								 * changed */
	BackendSlot slots[FLEXIBLE_ARRAY_MEMBER];	/* one per backend */
} BackendsShared;

static BackendsShared *backends_shared = NULL;

int			(*backend_of_client) (int pid) = NULL;

bool
backend_is_nodes(const char *name)
{
	return name != NULL && strncmp(name, GPID_PREFIX, strlen(GPID_PREFIX)) == 0;
}

/*
 * The global process id that the opener of this session has sent in the
 * initial value of application_name; 0 if the session is a client's own.
 */
static uint64
given_gpid(void)
{
	struct config_generic *entry = guc_find("application_name");
	const char *name = entry == NULL ? NULL : GUC_STRING(entry)->reset_val;

	if (MyBackendType != B_BACKEND || !backend_is_nodes(name))
		return 0;
	return strtoull(name + strlen(GPID_PREFIX), NULL, 10);
}

/* This process's slot, initialized if it was another's. */
static BackendSlot *
my_backend_slot(void)
{
	BackendSlot *slot = &backends_shared->slots[MyProc - ProcGlobal->allProcs];

	if (slot->pid != MyProcPid)
	{
		uint64		gpid = given_gpid();

		LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
		slot->npeers = 0;
		slot->gpid = gpid;
		slot->rest = BACKEND_SERVES;
		slot->defaults = pg_atomic_read_u32(&backends_shared->defaults);
		slot->pid = MyProcPid;
		LWLockRelease(backends_shared->header.lock);
	}
	return slot;
}

bool
backend_show(void)
{
	static int	shown = 0;		/* by the process with that id, which may be
								 * the parent of this one */

	if (shown == MyProcPid)
		return false;
	(void) my_backend_slot();
	shown = MyProcPid;
	return true;
}

/* Whether a slot's process is there. Under the lock. */
static bool
slot_is_used(int i)
{
	return backends_shared->slots[i].pid != 0 && ProcGlobal->allProcs[i].pid == backends_shared->slots[i].pid;
}

int
backend_count_openers(int *nsessions)
{
	bool		seen[MAX_OPENERS] = {false};
	int			nopeners = 0;

	*nsessions = 0;
	LWLockAcquire(backends_shared->header.lock, LW_SHARED);
	for (int i = 0; i < MaxBackends; i++)
	{
		const BackendSlot *slot = &backends_shared->slots[i];
		int			opener;

		if (slot->gpid == 0 || slot->rest != BACKEND_SERVES || !slot_is_used(i))
			continue;
		opener = slot->gpid / GPID_NODE_FACTOR % MAX_OPENERS;
		nopeners += seen[opener] ? 0 : 1;
		seen[opener] = true;
		(*nsessions)++;
	}
	LWLockRelease(backends_shared->header.lock);
	return nopeners;
}

static bool
has_old_defaults(const BackendSlot *slot)
{
	return slot->defaults != pg_atomic_read_u32(&backends_shared->defaults);
}

bool
backend_rest(void)
{
	BackendSlot *slot = my_backend_slot();
	bool		rests;

	LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
	rests = !has_old_defaults(slot);
	if (rests)
		slot->rest = BACKEND_RESTS;
	LWLockRelease(backends_shared->header.lock);
	return rests;
}

bool
backend_serve(uint64 gpid)
{
	BackendSlot *slot = my_backend_slot();
	bool		serves;

	LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
	serves = slot->rest == BACKEND_RESTS && !has_old_defaults(slot);
	if (serves)
	{
		slot->gpid = gpid;
		slot->rest = BACKEND_SERVES;
	}
	LWLockRelease(backends_shared->header.lock);
	return serves;
}

void
backend_end_resting(Oid database, int n)
{
	LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
	for (int i = 0; i < MaxBackends && n > 0; i++)
	{
		BackendSlot *slot = &backends_shared->slots[i];

		if (slot->rest != BACKEND_RESTS || !slot_is_used(i) ||
			(OidIsValid(database) && ProcGlobal->allProcs[i].databaseId != database))
			continue;
		slot->rest = BACKEND_ENDS;
		(void) kill(slot->pid, SIGTERM);
		n--;
	}
	LWLockRelease(backends_shared->header.lock);
}

bool
backend_database_is_wanted(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, RowExclusiveLock, true);
	return false;
}

void
backend_defaults_changed(void)
{
	(void) pg_atomic_fetch_add_u32(&backends_shared->defaults, 1);
}

static void
fill_backends(void)
{
	pg_atomic_init_u32(&backends_shared->defaults, 0);
}

void
backends_init(void)
{
	static SharedArea area = {
		.name = "citus_backends",
		.fixed = offsetof(BackendsShared, slots),
		.per_backend = sizeof(BackendSlot),
		.memory = (SharedHeader **) &backends_shared,
		.fill = fill_backends,
	};

	shared_area_add(&area);
}

uint64
backend_served_gpid(int pid)
{
	uint64		gpid = 0;

	LWLockAcquire(backends_shared->header.lock, LW_SHARED);
	for (int i = 0; i < MaxBackends && pid != 0; i++)
	{
		if (backends_shared->slots[i].pid != pid)
			continue;
		if (ProcGlobal->allProcs[i].pid == pid)
			gpid = backends_shared->slots[i].gpid;
	}
	LWLockRelease(backends_shared->header.lock);
	return gpid;
}

void
backend_root(int procno, int pid, int32 *groupid, int *root)
{
	const BackendSlot *slot = &backends_shared->slots[procno];
	uint64		gpid;

	LWLockAcquire(backends_shared->header.lock, LW_SHARED);
	gpid = slot->pid == pid ? slot->gpid : 0;
	LWLockRelease(backends_shared->header.lock);
	*groupid = metadata_local_group();
	*root = pid;
	foreach_ptr(ClusterNode, node, node_all())
	{
		if (gpid == 0 || node->nodeid != (int32) (gpid / GPID_NODE_FACTOR))
			continue;
		*groupid = node->groupid;
		*root = (int) (gpid % GPID_NODE_FACTOR);
	}
}

/* The node's id is 0 if it is not in pg_dist_node. */
uint64
backend_make_gpid(int pid)
{
	int32		group = metadata_local_group();
	int32		nodeid = 0;

	foreach_ptr(ClusterNode, node, node_all())
		if (node->groupid == group && node->is_primary)
			nodeid = node->nodeid;
	return (uint64) nodeid * GPID_NODE_FACTOR + pid;
}

uint64
backend_gpid(void)
{
	uint64		gpid = my_backend_slot()->gpid;

	return gpid != 0 ? gpid : backend_make_gpid(MyProcPid);
}

void
backend_add_peer(int32 groupid, int32 pid)
{
	BackendSlot *slot = my_backend_slot();

	LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
	if (slot->npeers < BACKEND_MAX_PEERS)
	{
		slot->peers[slot->npeers].groupid = groupid;
		slot->peers[slot->npeers].pid = pid;
		slot->npeers++;
	}
	LWLockRelease(backends_shared->header.lock);
}

void
backend_remove_peer(int32 groupid, int32 pid)
{
	BackendSlot *slot = my_backend_slot();

	LWLockAcquire(backends_shared->header.lock, LW_EXCLUSIVE);
	for (int i = 0; i < slot->npeers; i++)
	{
		if (slot->peers[i].pid != pid || slot->peers[i].groupid != groupid)
			continue;
		slot->peers[i] = slot->peers[--slot->npeers];
		break;
	}
	LWLockRelease(backends_shared->header.lock);
}

int
backend_peers(int procno, int pid, BackendPeer *peers)
{
	BackendSlot *slot = &backends_shared->slots[procno];
	int			n = 0;

	LWLockAcquire(backends_shared->header.lock, LW_SHARED);
	if (slot->pid == pid)
	{
		n = slot->npeers;
		memcpy(peers, slot->peers, n * sizeof(BackendPeer));
	}
	LWLockRelease(backends_shared->header.lock);
	return n;
}
