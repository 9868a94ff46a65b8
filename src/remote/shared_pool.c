/*-------------------------------------------------------------------------
 *
 * shared_pool.c
 *	  How many connections all sessions of this server have to each node:
 *	  citus.max_shared_pool_size.
 *
 * A session that opens its first connection to any node takes a slot, which
 * allows one connection to each node, and keeps it until its last connection
 * is closed.  Further connections to a node are extra, and optional if the
 * session can continue without them.  The setting limits the sum of slots and
 * extra connections to one node.  A session without a slot waits for one, in
 * the order of requests; the session that frees a slot passes it on.  Why no
 * session waits forever:
 *
 * - a session that has a slot never waits here, whatever nodes it connects to;
 * - a session that waits for a slot has no connection, so other sessions can
 *   wait for it only by locks on this node.  If one does, the session gets a
 *   slot above the limit (RemoteTxnHooks.awaited);
 * - a session that another node has opened never waits, since its client's
 *   session may have locks on all nodes.  The same holds for background
 *   processes;
 * - cached connections don't block others for long.  A session closes them at
 *   the end of a transaction if others wait and it has had its slot for a
 *   while (SHARE_MS), and an idle one is woken up to do so.  In any order of
 *   events, either the idle session notices the waiting one, or the waiting
 *   one finds it idle;
 * - extra connections are closed after a task, when the session next handles
 *   them: until then it may be busy with rows of others;
 * - for long transactions, the wait is limited by
 *   citus.node_connection_timeout.
 *
 * Besides the setting, the nodes themselves limit the sessions of clients that
 * have a slot.  So many sessions have one at once: the node's share of a
 * server like this one, if all nodes used it (FAIR_PART).  One more may have
 * for each time that a node has answered without a word about its room.  Once
 * a node has told a share, no more than that are let in for a while (TOLD_MS).
 * A session that has waited for long passes this limit (is_patient): it may be
 * that no node that has room is asked.  So nodes that all open sessions on
 * each other queue here, instead of being refused there.
 *
 * Everything is under one lightweight lock, which is taken when a session's
 * first and last connections, or extra ones, are opened and closed; but
 * idle_since is the session's own, and waiting, credit and told_at may be read
 * without.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/node.h"
#include "compat/proc.h"
#include "lib/shared_area.h"
#include "lib/wait_event.h"
#include "remote/private.h"

#define MAX_NODES 1024

/*
 * How long a slot is kept, milliseconds, though others wait: making
 * connections costs a few.
 */
#define SHARE_MS 100

/*
 * The same for a session at work, if others wait only for nodes to have room:
 * many nodes would spend much time on making connections.
 */
#define WORKING_SHARE_MS 2000

/* How often a waiting session looks for an idle session. */
#define LOOK_MS 50

/* Nodes should have this part of a server's max_connections, all together. */
#define FAIR_PART 2

/* For how long a share that a node has told is the limit, milliseconds. */
#define TOLD_MS 2000

/* A session waits for this part of the time limit, for nodes to have room. */
#define PATIENT_PART 3

/* A node to which some session has extra connections. */
typedef struct PoolNode
{
	char		host[256];
	int32		port;
	int32		extras;
} PoolNode;

/* A session, by its place in ProcGlobal->allProcs. */
typedef struct PoolSession
{
	bool		member;			/* has a slot */
	bool		client;			/* queues for one, as clients do */
	bool		asked;			/* has been woken up to free its slot */
	uint64		ticket;			/* waits since; a smaller one goes first; 0:
								 * does not */
	TimestampTz waits_since;	/* if it has a ticket */
	TimestampTz joined;			/* when it got its slot */
	TimestampTz idle_since;		/* uses no connection since; 0: does */
} PoolSession;

typedef struct SharedPool
{
	SharedHeader header;
	uint64		last_ticket;
	int			cluster_size;	/* nodes */
	int			members;
	int			clients;		/* those of them that clients have opened */
	volatile int waiting;
	volatile int credit;		/* how many sessions more nodes have room
								 * for */
	int			share;			/* what a node has told .. */
	volatile TimestampTz told_at;	/* .. at that time; 0: nothing */
	int			nnodes;
	PoolNode	nodes[MAX_NODES];
	PoolSession sessions[FLEXIBLE_ARRAY_MEMBER];
} SharedPool;

static int	max_shared_pool_size = 0;
static SharedPool *pool_shared = NULL;

void
shared_pool_init(void)
{
	static SharedArea area = {
		.name = "citus_shared_pool",
		.fixed = offsetof(SharedPool, sessions),
		.per_backend = sizeof(PoolSession),
		.memory = (SharedHeader **) &pool_shared,
	};

	DefineCustomIntVariable("citus.max_shared_pool_size",
							"Sets how many connections all sessions of this server may have to one node.",
							"Sessions wait for one up to citus.node_connection_timeout.  0 means max_connections, "
							"-1 no limit.",
							&max_shared_pool_size, 0, -1, INT_MAX, PGC_SIGHUP, 0, NULL, NULL, NULL);
	shared_area_add(&area);
}

static PoolSession *
my_session(void)
{
	return &pool_shared->sessions[MyProc - ProcGlobal->allProcs];
}

static int
shared_pool_limit(void)
{
	if (max_shared_pool_size == 0)
		return MaxConnections;
	return max_shared_pool_size < 0 ? INT_MAX : max_shared_pool_size;
}

/* The entry of a node, or NULL. */
static PoolNode *
find_node(const char *host, int port)
{
	for (int i = 0; i < pool_shared->nnodes; i++)
		if (pool_shared->nodes[i].port == port && strcmp(pool_shared->nodes[i].host, host) == 0)
			return &pool_shared->nodes[i];
	return NULL;
}

/* How many sessions there may be at once before nodes have answered. */
static int
fair_share(void)
{
	return Max(1, MaxConnections / FAIR_PART / Max(1, pool_shared->cluster_size));
}

static bool
has_share(TimestampTz now)
{
	return pool_shared->told_at != 0 && !TimestampDifferenceExceeds(pool_shared->told_at, now, TOLD_MS);
}

/* Whether the nodes have room for one more session of a client. */
static bool
nodes_have_room(TimestampTz now)
{
	if (max_shared_pool_size < 0)
		return true;
	if (has_share(now))
		return pool_shared->clients < pool_shared->share;
	return pool_shared->clients < fair_share() || pool_shared->credit > 0;
}

/* Whether one more session may have a connection to each node. */
static bool
has_room(void)
{
	int			extras = 0;

	for (int i = 0; i < pool_shared->nnodes; i++)
		extras = Max(extras, pool_shared->nodes[i].extras);
	return pool_shared->members < shared_pool_limit() - extras;
}

static void
make_member(PoolSession *session, bool client)
{
	if (client && pool_shared->clients++ >= fair_share() && pool_shared->credit > 0)
		pool_shared->credit--;
	session->client = client;
	if (session->ticket != 0)
		pool_shared->waiting--;
	session->ticket = 0;
	session->asked = false;
	session->idle_since = 0;
	session->joined = GetCurrentTimestamp();
	session->member = true;
	pool_shared->members++;
}

/* Whether a session has waited for so long that nodes need have no room. */
static bool
is_patient(const PoolSession *session, TimestampTz now)
{
	return TimestampDifferenceExceeds(session->waits_since, now, node_connection_timeout / PATIENT_PART);
}

/* Gives free slots to the sessions that have waited longest. */
static void
hand_out(void)
{
	TimestampTz now = pool_shared->waiting > 0 ? GetCurrentTimestamp() : 0;

	while (pool_shared->waiting > 0 && has_room())
	{
		PoolSession *first = NULL;

		for (int i = 0; i < MaxBackends; i++)
		{
			PoolSession *session = &pool_shared->sessions[i];

			if (session->ticket != 0 && (first == NULL || session->ticket < first->ticket))
				first = session;
		}
		if (!nodes_have_room(now) && !is_patient(first, now))
			break;
		make_member(first, true);
		SetLatch(&ProcGlobal->allProcs[first - pool_shared->sessions].procLatch);
	}
}

/* Whether a session has had its slot for long enough. */
static bool
is_due(const PoolSession *session, TimestampTz now, int share_ms)
{
	return session->member && TimestampDifferenceExceeds(session->joined, now, share_ms);
}

/*
 * Wakes up the session that has been idle longest.  It runs an empty
 * transaction, as to read invalidation messages, and at its end notices the
 * waiting session (expiry.c).
 */
static void
ask_idle_session(void)
{
	TimestampTz now = GetCurrentTimestamp();
	PoolSession *idlest = NULL;
	int			pid = 0;

	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	hand_out();					/* the limit may have changed */
	for (int i = 0; i < MaxBackends; i++)
	{
		PoolSession *session = &pool_shared->sessions[i];

		if (session->idle_since != 0 && !session->asked && is_due(session, now, SHARE_MS) &&
			(idlest == NULL || session->idle_since < idlest->idle_since))
			idlest = session;
	}
	if (idlest != NULL)
	{
		idlest->asked = true;
		pid = ProcGlobal->allProcs[idlest - pool_shared->sessions].pid;
	}
	LWLockRelease(pool_shared->header.lock);
	if (pid != 0)
		(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT, INVALID_PROC_NUMBER);
}

/* Joins, or queues from now on; above the limit if forced. */
static bool
join_or_queue(bool forced)
{
	PoolSession *session = my_session();
	TimestampTz now = GetCurrentTimestamp();
	int			nnodes = list_length(node_all());

	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	pool_shared->cluster_size = nnodes;
	if (!session->member && (forced || (pool_shared->waiting == 0 && has_room() && nodes_have_room(now))))
		make_member(session, !forced);
	else if (!session->member && session->ticket == 0)
	{
		session->ticket = ++pool_shared->last_ticket;
		session->waits_since = now;
		pool_shared->waiting++;
	}
	LWLockRelease(pool_shared->header.lock);
	return session->member;
}

void
shared_pool_leave(void)
{
	PoolSession *session = my_session();

	if (!session->member && session->ticket == 0)
		return;
	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	if (session->member)
		pool_shared->members--;
	if (session->member && session->client)
		pool_shared->clients--;
	if (session->ticket != 0)
		pool_shared->waiting--;
	session->member = false;
	session->ticket = 0;
	hand_out();
	LWLockRelease(pool_shared->header.lock);
}

void
shared_pool_has_room(void)
{
	TimestampTz now;

	if (pool_shared->told_at == 0 && pool_shared->credit >= fair_share())
		return;
	now = GetCurrentStatementStartTimestamp();
	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	if (!has_share(now))
	{
		pool_shared->told_at = 0;
		if (pool_shared->credit < fair_share())
			pool_shared->credit++;
		hand_out();
	}
	LWLockRelease(pool_shared->header.lock);
}

void
shared_pool_has_share(int share)
{
	TimestampTz now = GetCurrentTimestamp();

	if (has_share(now) && pool_shared->share <= share && !TimestampDifferenceExceeds(pool_shared->told_at, now, TOLD_MS / 4))
		return;
	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	pool_shared->credit = 0;
	if (share > 0)
	{
		pool_shared->share = share;
		pool_shared->told_at = now;
	}
	LWLockRelease(pool_shared->header.lock);
}

/* Waits until this session has a slot. */
static void
wait_for_slot(const char *host, int port)
{
	PoolSession *session = my_session();
	TimestampTz start = GetCurrentTimestamp();
	TimestampTz deadline = TimestampTzPlusMilliseconds(start, node_connection_timeout);
	TimestampTz next_check = TimestampTzPlusMilliseconds(start, DeadlockTimeout);

	while (!((volatile PoolSession *) session)->member)
	{
		TimestampTz now;

		ask_idle_session();
		wait_pause(LOOK_MS, WAIT_NODE_CONNECTION);

		now = GetCurrentTimestamp();
		if (now >= next_check)
		{
			next_check = TimestampTzPlusMilliseconds(now, DeadlockTimeout);
			if (pipeline_txn_hooks()->awaited != NULL && pipeline_txn_hooks()->awaited())
				(void) join_or_queue(true);
		}
		if (now >= deadline && !session->member)
			ereport(ERROR,
					(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
					 errmsg("no connection to node %s:%d became free within %d ms", host, port,
							node_connection_timeout),
					 errdetail("Other sessions have all connections to other nodes that citus.max_shared_pool_size allows (%d).",
							   shared_pool_limit()),
					 errhint("Raise citus.max_shared_pool_size, or have transactions end sooner.")));
	}
}

void
shared_pool_join(const char *host, int port)
{
	bool		forced = MyBackendType != B_BACKEND || backend_served_gpid(MyProcPid) != 0;

	if (my_session()->member || join_or_queue(forced))
		return;
	PG_TRY();
	{
		wait_for_slot(host, port);
	}
	PG_CATCH();
	{
		shared_pool_leave();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

bool
shared_pool_add_extra(const char *host, int port, bool optional)
{
	PoolNode   *node;
	bool		added = false;

	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	node = find_node(host, port);
	if (node == NULL && pool_shared->nnodes < MAX_NODES)
	{
		node = &pool_shared->nodes[pool_shared->nnodes++];
		strlcpy(node->host, host, sizeof(node->host));
		node->port = port;
		node->extras = 0;
	}
	if (node != NULL && (!optional ||
						 (pool_shared->waiting == 0 && pool_shared->members + node->extras < shared_pool_limit())))
	{
		node->extras++;
		added = true;
	}
	LWLockRelease(pool_shared->header.lock);
	return added;
}

void
shared_pool_remove_extra(const char *host, int port)
{
	PoolNode   *node;

	LWLockAcquire(pool_shared->header.lock, LW_EXCLUSIVE);
	node = find_node(host, port);
	if (node != NULL && --node->extras <= 0)
		*node = pool_shared->nodes[--pool_shared->nnodes];
	hand_out();
	LWLockRelease(pool_shared->header.lock);
}

bool
shared_pool_is_limited(void)
{
	return max_shared_pool_size > 0;
}

bool
shared_pool_crowded(void)
{
	return pool_shared->waiting > 0;
}

bool
shared_pool_due(void)
{
	PoolSession *session = my_session();
	bool		asked = session->asked;

	session->asked = false;
	return pool_shared->waiting > 0 &&
		is_due(session, GetCurrentTimestamp(), has_room() && !asked ? WORKING_SHARE_MS : SHARE_MS);
}

void
shared_pool_note_use(void)
{
	my_session()->idle_since = 0;
}

void
shared_pool_note_idle(void)
{
	my_session()->idle_since = GetCurrentStatementStartTimestamp();
	pg_memory_barrier();		/* shared_pool_due comes after this */
}
