/*-------------------------------------------------------------------------
 *
 * tunnel.c
 *	  A session's connection to another node, through the gateways of both.
 *
 *	  session -- our process == link == process of the other node -- its server
 *
 * With citus.transport = multiplexed, a session of this server connects to a
 * Unix-domain socket of a gateway process of its own node, one in the data
 * directory, which only the server's user can reach.  Its startup packet names
 * the gateway to connect to (src/remote/transport.c).  That option is removed,
 * and the rest, with all following data, is sent there unchanged, as a channel
 * of the link (link.c) that our process has to that gateway.  Clients can't
 * reach such a socket, so the gateway opens tunnels only for sessions of its
 * own server.
 *
 * The process at the other end treats a channel as a client with the link's
 * address: at first, it connects it to one end of a socket pair, whose other
 * end is an ordinary client.  When that client has been authenticated, it is
 * closed: the tunnel gets its own session on its server, logged in like
 * sessions of pools, and from then on passes bytes.  So the sessions have a
 * connection as without gateways: nothing has to be parsed, prepared
 * statements and settings persist, and the process ids are right for deadlock
 * detection.
 *
 * A cancel request arrives at the same socket, on a separate connection, which
 * stays open until the other node's server has processed the request, since
 * libpq guarantees that it hits no later statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libpq/pqcomm.h"
#include "miscadmin.h"

#include "gateway/link/link.h"
#include "gateway/link/tunnel.h"
#include "gateway/pooler/session.h"
#include "remote/transport.h"

/* As the server. */
#define MAX_STARTUP_PACKET 10000

/* How long the last messages may take to be read, in microseconds. */
#define LINGER_TIME INT64CONST(30000000)

#define ACCEPTS_PER_ITERATION 64

typedef struct Tunnel Tunnel;

/* The socket of a tunnel; replaced when a session begins. */
typedef struct TunnelEnd
{
	Stream		stream;			/* first */
	Tunnel	   *tunnel;
} TunnelEnd;

typedef enum TunnelState
{
	TUNNEL_ENTERING,			/* our server's session has not sent its
								 * startup packet */
	TUNNEL_CANCELING,			/* has asked to cancel; has no channel */
	TUNNEL_LOGIN,				/* leads to a client */
	TUNNEL_CONNECTING,			/* to the server, for a session */
	TUNNEL_SESSION,				/* which logs in */
	TUNNEL_PASSING,
	TUNNEL_CLOSING,				/* has no channel any more; the socket reads
								 * the remaining data */
	TUNNEL_CLOSED,
} TunnelState;

/* Role and key with which a tunnel's session logs in. */
typedef struct SessionWish
{
	char	   *user;
	char	   *database;
	char	   *parameters;
	size_t		parameters_len;
	ScramKey	key;
} SessionWish;

struct Tunnel
{
	LinkChannel channel;		/* first */
	dlist_node	node;			/* of all tunnels */
	uint64		serial;			/* never used again */
	TunnelState state;
	TunnelEnd  *end;
	bool		entrance;		/* of our server's session */
	bool		answered;		/* something has come through it */
	Client	   *client;			/* while TUNNEL_LOGIN; NULL if it has gone */
	SessionWish *wish;
	ScramLogin *scram;
	ByteQueue	greeting;		/* the session's messages during login */
	int32		pid;			/* for cancel requests, as the server has sent
								 * them */
	int32		key;
	uint32		cancel;			/* number of the request */
	Tunnel	   *canceled;		/* whom it is for */
	int64		since;			/* when TUNNEL_CLOSING began */
};

static dlist_head gateway_tunnels = DLIST_STATIC_INIT(gateway_tunnels);

/* Those that are TUNNEL_LOGIN. */
static int	nlogin_tunnels = 0;

static void end_arrived(Stream *stream);
static void end_drained(Stream *stream);
static void end_failed(Stream *stream, const ErrorData *error);

static const StreamHandler end_handler = {
	.arrived = end_arrived,
	.drained = end_drained,
	.failed = end_failed,
};

static void
tunnel_open_end(Tunnel *tunnel, int fd, bool connecting)
{
	tunnel->end = gateway_alloc(sizeof(TunnelEnd));
	tunnel->end->tunnel = tunnel;
	stream_open(&tunnel->end->stream, fd, &end_handler, connecting);
}

static void
set_tunnel_state(Tunnel *tunnel, TunnelState state)
{
	nlogin_tunnels += (state == TUNNEL_LOGIN) - (tunnel->state == TUNNEL_LOGIN);
	tunnel->state = state;
}

static Tunnel *
make_tunnel(int fd, TunnelState state)
{
	static uint64 last_serial = 0;
	Tunnel	   *tunnel = gateway_alloc(sizeof(Tunnel));

	tunnel->serial = ++last_serial;
	set_tunnel_state(tunnel, state);
	tunnel_open_end(tunnel, fd, false);
	dlist_push_tail(&gateway_tunnels, &tunnel->node);
	return tunnel;
}

static void
forget_tunnel(Client *client)
{
	client->origin = NULL;
	client->tunnel = NULL;
}

static void
free_wish(Tunnel *tunnel)
{
	SessionWish *wish = tunnel->wish;

	tunnel->wish = NULL;
	if (wish == NULL)
		return;
	pfree(wish->user);
	pfree(wish->database);
	pfree(wish->parameters);
	pfree(wish);
}

static void
close_tunnel(Tunnel *tunnel)
{
	dlist_mutable_iter iter;

	if (tunnel->state == TUNNEL_CLOSED)
		return;
	set_tunnel_state(tunnel, TUNNEL_CLOSED);
	dlist_delete(&tunnel->node);
	link_close_channel(&tunnel->channel);
	if (tunnel->client != NULL)
		forget_tunnel(tunnel->client);
	free_wish(tunnel);
	scram_login_free(tunnel->scram);
	queue_free(&tunnel->greeting);
	stream_close(&tunnel->end->stream, tunnel->end);
	stream_free_later(tunnel);

	/* their request has no target any more */
	dlist_foreach_modify(iter, &gateway_tunnels)
	{
		Tunnel	   *other = dlist_container(Tunnel, node, iter.cur);

		if (other->canceled == tunnel)
		{
			other->canceled = NULL;
			stream_pause(&other->end->stream, false);
			(void) shutdown(other->end->stream.fd, SHUT_RDWR);
		}
	}
}

/* Closes it when its socket has read the remaining data. */
static void
close_tunnel_softly(Tunnel *tunnel)
{
	stream_flush(&tunnel->end->stream);
	if (queue_length(&tunnel->end->stream.out) == 0)
		close_tunnel(tunnel);
	else
	{
		set_tunnel_state(tunnel, TUNNEL_CLOSING);
		tunnel->since = stream_now;

		/* no one would receive its messages */
		stream_pause(&tunnel->end->stream, true);
	}
}

/*
 * Sends an error to the session at the entrance, if it still waits to be
 * connected.
 */
static void
tell_failure(Tunnel *tunnel, const ErrorData *error)
{
	StringInfo	payload = error_payload("FATAL", error);

	if (tunnel->entrance && !tunnel->answered)
		stream_put_message(&tunnel->end->stream, PqMsg_ErrorResponse, payload->data, payload->len);
	else if (tunnel->wish != NULL)
	{
		ByteQueue	error_message = {0};

		message_keep(&error_message, &(Message) {PqMsg_ErrorResponse, payload->len, payload->data});
		link_send_bytes(&tunnel->channel, error_message.data, queue_length(&error_message));
		queue_free(&error_message);
	}
}

static void
end_failed(Stream *stream, const ErrorData *error)
{
	Tunnel	   *tunnel = ((TunnelEnd *) stream)->tunnel;

	tell_failure(tunnel, error);
	close_tunnel(tunnel);
}

/*
 * A session of our server, which wants to get to another node.
 */

/*
 * Looks for the request among the packet's parameters.  Returns it, palloc'd,
 * and in *rest the packet without it; NULL if there is none.
 */
static char *
take_request(const char *packet, uint32 len, StringInfo rest)
{
	const char *end = packet + len;
	char	   *request = NULL;

	appendBinaryStringInfo(rest, packet, 8);
	for (const char *name = packet + 8; name < end && *name != '\0';)
	{
		const char *value = name + strnlen(name, end - name) + 1;
		const char *next;

		if (value >= end || (next = memchr(value, '\0', end - value)) == NULL)
			return NULL;
		next++;
		packet_string(rest, name);
		if (strcmp(name, "options") == 0 && request == NULL &&
			strncmp(value, TRANSPORT_OPTION, strlen(TRANSPORT_OPTION)) == 0)
		{
			value += strlen(TRANSPORT_OPTION);
			request = pnstrdup(value, strcspn(value, " "));
			value += strlen(request);
		}
		packet_string(rest, value);
		name = next;
	}
	appendStringInfoChar(rest, '\0');
	return request;
}

static void
pass_cancel(Tunnel *tunnel, const char *packet)
{
	static uint32 last_cancel = 0;
	dlist_iter	iter;
	int32		words[2];

	memcpy(words, packet + 8, sizeof(words));
	dlist_foreach(iter, &gateway_tunnels)
	{
		Tunnel	   *other = dlist_container(Tunnel, node, iter.cur);

		/*
		 * not of a session that is still logging in: its key isn't known yet
		 */
		if (!other->entrance || other->state != TUNNEL_PASSING || other->pid == 0 || other->pid != words[0] || other->key != words[1])
			continue;
		tunnel->state = TUNNEL_CANCELING;
		tunnel->cancel = ++last_cancel;
		tunnel->canceled = other;
		link_send_number(&other->channel, FRAME_CANCEL, tunnel->cancel);
		return;
	}
	close_tunnel(tunnel);
}

static void
enter_tunnel(Tunnel *tunnel)
{
	Stream	   *stream = &tunnel->end->stream;
	const char *packet = stream->in.data + stream->in.start;
	StringInfoData rest;
	uint32		words[2];
	char	   *request;
	Link	   *link;

	if (queue_length(&stream->in) < sizeof(words))
		return;
	memcpy(words, packet, sizeof(words));
	words[0] = pg_ntoh32(words[0]);
	if (words[0] < 8 || words[0] > MAX_STARTUP_PACKET)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid length of startup packet")));
	if (queue_length(&stream->in) < words[0])
		return;
	if (pg_ntoh32(words[1]) == CANCEL_REQUEST_CODE && words[0] == 16)
	{
		pass_cancel(tunnel, packet);
		return;
	}
	initStringInfo(&rest);
	request = take_request(packet, words[0], &rest);
	if (request == NULL || (link = link_find(request)) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the gateway could not connect to that of the other node")));
	stream_skip(stream, words[0]);
	words[0] = pg_hton32(rest.len);
	memcpy(rest.data, words, 4);
	stream_unread(stream, rest.data, rest.len);
	tunnel->state = TUNNEL_PASSING;
	link_add_channel(link, &tunnel->channel);
}

static void
accept_sessions(Stream *stream)
{
	for (int i = 0; i < ACCEPTS_PER_ITERATION; i++)
	{
		int			fd = accept(stream->fd, NULL, NULL);
		uid_t		user;
		gid_t		group;

		if (fd < 0)
		{
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				stream_pause(stream, true); /* as clients' */
			break;
		}
		if (getpeereid(fd, &user, &group) != 0 || user != geteuid())
			close(fd);
		else
			make_tunnel(fd, TUNNEL_ENTERING)->entrance = true;
	}
}

static void
entrance_failed(Stream *stream, const ErrorData *error)
{
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("the gateway could not accept a session's connection: %s", error->message)));
}

static const StreamHandler entrance_handler = {
	.arrived = accept_sessions,
	.failed = entrance_failed,
};

/* The working directory is the server's data directory. */
static void
entrance_address(struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), TRANSPORT_FOLDER "/.s.PGSQL.%d", gateway_start->number + 1);
}

/* The socket that this process has made. */
static struct stat own_entrance;

/*
 * Removes the entrance, unless a process of a restarted server has replaced it
 * meanwhile.
 */
void
tunnel_end(void)
{
	struct sockaddr_un address;
	struct stat found;

	entrance_address(&address);
	if (stat(address.sun_path, &found) == 0 && found.st_dev == own_entrance.st_dev && found.st_ino == own_entrance.st_ino)
		(void) unlink(address.sun_path);
}

/* Listens for our server's sessions. */
static void
open_entrance(void)
{
	struct sockaddr_un address;
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	entrance_address(&address);
	(void) unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		chmod(address.sun_path, S_IRUSR | S_IWUSR) != 0 || stat(address.sun_path, &own_entrance) != 0 ||
		listen(fd, SOMAXCONN) != 0)
	{
		ereport(LOG,
				(errcode_for_socket_access(),
				 errmsg("the gateway could not listen on \"%s\": %m", address.sun_path)));
		if (fd >= 0)
			close(fd);
		return;
	}
	process_listen(fd, &entrance_handler);
}

/*
 * A session of another node, which comes to our server.
 */

static const Stream *
tunnel_transport(const Client *client)
{
	const Tunnel *tunnel = client->tunnel;

	return tunnel->channel.link == NULL ? &client->stream : link_stream(tunnel->channel.link);
}

static void
forget_client(Client *client)
{
	Tunnel	   *tunnel = client->tunnel;

	tunnel->client = NULL;
	forget_tunnel(client);
}

/*
 * The client has been authenticated: gives the tunnel a session of its own,
 * and closes the client, since its messages needn't be parsed any more.
 */
static void
tunnel_authenticated(Client *client)
{
	Tunnel	   *tunnel = client->tunnel;
	SessionWish *wish = gateway_alloc(sizeof(SessionWish));
	StringInfoData parameters;

	initStringInfo(&parameters);
	appendBinaryStringInfo(&parameters, client->who.parameters, client->who.parameters_len);
	if (client->who.application_name != NULL)
	{
		packet_string(&parameters, "application_name");
		packet_string(&parameters, client->who.application_name);
	}
	wish->user = gateway_strdup(client->who.user);
	wish->database = gateway_strdup(client->who.database);
	wish->parameters = MemoryContextAlloc(gateway_context, parameters.len + 1);
	wish->parameters_len = parameters.len;
	memcpy(wish->parameters, parameters.data, parameters.len);
	wish->key = client->pool->key;
	tunnel->wish = wish;
	client_close(client);
}

static const ClientOrigin tunnel_origin = {
	.transport = tunnel_transport,
	.authenticated = tunnel_authenticated,
	.closed = forget_client,
};

static void
tunnel_opened(Link *link, uint32 id)
{
	int			fds[2];
	Tunnel	   *tunnel;

	/* tunnels whose client has gone, but whose link isn't read, count too */
	if (nlogin_tunnels >= gateway_max_clients || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
	{
		link_refuse_channel(link, id);
		return;
	}
	tunnel = make_tunnel(fds[0], TUNNEL_LOGIN);
	link_add_opened(link, &tunnel->channel, id);
	tunnel->client = client_accept(fds[1], link_address(link));
	if (tunnel->client->state == CLIENT_CLOSED)
		tunnel->client = NULL;
	else
	{
		tunnel->client->origin = &tunnel_origin;
		tunnel->client->tunnel = tunnel;
	}
}

/* The client is complete: continues with a session. */
static void
begin_session(Tunnel *tunnel)
{
	int			fd = process_connect(&own_server);

	if (fd < 0)
	{
		ErrorData	error = {
			.sqlerrcode = ERRCODE_CANNOT_CONNECT_NOW,
			.message = pstrdup("the gateway can't connect to its server"),
		};

		tell_failure(tunnel, &error);
		close_tunnel(tunnel);
		return;
	}
	stream_close(&tunnel->end->stream, tunnel->end);
	tunnel_open_end(tunnel, fd, true);
	set_tunnel_state(tunnel, TUNNEL_CONNECTING);
}

/*
 * Handles one message of the server; returns whether it is the last before
 * bytes are passed on.
 */
static bool
take_session_message(Tunnel *tunnel, const Message *message)
{
	MessageReader fields = message_fields(message);
	uint32		request;

	if (message->type == PqMsg_AuthenticationRequest && message_read_uint32(&fields, &request) && request != AUTH_REQ_OK)
	{
		session_authenticate(&tunnel->end->stream, &tunnel->scram, &tunnel->wish->key, tunnel->wish->user, message);
		return false;
	}
	if (message->type == PqMsg_BackendKeyData && message->len == sizeof(tunnel->pid) + sizeof(tunnel->key))
	{
		memcpy(&tunnel->pid, message->payload, sizeof(tunnel->pid));
		memcpy(&tunnel->key, message->payload + sizeof(tunnel->pid), sizeof(tunnel->key));
		link_send_key(&tunnel->channel, tunnel->pid, tunnel->key);
	}
	message_keep(&tunnel->greeting, message);
	return message->type == PqMsg_ReadyForQuery || message->type == PqMsg_ErrorResponse;
}

static void
log_session_in(Tunnel *tunnel)
{
	Stream	   *stream = &tunnel->end->stream;
	bool		through = stream->ended;
	Message		message;

	while (message_take(stream, &message))
		if ((through = take_session_message(tunnel, &message)))
			break;
	if (!through && !stream->ended)
		return;
	if (queue_length(&tunnel->greeting) > 0)
		stream_unread(stream, tunnel->greeting.data + tunnel->greeting.start, queue_length(&tunnel->greeting));
	queue_free(&tunnel->greeting);
	free_wish(tunnel);
	tunnel->state = TUNNEL_PASSING;
}

/*
 * Both
 */

/*
 * Called after data were read or sent: continues reading if there is room, and
 * changes the state at the end.
 */
static void
tunnel_settle(Tunnel *tunnel)
{
	Stream	   *stream = &tunnel->end->stream;

	if (tunnel->state != TUNNEL_PASSING && tunnel->state != TUNNEL_LOGIN)
		return;
	stream_pause(stream, queue_length(&stream->in) >= STREAM_HIGH_WATER);
	if (!stream->ended || queue_length(&stream->in) > 0)
		return;
	if (tunnel->state == TUNNEL_LOGIN && tunnel->wish != NULL)
		begin_session(tunnel);
	else
		close_tunnel(tunnel);
}

static void
end_arrived(Stream *stream)
{
	Tunnel	   *tunnel = ((TunnelEnd *) stream)->tunnel;

	if (tunnel->state == TUNNEL_ENTERING)
		enter_tunnel(tunnel);
	else if (tunnel->state == TUNNEL_CONNECTING)
	{
		SessionWish *wish = tunnel->wish;

		if (!stream->ended)
			send_startup_packet(stream, wish->user, wish->database, NULL, wish->parameters, wish->parameters_len);
		tunnel->state = TUNNEL_SESSION;
	}
	if (tunnel->state == TUNNEL_SESSION)
		log_session_in(tunnel);
	if (tunnel->state == TUNNEL_PASSING || tunnel->state == TUNNEL_LOGIN)
	{
		link_send(&tunnel->channel);
		if (tunnel->end == (TunnelEnd *) stream)
			tunnel_settle(tunnel);
	}
	else if (stream->ended && tunnel->state != TUNNEL_CONNECTING)
		close_tunnel(tunnel);
}

static void
end_drained(Stream *stream)
{
	link_grant(&((TunnelEnd *) stream)->tunnel->channel);
}

static void
channel_data(LinkChannel *channel, const char *data, size_t len)
{
	Tunnel	   *tunnel = (Tunnel *) channel;

	if (tunnel->state == TUNNEL_CONNECTING || tunnel->state == TUNNEL_SESSION || tunnel->wish != NULL ||
		(tunnel->state == TUNNEL_LOGIN && stream_is_full(&tunnel->end->stream)))
	{
		/* clients need an answer before they send data */
		close_tunnel(tunnel);
		return;
	}
	tunnel->answered = true;
	stream_put_now(&tunnel->end->stream, NULL, 0, data, len);
	if (!stream_is_full(&tunnel->end->stream))
		link_grant(channel);
}

static void
channel_key(LinkChannel *channel, int32 pid, int32 key)
{
	Tunnel	   *tunnel = (Tunnel *) channel;

	if (!tunnel->entrance)
		return;
	tunnel->pid = pid;
	tunnel->key = key;
}

/* The request that the server has processed. */
typedef struct CancelAnswer
{
	uint64		serial;
	uint32		number;
} CancelAnswer;

static void
tell_canceled(void *arg)
{
	CancelAnswer *answer = arg;
	dlist_iter	iter;

	dlist_foreach(iter, &gateway_tunnels)
	{
		Tunnel	   *tunnel = dlist_container(Tunnel, node, iter.cur);

		if (tunnel->serial == answer->serial)
			link_send_number(&tunnel->channel, FRAME_CANCELED, answer->number);
	}
	pfree(answer);
}

static void
channel_cancel(LinkChannel *channel, uint32 number)
{
	Tunnel	   *tunnel = (Tunnel *) channel;
	CancelAnswer *answer = gateway_alloc(sizeof(CancelAnswer));

	answer->serial = tunnel->serial;
	answer->number = number;
	if (tunnel->entrance || tunnel->state != TUNNEL_PASSING)
		tell_canceled(answer);
	else
		cancel_session(tunnel->pid, tunnel->key, tell_canceled, answer);
}

static void
channel_canceled(LinkChannel *channel, uint32 number)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &gateway_tunnels)
	{
		Tunnel	   *tunnel = dlist_container(Tunnel, node, iter.cur);

		if (tunnel->canceled == (Tunnel *) channel && tunnel->cancel == number)
			close_tunnel(tunnel);
	}
}

static void
channel_closed(LinkChannel *channel, const ErrorData *error)
{
	Tunnel	   *tunnel = (Tunnel *) channel;

	if (error != NULL)
		tell_failure(tunnel, error);
	close_tunnel_softly(tunnel);
}

static Stream *
channel_source(LinkChannel *channel)
{
	Tunnel	   *tunnel = (Tunnel *) channel;

	if (tunnel->state != TUNNEL_PASSING && tunnel->state != TUNNEL_LOGIN)
		return NULL;
	return &tunnel->end->stream;
}

static void
channel_sent(LinkChannel *channel)
{
	tunnel_settle((Tunnel *) channel);
}

static const ChannelHandler tunnel_handler = {
	.opened = tunnel_opened,
	.data = channel_data,
	.key = channel_key,
	.cancel = channel_cancel,
	.canceled = channel_canceled,
	.closed = channel_closed,
	.source = channel_source,
	.sent = channel_sent,
};

/* The client is another node's gateway. */
static void
become_link(Client *client, const char *packet, uint32 len)
{
	MessageReader fields = {packet, packet + len};
	uint32		words[3];

	for (int i = 0; i < lengthof(words); i++)
		if (!message_read_uint32(&fields, &words[i]) || len != sizeof(words) || client->origin != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("invalid request of a gateway")));
	if (words[2] != LINK_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported version of the frames between gateways")));
	stream_skip(&client->stream, len);
	link_accept(&client->stream, client, &client->who.address);
	client_close(client);
}

void
tunnel_init(void)
{
	client_link_requested = become_link;
	link_init(&tunnel_handler);
	open_entrance();
}

void
tunnel_tick(void)
{
	dlist_mutable_iter iter;

	link_tick();
	dlist_foreach_modify(iter, &gateway_tunnels)
	{
		Tunnel	   *tunnel = dlist_container(Tunnel, node, iter.cur);

		if (tunnel->state == TUNNEL_CLOSING &&
			(queue_length(&tunnel->end->stream.out) == 0 || stream_now - tunnel->since > LINGER_TIME))
			close_tunnel(tunnel);
	}
}
