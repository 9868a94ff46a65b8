/*-------------------------------------------------------------------------
 *
 * link.c
 *	  One connection between the gateways of two nodes, for many sessions.
 *
 * A gateway process makes a link to another node's gateway when a session of
 * its own server needs a connection there (tunnel.c), and keeps it until it
 * has had no channel for a while.  A channel is a connection of the PostgreSQL
 * protocol, whose bytes are sent in frames:
 *
 *	  uint32 channel, uint8 kind, uint24 length, then that many bytes
 *
 * Only the side that has made the link opens channels, with increasing
 * numbers, so that a frame for a channel that has been closed meanwhile can be
 * distinguished from an invalid one, which ends the link.  Each direction of a
 * channel has a window: its sender sends no more than the receiver has
 * announced room for.  So a session that doesn't read doesn't delay others,
 * and takes no more memory than the window.  Data to be sent are buffered in
 * the channel's source, not in the link: when the link's socket can take more,
 * channels send in turn, those with few data first, in short frames.  All
 * frames of an iteration of the loop are sent by one write.
 *
 * A link may come from a gateway or from any other program: that isn't
 * checked.  Each of its channels is a client that is authenticated like any
 * other (tunnel.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "utils/builtins.h"

#include "compat/noreturn.h"
#include "gateway/link/link.h"
#include "gateway/pooler/message.h"
#include "gateway/pooler/process.h"

/* The window of each channel. */
#define WINDOW (1024 * 1024)

/* The window is extended by at least this much. */
#define WINDOW_STEP (WINDOW / 4)

#define MAX_FRAME (64 * 1024)
#define HEADER_SIZE 8

/* A frame of this size is sent at once, without copying. */
#define LARGE_FRAME (8 * 1024)

/*
 * Channels with no more data than this are served first, at most
 * MAX_SHORT_IN_A_ROW times in a row.
 */
#define SHORT_MESSAGE 4096
#define MAX_SHORT_IN_A_ROW 32

/*
 * The output never exceeds this, unless the other side makes us answer without
 * reading.
 */
#define MAX_UNREAD (32 * STREAM_HIGH_WATER)

/*
 * Microseconds.  The side that has made an idle link ends it; the other side
 * does so later, in case the link was not made by a gateway.
 */
#define CONNECT_TIME INT64CONST(15000000)
#define IDLE_TIME INT64CONST(60000000)

typedef struct ChannelEntry
{
	uint32		id;
	char		status;
	LinkChannel *channel;
} ChannelEntry;

#define SH_PREFIX channeltab
#define SH_ELEMENT_TYPE ChannelEntry
#define SH_KEY_TYPE uint32
#define SH_KEY id
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, left, right) ((left) == (right))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef enum LinkState
{
	LINK_CONNECTING,
	LINK_ASKING_TLS,			/* waits for the answer to SSLRequest */
	LINK_ASKING,				/* waits for the answer to LINK_REQUEST_CODE */
	LINK_OPEN,
	LINK_CLOSED,
} LinkState;

struct Link
{
	Stream		stream;			/* first */
	dlist_node	node;			/* of all links */
	LinkState	state;
	char	   *request;		/* NULL: the other side has made it */
	char	   *host;			/* of the request, for messages and TLS */
	char	   *port;
	char	   *sslmode;
	char	   *sslrootcert;
	const char *addresses;		/* of the request, not tried yet */
	SockAddr	address;		/* of the other side */
	uint32		last_channel;
	uint32		data_channel;	/* of the frame that is being received */
	uint32		data_rest;		/* how much of it is missing */
	dlist_head	channels;
	channeltab_hash *by_id;		/* the same */
	dlist_head	short_ready;	/* channels that have little to send */
	dlist_head	bulk_ready;
	int			short_in_a_row;
	int64		since;			/* when it was made, or had a channel last */
};

static dlist_head gateway_links = DLIST_STATIC_INIT(gateway_links);
static const ChannelHandler *channel_handler = NULL;

/* Links that others have made. */
static int	naccepted_links = 0;

static void link_arrived(Stream *stream);
static void link_drained(Stream *stream);
static void link_failed(Stream *stream, const ErrorData *error);

static const StreamHandler link_handler = {
	.arrived = link_arrived,
	.drained = link_drained,
	.failed = link_failed,
};

void
link_init(const ChannelHandler *handler)
{
	channel_handler = handler;
}

const SockAddr *
link_address(const Link *link)
{
	return &link->address;
}

const Stream *
link_stream(const Link *link)
{
	return &link->stream;
}

/* Sets keepalives, so that a dead peer is noticed within a minute. */
static void
watch_link(int fd)
{
	const struct
	{
		int			option;
		int			value;
	}			options[] = {
		{TCP_KEEPIDLE, 20}, {TCP_KEEPINTVL, 5}, {TCP_KEEPCNT, 4}, {TCP_USER_TIMEOUT, 30000},
	};
	int			on = 1;

	(void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	for (int i = 0; i < lengthof(options); i++)
		(void) setsockopt(fd, IPPROTO_TCP, options[i].option, &options[i].value, sizeof(int));
}

static Link *
make_link(void)
{
	Link	   *link = gateway_alloc(sizeof(Link));

	dlist_init(&link->channels);
	link->by_id = channeltab_create(gateway_context, 16, NULL);
	dlist_init(&link->short_ready);
	dlist_init(&link->bulk_ready);
	link->since = stream_now;
	dlist_push_tail(&gateway_links, &link->node);
	return link;
}

static void
drop_channel(LinkChannel *channel)
{
	dlist_delete(&channel->link_node);
	channeltab_delete(channel->link->by_id, channel->id);
	if (channel->ready)
		dlist_delete(&channel->ready_node);
	channel->ready = false;
	if (channel->link->state == LINK_OPEN)
		channel->link->since = stream_now;
	channel->link = NULL;
}

static void
free_link_parts(Link *link)
{
	channeltab_destroy(link->by_id);
	if (link->request != NULL)
		pfree(link->request);
	if (link->host != NULL)
		pfree(link->host);
}

static void
close_link(Link *link, const ErrorData *error)
{
	if (link->state == LINK_CLOSED)
		return;
	link->state = LINK_CLOSED;
	if (link->request == NULL)
		naccepted_links--;
	dlist_delete(&link->node);
	while (!dlist_is_empty(&link->channels))
	{
		LinkChannel *channel = dlist_head_element(LinkChannel, link_node, &link->channels);

		drop_channel(channel);
		channel_handler->closed(channel, error);
	}
	free_link_parts(link);
	stream_close(&link->stream, link);
}

static void
link_failed(Stream *stream, const ErrorData *error)
{
	Link	   *link = (Link *) stream;

	if (error->sqlerrcode == ERRCODE_PROTOCOL_VIOLATION)
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("the gateway closes a connection between nodes: %s", error->message)));
	close_link(link, error);
}

pg_noreturn static void
refuse_frame(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid frame: %s", what)));
}

/*
 * Frames out
 */

static void
put_frame_of(Link *link, uint32 id, FrameKind kind, const void *data, size_t len)
{
	uint32		words[2] = {pg_hton32(id), pg_hton32((uint32) kind << 24 | (uint32) len)};

	if (len >= LARGE_FRAME)
		stream_put_now(&link->stream, words, sizeof(words), data, len);
	else
	{
		stream_put(&link->stream, words, sizeof(words));
		stream_put(&link->stream, data, len);
	}
}

static void
put_frame(LinkChannel *channel, FrameKind kind, const void *data, size_t len)
{
	put_frame_of(channel->link, channel->id, kind, data, len);
}

void
link_send_number(LinkChannel *channel, FrameKind kind, uint32 number)
{
	uint32		word = pg_hton32(number);

	if (channel->link != NULL)
		put_frame(channel, kind, &word, sizeof(word));
}

void
link_send_key(LinkChannel *channel, int32 pid, int32 key)
{
	int32		words[2] = {pid, key};

	if (channel->link != NULL)
		put_frame(channel, FRAME_KEY, words, sizeof(words));
}

void
link_grant(LinkChannel *channel)
{
	uint32		more = WINDOW - channel->may_receive;

	if (channel->link == NULL || more < WINDOW_STEP)
		return;
	channel->may_receive = WINDOW;
	link_send_number(channel, FRAME_WINDOW, more);
}

/* Removes the next channel from the ready lists. */
static LinkChannel *
next_ready(Link *link)
{
	bool		bulk = dlist_is_empty(&link->short_ready) ||
		(link->short_in_a_row >= MAX_SHORT_IN_A_ROW && !dlist_is_empty(&link->bulk_ready));
	LinkChannel *channel;

	if (bulk && dlist_is_empty(&link->bulk_ready))
		return NULL;
	link->short_in_a_row = bulk ? 0 : link->short_in_a_row + 1;
	channel = dlist_container(LinkChannel, ready_node,
							  dlist_pop_head_node(bulk ? &link->bulk_ready : &link->short_ready));
	channel->ready = false;
	return channel;
}

/* Appends the channel to its ready list, if it can send something. */
static void
set_ready(LinkChannel *channel)
{
	const Stream *source = channel_handler->source(channel);
	size_t		len = source == NULL ? 0 : Min(queue_length(&source->in), channel->may_send);
	Link	   *link = channel->link;

	if (channel->ready || len == 0)
		return;
	channel->ready = true;
	dlist_push_tail(len <= SHORT_MESSAGE ? &link->short_ready : &link->bulk_ready, &channel->ready_node);
}

/* Sends as much data of the ready channels as the link takes now. */
static void
pump_link(Link *link)
{
	LinkChannel *channel;

	while (link->state == LINK_OPEN && !stream_is_full(&link->stream) && (channel = next_ready(link)) != NULL)
	{
		Stream	   *source = channel_handler->source(channel);
		size_t		len;

		if (source == NULL)
			continue;
		len = Min(Min(queue_length(&source->in), channel->may_send), MAX_FRAME);
		put_frame(channel, FRAME_DATA, source->in.data + source->in.start, len);
		stream_skip(source, len);
		channel->may_send -= len;
		set_ready(channel);
		channel_handler->sent(channel);
	}
}

void
link_send(LinkChannel *channel)
{
	if (channel->link == NULL)
		return;
	set_ready(channel);
	pump_link(channel->link);
}

void
link_send_bytes(LinkChannel *channel, const void *data, size_t len)
{
	if (channel->link == NULL || channel->link->state != LINK_OPEN || len > Min(channel->may_send, MAX_FRAME))
		return;
	put_frame(channel, FRAME_DATA, data, len);
	channel->may_send -= len;
}

static void
link_drained(Stream *stream)
{
	pump_link((Link *) stream);
}

static void
put_channel(Link *link, LinkChannel *channel, uint32 id)
{
	bool		found;

	channel->link = link;
	channel->id = id;
	channel->may_send = WINDOW;
	channel->may_receive = WINDOW;
	channel->ready = false;
	dlist_push_tail(&link->channels, &channel->link_node);
	channeltab_insert(link->by_id, id, &found)->channel = channel;
}

void
link_add_channel(Link *link, LinkChannel *channel)
{
	put_channel(link, channel, ++link->last_channel);
	if (link->state == LINK_OPEN)
		put_frame(channel, FRAME_OPEN, NULL, 0);
}

void
link_add_opened(Link *link, LinkChannel *channel, uint32 id)
{
	put_channel(link, channel, id);
}

void
link_refuse_channel(Link *link, uint32 id)
{
	put_frame_of(link, id, FRAME_CLOSE, NULL, 0);
}

void
link_close_channel(LinkChannel *channel)
{
	if (channel->link == NULL)
		return;
	if (channel->link->state == LINK_OPEN)
		put_frame(channel, FRAME_CLOSE, NULL, 0);
	drop_channel(channel);
}

/*
 * Frames in
 */

static LinkChannel *
find_channel(Link *link, uint32 id)
{
	ChannelEntry *entry = channeltab_lookup(link->by_id, id);

	return entry == NULL ? NULL : entry->channel;
}

static uint32
frame_number(const char *data, size_t len)
{
	uint32		word;

	if (len != sizeof(word))
		refuse_frame("its length does not fit its kind");
	memcpy(&word, data, sizeof(word));
	return pg_ntoh32(word);
}

static void
take_open(Link *link, uint32 id, size_t len)
{
	if (link->request != NULL || id <= link->last_channel || len != 0)
		refuse_frame("this channel can't be opened");
	link->last_channel = id;
	channel_handler->opened(link, id);
}

static void
expect_data(Link *link, LinkChannel *channel, uint32 id, size_t len)
{
	if (channel != NULL)
	{
		if (len > channel->may_receive)
			refuse_frame("it is longer than what there is room for");
		channel->may_receive -= len;
	}
	link->data_channel = id;
	link->data_rest = len;
}

/* Passes on the received part of a frame. */
static void
take_data(Link *link)
{
	ByteQueue  *in = &link->stream.in;
	size_t		len = Min(link->data_rest, queue_length(in));
	LinkChannel *channel = find_channel(link, link->data_channel);

	link->data_rest -= len;
	if (channel != NULL)
		channel_handler->data(channel, in->data + in->start, len);
	if (link->state == LINK_OPEN)
		stream_skip(&link->stream, len);
}

static void
take_window(LinkChannel *channel, const char *data, size_t len)
{
	uint32		more = frame_number(data, len);

	if (more > WINDOW - channel->may_send)
		refuse_frame("there can't be so much room");
	channel->may_send += more;
	link_send(channel);
}

static void
take_close(LinkChannel *channel)
{
	drop_channel(channel);
	channel_handler->closed(channel, NULL);
}

static void
take_key(LinkChannel *channel, const char *data, size_t len)
{
	int32		words[2];

	if (len != sizeof(words))
		refuse_frame("its length does not fit its kind");
	memcpy(words, data, len);
	channel_handler->key(channel, words[0], words[1]);
}

/* Handles a complete frame, or the head of one with data. */
static void
take_frame(Link *link, uint32 id, int kind, const char *data, size_t len)
{
	LinkChannel *channel;

	if (kind == FRAME_OPEN)
	{
		take_open(link, id, len);
		return;
	}
	if (kind < FRAME_OPEN || kind > FRAME_CANCELED)
		refuse_frame("its kind is unknown");
	if (id > link->last_channel)
		refuse_frame("its channel has not been opened");
	channel = find_channel(link, id);
	if (kind == FRAME_DATA)
	{
		expect_data(link, channel, id, len);
		return;
	}
	if (channel == NULL)
		return;					/* closed meanwhile */
	switch ((FrameKind) kind)
	{
		case FRAME_WINDOW:
			take_window(channel, data, len);
			break;
		case FRAME_CLOSE:
			take_close(channel);
			break;
		case FRAME_KEY:
			take_key(channel, data, len);
			break;
		case FRAME_CANCEL:
			channel_handler->cancel(channel, frame_number(data, len));
			break;
		case FRAME_CANCELED:
			channel_handler->canceled(channel, frame_number(data, len));
			break;
		case FRAME_OPEN:
		case FRAME_DATA:
			break;
	}
}

/*
 * Handles received frames.  Data are passed on as they arrive, without waiting
 * for the end of a long frame.
 */
static void
take_frames(Link *link)
{
	ByteQueue  *in = &link->stream.in;

	while (link->state == LINK_OPEN)
	{
		uint32		words[2];
		size_t		len;
		int			kind;
		size_t		needed = HEADER_SIZE;

		if (link->data_rest > 0)
		{
			if (queue_length(in) == 0)
				break;
			take_data(link);
			continue;
		}
		if (queue_length(in) < HEADER_SIZE)
			break;
		memcpy(words, in->data + in->start, sizeof(words));
		len = pg_ntoh32(words[1]) & 0xFFFFFF;
		kind = pg_ntoh32(words[1]) >> 24;
		if (len > MAX_FRAME)
			refuse_frame("it is too long");
		if (kind != FRAME_DATA)
			needed += len;
		if (queue_length(in) < needed)
			break;
		take_frame(link, pg_ntoh32(words[0]), kind, in->data + in->start + HEADER_SIZE, len);
		if (link->state == LINK_OPEN)
			stream_skip(&link->stream, needed);
	}
}

/*
 * The start of a link
 */

/*
 * Starts connecting to the next address of the request that is possible;
 * returns the socket, or -1 if there is none.
 */
static int
next_socket(Link *link)
{
	while (*link->addresses == '.')
	{
		size_t		digits = strspn(++link->addresses, "0123456789abcdef");
		ServerAddress server = {0};
		int			fd;

		if (digits / 2 > sizeof(server.addr))
			break;
		server.len = hex_decode(link->addresses, digits & ~(size_t) 1, (char *) &server.addr);
		link->addresses += digits;
		if (server.len > 0 && (fd = process_connect(&server)) >= 0)
			return fd;
	}
	return -1;
}

static void
connect_link(Link *link, int fd)
{
	watch_link(fd);
	stream_open(&link->stream, fd, &link_handler, true);
}

/* Splits the names in a request, each of which ends with a newline. */
static bool
read_request(Link *link, const char *request)
{
	size_t		digits = strspn(request, "0123456789abcdef");
	char	  **fields[] = {&link->host, &link->port, &link->sslmode, &link->sslrootcert};
	char	   *text = MemoryContextAllocZero(gateway_context, digits / 2 + 1);

	(void) hex_decode(request, digits & ~(size_t) 1, text);
	link->host = text;
	for (int i = 0; i < lengthof(fields); i++)
	{
		char	   *end = strchr(text, '\n');

		if (end == NULL)
			return false;
		*fields[i] = text;
		*end = '\0';
		text = end + 1;
	}
	return true;
}

Link *
link_find(const char *request)
{
	size_t		names = strcspn(request, ".");
	dlist_iter	iter;
	Link	   *link;
	int			fd = -1;

	dlist_foreach(iter, &gateway_links)
	{
		link = dlist_container(Link, node, iter.cur);
		if (link->request != NULL && strncmp(link->request, request, names + 1) == 0 &&
			link->last_channel < PG_UINT32_MAX)
			return link;
	}
	link = make_link();
	link->request = gateway_strdup(request);
	link->addresses = link->request + names;
	if (read_request(link, request))
		fd = next_socket(link);
	if (fd < 0)
	{
		dlist_delete(&link->node);
		free_link_parts(link);
		pfree(link);
		return NULL;
	}
	connect_link(link, fd);
	return link;
}

static void
ask_for_link(Link *link)
{
	uint32		packet[3] = {pg_hton32(sizeof(packet)), pg_hton32(LINK_REQUEST_CODE), pg_hton32(LINK_VERSION)};

	stream_put(&link->stream, packet, sizeof(packet));
	link->state = LINK_ASKING;
}

pg_noreturn static void
link_error(const Link *link, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("the gateway could not connect to that of %s:%s: %s", link->host, link->port, detail)));
}

static void
begin_link(Link *link)
{
	uint32		packet[2] = {pg_hton32(sizeof(packet)), pg_hton32(NEGOTIATE_SSL_CODE)};

	if (link->stream.ended)
	{
		char	   *reason = pstrdup(strerror(errno));
		int			fd = next_socket(link);

		if (fd < 0)
			link_error(link, reason);

		/* what is freed is not the link itself */
		stream_close(&link->stream, gateway_alloc(1));
		connect_link(link, fd);
		return;
	}
	if (strcmp(link->sslmode, "disable") == 0)
	{
		ask_for_link(link);
		return;
	}
	stream_put(&link->stream, packet, sizeof(packet));
	link->state = LINK_ASKING_TLS;
}

static void
take_tls_answer(Link *link, char answer)
{
	bool		verify = strncmp(link->sslmode, "verify", 6) == 0 || link->sslrootcert[0] != '\0';

	if (answer == 'S')
		stream_encrypt(&link->stream,
					   tls_connect_verified(link->stream.fd, link->host, verify ? link->sslrootcert : NULL,
											strcmp(link->sslmode, "verify-full") == 0));
	else if (answer != 'N')
		link_error(link, "It is no gateway.");
	else if (verify || strcmp(link->sslmode, "require") == 0)
		link_error(link, "It does not support SSL, but SSL was required.");
	ask_for_link(link);
}

/* The other side agrees: opens the waiting channels. */
static void
open_link(Link *link, char answer)
{
	dlist_iter	iter;

	if (answer != 'L')
		link_error(link, "It is no gateway.");
	link->state = LINK_OPEN;
	link->since = stream_now;
	dlist_foreach(iter, &link->channels)
		put_frame(dlist_container(LinkChannel, link_node, iter.cur), FRAME_OPEN, NULL, 0);
	pump_link(link);
}

static void
link_arrived(Stream *stream)
{
	Link	   *link = (Link *) stream;
	ByteQueue  *in = &stream->in;

	if (link->state == LINK_CONNECTING)
		begin_link(link);
	while ((link->state == LINK_ASKING_TLS || link->state == LINK_ASKING) && queue_length(in) > 0)
	{
		char		answer = in->data[in->start];

		stream_skip(stream, 1);
		if (link->state == LINK_ASKING)
			open_link(link, answer);
		else if (queue_length(in) > 0)
			link_error(link, "received unencrypted data after SSL response");
		else
			take_tls_answer(link, answer);
	}
	take_frames(link);
	if (queue_length(&stream->out) > MAX_UNREAD)
		refuse_frame("the answers to those before are not read");
	if (stream->ended && link->state != LINK_CLOSED)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the connection between the gateways of two nodes has ended")));
}

void
link_accept(Stream *stream, void *holder, const SockAddr *address)
{
	Link	   *link;

	/* they have not been authenticated */
	if (naccepted_links >= gateway_max_clients)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
				 errmsg("sorry, too many gateways already")));
	naccepted_links++;
	link = make_link();
	link->state = LINK_OPEN;
	link->address = *address;
	watch_link(stream->fd);
	stream_move(&link->stream, stream, holder, &link_handler);
	stream_put(&link->stream, "L", 1);
}

/* Ends links that can't be established, or that have no channels. */
void
link_tick(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &gateway_links)
	{
		Link	   *link = dlist_container(Link, node, iter.cur);
		ErrorData	error = {.sqlerrcode = ERRCODE_CONNECTION_FAILURE};

		if (link->state != LINK_OPEN && stream_now - link->since > CONNECT_TIME)
			error.message = psprintf("the gateway could not connect to that of %s:%s: timeout", link->host, link->port);
		else if (dlist_is_empty(&link->channels) &&
				 stream_now - link->since > (link->request != NULL ? IDLE_TIME : 2 * IDLE_TIME))
			error.message = "idle";
		else
			continue;
		close_link(link, &error);
	}
}
