/*-------------------------------------------------------------------------
 *
 * node_watch.c
 *	  Noticing that another node doesn't answer any more.
 *
 * A session on another node may be silent for as long as a statement takes,
 * and the kernel of a server that is stopped goes on acknowledging.  So, as
 * remote/keepalive.c does it for the sessions of servers, a node of which
 * something is expected, and that has sent nothing for citus.node_keepalive,
 * is asked by a connection that is good for nothing else.  Any answer to its
 * startup packet will do.  If there is none in citus.node_connection_timeout,
 * the node's silent sessions are lost.  For a client that is beyond its
 * statement_timeout, and so has waited for the node to obey it, the node has
 * less time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>

#include "common/ip.h"

#include "gateway/pooler/session.h"
#include "remote/connection.h"

/* How long a node may take to obey statement_timeout, and then to answer. */
#define OBEY_TIME INT64CONST(1000000)
#define LATE_TIME INT64CONST(3000000)

typedef struct Probe
{
	Stream		stream;			/* first */
	dlist_node	link;
	ServerAddress address;
	char	   *user;
	char	   *database;
	int64		since;
	bool		sent;
} Probe;

static dlist_head node_probes = DLIST_STATIC_INIT(node_probes);

static bool
same_server(const ServerAddress *one, const ServerAddress *other)
{
	return one->len == other->len && memcmp(&one->addr, &other->addr, one->len) == 0;
}

static void
end_probe(Probe *probe)
{
	dlist_delete(&probe->link);
	pfree(probe->user);
	pfree(probe->database);
	stream_close(&probe->stream, probe);
}

/*
 * The node, or its host's refusal, has answered: its sessions may be silent
 * for a while again.
 */
static void
node_answered(const Probe *probe)
{
	dlist_iter	pools;
	dlist_iter	iter;

	dlist_foreach(pools, &gateway_pools)
	{
		Pool	   *pool = dlist_container(Pool, link, pools.cur);

		if (!same_server(&pool->address, &probe->address))
			continue;
		dlist_foreach(iter, &pool->backends)
			dlist_container(Backend, link, iter.cur)->heard = stream_now;
	}
}

static void
probe_arrived(Stream *stream)
{
	Probe	   *probe = (Probe *) stream;

	if (!probe->sent && !stream->ended)
	{
		send_startup_packet(stream, probe->user, probe->database, NULL, NULL, 0);
		probe->sent = true;
	}
	else if (stream->ended || queue_length(&stream->in) > 0)
	{
		node_answered(probe);
		end_probe(probe);
	}
}

static void
probe_failed(Stream *stream, const ErrorData *error)
{
	end_probe((Probe *) stream);
}

static const StreamHandler probe_handler = {
	.arrived = probe_arrived,
	.failed = probe_failed,
};

static Probe *
find_probe(const ServerAddress *address)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node_probes)
	{
		Probe	   *probe = dlist_container(Probe, link, iter.cur);

		if (same_server(&probe->address, address))
			return probe;
	}
	return NULL;
}

static void
start_probe(const Pool *pool)
{
	Probe	   *probe;
	int			fd = process_connect(&pool->address);

	if (fd < 0)
		return;
	probe = gateway_alloc(sizeof(Probe));
	probe->address = pool->address;
	probe->user = gateway_strdup(pool->user);
	probe->database = gateway_strdup(pool->database);
	probe->since = stream_now;
	stream_open(&probe->stream, fd, &probe_handler, true);
	dlist_push_tail(&node_probes, &probe->link);
}

/* How long a node has been silent of which something is expected; else 0. */
static int64
silence_of(Backend *backend)
{
	return expect_head(backend) == NULL || backend->stream.paused ? 0 : stream_now - backend->heard;
}

static bool
is_late(Backend *backend)
{
	int			limit = backend->client != NULL ? backend->client->limits.statement : 0;

	return limit > 0 && silence_of(backend) > limit * INT64CONST(1000) + OBEY_TIME;
}

/* Whether a session has to be given up. */
static bool
is_lost(Backend *backend)
{
	int64		limit = remote_connection_timeout() * INT64CONST(1000);
	Probe	   *probe;
	int64		asked;

	if (backend->state == BACKEND_CONNECTING || backend->state == BACKEND_LOGIN)
		return stream_now - backend->opened > limit;
	probe = find_probe(&backend->pool->address);
	asked = probe == NULL ? 0 : stream_now - probe->since;
	return (asked > limit && silence_of(backend) > asked) || (asked > Min(limit, LATE_TIME) && is_late(backend));
}

void
node_watch_lose(Backend *backend)
{
	ServerAddress address = backend->pool->address;
	char		host[NI_MAXHOST] = "?";
	char		port[NI_MAXSERV] = "?";
	ErrorData	error = {.sqlerrcode = ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN};

	(void) pg_getnameinfo_all(&address.addr, address.len, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	error.message = psprintf("node %s:%s does not answer", host, port);
	error.detail = "Whether what was sent to it was committed is not known.";
	error.hint = "When the node answers again, look at the rows that the transaction would have changed.";
	backend->pool->failed = stream_now;
	backend_fail(backend, &error);
}

/* A session of the pool that is to be given up; NULL: none. */
static Backend *
find_lost(Pool *pool)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pool->backends)
	{
		Backend    *backend = dlist_container(Backend, link, iter.cur);

		if (is_lost(backend))
			return backend;
	}
	return NULL;
}

static void
watch_pool(Pool *pool)
{
	int64		keepalive = remote_keepalive() * INT64CONST(1000);
	Backend    *lost;
	dlist_iter	iter;

	while ((lost = find_lost(pool)) != NULL)
		node_watch_lose(lost);
	dlist_foreach(iter, &pool->backends)
	{
		Backend    *backend = dlist_container(Backend, link, iter.cur);

		if (((keepalive > 0 && silence_of(backend) > keepalive) || is_late(backend)) &&
			find_probe(&pool->address) == NULL)
			start_probe(pool);
	}
}

void
node_watch_tick(void)
{
	int64		limit = remote_connection_timeout() * INT64CONST(1000);
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &gateway_pools)
	{
		Pool	   *pool = dlist_container(Pool, link, iter.cur);

		if (pool_is_remote(pool))
			watch_pool(pool);
	}
	dlist_foreach_modify(iter, &node_probes)
	{
		Probe	   *probe = dlist_container(Probe, link, iter.cur);

		/* all sessions that it stood for have been given up */
		if (stream_now - probe->since > limit)
			end_probe(probe);
	}
}
