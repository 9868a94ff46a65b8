/*-------------------------------------------------------------------------
 *
 * startup.c
 *	  A client's first packets: requests for encryption, to cancel, to start.
 *
 * The parameters of the startup packet are used for the sessions of the
 * client's pool, except application_name, which is a setting of the client;
 * otherwise each application would have its own pool.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/builtins.h"

#include "gateway/pooler/session.h"

void		(*client_link_requested) (Client *client, const char *packet, uint32 len);

/* As the server. */
#define MAX_PACKET 10000

/* The first byte of a TLS handshake, which no packet begins with. */
#define TLS_HANDSHAKE 0x16

static uint32
read_uint32(const char *data)
{
	uint32		value;

	memcpy(&value, data, sizeof(value));
	return pg_ntoh32(value);
}

static void
startup_error(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("%s", message)));
}

/*
 * Bytes before the startup packet that are no packet: the connection is closed
 * without an answer, as the server does it.
 */
static void
close_silently(Client *client, const char *message)
{
	ereport(COMMERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("%s", message)));
	client_close(client);
}

/*
 * Offers the newest version of the protocol that the server knows to a client
 * that wants a newer one, and rejects options.
 */
static void
negotiate_version(Client *client, uint32 version, List *unknown)
{
	StringInfoData message;
	uint32		number;
	ListCell   *cell;

	client->who.protocol = Min(version, PG_PROTOCOL_LATEST);
	if (client->who.protocol == version && unknown == NIL)
		return;
	initStringInfo(&message);
	number = pg_hton32(client->who.protocol);
	appendBinaryStringInfo(&message, (char *) &number, 4);
	number = pg_hton32(list_length(unknown));
	appendBinaryStringInfo(&message, (char *) &number, 4);
	foreach(cell, unknown)
		appendBinaryStringInfo(&message, lfirst(cell), strlen(lfirst(cell)) + 1);
	stream_put_message(&client->stream, PqMsg_NegotiateProtocolVersion, message.data, message.len);
}

static void
set_parameter(Client *client, StringInfo parameters, const char *name, const char *value)
{
	if (strcmp(name, "user") == 0)
		client->who.user = gateway_strdup(value);
	else if (strcmp(name, "database") == 0)
		client->who.database = gateway_strdup(value);
	else if (strcmp(name, "application_name") == 0)
	{
		client->who.application_name = gateway_strdup(value);

		/* as the server does */
		for (char *c = client->who.application_name; *c != '\0'; c++)
			if (*c < 32 || *c > 126)
				*c = '?';
	}
	else if (strcmp(name, GATEWAY_PARAMETER) == 0)
		startup_error("a client can't be a gateway process");
	else if (strcmp(name, "replication") == 0)
	{
		bool		off;

		if (!parse_bool(value, &off) || off)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the gateway does not support replication connections"),
					 errhint("Connect to the server itself.")));
	}
	else
	{
		appendBinaryStringInfo(parameters, name, strlen(name) + 1);
		appendBinaryStringInfo(parameters, value, strlen(value) + 1);
	}
}

/* Sets the client's application_name as if it had executed SET. */
static void
set_application_name(Client *client)
{
	StringInfoData command;

	if (client->who.application_name == NULL)
	{
		client->settings = gateway_strdup("");
		return;
	}
	initStringInfo(&command);
	appendStringInfo(&command, "SELECT pg_catalog.set_config('application_name', %s, false)",
					 quote_literal_cstr(client->who.application_name));
	client->settings = gateway_strdup(command.data);
}

static void
start_client(Client *client, const char *packet, uint32 len)
{
	uint32		version = read_uint32(packet);
	const char *p = packet + 4;
	const char *end = packet + len;
	List	   *unknown = NIL;
	StringInfoData parameters;

	if (PG_PROTOCOL_MAJOR(version) != 3)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("unsupported frontend protocol %u.%u: server supports 3.0 to %u.%u",
						PG_PROTOCOL_MAJOR(version), PG_PROTOCOL_MINOR(version),
						PG_PROTOCOL_MAJOR(PG_PROTOCOL_LATEST), PG_PROTOCOL_MINOR(PG_PROTOCOL_LATEST))));
	initStringInfo(&parameters);
	while (p < end && *p != '\0')
	{
		const char *name = p;
		const char *value = memchr(name, '\0', end - name);

		if (value == NULL || ++value >= end || (p = memchr(value, '\0', end - value)) == NULL)
			startup_error("invalid startup packet layout: expected terminator as last byte");
		p++;
		if (strncmp(name, "_pq_.", 5) == 0)
			unknown = lappend(unknown, pstrdup(name));
		else
			set_parameter(client, &parameters, name, value);
	}
	if (p != end - 1)
		startup_error("invalid startup packet layout: expected terminator as last byte");
	if (client->who.user == NULL || client->who.user[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("no PostgreSQL user name specified in startup packet")));
	if (client->who.database == NULL || client->who.database[0] == '\0')
		client->who.database = gateway_strdup(client->who.user);

	/* as the server does with names */
	client->who.user[Min(strlen(client->who.user), NAMEDATALEN - 1)] = '\0';
	client->who.database[Min(strlen(client->who.database), NAMEDATALEN - 1)] = '\0';
	client->who.parameters = MemoryContextAlloc(gateway_context, parameters.len + 1);
	memcpy(client->who.parameters, parameters.data, parameters.len);
	client->who.parameters_len = parameters.len;
	set_application_name(client);
	negotiate_version(client, version, unknown);
	login_begin(client);
}

/* Answers a request for encryption, of len bytes. */
static void
negotiate_encryption(Client *client, uint32 code, uint32 len)
{
	bool		agreed = code == NEGOTIATE_SSL_CODE && tls_is_offered();

	/* data behind the request, before TLS, may come from an attacker */
	if (queue_length(&client->stream.in) > len)
		startup_error("received unencrypted data after SSL request");
	stream_put(&client->stream, agreed ? "S" : "N", 1);
	if (!agreed)
		return;
	stream_flush(&client->stream);
	if (queue_length(&client->stream.out) > 0)
		startup_error("could not send SSL negotiation response");
	stream_encrypt(&client->stream, tls_accept(client->stream.fd));
}

/*
 * A client that begins with a TLS handshake instead of a packet
 * (sslnegotiation=direct) is answered; the rest of it comes by reading.
 */
static void
begin_encryption(Client *client)
{
	Stream	   *stream = &client->stream;
	ByteQueue  *in = &stream->in;
	TlsLink    *tls = tls_accept_begun(stream->fd, in->data + in->start, queue_length(in));

	if (tls == NULL)
	{
		client_close(client);
		return;
	}
	stream_encrypt(stream, tls);
	stream_skip(stream, queue_length(in));
}

/* A request to cancel: process id and key; ignored if it can't be right. */
static void
cancel_packet_arrived(const char *data, uint32 len)
{
	CancelKey	key = {.len = (int) len - 4};

	if (key.len < SHORT_CANCEL_KEY || key.len > LONG_CANCEL_KEY)
		return;
	memcpy(key.bytes, data + 4, key.len);
	cancel_requested(read_uint32(data), &key);
}

void
startup_arrived(Client *client)
{
	ByteQueue  *in = &client->stream.in;

	if (client->state == CLIENT_STARTING && client->stream.tls == NULL && tls_is_offered() &&
		queue_length(in) > 0 && in->data[in->start] == TLS_HANDSHAKE)
		begin_encryption(client);
	while (client->state == CLIENT_STARTING && queue_length(in) >= 4)
	{
		const char *data = in->data + in->start;
		uint32		len = read_uint32(data);
		uint32		code;

		if (client->stream.tls != NULL && !tls_protocol_is_named(client->stream.tls))
		{
			close_silently(client, "SSL connection was begun without a request and without naming the protocol");
			return;
		}
		if (len < 8 || len > MAX_PACKET)
		{
			close_silently(client, "invalid length of startup packet");
			return;
		}
		if (queue_length(in) < len)
			return;
		code = read_uint32(data + 4);
		if ((code == NEGOTIATE_SSL_CODE || code == NEGOTIATE_GSS_CODE) && client->stream.tls == NULL)
			negotiate_encryption(client, code, len);
		else if (code == CANCEL_REQUEST_CODE)
		{
			cancel_packet_arrived(data + 8, len - 8);
			client_close(client);
			return;
		}
		else if (code == LINK_REQUEST_CODE)
		{
			client_link_requested(client, data, len);
			return;
		}
		else
			start_client(client, data + 4, len - 4);
		stream_skip(&client->stream, len);
	}
}
