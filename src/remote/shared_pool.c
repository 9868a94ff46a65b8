/*-------------------------------------------------------------------------
 *
 * shared_pool.c
 *	  How many connections all backends of this server have to each node.
 *
 * The count limits the *extra* connections only, those that make a read
 * parallel: a backend without any connection to a node could not go on, and
 * one that waited for another's could wait for ever, so the first one is
 * always allowed.  Counts are in a hash table in shared memory under one
 * lightweight lock, taken when a connection is opened or closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/hsearch.h"

#include "remote/private.h"

#define MAX_NODES 1024

typedef struct SharedPoolKey
{
	char		host[256];
	int32		port;
} SharedPoolKey;

typedef struct SharedPoolEntry
{
	SharedPoolKey key;
	int32		count;
} SharedPoolEntry;

static int	max_shared_pool_size = 0;

static HTAB *shared_pool = NULL;
static LWLock *shared_pool_lock = NULL;

static shmem_request_hook_type previous_shmem_request = NULL;
static shmem_startup_hook_type previous_shmem_startup = NULL;

static void
shared_pool_request(void)
{
	if (previous_shmem_request)
		previous_shmem_request();
	RequestAddinShmemSpace(hash_estimate_size(MAX_NODES, sizeof(SharedPoolEntry)));
	RequestNamedLWLockTranche("citus_shared_pool", 1);
}

static void
shared_pool_startup(void)
{
	HASHCTL		info = {0};

	if (previous_shmem_startup)
		previous_shmem_startup();

	info.keysize = sizeof(SharedPoolKey);
	info.entrysize = sizeof(SharedPoolEntry);
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared_pool = ShmemInitHash("citus shared pool", MAX_NODES, MAX_NODES, &info,
								HASH_ELEM | HASH_BLOBS);
	shared_pool_lock = &GetNamedLWLockTranche("citus_shared_pool")->lock;
	LWLockRelease(AddinShmemInitLock);
}

void
shared_pool_init(void)
{
	DefineCustomIntVariable("citus.max_shared_pool_size",
							"Sets the number of connections of all sessions to one node beyond which no session opens extra ones.",
							"0 means max_connections, -1 no limit.  A session's first connection to a node is always allowed.",
							&max_shared_pool_size, 0, -1, INT_MAX, PGC_SIGHUP, 0, NULL, NULL, NULL);

	previous_shmem_request = shmem_request_hook;
	shmem_request_hook = shared_pool_request;
	previous_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shared_pool_startup;
}

static void
make_key(SharedPoolKey *key, const char *host, int port)
{
	memset(key, 0, sizeof(*key));
	strlcpy(key->host, host, sizeof(key->host));
	key->port = port;
}

bool
shared_pool_enter(const char *host, int port, bool optional)
{
	int			limit = max_shared_pool_size == 0 ? MaxConnections : max_shared_pool_size;
	SharedPoolKey key;
	SharedPoolEntry *entry;
	bool		found;
	bool		entered = false;

	make_key(&key, host, port);
	LWLockAcquire(shared_pool_lock, LW_EXCLUSIVE);
	entry = hash_search(shared_pool, &key, HASH_ENTER_NULL, &found);
	if (entry != NULL)
	{
		if (!found)
			entry->count = 0;
		if (!optional || limit < 0 || entry->count < limit)
		{
			entry->count++;
			entered = true;
		}
	}
	LWLockRelease(shared_pool_lock);
	return entered;
}

void
shared_pool_leave(const char *host, int port)
{
	SharedPoolKey key;
	SharedPoolEntry *entry;

	make_key(&key, host, port);
	LWLockAcquire(shared_pool_lock, LW_EXCLUSIVE);
	entry = hash_search(shared_pool, &key, HASH_FIND, NULL);
	if (entry != NULL && --entry->count <= 0)
		hash_search(shared_pool, &key, HASH_REMOVE, NULL);
	LWLockRelease(shared_pool_lock);
}
