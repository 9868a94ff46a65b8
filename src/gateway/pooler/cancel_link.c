/*-------------------------------------------------------------------------
 *
 * cancel_link.c
 *	  Requests to cancel a client's statement.
 *
 * Each is sent to the server on a separate connection.  The server closes that
 * once it has signalled the backend; until then, the backend stays with its
 * client (backend_give_back), so that the signal can't hit another client's
 * statement.
 *
 * A client's request may arrive at the gateway of another node than the
 * client's, if a load balancer distributes connections.  A session of any pool
 * sends a request for an unknown client to all nodes; there a function stores
 * it to the area of the server's gateway (cancel_function.c), which its
 * processes read.  Of a longer key, the first four bytes are passed on.  Since
 * any client can send such requests, few are kept, and
 * few passed on at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "gateway/pooler/session.h"
#include "gateway/server/gateway_stats.h"

/*
 * Limits of requests to be sent to other nodes: their number, how long they
 * wait, the interval between two.
 */
#define MAX_FORWARDED 16
#define FORWARDED_TIME INT64CONST(10000000)
#define FORWARDED_INTERVAL INT64CONST(50000)

/* A node that hasn't taken a request by then doesn't answer any more. */
#define CANCEL_TIME INT64CONST(3000000)

typedef struct ForwardedCancel
{
	int32		pid;
	int32		key;
	int64		since;
} ForwardedCancel;

static ForwardedCancel forwarded_cancels[MAX_FORWARDED];	/* the oldest first */
static int	nforwarded_cancels = 0;

typedef struct CancelLink
{
	Stream		stream;			/* first */
	dlist_node	link;
	Backend    *backend;		/* NULL: closed meanwhile */
	void		(*done) (void *arg);	/* of cancel_session, or NULL */
	void	   *arg;
	int32		pid;			/* as the server has sent them */
	int32		key;
	int64		since;
	bool		sent;
} CancelLink;

static dlist_head cancel_links = DLIST_STATIC_INIT(cancel_links);

static void
end_cancel(CancelLink *cancel)
{
	Backend    *backend = cancel->backend;

	dlist_delete(&cancel->link);
	stream_close(&cancel->stream, cancel);
	if (cancel->done != NULL)
		cancel->done(cancel->arg);
	if (backend == NULL)
		return;
	backend->cancels--;
	if (backend->cancels == 0 && backend->state == BACKEND_LENT)
		backend_give_back(backend);
}

static void
cancel_arrived(Stream *stream)
{
	CancelLink *cancel = (CancelLink *) stream;

	if (!cancel->sent && !stream->ended)
	{
		uint32		packet[2] = {pg_hton32(16), pg_hton32(CANCEL_REQUEST_CODE)};

		stream_put(stream, packet, sizeof(packet));
		stream_put(stream, &cancel->pid, sizeof(cancel->pid));
		stream_put(stream, &cancel->key, sizeof(cancel->key));
		cancel->sent = true;
	}
	if (stream->ended)
		end_cancel(cancel);
}

static void
cancel_failed(Stream *stream, const ErrorData *error)
{
	end_cancel((CancelLink *) stream);
}

static const StreamHandler cancel_handler = {
	.arrived = cancel_arrived,
	.failed = cancel_failed,
};

/* NULL: the server can't be reached. */
static CancelLink *
start_cancel(const ServerAddress *address, int32 pid, int32 key)
{
	CancelLink *cancel;
	int			fd = process_connect(address);

	if (fd < 0)
		return NULL;
	cancel = gateway_alloc(sizeof(CancelLink));
	stream_open(&cancel->stream, fd, &cancel_handler, true);
	cancel->pid = pid;
	cancel->key = key;
	cancel->since = stream_now;
	dlist_push_tail(&cancel_links, &cancel->link);
	return cancel;
}

void
cancel_send(Backend *backend)
{
	CancelLink *cancel = start_cancel(&backend->pool->address, backend->pid, backend->key);

	if (cancel == NULL)
		return;
	cancel->backend = backend;
	backend->cancels++;
}

void
cancel_session(int32 pid, int32 key, void (*done) (void *arg), void *arg)
{
	CancelLink *cancel = start_cancel(&own_server, pid, key);

	if (cancel == NULL)
	{
		done(arg);
		return;
	}
	cancel->done = done;
	cancel->arg = arg;
}

void
cancel_forget(Backend *backend)
{
	dlist_iter	iter;

	dlist_foreach(iter, &cancel_links)
	{
		CancelLink *cancel = dlist_container(CancelLink, link, iter.cur);

		if (cancel->backend == backend)
			cancel->backend = NULL;
	}
}

void
cancel_tick(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cancel_links)
	{
		CancelLink *cancel = dlist_container(CancelLink, link, iter.cur);
		Backend    *backend = cancel->backend;

		if (backend == NULL || !backend_is_remote(backend) || stream_now - cancel->since < CANCEL_TIME)
			continue;
		cancel->backend = NULL;
		end_cancel(cancel);
		node_watch_lose(backend);
		break;					/* others may have ended with it */
	}
}

/* A cancel request on its way to another process. */
typedef struct CancelMessage
{
	int32		pid;
	CancelKey	key;
} CancelMessage;

/* A request for a client that may be another node's. */
static void
keep_for_others(int32 pid, const CancelKey *key)
{
	uint32		start;

	memcpy(&start, key->bytes, SHORT_CANCEL_KEY);
	if (nforwarded_cancels < MAX_FORWARDED)
		forwarded_cancels[nforwarded_cancels++] = (ForwardedCancel)
	{
		pid, (int32) pg_ntoh32(start), stream_now
	};
}

static void
cancel_here(int32 pid, const CancelKey *key)
{
	if (!client_cancel(pid, key, false))
		keep_for_others(pid, key);
}

static void
read_mailbox(Stream *stream)
{
	CancelMessage message;

	while (recv(stream->fd, &message, sizeof(message), 0) == sizeof(message))
		cancel_here(message.pid, &message.key);
}

static const StreamHandler mailbox_handler = {
	.arrived = read_mailbox,
	.failed = process_listen_failed,
};

void
cancel_requested(int32 pid, const CancelKey *key)
{
	CancelMessage message = {pid, *key};
	int			number = CANCEL_PID_PROCESS(pid);

	if (number < 0 || number >= gateway_start->processes || number == gateway_start->number)
		cancel_here(pid, key);
	else
		(void) send(gateway_start->mailboxes[number][1], &message, sizeof(message), MSG_NOSIGNAL);
}

void
cancel_open_mailbox(void)
{
	process_listen(gateway_start->mailboxes[gateway_start->number][0], &mailbox_handler);
}

static ForwardedCancel
take_forwarded(void)
{
	ForwardedCancel forwarded = forwarded_cancels[0];

	nforwarded_cancels--;
	memmove(&forwarded_cancels[0], &forwarded_cancels[1], sizeof(ForwardedCancel) * nforwarded_cancels);
	return forwarded;
}

bool
cancel_waits(void)
{
	while (nforwarded_cancels > 0 && stream_now - forwarded_cancels[0].since > FORWARDED_TIME)
		(void) take_forwarded();
	return nforwarded_cancels > 0;
}

void
cancel_pass_on(Pool *pool)
{
	static int64 last_passed = 0;
	ForwardedCancel forwarded;

	if (pool_is_remote(pool) || dlist_is_empty(&pool->idle) || !cancel_waits() ||
		stream_now - last_passed < FORWARDED_INTERVAL)
		return;
	last_passed = stream_now;
	forwarded = take_forwarded();
	if (gateway_put_cancel(gateway_area->forwarded[gateway_start->number], forwarded.pid, forwarded.key))
		backend_ask(dlist_head_element(Backend, idle_link, &pool->idle), "SELECT citus_internal.gateway_pass_cancels()");
}

void
cancel_take_passed(void)
{
	pg_atomic_uint64 *cancels = gateway_area->cancels[gateway_start->number];

	for (int i = 0; i < MAX_REQUESTS; i++)
	{
		uint64		passed = pg_atomic_read_u64(&cancels[i]);
		uint32		start = pg_hton32((uint32) passed);
		CancelKey	key = {.len = SHORT_CANCEL_KEY};

		if (passed == 0)
			continue;
		pg_atomic_write_u64(&cancels[i], 0);
		memcpy(key.bytes, &start, sizeof(start));
		(void) client_cancel((int32) (passed >> 32), &key, true);
	}
}
