/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  A gateway process's sockets, their buffers, and the loop that serves
 *	  them.
 *
 * The loop waits with epoll, since a WaitEventSet is made for a few sockets,
 * and can't remove one.  In each iteration, all streams pass their input to
 * their owners; the output is collected, and sent at the end of the iteration,
 * so that many short messages need only one system call.
 *
 * An idle stream has no buffers.  Input is read only while stream->in is below
 * the high water mark; code that fills another stream's out asks
 * stream_is_full, and pauses its own input until drained is called.
 *
 * An error in a handler closes its stream, not the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nodes/pg_list.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "gateway/pooler/stream.h"
#include "lib/catch_error.h"
#include "lib/socket_buffer.h"

#define READ_SIZE (64 * 1024)
#define BULK_SIZE 4096
#define EVENTS_PER_ITERATION 256

MemoryContext gateway_context = NULL;
int64		stream_now = 0;

static MemoryContext iteration_context = NULL;
static int	epoll_fd = -1;
static slist_head dirty_streams = SLIST_STATIC_INIT(dirty_streams);

/* Memory to be freed after the iteration. */
static List *closed_holders = NIL;

void *
gateway_alloc(size_t size)
{
	return MemoryContextAllocZero(gateway_context, size);
}

char *
gateway_strdup(const char *text)
{
	return MemoryContextStrdup(gateway_context, text);
}

/* Makes room for len more bytes. */
static void
queue_reserve(ByteQueue *queue, size_t len)
{
	size_t		used = queue_length(queue);
	size_t		size = Max(queue->size, 512);

	if (queue->end + len <= queue->size)
		return;
	if (queue->start > 0 && used + len <= queue->size)
	{
		memmove(queue->data, queue->data + queue->start, used);
		queue->start = 0;
		queue->end = used;
		return;
	}
	while (size < used + len)
		size *= 2;
	if (queue->start > 0)
		memmove(queue->data, queue->data + queue->start, used);
	queue->data = queue->data == NULL ?
		MemoryContextAllocHuge(gateway_context, size) : repalloc_huge(queue->data, size);
	queue->size = size;
	queue->start = 0;
	queue->end = used;
}

void
queue_put(ByteQueue *queue, const void *data, size_t len)
{
	queue_reserve(queue, len);
	memcpy(queue->data + queue->end, data, len);
	queue->end += len;
}

void
queue_free(ByteQueue *queue)
{
	if (queue->data != NULL)
		pfree(queue->data);
	memset(queue, 0, sizeof(*queue));
}

static void
queue_skip(ByteQueue *queue, size_t len)
{
	queue->start += len;
	if (queue->start == queue->end)
		queue->start = queue->end = 0;
}

void
stream_skip(Stream *stream, size_t len)
{
	queue_skip(&stream->in, len);
}

void
stream_unread(Stream *stream, const void *data, size_t len)
{
	ByteQueue  *in = &stream->in;

	if (stream->fd < 0)
		return;
	if (in->start < len)
	{
		queue_reserve(in, len);
		memmove(in->data + in->start + len, in->data + in->start, queue_length(in));
		in->end += len;
	}
	else
		in->start -= len;
	memcpy(in->data + in->start, data, len);
}

void
stream_settle(Stream *stream)
{
	if (stream->fd >= 0 && queue_length(&stream->in) == 0)
		queue_free(&stream->in);
}

/* Whether nothing can be sent any more. */
static bool
stream_is_gone(const Stream *stream)
{
	return stream->fd < 0 || (stream->ended && !stream->half_open);
}

/*
 * Tells epoll the events that the stream waits for.  One that has ended is
 * removed, since epoll would report it repeatedly, unless its output is still
 * to be sent.
 */
static void
watch_stream(Stream *stream)
{
	struct epoll_event event = {.data.ptr = stream};

	if (stream->fd < 0 || stream->unwatched)
		return;
	if (stream_is_gone(stream))
	{
		(void) epoll_ctl(epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
		stream->unwatched = true;
		return;
	}
	if (stream->connecting)
		event.events = EPOLLOUT;
	else
	{
		if (!stream->paused && !stream->ended)
			event.events |= EPOLLIN;
		if (queue_length(&stream->out) > 0 && (!stream->send_waits || stream->paused))
			event.events |= EPOLLOUT;
	}
	if (event.events == stream->watched)
		return;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, stream->fd, &event) != 0)
		ereport(ERROR,
				(errcode_for_socket_access(),
				 errmsg("%s() failed: %m", "epoll_ctl")));
	stream->watched = event.events;
}

void
stream_open(Stream *stream, int fd, const StreamHandler *handler, bool connecting)
{
	struct epoll_event event = {.events = connecting ? EPOLLOUT : EPOLLIN,.data.ptr = stream};
	int			on = 1;

	memset(stream, 0, sizeof(*stream));
	stream->fd = fd;
	stream->handler = handler;
	stream->connecting = connecting;
	stream->watched = event.events;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	socket_buffer_enlarge(fd);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		ereport(ERROR,
				(errcode_for_socket_access(),
				 errmsg("%s() failed: %m", "epoll_ctl")));
}

void
stream_free_later(void *memory)
{
	MemoryContext old = MemoryContextSwitchTo(gateway_context);

	closed_holders = lappend(closed_holders, memory);
	MemoryContextSwitchTo(old);
}

void
stream_move(Stream *to, Stream *from, void *holder, const StreamHandler *handler)
{
	struct epoll_event event = {.events = from->watched,.data.ptr = to};

	*to = *from;
	to->handler = handler;
	to->dirty = false;
	from->fd = -1;
	from->tls = NULL;
	memset(&from->in, 0, sizeof(from->in));
	memset(&from->out, 0, sizeof(from->out));
	stream_free_later(holder);
	if (!to->unwatched && epoll_ctl(epoll_fd, EPOLL_CTL_MOD, to->fd, &event) != 0)
		ereport(ERROR,
				(errcode_for_socket_access(),
				 errmsg("%s() failed: %m", "epoll_ctl")));
}

void
stream_close(Stream *stream, void *holder)
{
	if (stream->fd < 0)
		return;
	stream_flush(stream);
	if (stream->tls != NULL)
		tls_end(stream->tls);
	stream->tls = NULL;
	close(stream->fd);
	stream->fd = -1;
	queue_free(&stream->in);
	queue_free(&stream->out);
	stream_free_later(holder);
}

void
stream_encrypt(Stream *stream, TlsLink *tls)
{
	if (tls == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not initialize SSL connection")));
	stream->tls = tls;
}

void
stream_pause(Stream *stream, bool paused)
{
	if (stream->paused == paused)
		return;
	stream->paused = paused;
	watch_stream(stream);
}

void
stream_put(Stream *stream, const void *data, size_t len)
{
	if (stream_is_gone(stream) || len == 0)
		return;
	queue_put(&stream->out, data, len);
	if (queue_length(&stream->out) > STREAM_HIGH_WATER)
		stream->full = true;
	if (!stream->dirty)
	{
		stream->dirty = true;
		slist_push_head(&dirty_streams, &stream->link);
	}
}

void
stream_put_head(Stream *stream, char type, uint32 len)
{
	char		header[5];
	uint32		length = pg_hton32(len);

	header[0] = type;
	memcpy(header + 1, &length, 4);
	stream_put(stream, header, sizeof(header));
}

void
stream_put_message(Stream *stream, char type, const void *data, size_t len)
{
	stream_put_head(stream, type, (uint32) len + 4);
	stream_put(stream, data, len);
}

static ssize_t
send_some(Stream *stream, const void *data, size_t len)
{
	if (stream->tls != NULL)
		return tls_write(stream->tls, data, len);
	return send(stream->fd, data, len, MSG_NOSIGNAL);
}

static ssize_t
receive_some(Stream *stream, void *buffer, size_t len)
{
	if (stream->tls != NULL)
		return tls_read(stream->tls, buffer, len);
	return recv(stream->fd, buffer, len, 0);
}

void
stream_put_now(Stream *stream, const void *head, size_t head_len, const void *data, size_t len)
{
	struct iovec parts[2] = {{(void *) head, head_len}, {(void *) data, len}};
	struct msghdr message = {.msg_iov = parts,.msg_iovlen = lengthof(parts)};
	ssize_t		sent = 0;

	if (stream->tls == NULL && !stream_is_gone(stream) && !stream->connecting && queue_length(&stream->out) == 0)
		sent = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
	sent = Max(sent, 0);		/* an error will be reported again */
	for (int i = 0; i < lengthof(parts); i++)
	{
		size_t		done = Min((size_t) sent, parts[i].iov_len);

		stream_put(stream, (char *) parts[i].iov_base + done, parts[i].iov_len - done);
		sent -= done;
	}
}

void
stream_flush(Stream *stream)
{
	ByteQueue  *out = &stream->out;

	while (!stream_is_gone(stream) && !stream->connecting && queue_length(out) > 0)
	{
		ssize_t		sent = send_some(stream, out->data + out->start, queue_length(out));

		if (sent >= 0)
		{
			queue_skip(out, sent);
			if (stream->sent != NULL)
				*stream->sent += sent;
		}
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			stream->send_waits = stream->tls != NULL && tls_waits_for_input(stream->tls);
			break;
		}
		else if (errno != EINTR)
		{
			/* the owner is notified by the end of the input */
			queue_free(out);
			(void) shutdown(stream->fd, SHUT_RDWR);
			stream->paused = false;
		}
	}
	if (queue_length(out) == 0)
		queue_free(out);
	watch_stream(stream);
}

bool
stream_is_full(const Stream *stream)
{
	return !stream_is_gone(stream) && queue_length(&stream->out) > STREAM_HIGH_WATER;
}

/*
 * Receives data into stream->in; the result is that of recv.  The buffer is
 * small if few data are expected.
 */
static ssize_t
receive_into_queue(Stream *stream)
{
	static char buffer[READ_SIZE];
	ByteQueue  *in = &stream->in;
	ssize_t		got;

	if (stream->bulk)
	{
		queue_reserve(in, READ_SIZE);
		got = receive_some(stream, in->data + in->end, READ_SIZE);
		in->end += Max(got, 0);
	}
	else
	{
		got = receive_some(stream, buffer, sizeof(buffer));
		if (got > 0)
			queue_put(in, buffer, got);
	}
	if (got > 0)
		stream->bulk = got >= BULK_SIZE;
	return got;
}

/*
 * Reads the available data, up to the high water mark.  One read is large
 * enough for a TLS record, so no data remain in OpenSSL's buffer, where epoll
 * doesn't see them.
 */
static void
fill_stream(Stream *stream)
{
	ByteQueue  *in = &stream->in;

	for (;;)
	{
		ssize_t		got = receive_into_queue(stream);

		if (got > 0)
		{
			if (stream->received != NULL)
				*stream->received += got;
			if ((got == READ_SIZE || stream->tls != NULL) && queue_length(in) < STREAM_HIGH_WATER)
				continue;
		}
		else if (got == 0)
			stream->ended = true;
		else if (errno == EINTR)
			continue;
		else if (errno != EAGAIN && errno != EWOULDBLOCK)
			stream->ended = true;
		break;
	}
}

/* Handles an event; may raise errors. */
static void
serve_stream(Stream *stream, uint32 events)
{
	if (stream->connecting && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
	{
		int			error = 0;
		socklen_t	len = sizeof(error);

		stream->connecting = false;
		if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0)
		{
			errno = error;
			stream->ended = true;
		}
		watch_stream(stream);
		stream->handler->arrived(stream);
		return;
	}
	if (stream->ended && (events & (EPOLLERR | EPOLLHUP)))
	{
		stream->half_open = false;
		queue_free(&stream->out);
		watch_stream(stream);
		if (stream->full && stream->handler->drained != NULL)
			stream->handler->drained(stream);
		stream->full = false;
		return;
	}
	if (events & EPOLLOUT)
	{
		stream_flush(stream);
		if (stream->full && queue_length(&stream->out) == 0)
		{
			stream->full = false;
			if (stream->handler->drained != NULL)
				stream->handler->drained(stream);
		}
	}
	if (stream->fd >= 0 && ((events & EPOLLIN) || ((events & (EPOLLERR | EPOLLHUP)) && !stream->ended)))
	{
		/*
		 * when the other end has closed, only data that have arrived are left
		 */
		if (!stream->listening && (!stream->paused || (events & (EPOLLERR | EPOLLHUP))))
			fill_stream(stream);
		else if (events & (EPOLLERR | EPOLLHUP))
			stream->ended = true;
		if (stream->send_waits)
		{
			stream->send_waits = false;
			stream_flush(stream);
		}
		if (stream->ended)
			watch_stream(stream);
		stream->handler->arrived(stream);
	}
	stream_settle(stream);
}

/* The same; an error goes to the stream's owner. */
static void
serve_stream_safely(Stream *stream, uint32 events)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		serve_stream(stream, events);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		if (stream->fd >= 0)
			stream->handler->failed(stream, error);
	}
	PG_END_TRY();
}

/* Sends the output of the iteration. */
static void
flush_dirty(void)
{
	while (!slist_is_empty(&dirty_streams))
	{
		Stream	   *stream = slist_container(Stream, link, slist_pop_head_node(&dirty_streams));

		stream->dirty = false;
		stream_flush(stream);
		if (stream->full && queue_length(&stream->out) == 0)
			serve_stream_safely(stream, EPOLLOUT);
	}
}

static void
free_closed(void)
{
	ListCell   *cell;

	foreach(cell, closed_holders)
		pfree(lfirst(cell));
	list_free(closed_holders);
	closed_holders = NIL;
}

static int64
clock_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MICROSEC(now);
}

void
stream_loop_init(void)
{
	gateway_context = AllocSetContextCreate(TopMemoryContext, "citus gateway", ALLOCSET_DEFAULT_SIZES);
	iteration_context = AllocSetContextCreate(TopMemoryContext, "citus gateway iteration", ALLOCSET_DEFAULT_SIZES);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		ereport(ERROR,
				(errcode_for_socket_access(),
				 errmsg("%s() failed: %m", "epoll_create1")));
	stream_now = clock_now();
}

/* When the loop is to run, even if nothing happens; 0: at the next tick. */
static int64 loop_wake = 0;

void
stream_wake(int64 time)
{
	if (loop_wake == 0 || time < loop_wake)
		loop_wake = time;
}

void
stream_loop(volatile sig_atomic_t *stop, const LoopHandler *handler)
{
	struct epoll_event events[EVENTS_PER_ITERATION];
	int64		next_tick = 0;

	while (!*stop)
	{
		int64		next = loop_wake != 0 ? Min(next_tick, loop_wake) : next_tick;
		int			timeout = (int) Min(Max((next - clock_now()) / 1000 + 1, 0), handler->tick_ms);
		int			n = epoll_wait(epoll_fd, events, EVENTS_PER_ITERATION, timeout);

		MemoryContextSwitchTo(iteration_context);
		stream_now = clock_now();
		loop_wake = 0;
		handler->begin();
		for (int i = 0; i < n; i++)
		{
			Stream	   *stream = events[i].data.ptr;

			if (stream->fd >= 0)
				serve_stream_safely(stream, events[i].events);
		}
		if (stream_now >= next_tick)
		{
			next_tick = stream_now + handler->tick_ms * INT64CONST(1000);
			handler->tick();
		}
		while (handler->run() || !slist_is_empty(&dirty_streams))
			flush_dirty();
		free_closed();
		MemoryContextReset(iteration_context);
	}
}
