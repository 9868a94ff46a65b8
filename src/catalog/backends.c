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
 * One lightweight lock covers all slots.  It is taken exclusively when a
 * connection is opened or closed, and no other lock is taken while it is held.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/guc.h"
#include "lib/shared_area.h"
#include "catalog/backends.h"

#define GPID_PREFIX "citus_internal gpid="

typedef struct BackendSlot
{
	int			pid;			/* whose slot it is */
	int			npeers;
	uint64		gpid;			/* that it serves; 0: its own client's */
	BackendPeer peers[BACKEND_MAX_PEERS];
} BackendSlot;

typedef struct BackendsShared
{
	SharedHeader header;
	BackendSlot slots[FLEXIBLE_ARRAY_MEMBER];	/* one per backend */
} BackendsShared;

static BackendsShared *backends_shared = NULL;

int			(*backend_of_client) (int pid) = NULL;

/*
 * The global process id that the opener of this session has sent in the
 * initial value of application_name; 0 if the session is a client's own.
 */
static uint64
given_gpid(void)
{
	struct config_generic *entry = guc_find("application_name");
	const char *name = entry == NULL ? NULL : ((struct config_string *) entry)->reset_val;

	if (MyBackendType != B_BACKEND || name == NULL || strncmp(name, GPID_PREFIX, strlen(GPID_PREFIX)) != 0)
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
		slot->pid = MyProcPid;
		LWLockRelease(backends_shared->header.lock);
	}
	return slot;
}

void
backend_show(void)
{
	static int	shown = 0;		/* by the process with that id, which may be
								 * the parent of this one */

	if (shown != MyProcPid)
		(void) my_backend_slot();
	shown = MyProcPid;
}

void
backends_init(void)
{
	static SharedArea area = {
		.name = "citus_backends",
		.fixed = offsetof(BackendsShared, slots),
		.per_backend = sizeof(BackendSlot),
		.memory = (SharedHeader **) &backends_shared,
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
