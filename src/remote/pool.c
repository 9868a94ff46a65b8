/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The connection pool of this backend.
 *
 * remote_conns holds all connections of the backend, of which there are few,
 * so that they are searched one by one.  Between transactions each is idle,
 * without owner, and not primary.  remote_end_transaction re-establishes that,
 * also after an error, when owners have vanished with their memory; nothing
 * here calls an owner then.
 *
 * The login role is the client's, which never changes: so a node is written
 * over one connection, whatever role the statements run as.  The session's
 * user and SET ROLE are sent as settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/follower.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/stat_counters.h"
#include "lib/debug_point.h"
#include "remote/own_address.h"
#include "remote/free_slots.h"
#include "remote/private.h"
#include "remote/transport.h"

/*
 * How long to wait for a connection that isn't needed any more, since the node
 * would log a broken one.
 */
#define POLITE_MS 100

/* Microseconds for which a connection isn't tested again. */
#define JUST_USED USECS_PER_SEC

static int	max_cached_conns_per_worker = 1;
static int	max_cached_connection_lifetime = 600 * 1000;
static int	max_adaptive_executor_pool_size = 16;

static bool used_in_transaction = false;
static bool exit_registered = false;

static void
assign_lifetime(int newval, void *extra)
{
	expiry_look_again();
}

static void
pool_init(void)
{
	DefineCustomIntVariable("citus.max_cached_conns_per_worker",
							"Sets how many connections to a node a session keeps between transactions.",
							NULL, &max_cached_conns_per_worker, 1, 0, INT_MAX, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_cached_connection_lifetime",
							"Sets how long a session keeps a connection to a node.",
							"An older one is closed at the end of the transaction, or when the session is "
							"idle.  -1 means for ever.",
							&max_cached_connection_lifetime, 600 * 1000, -1, INT_MAX, PGC_USERSET,
							GUC_UNIT_MS, NULL, assign_lifetime, NULL);
	DefineCustomIntVariable("citus.max_adaptive_executor_pool_size",
							"Sets how many connections to one node a statement may use.",
							NULL, &max_adaptive_executor_pool_size, 16, 1, INT_MAX, PGC_USERSET, 0,
							NULL, NULL, NULL);
}

void
remote_init(void)
{
	connect_init();
	transport_init();
	pool_init();
	backends_init();
	shared_pool_init();
	kept_init();
	own_address_init();
	error_init();
	keepalive_init();
}

static void
backend_exits(int code, Datum arg)
{
	DEBUG_POINT("remote-at-exit");
	finish_at_exit();
	shared_pool_leave();
}


RemoteConn *
remote_following(RemoteConn *conn)
{
	dlist_node *node;

	if (conn == NULL)
	{
		if (dlist_is_empty(&remote_conns))
			return NULL;
		node = dlist_head_node(&remote_conns);
	}
	else if (dlist_has_next(&remote_conns, &conn->priv->link))
		node = dlist_next_node(&remote_conns, &conn->priv->link);
	else
		return NULL;
	return &dlist_container(RemoteConnPrivate, link, node)->conn;
}

static bool
in_pool(RemoteConn *conn, int32 groupid)
{
	return !conn->priv->plain && !conn->priv->own && conn->groupid == groupid;
}

/* To be called before a connection of that kind is used. */
static void
begin_use(ConnectKind kind)
{
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot connect to other nodes during a parallel operation")));
	if (!exit_registered)
	{
		on_shmem_exit(backend_exits, 0);
		exit_registered = true;
	}
	if (!used_in_transaction)
	{
		if (kind != CONNECT_UNCHECKED)
			own_address_require_again();
		used_in_transaction = true;
		shared_pool_note_use();
		if (pipeline_txn_hooks()->first_use != NULL)
			pipeline_txn_hooks()->first_use();
	}
}

/* Gives a connection to an owner. */
static void
claim_conn(RemoteConn *conn, RemoteOwner *owner)
{
	conn->owner = owner;
	conn->priv->owner_subid = GetCurrentSubTransactionId();
	if (!conn->priv->used && !conn->priv->fresh)
		stat_counter_add(STAT_CONNECTION_REUSED);
	conn->priv->used = true;
	conn->priv->fresh = false;
}

/* Has the owner leave a connection idle, and forget it. */
static void
yield_conn(RemoteConn *conn)
{
	conn->owner->yield(conn->owner, conn);
	if (conn->state != REMOTE_IDLE && conn->state != REMOTE_DEAD)
		elog(ERROR, "connection to node %s:%d was not left idle", conn->nodename, conn->nodeport);
	conn->owner = NULL;
}

/* Takes a connection away from its owner, idle. */
static void
take_over(RemoteConn *conn, RemoteOwner *owner)
{
	if (conn->owner != NULL && conn->owner != owner)
		yield_conn(conn);
	claim_conn(conn, owner);
}

/*
 * Whether a connection was in use a moment ago, and none to its node has been
 * lost in this transaction, so that it probably works.
 */
static bool
just_used(RemoteConn *conn)
{
	if (GetCurrentStatementStartTimestamp() - conn->priv->last_used > JUST_USED)
		return false;
	for (RemoteConn *other = remote_following(NULL); other != NULL; other = remote_following(other))
		if (other->groupid == conn->groupid && other->state == REMOTE_DEAD)
			return false;
	return true;
}

/*
 * Reads the outstanding answers of a transaction that remote_end_lone ended;
 * false if the connection was lost, and is closed now.
 */
static bool
finish_ending(RemoteConn *conn)
{
	if (!conn->priv->ending)
		return true;
	(void) pipeline_drain(conn, 0);
	conn->priv->ending = false;
	if (conn->state != REMOTE_DEAD)
		return true;
	connect_close(conn);
	return false;
}

/*
 * Whether an idle connection that is not used in this transaction yet may be
 * used now.  Closes it if it is broken, or leads to a former address of the
 * node, but not if it leads to another node of the group.  If hopeful, one
 * that was just used isn't tested: the caller can handle a broken one.
 */
static bool
still_good(RemoteConn *conn, const ClusterNode *node, bool hopeful)
{
	if (conn->nodeport == node->port && strcmp(conn->nodename, node->host) == 0 &&
		((hopeful && just_used(conn)) || channel_alive(&conn->priv->channel)))
		return true;
	if (node_at_address(conn->nodename, conn->nodeport) != NULL && node_at_address(conn->nodename, conn->nodeport)->nodeid != node->nodeid)
		return false;			/* a secondary, or its primary, for other
								 * transactions */
	connect_close(conn);
	return false;
}

/* An idle connection without owner that is not primary, or NULL. */
static RemoteConn *
find_idle(const ClusterNode *node, bool hopeful)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		if (in_pool(conn, node->groupid) && conn->owner == NULL && !conn->primary && conn->state == REMOTE_IDLE &&
			finish_ending(conn) && (conn->priv->used || still_good(conn, node, hopeful)))
			return conn;
	}
	return NULL;
}

/* Whether this session has the connection to a node that its slot allows. */
static bool
has_slot_at(const ClusterNode *node)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->priv->pooled && !conn->priv->extra && conn->nodeport == node->port &&
			strcmp(conn->nodename, node->host) == 0)
			return true;
	return false;
}

void
pool_slot_unused(void)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->priv->pooled)
			return;
	shared_pool_leave();
}

/*
 * Counts a connection that is about to be opened, as an extra one or not;
 * false if optional and there is no room.
 */
static bool
count_new(const ClusterNode *node, bool optional, volatile bool *extra)
{
	*extra = false;
	if (!has_slot_at(node))
		shared_pool_join(node->host, node->port);
	else if (shared_pool_add_extra(node->host, node->port, optional))
		*extra = true;
	else if (optional)
		return false;
	return true;
}

/*
 * Which connection to a node is wanted, bits.  OPEN_OPTIONAL: none, if there
 * is no room or the node can't be reached.  OPEN_PAST_POOLER: one to the node
 * itself.
 */
typedef enum OpenMode
{
	OPEN_REQUIRED = 0,
	OPEN_OPTIONAL = 1,
	OPEN_PAST_POOLER = 2,
} OpenMode;

/*
 * Starts a new connection; NULL if optional and the shared limit is reached.
 */
static RemoteConn *
open_connection(const ClusterNode *node, int mode)
{
	RemoteConn *conn;
	volatile bool extra;

	if (!count_new(node, (mode & OPEN_OPTIONAL) != 0, &extra))
		return NULL;
	PG_TRY();
	{
		conn = connect_start(node->host, node->port, GetAuthenticatedUserId(),
							 (mode & OPEN_PAST_POOLER) != 0, CONNECT_POOLED);
	}
	PG_CATCH();
	{
		if (extra)
			shared_pool_remove_extra(node->host, node->port);
		pool_slot_unused();
		PG_RE_THROW();
	}
	PG_END_TRY();
	conn->groupid = node->groupid;
	conn->standby = node->is_secondary;
	conn->priv->pooled = true;
	conn->priv->extra = extra;
	return conn;
}

/* A connection for reading that another owner can yield, or NULL. */
static RemoteConn *
find_claimed(int32 groupid, RemoteOwner *owner)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && conn->owner != NULL && conn->owner != owner && !conn->primary &&
			(conn->state == REMOTE_BUSY || conn->state == REMOTE_IDLE))
			return conn;
	return NULL;
}

/*
 * Whether the address of a node that could not be reached has changed, or is
 * changing.
 */
static bool
has_moved(RemoteConn *conn)
{
	const ClusterNode *node;

	node_await_address(conn->groupid);
	node = follower_or_node_of_group(conn->groupid);
	return node->port != conn->nodeport || strcmp(node->host, conn->nodename) != 0;
}

/* A new connection, connected; failure is an error unless it is optional. */
static RemoteConn *
connect_new(const ClusterNode *node, RemoteOwner *owner, int mode)
{
	bool		optional = (mode & OPEN_OPTIONAL) != 0;

	for (;;)
	{
		int32		groupid = node->groupid;
		RemoteConn *conn = open_connection(node, mode);

		if (conn == NULL)
			return NULL;
		claim_conn(conn, owner);
		if (optional)
			connect_finish(conn);
		else
			connect_finish_queued(conn);
		if (conn->state != REMOTE_DEAD)
			return conn;
		if (!optional && !has_moved(conn))
			connect_report(conn);
		connect_close(conn);
		if (optional)
			return NULL;
		node = follower_or_node_of_group(groupid);
	}
}

/* How many connections to a node have an owner. */
static int
count_claimed(int32 groupid)
{
	int			n = 0;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && conn->owner != NULL)
			n++;
	return n;
}

/*
 * An idle connection, a new one (unless there are enough), or one that its
 * owner yields; connected.  primary: it will be its node's primary one.
 */
static RemoteConn *
acquire_connection(int32 groupid, RemoteOwner *owner, bool primary)
{
	const ClusterNode *node = follower_or_node_of_group(groupid);
	bool		enough = !primary && count_claimed(groupid) >= max_adaptive_executor_pool_size;
	RemoteConn *conn = find_idle(node, !primary && owner->resends);

	while (conn == NULL)
	{
		RemoteConn *claimed = find_claimed(groupid, owner);

		if (claimed == NULL || !enough)
			conn = connect_new(node, owner, claimed != NULL ? OPEN_OPTIONAL : OPEN_REQUIRED);
		if (conn == NULL)
		{
			yield_conn(claimed);
			if (claimed->state == REMOTE_IDLE)
				conn = claimed;
		}
	}
	claim_conn(conn, owner);
	return conn;
}

static RemoteConn *
find_primary(int32 groupid)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && conn->primary)
			return conn;
	return NULL;
}

/*
 * Errors if the primary connection was lost in this transaction, and its work
 * with it.
 */
static void
check_not_lost(RemoteConn *conn)
{
	if (conn->state == REMOTE_DEAD)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to node %s:%d was lost", conn->nodename, conn->nodeport)));
}

RemoteConn *
pool_acquire_primary(int32 groupid, RemoteOwner *owner)
{
	RemoteConn *conn;

	begin_use(CONNECT_POOLED);
	conn = find_primary(groupid);
	if (conn == NULL)
	{
		conn = acquire_connection(groupid, owner, true);
		conn->primary = true;
		if (conn->xact == REMOTE_XACT_LONE)
			conn->xact = REMOTE_XACT_OPEN;
		return conn;
	}
	take_over(conn, owner);
	check_not_lost(conn);
	return conn;
}

/*
 * A connection to the node itself that is in no transaction, for a command
 * that commits by itself.
 */
RemoteConn *
pool_acquire_alone(int32 groupid, RemoteOwner *owner)
{
	const ClusterNode *node;
	RemoteConn *conn;

	node_session_check_call();
	follower_refuse_write();
	begin_use(CONNECT_POOLED);
	node = follower_or_node_of_group(groupid);
	conn = find_idle(node, false);
	if (conn == NULL || !conn->priv->direct || conn->xact != REMOTE_XACT_NONE)
		return connect_new(node, owner, OPEN_PAST_POOLER);
	claim_conn(conn, owner);
	return conn;
}

/*
 * A connection outside the pool, to the node itself, a node's session for
 * superusers only; may be still connecting.
 */
RemoteConn *
pool_open_plain(const char *host, int port, ConnectKind kind, Oid login_role, RemoteOwner *owner)
{
	RemoteConn *conn;

	begin_use(kind);
	conn = connect_start(host, port, login_role, true, kind);
	claim_conn(conn, owner);
	return conn;
}

/* What the node has said of the connections that it has left, or NULL. */
static const char *
told_by_node(RemoteConn *conn)
{
	return channel_parameter(&conn->priv->channel, FREE_SLOTS_PARAMETER);
}

/* Whether the node has said that it has few connections left. */
static bool
has_scarce_node(RemoteConn *conn)
{
	const char *told = told_by_node(conn);

	return told != NULL && strncmp(told, FREE_SLOTS_FEW, strlen(FREE_SLOTS_FEW)) == 0;
}

/* Whether a node's connections are shared out. */
static bool
has_crowded_node(RemoteConn *conn)
{
	const char *told = told_by_node(conn);

	return told != NULL && told[0] != '\0';
}

void
pool_hear(RemoteConn *conn)
{
	const char *told = told_by_node(conn);

	conn->priv->heard = true;
	if (!conn->priv->pooled)
		return;
	if (told == NULL || told[0] == '\0')
		shared_pool_has_room();
	else
		shared_pool_has_share(atoi(has_scarce_node(conn) ? told + strlen(FREE_SLOTS_FEW) : told));
}

/* Whether a connection can be closed without loss. */
static bool
is_dispensable(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	return conn->groupid >= 0 && !priv->plain && !priv->own && conn->owner == NULL && !conn->primary &&
		conn->state == REMOTE_IDLE && conn->xact == REMOTE_XACT_NONE && priv->cancel_fd < 0;
}

static void
end_dispensable(void (*end) (RemoteConn *conn))
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		if (is_dispensable(conn))
			end(conn);
	}
}

void
pool_close_idle(void)
{
	end_dispensable(connect_close);
}

void
pool_keep_idle(void)
{
	end_dispensable(connect_leave);
}

int
pool_cached_lifetime(void)
{
	return max_cached_connection_lifetime;
}

bool
remote_has_idle(int32 groupid)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && is_dispensable(conn))
			return true;
	return false;
}

void
remote_release_to_node(RemoteConn *conn, RemoteOwner *owner)
{
	remote_release(conn, owner);
	if (is_dispensable(conn) && has_scarce_node(conn))
		connect_close(conn);
}

RemoteConn *
remote_acquire_primary(int32 groupid, RemoteOwner *owner)
{
	node_session_check_call();
	return pool_acquire_primary(groupid, owner);
}

RemoteConn *
remote_acquire(int32 groupid, RemoteOwner *owner, bool write)
{
	RemoteConn *conn;

	node_session_check_call();
	begin_use(CONNECT_POOLED);
	if (write)
	{
		follower_refuse_write();
		node_share_address_local(groupid);
	}
	conn = find_primary(groupid);
	if (write || (conn != NULL && conn->xact != REMOTE_XACT_NONE) ||
		(pipeline_txn_hooks()->reads_in_xact != NULL && pipeline_txn_hooks()->reads_in_xact()))
		return pool_acquire_primary(groupid, owner);

	return acquire_connection(groupid, owner, false);
}

RemoteConn *
remote_acquire_extra(int32 groupid, RemoteOwner *owner, int open)
{
	const ClusterNode *node;
	RemoteConn *conn;

	if (open >= max_adaptive_executor_pool_size || IsolationUsesXactSnapshot())
		return NULL;
	for (conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && (conn->xact_wrote || has_crowded_node(conn)))
			return NULL;

	begin_use(CONNECT_POOLED);
	node = follower_or_node_of_group(groupid);
	conn = find_idle(node, false);
	if (conn == NULL)
	{
		if (count_claimed(groupid) >= max_adaptive_executor_pool_size)
			return NULL;
		conn = open_connection(node, OPEN_OPTIONAL);
		if (conn == NULL)
			return NULL;
	}
	claim_conn(conn, owner);
	return conn;
}

bool
remote_give_up_extra(RemoteConn *conn)
{
	if (!conn->priv->extra || !shared_pool_crowded() || conn->state != REMOTE_IDLE || conn->primary ||
		conn->xact == REMOTE_XACT_OPEN)
		return false;
	connect_close(conn);
	return true;
}

/* All owners leave the connections of a node idle. */
void
pool_yield_group(int32 groupid)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (in_pool(conn, groupid) && conn->owner != NULL && !conn->primary &&
			(conn->state == REMOTE_BUSY || conn->state == REMOTE_COPY_IN))
			yield_conn(conn);
}

void
remote_yield_all(void)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->owner != NULL && (conn->state == REMOTE_BUSY || conn->state == REMOTE_COPY_IN))
			yield_conn(conn);
}

/*
 * A read outside a transaction whose rows aren't needed any more is cancelled,
 * if it isn't over.  Inside one, that would break the transaction, so the rest
 * of the rows is read.
 */
void
remote_release(RemoteConn *conn, RemoteOwner *owner)
{
	if (conn->owner != owner)
		return;

	if (conn->state == REMOTE_BUSY || conn->state == REMOTE_COPY_IN)
	{
		if (conn->xact == REMOTE_XACT_OPEN)
		{
			if (conn->state == REMOTE_COPY_IN)
				remote_settle(conn, node_connection_timeout);
			if (conn->state == REMOTE_BUSY)
				remote_finish(conn);
		}
		else
		{
			remote_settle(conn, node_connection_timeout);

			/* the cancel may have come before its BEGIN was run */
			if (conn->state == REMOTE_IDLE && !remote_in_xact(conn))
				conn->xact = REMOTE_XACT_NONE;
		}
	}
	conn->owner = NULL;
}

void
remote_end_lone(RemoteConn *conn)
{
	if (conn->state != REMOTE_IDLE || conn->owner != NULL)
		return;
	if (remote_xact_failed(conn))
		remote_send_rollback(conn);
	else
		remote_send_silent(conn, "COMMIT");
	conn->xact = REMOTE_XACT_NONE;
	conn->priv->ending = true;
}

/*
 * Whether a connection may be kept for the next transaction, n of its kind
 * being kept already.
 */
static bool
may_cache(RemoteConn *conn, int n)
{
	RemoteConnPrivate *priv = conn->priv;

	return !priv->plain && !priv->own && !priv->passes_pooler && !has_scarce_node(conn) && conn->state == REMOTE_IDLE && priv->cancel_fd < 0 &&
		(priv->ending || (priv->items_head == priv->items_tail && !remote_in_xact(conn))) &&
		n < max_cached_conns_per_worker &&
		(max_cached_connection_lifetime < 0 ||
		 !TimestampDifferenceExceeds(priv->established, GetCurrentTimestamp(),
									 max_cached_connection_lifetime));
}

/* How many connections of the same kind stand before conn in the list. */
static int
count_before(RemoteConn *conn)
{
	int			n = 0;

	for (RemoteConn *other = remote_following(NULL); other != conn; other = remote_following(other))
		if (!other->priv->plain && other->groupid == conn->groupid)
			n++;
	return n;
}

/*
 * Closes the connections that may not be cached (all, if other sessions wait
 * for one), and sets the timeout for the others.
 */
static void
close_surplus(void)
{
	dlist_mutable_iter iter;
	TimestampTz oldest = DT_NOEND;
	bool		give_up;

	shared_pool_note_idle();
	give_up = shared_pool_due();

	dlist_foreach_modify(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		if (!give_up && may_cache(conn, count_before(conn)))
			oldest = Min(oldest, conn->priv->established);
		else if (has_scarce_node(conn))
			connect_close(conn);
		else
			connect_leave(conn);
	}
	if (!dlist_is_empty(&remote_conns) && max_cached_connection_lifetime >= 0)
		expiry_set(TimestampTzPlusMilliseconds(oldest, max_cached_connection_lifetime));
}

void
remote_end_transaction(void)
{
	dlist_iter	iter;

	if (!used_in_transaction)
		return;
	used_in_transaction = false;

	dlist_foreach(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		conn->owner = NULL;
		conn->primary = false;
		if (conn->priv->used)
		{
			conn->priv->last_used = GetCurrentStatementStartTimestamp();
			pool_hear(conn);
		}
		conn->priv->used = false;
		conn->priv->commits = false;
		conn->xact = REMOTE_XACT_NONE;
		conn->xact_wrote = false;
	}
	dlist_foreach(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		if (conn->state == REMOTE_CONNECTING)
			connect_finish_within(conn, POLITE_MS);
	}
	close_surplus();
}

void
remote_end_unused_transaction(void)
{
	if (dlist_is_empty(&remote_conns))
		return;
	if ((max_cached_connection_lifetime >= 0 && expiry_due()) || shared_pool_crowded())
		close_surplus();
}

/*
 * Owners of a subtransaction are inherited by its parent, or vanish.  The
 * statements of vanished owners are stopped; on connections in a remote
 * transaction, src/txn has already done so.
 */
void
remote_end_subtransaction(bool commit, SubTransactionId subid, SubTransactionId parent)
{
	dlist_mutable_iter iter;

	if (!used_in_transaction)
		return;

	dlist_foreach_modify(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		if (conn->priv->owner_subid != subid)
			continue;
		conn->priv->owner_subid = parent;
		if (commit)
			continue;
		conn->owner = NULL;
		if (conn->priv->plain || conn->state == REMOTE_CONNECTING)
			connect_close(conn);
		else if (conn->state == REMOTE_BUSY || conn->state == REMOTE_COPY_IN)
			remote_settle(conn, node_connection_timeout);
	}
}
