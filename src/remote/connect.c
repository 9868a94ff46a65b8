/*-------------------------------------------------------------------------
 *
 * connect.c
 *	  Opening and closing connections.
 *
 * A connection is opened without blocking, except for the lookup of the host
 * name, and is in pipeline mode from then on.  Time limits make a node that
 * vanishes noticed: libpq's TCP settings while connected,
 * citus.node_connection_timeout while connecting.  citus.node_conninfo
 * overrides all of them.
 *
 * Structs live in TopMemoryContext until connect_close.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "common/pg_prng.h"
#include "commands/dbcommands.h"
#include "libpq-fe.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/stat_counters.h"
#include "compat/login_triggers.h"
#include "lib/socket_buffer.h"
#include "lib/wait_event.h"
#include "remote/auth_info.h"
#include "remote/own_address.h"
#include "remote/pool_info.h"
#include "remote/prepared.h"
#include "remote/private.h"
#include "remote/transport.h"

dlist_head	remote_conns = DLIST_STATIC_INIT(remote_conns);
int			node_connection_timeout = 30000;

/* How often a login is tried again whose password is refused. */
#define MAX_LOGINS 10

/*
 * How long to wait before a node that has no free connection is asked again,
 * at first and at most.
 */
#define FULL_PAUSE_MS 5
#define MAX_FULL_PAUSE_MS 200

/*
 * How long to wait for the last answer on a connection that isn't needed any
 * more.
 */
#define POLITE_MS 100

/*
 * How long a node may take to stop a statement and undo what it did, however
 * long it may take otherwise: the user doesn't want it any more.
 */
#define UNDO_TIMEOUT_MS 5000

static char *node_conninfo = NULL;
static uint64 last_serial = 0;

/*
 * What citus.node_conninfo may set: nothing that determines the user or the
 * destination.
 */
static const char *const conninfo_keywords[] = {
	"connect_timeout", "gssencmode", "gsslib", "hostaddr", "keepalives", "keepalives_count",
	"keepalives_idle", "keepalives_interval", "krbsrvname", "sslcert", "sslcompression",
	"sslcrl", "sslcrldir", "sslkey", "sslkeylogfile", "ssl_max_protocol_version",
	"ssl_min_protocol_version", "sslmode", "sslnegotiation", "sslrootcert", "sslsni",
	"tcp_user_timeout", "channel_binding", "passfile", NULL
};

/* What pg_dist_authinfo may set in addition. */
static const char *const secret_keywords[] = {"password", "require_auth", NULL};

static bool
in_list(const char *const *list, const char *keyword)
{
	for (int i = 0; list[i] != NULL; i++)
		if (strcmp(list[i], keyword) == 0)
			return true;
	return false;
}

static bool
check_node_conninfo(char **newval, void **extra, GucSource source)
{
	char	   *message = NULL;
	PQconninfoOption *options = PQconninfoParse(*newval, &message);
	bool		ok = true;

	if (options == NULL)
	{
		GUC_check_errdetail("%s", message != NULL ? pchomp(message) : "out of memory");
		if (message != NULL)
			PQfreemem(message);
		return false;
	}
	for (PQconninfoOption *option = options; ok && option->keyword != NULL; option++)
	{
		if (option->val != NULL && option->val[0] != '\0' && !in_list(conninfo_keywords, option->keyword))
		{
			GUC_check_errdetail("Connection parameter \"%s\" can't be set here.", option->keyword);
			ok = false;
		}
	}
	PQconninfoFree(options);
	return ok;
}

void
connect_init(void)
{
	DefineCustomStringVariable("citus.node_conninfo",
							   "Connection parameters for connections between nodes.",
							   "In the form of a libpq connection string; parameters about security, time "
							   "limits and TCP only.",
							   &node_conninfo, "sslmode=prefer", PGC_SIGHUP, GUC_SUPERUSER_ONLY,
							   check_node_conninfo, NULL, NULL);
	DefineCustomIntVariable("citus.node_connection_timeout",
							"Sets how long connecting to another node may take.",
							"The same time is given to a node to answer when a transaction ends.",
							&node_connection_timeout, 30000, 10, 3600 * 1000, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

int
remote_connection_timeout(void)
{
	return node_connection_timeout;
}

int
remote_undo_timeout(void)
{
	return Min(node_connection_timeout, UNDO_TIMEOUT_MS);
}

/*
 * Connections send the role's stored password, so only a superuser may connect
 * to a server that isn't a node (yet).
 */
static void
check_destination(const char *host, int port)
{
	if (!superuser() && !node_is_known(host, port))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to connect to %s:%d, which is not a node", host, port),
				 errhint("The nodes of the cluster are listed in pg_dist_node.")));
}

#define MAX_PARAMS 48

typedef struct ConnectParams
{
	int			count;
	const char *keywords[MAX_PARAMS + 1];
	const char *values[MAX_PARAMS + 1];
} ConnectParams;

static void
add_param(ConnectParams *params, const char *keyword, const char *value)
{
	for (int i = 0; i < params->count; i++)
	{
		if (strcmp(params->keywords[i], keyword) == 0)
		{
			params->values[i] = value;
			return;
		}
	}
	if (params->count >= MAX_PARAMS)
		elog(ERROR, "too many connection parameters");
	params->keywords[params->count] = keyword;
	params->values[params->count] = value;
	params->count++;
}

/* Adds the parameters of a connection string that are in one of two lists. */
static void
add_conninfo(ConnectParams *params, const char *conninfo, const char *const *allowed, const char *const *more)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

	if (options == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid connection string for a connection between nodes"),
				 errhint("Look at citus.node_conninfo, pg_dist_authinfo and pg_dist_poolinfo.")));
	for (PQconninfoOption *option = options; option->keyword != NULL; option++)
	{
		if (option->val != NULL &&
			(in_list(allowed, option->keyword) || (more != NULL && in_list(more, option->keyword))))
			add_param(params, pstrdup(option->keyword), pstrdup(option->val));
	}
	PQconninfoFree(options);
}

/* Routes a connection to a node's gateway through our own, if possible. */
static void
route_params(ConnectParams *params)
{
	char	   *host;
	char	   *port;
	char	   *options;

	if (!transport_route(params->keywords, params->values, &host, &port, &options))
		return;
	add_param(params, "host", host);
	add_param(params, "port", port);
	add_param(params, "options", options);
	add_param(params, "hostaddr", "");
	params->keywords[params->count] = NULL;
	params->values[params->count] = NULL;
}

/*
 * Has the login prove that it is a node's.  A superuser's session need not: it
 * may do anything.
 */
static void
add_proof(ConnectParams *params, Oid login_role, ConnectKind kind)
{
	char		proof[NODE_PROOF_SIZE] = "superuser";

	if (!COMPAT_LOGIN_TRIGGERS && (kind == CONNECT_POOLED || !superuser_arg(login_role)))
		return;
	if (!superuser_arg(login_role))
		node_proof_write(login_role, 0, proof);
	add_param(params, "options", psprintf("-c " NODE_PROOF_SETTING "=%s", proof));
}

/*
 * Fills in all parameters of a connection, in CurrentMemoryContext.  poolinfo
 * is NULL without a pooler; proves: whether the login is to have a proof.
 */
static void
connect_params(ConnectParams *params, const char *host, int port, const ClusterNode *node, Oid login_role,
			   const char *poolinfo, ConnectKind kind, bool proves)
{
	char	   *silence = psprintf("%d", node_connection_timeout);
	char	   *role = GetUserNameFromId(login_role, false);
	char	   *secrets = auth_info_lookup(role, node != NULL ? node->nodeid : 0);

	params->count = 0;
	add_param(params, "host", host);
	add_param(params, "port", psprintf("%d", port));
	add_param(params, "dbname", get_database_name(MyDatabaseId));
	add_param(params, "user", role);
	add_param(params, "client_encoding", GetDatabaseEncodingName());
	add_param(params, "application_name",
			  psprintf("citus_internal gpid=" UINT64_FORMAT, backend_gpid()));
	if (proves && poolinfo == NULL)
		add_proof(params, login_role, kind);
	if (kind == CONNECT_REPLICATION)
		add_param(params, "replication", "database");
	add_param(params, "keepalives_idle", "20");
	add_param(params, "keepalives_interval", "5");
	add_param(params, "keepalives_count", "4");
	add_param(params, "tcp_user_timeout", silence);
	add_conninfo(params, node_conninfo, conninfo_keywords, NULL);
	if (secrets != NULL)
		add_conninfo(params, secrets, conninfo_keywords, secret_keywords);
	if (poolinfo != NULL)
		add_conninfo(params, poolinfo, pool_info_keywords, NULL);

	params->keywords[params->count] = NULL;
	params->values[params->count] = NULL;
	if (poolinfo != NULL)
		route_params(params);
}

/* A value as libpq's connection strings quote it. */
static char *
conninfo_value(const char *value)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '\'');
	for (; *value != '\0'; value++)
	{
		if (*value == '\'' || *value == '\\')
			appendStringInfoChar(&buf, '\\');
		appendStringInfoChar(&buf, *value);
	}
	appendStringInfoChar(&buf, '\'');
	return buf.data;
}

char *
remote_conninfo(const char *host, int port, char **password)
{
	ConnectParams params;
	StringInfoData buf;

	check_destination(host, port);
	own_address_require();
	connect_params(&params, host, port, node_at_address(host, port), GetSessionUserId(), NULL, CONNECT_POOLED, true);
	initStringInfo(&buf);
	*password = NULL;
	for (int i = 0; i < params.count; i++)
	{
		if (strcmp(params.keywords[i], "password") == 0)
			*password = pstrdup(params.values[i]);
		else if (strcmp(params.keywords[i], "application_name") != 0)
			appendStringInfo(&buf, "%s=%s ", params.keywords[i], conninfo_value(params.values[i]));
	}
	return buf.data;
}

static void
connect_failed(RemoteConn *conn)
{
	conn->state = REMOTE_DEAD;
	stat_counter_add(STAT_CONNECTION_FAILED);
}

/* The pooler by which a connection goes; NULL: none. */
static const char *
pooler_of(const ClusterNode *node, bool pass_pooler, ConnectKind kind)
{
	return node == NULL || pass_pooler || kind != CONNECT_POOLED ? NULL : pool_info_lookup(node->nodeid);
}

/* Makes a connection that is open ready for use. */
static void
connect_done(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (!priv->plain && !channel_set_pipeline(&priv->channel, true))
	{
		connect_failed(conn);
		return;
	}
	if (priv->established == 0)
	{
		stat_counter_add(STAT_CONNECTION_MADE);
		priv->established = GetCurrentTimestamp();
		socket_buffer_enlarge(channel_socket(&priv->channel));
	}
	else
		priv->fresh = false;	/* another session has opened it */
	priv->settings = settings_create();
	conn->state = REMOTE_IDLE;
	priv->peer_pid = channel_peer_pid(&priv->channel);
	backend_add_peer(priv->peer_group, priv->peer_pid);
}

/*
 * Starts connecting.  The struct is added to remote_conns before anything can
 * fail, so nothing is leaked; connect_poll reports failures.
 */
RemoteConn *
connect_start(const char *host, int port, Oid login_role, bool pass_pooler, ConnectKind kind)
{
	ConnectParams params;
	RemoteConnPrivate *priv;
	RemoteConn *conn;
	const ClusterNode *node = node_at_address(host, port);
	const char *poolinfo = pooler_of(node, pass_pooler, kind);

	check_destination(host, port);
	if (kind != CONNECT_UNCHECKED)
		own_address_require();
	connect_params(&params, host, port, node, login_role, poolinfo, kind, true);

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not connect to node %s:%d", host, port),
				 errdetail("There are too many open files on the local server."),
				 errhint("Raise the server's max_files_per_process and/or \"ulimit -n\" limits.")));

	priv = MemoryContextAllocExtended(TopMemoryContext, sizeof(RemoteConnPrivate),
									  MCXT_ALLOC_ZERO | MCXT_ALLOC_NO_OOM);
	if (priv == NULL)
	{
		ReleaseExternalFD();
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	conn = &priv->conn;
	conn->priv = priv;
	conn->groupid = -1;
	priv->peer_group = node != NULL && node->is_primary ? node->groupid : -1;
	strlcpy(conn->nodename, host, sizeof(conn->nodename));
	conn->nodeport = port;
	conn->login_role = login_role;
	conn->state = REMOTE_CONNECTING;
	priv->serial = ++last_serial;
	priv->passes_pooler = pass_pooler && node != NULL && pool_info_lookup(node->nodeid) != NULL;
	priv->plain = kind != CONNECT_POOLED;
	priv->kind = kind;
	priv->pass_pooler = pass_pooler;
	priv->fresh = true;
	priv->cancel_fd = -1;
	priv->started = GetCurrentTimestamp();
	dlist_push_tail(&remote_conns, &priv->link);

	if (kind == CONNECT_POOLED && poolinfo == NULL)
	{
		kept_key_make(&priv->kept_key, params.keywords, params.values, login_role);
		priv->keepable = true;
	}
	if (priv->keepable &&
		kept_take(&priv->kept_key, &priv->channel, login_role, notice_receiver, conn, &priv->established))
		connect_done(conn);
	else if (!channel_open(&priv->channel, params.keywords, params.values, notice_receiver, conn))
		connect_failed(conn);
	return conn;
}

/* Whether there is a pooler at the node's address that takes no options. */
static bool
refuses_options(const RemoteConn *conn)
{
	return channel_refusal(&conn->priv->channel) == CHANNEL_REFUSED && conn->priv->kind == CONNECT_POOLED &&
		strstr(channel_failure(&conn->priv->channel), "unsupported startup parameter") != NULL;
}

/* Replaces a channel that was refused by another one. */
static bool
open_again(RemoteConn *conn, const ConnectParams *params)
{
	RemoteConnPrivate *priv = conn->priv;

	wait_forget(conn);
	channel_close(&priv->channel);
	memset(&priv->channel, 0, sizeof(Channel));
	return channel_open(&priv->channel, params->keywords, params->values, notice_receiver, conn);
}

/*
 * Logs in again, at once, after the node has refused the password: it may be
 * changing.  The transaction that changes it in pg_dist_authinfo and of the
 * role commits at slightly different times on the nodes.  Or without a proof,
 * after a pooler has refused that.  False if it was tried often enough.
 */
static bool
log_in_again(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	const ClusterNode *node;
	ConnectParams params;
	bool		unproven = refuses_options(conn);

	if ((!unproven && channel_refusal(&priv->channel) != CHANNEL_PASSWORD_USED) || !IsTransactionState() ||
		++priv->logins > MAX_LOGINS)
		return false;
	AcceptInvalidationMessages();
	node = node_at_address(conn->nodename, conn->nodeport);
	connect_params(&params, conn->nodename, conn->nodeport, node, conn->login_role,
				   pooler_of(node, priv->pass_pooler, priv->kind), priv->kind, !unproven);
	return open_again(conn, &params);
}

bool
connect_poll(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (conn->state != REMOTE_CONNECTING)
		return true;

	switch (channel_connect(&priv->channel))
	{
		case CHANNEL_END:
			connect_done(conn);
			return true;
		case CHANNEL_LOST:
			if (log_in_again(conn))
				break;
			connect_failed(conn);
			return true;
		default:
			break;
	}
	if (TimestampDifferenceExceeds(priv->started, GetCurrentTimestamp(), node_connection_timeout))
	{
		connect_failed(conn);
		priv->timed_out = true;
		return true;
	}
	return false;
}

/* Continues connecting until that ends, or the deadline has passed. */
static void
connect_until(RemoteConn *conn, TimestampTz deadline)
{
	while (conn->state == REMOTE_CONNECTING)
	{
		if (!wait_for_conn(conn, deadline))
			break;
		connect_poll(conn);
	}
}

void
connect_finish(RemoteConn *conn)
{
	connect_until(conn, TimestampTzPlusMilliseconds(conn->priv->started, node_connection_timeout));
	if (conn->state == REMOTE_CONNECTING)
	{
		connect_failed(conn);
		conn->priv->timed_out = true;
	}
}

/*
 * Waits a moment after a node has refused a connection since it has too many,
 * and tries again; false if it has refused it for another reason, or for as
 * long as connecting may take.
 */
static bool
try_full_node_again(RemoteConn *conn, TimestampTz deadline, int pause_ms)
{
	RemoteConnPrivate *priv = conn->priv;
	ConnectParams params;

	if (conn->state != REMOTE_DEAD || channel_refusal(&priv->channel) != CHANNEL_FULL ||
		GetCurrentTimestamp() >= deadline || !IsTransactionState())
		return false;
	shared_pool_has_share(0);
	pool_close_idle();
	wait_pause(pause_ms, WAIT_NODE_CONNECTION);
	connect_params(&params, conn->nodename, conn->nodeport, node_at_address(conn->nodename, conn->nodeport),
				   conn->login_role, pooler_of(node_at_address(conn->nodename, conn->nodeport), priv->pass_pooler, priv->kind),
				   priv->kind, true);
	conn->state = REMOTE_CONNECTING;
	priv->started = GetCurrentTimestamp();
	if (!open_again(conn, &params))
		connect_failed(conn);
	return true;
}

void
connect_finish_queued(RemoteConn *conn)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(conn->priv->started, node_connection_timeout);
	int			pause_ms = FULL_PAUSE_MS;

	do
	{
		connect_finish(conn);
		pause_ms = Min(pause_ms * 2, MAX_FULL_PAUSE_MS);
	}
	while (try_full_node_again(conn, deadline, pause_ms / 2 + (int) (pg_prng_double(&pg_global_prng_state) * pause_ms / 2)));
}

void
connect_finish_within(RemoteConn *conn, int limit_ms)
{
	connect_until(conn, TimestampTzPlusMilliseconds(conn->priv->started, limit_ms));
}

char *
connect_failure(RemoteConn *conn)
{
	const char *message = channel_failure(&conn->priv->channel);

	/* libpq's message may be no more than the address, then */
	if (conn->state == REMOTE_CONNECTING)
		return pstrdup("The node did not answer in time.");
	if (conn->priv->timed_out || message[0] == '\0')
		return psprintf("The node did not answer within %d ms.", node_connection_timeout);
	return pchomp(message);
}

char *
connect_advice(const RemoteConn *conn)
{
	const ClusterNode *node = node_at_address(conn->nodename, conn->nodeport);
	const ClusterNode *own = node_primary_of(metadata_local_group());
	const char *here = own == NULL ? "this node" : psprintf("node %s:%d", own->host, own->port);
	char	   *role = GetUserNameFromId(conn->login_role, false);

	switch (channel_refusal(&conn->priv->channel))
	{
		case CHANNEL_NO_PASSWORD:
			return psprintf("In pg_dist_authinfo of %s there is no row with a password for rolename \"%s\" and nodeid %d or 0: "
							"use citus_set_node_password.", here, role, node == NULL ? 0 : node->nodeid);
		case CHANNEL_PASSWORD_USED:
			return psprintf("If the password of role \"%s\" is not the one in pg_dist_authinfo of %s (nodeid %d or 0), "
							"use citus_set_node_password.", role, here, node == NULL ? 0 : node->nodeid);
		case CHANNEL_FULL:
			return psprintf("Raise max_connections of node %s:%d, or lower citus.max_shared_pool_size or "
							"citus.max_cached_conns_per_worker of the nodes that connect to it.",
							conn->nodename, conn->nodeport);
		default:
			return NULL;
	}
}

/*
 * How to go on without a node that no server has answered for; NULL if that is
 * not known.
 */
static char *
unreached_advice(const RemoteConn *conn)
{
	if (channel_refusal(&conn->priv->channel) != CHANNEL_NOT_REACHED)
		return NULL;
	if (conn->priv->peer_group == COORDINATOR_GROUP)
		return "Start its server. The coordinator can't be disabled; if another server has its data, use citus_update_node.";
	if (conn->priv->peer_group < 0)
		return NULL;
	return psprintf("Start its server, or go on without the node: SELECT citus_disable_node(%s, %d, force => true) makes its shards "
					"unavailable until citus_activate_node. If another server has its data, use citus_update_node.",
					quote_literal_cstr(conn->nodename), conn->nodeport);
}

/* Raises the failure of a connection that could not be made, and closes it. */
void
connect_report(RemoteConn *conn)
{
	char	   *detail = connect_failure(conn);
	char	   *advice = connect_advice(conn);
	char	   *host = pstrdup(conn->nodename);
	int			port = conn->nodeport;

	if (advice == NULL)
		advice = unreached_advice(conn);
	connect_close(conn);
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("could not connect to node %s:%d", host, port),
			 errdetail_internal("%s", detail),
			 advice != NULL ? errhint("%s", advice) : 0));
}

void
connect_hide(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (priv->peer_pid != 0)
		backend_remove_peer(priv->peer_group, priv->peer_pid);
	priv->peer_pid = 0;
}

/*
 * Whether nothing distinguishes a connection from a new one but what DISCARD
 * ALL undoes.
 */
static bool
may_leave(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (!priv->keepable || !priv->direct || priv->own || priv->cancel_fd >= 0 || conn->state != REMOTE_IDLE ||
		conn->xact != REMOTE_XACT_NONE || priv->error != NULL || priv->identity_open ||
		conn->groupid < 0)
		return false;
	if (priv->items_head < priv->items_tail)
		(void) pipeline_drain(conn, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), POLITE_MS));
	return conn->state == REMOTE_IDLE && priv->items_head == priv->items_tail && !remote_in_xact(conn) &&
		channel_alive(&priv->channel);
}

void
connect_leave(RemoteConn *conn)
{
	if (may_leave(conn))
		(void) kept_leave(&conn->priv->kept_key, &conn->priv->channel, conn->priv->established);
	connect_close(conn);
}

void
connect_close(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	dlist_delete(&priv->link);
	wait_forget(conn);
	connect_hide(conn);
	if (priv->cancel_fd >= 0)
		close(priv->cancel_fd);
	remote_error_free(priv->error);
	channel_close(&priv->channel);
	ReleaseExternalFD();
	if (priv->extra)
		shared_pool_remove_extra(conn->nodename, conn->nodeport);
	if (priv->pooled)
		pool_slot_unused();
	if (priv->settings != NULL)
		settings_free(priv->settings);
	prepared_free(conn);
	if (priv->items != NULL)
		pfree(priv->items);
	pfree(priv);
}
