/*-------------------------------------------------------------------------
 *
 * login_link.c
 *	  A client's authentication by a backend, and its result.
 *
 * The connection to the backend is authenticated twice (login_hook.c): first
 * as the gateway's, which may fail and may ask for a password that doesn't
 * exist, and, after the backend reports "begin", as the client's.  From then
 * on, messages are passed between the backend and the client unchanged; those
 * of a SCRAM exchange are kept until its end, for scram_key_derive.  If the
 * client uses TLS, so does our connection, before "begin": then rules for such
 * connections apply, and the backend can check the channel binding to the
 * certificate that the client has seen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqcomm.h"
#include "miscadmin.h"

#include "gateway/pooler/session.h"

struct LoginLink
{
	Stream		stream;			/* first */
	Client	   *client;
	bool		started;		/* the startup packet has been sent */
	bool		begun;			/* the backend is authenticating the client */
	bool		silent;			/* in silent_logins: the client has been asked,
								 * and has not answered */
	int64		asked_at;		/* stream_now then */
	dlist_node	silent_link;
	ScramLogin *scram;			/* of the gateway's own failure */
	char	   *client_first;
	char	   *server_first;
	char	   *client_final;
};

/*
 * How many backends authenticate clients at the same time, not counting those
 * that wait for their client.
 */
#define MAX_LOGINS 16

/*
 * How long a client may take to answer, in microseconds, if others wait to log
 * in and the maximal number of backends for logins is reached.
 */
#define SILENCE 2000000

static dlist_head silent_logins = DLIST_STATIC_INIT(silent_logins);	/* oldest first */
static int	nopen_logins = 0;
static int	nsilent_logins = 0;

static void login_arrived(Stream *stream);
static void login_failed(Stream *stream, const ErrorData *error);

static const StreamHandler login_handler = {
	.arrived = login_arrived,
	.failed = login_failed,
};

/* The address of our end of the client's connection. */
static void
append_own_address(StringInfo packet, int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t	len = sizeof(address);

	(void) getsockname(fd, (struct sockaddr *) &address, &len);
	packet_hex(packet, &address, len);
}

/* Appends that the client uses TLS, and the names in its certificate. */
static void
append_peer(StringInfo packet, TlsLink *tls)
{
	char	   *names[2];

	appendStringInfoString(packet, " tls");
	if (!tls_peer_names(tls, &names[0], &names[1]))
		return;
	for (int i = 0; i < lengthof(names); i++)
	{
		appendStringInfoString(packet, " n");
		packet_hex(packet, names[i], strlen(names[i]));
	}
}

static void
send_startup(LoginLink *login)
{
	const Client *client = login->client;
	const Stream *transport = client->origin != NULL ? client->origin->transport(client) : &client->stream;
	StringInfoData request;

	initStringInfo(&request);
	appendStringInfoString(&request, "login ");
	packet_hex(&request, &client->who.address.addr, client->who.address.salen);
	appendStringInfoChar(&request, ' ');
	append_own_address(&request, transport->fd);
	if (transport->tls != NULL)
		append_peer(&request, transport->tls);
	send_startup_packet(&login->stream, client->who.user, client->who.database, request.data, NULL, 0);
	login->started = true;
}

/* The client has been asked for something, or has answered. */
static void
set_silent(LoginLink *login, bool silent)
{
	if (silent == login->silent)
		return;
	login->silent = silent;
	login->asked_at = stream_now;
	if (silent)
		dlist_push_tail(&silent_logins, &login->silent_link);
	else
		dlist_delete(&login->silent_link);
	nsilent_logins += silent ? 1 : -1;
}

static void
login_free(LoginLink *login)
{
	set_silent(login, false);
	nopen_logins--;
	login->client = NULL;
	scram_login_free(login->scram);
	if (login->client_first != NULL)
		pfree(login->client_first);
	if (login->server_first != NULL)
		pfree(login->server_first);
	if (login->client_final != NULL)
		pfree(login->client_final);
	stream_close(&login->stream, login);
}

void
login_begin(Client *client)
{
	client_change_state(client, CLIENT_LOGIN_WAITING);
	login_tick();
}

static void
start_login(Client *client)
{
	LoginLink  *login = gateway_alloc(sizeof(LoginLink));
	int			fd = process_connect(&own_server);

	if (fd < 0)
	{
		pfree(login);
		client_fail_text(client, ERRCODE_CANNOT_CONNECT_NOW, "the gateway can't connect to its server");
		return;
	}
	nopen_logins++;
	client_change_state(client, CLIENT_LOGIN);
	login->client = client;
	client->login = login;
	stream_open(&login->stream, fd, &login_handler, true);
}

/*
 * Whether one more login may begin now.  Clients that don't answer use a part
 * of the server's connections at most, and delay other logins only for a
 * moment.
 */
static bool
make_room_for_login(void)
{
	LoginLink  *oldest;

	if (nopen_logins - nsilent_logins >= MAX_LOGINS)
		return false;
	if (nopen_logins < Max(MAX_LOGINS, MaxConnections / 4 / gateway_processes))
		return true;
	oldest = dlist_container(LoginLink, silent_link, dlist_head_node(&silent_logins));
	if (oldest->asked_at + SILENCE > stream_now)
		return false;
	client_fail_text(oldest->client, ERRCODE_QUERY_CANCELED, "canceling authentication due to timeout");
	return true;
}

void
login_tick(void)
{
	while (!dlist_is_empty(&login_queue) && make_room_for_login())
		start_login(dlist_head_element(Client, state_link, &login_queue));
}

void
login_abandon(LoginLink *login)
{
	login_free(login);
}

static void
login_failed(Stream *stream, const ErrorData *error)
{
	LoginLink  *login = (LoginLink *) stream;
	Client	   *client = login->client;

	client->login = NULL;
	login_free(login);
	client_fail(client, error);
}

/* The server requests a password from the gateway, which has none. */
static void
fail_own_login(LoginLink *login, uint32 request, const char *data)
{
	ScramKey	no_key = {0};
	StringInfoData answer;

	initStringInfo(&answer);
	switch (request)
	{
		case AUTH_REQ_OK:
		case AUTH_REQ_SASL_FIN:
			return;
		case AUTH_REQ_SASL:
			login->scram = scram_login_begin(&no_key, &answer);
			break;
		case AUTH_REQ_SASL_CONT:
			if (login->scram != NULL)
				scram_login_next(login->scram, data, &answer);
			break;
		case AUTH_REQ_PASSWORD:
		case AUTH_REQ_MD5:
			packet_string(&answer, "none");
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the gateway's own connections to the server use an authentication method that it does not support"),
					 errhint("Have pg_hba.conf use trust, peer or scram-sha-256 for them.")));
	}
	stream_put_message(&login->stream, PqMsg_PasswordMessage, answer.data, answer.len);
}

/*
 * Offers a client that comes through a tunnel, without TLS for channel
 * binding, the server's mechanisms without channel binding.
 */
static void
pass_unbound_offer(LoginLink *login, const Message *message)
{
	MessageReader names = message_fields(message);
	StringInfoData offer;
	uint32		request;
	const char *name;

	initStringInfo(&offer);
	appendBinaryStringInfo(&offer, message->payload, sizeof(request));
	(void) message_read_uint32(&names, &request);
	while ((name = message_read_string(&names)) != NULL && *name != '\0')
		if (strcmp(name, "SCRAM-SHA-256-PLUS") != 0)
			packet_string(&offer, name);
	appendStringInfoChar(&offer, '\0');
	stream_put_message(&login->client->stream, message->type, offer.data, offer.len);
}

/* Passes a request of the server, behind which are data, to the client. */
static void
pass_request(LoginLink *login, uint32 request, const char *data, const Message *message)
{
	if (request == AUTH_REQ_OK)
		return;
	if (request == AUTH_REQ_SASL_CONT && login->server_first == NULL)
		login->server_first = gateway_strdup(data);
	if (request == AUTH_REQ_SASL && login->client->origin != NULL)
		pass_unbound_offer(login, message);
	else
		stream_put_message(&login->client->stream, message->type, message->payload, message->len);
	set_silent(login, request != AUTH_REQ_SASL_FIN);
}

void
login_answer(LoginLink *login, char type, const char *payload, size_t len)
{
	if (type != PqMsg_PasswordMessage || !login->begun)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("expected password response, got message type %d", type)));
	set_silent(login, false);
	if (login->client_first == NULL)
	{
		/* behind the mechanism's name and the length */
		size_t		name_len = strnlen(payload, len);

		if (len > name_len + 5)
			login->client_first = gateway_strdup(pnstrdup(payload + name_len + 5, len - name_len - 5));
	}
	else if (login->server_first != NULL && login->client_final == NULL)
		login->client_final = gateway_strdup(pnstrdup(payload, len));
	stream_put_message(&login->stream, type, payload, len);
}

static void
login_succeeds(LoginLink *login, const char *outcome)
{
	Client	   *client = login->client;
	int			end = 0;
	const char *verifier;

	client->login = NULL;
	if (sscanf(outcome, "%u %u %n", &client->who.role, &client->who.database_id, &end) != 2 || end == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message from the server")));
	verifier = outcome + end;
	client->pool = pool_find(client);
	if (login->client_first != NULL && login->server_first != NULL &&
		login->client_final != NULL)
		scram_key_derive(&client->pool->key, verifier, login->client_first, login->server_first,
						 login->client_final);
	login_free(login);
	client_authenticated(client);
}

/* What login_hook.c reports; false if that was the end of the login. */
static bool
login_reported(LoginLink *login, const char *report)
{
	if (strcmp(report, "begin") == 0)
		login->begun = true;
	else if (strcmp(report, "tls") == 0)
		stream_encrypt(&login->stream, tls_connect(login->stream.fd));
	else if (strncmp(report, "ok ", 3) == 0)
	{
		login_succeeds(login, report + 3);
		return false;
	}
	return true;
}

/* Takes one message of the backend; false if that was the last one. */
static bool
take_link_message(LoginLink *login, const Message *message)
{
	Client	   *client = login->client;
	MessageReader fields = message_fields(message);
	const char *name;
	const char *value;
	uint32		request;

	switch (message->type)
	{
		case PqMsg_AuthenticationRequest:
			if (!message_read_uint32(&fields, &request))
				break;
			if (login->begun)
				pass_request(login, request, fields.next, message);
			else
				fail_own_login(login, request, fields.next);
			break;
		case PqMsg_ParameterStatus:
			name = message_read_string(&fields);
			value = name ? message_read_string(&fields) : NULL;
			if (value != NULL && strcmp(name, GATEWAY_LOGIN_REPORT) == 0)
				return login_reported(login, value);
			break;
		case PqMsg_ErrorResponse:
			client->login = NULL;
			login_free(login);
			client_fail_message(client, message->payload, message->len);
			return false;
		case PqMsg_NoticeResponse:
			stream_put_message(&client->stream, message->type, message->payload, message->len);
			break;
		default:
			break;
	}
	return true;
}

static void
login_arrived(Stream *stream)
{
	LoginLink  *login = (LoginLink *) stream;
	Message		message;

	if (!login->started && !stream->ended)
		send_startup(login);
	while (message_take(stream, &message))
		if (!take_link_message(login, &message))
			return;
	if (stream->ended)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the server closed the connection during authentication")));
}
