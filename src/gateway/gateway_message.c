/*-------------------------------------------------------------------------
 *
 * gateway_message.c
 *	  The gateway's own messages: errors, and parts of packets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "gateway/relay.h"

#define MAX_LOGIN_MESSAGE (1024 * 1024)

void
packet_string(StringInfo packet, const char *text)
{
	appendBinaryStringInfo(packet, text, strlen(text) + 1);
}

void
packet_hex(StringInfo packet, const void *data, size_t len)
{
	enlargeStringInfo(packet, 2 * len);
	packet->len += hex_encode(data, len, packet->data + packet->len);
	packet->data[packet->len] = '\0';
}

void
send_startup_packet(Stream *stream, const char *user, const char *database, const char *request,
					const char *parameters, size_t parameters_len)
{
	StringInfoData packet;
	uint32		word = pg_hton32(PG_PROTOCOL(3, 0));

	initStringInfo(&packet);
	appendBinaryStringInfo(&packet, (char *) &word, 4);
	packet_string(&packet, "user");
	packet_string(&packet, user);
	packet_string(&packet, "database");
	packet_string(&packet, database);
	if (request != NULL)
	{
		packet_string(&packet, GATEWAY_PARAMETER);
		packet_hex(&packet, relay_start->key, GATEWAY_KEY_SIZE);
		appendStringInfoChar(&packet, ' ');
		packet_string(&packet, request);
	}
	appendBinaryStringInfo(&packet, parameters, parameters_len);
	appendStringInfoChar(&packet, '\0');
	word = pg_hton32(packet.len + 4);
	stream_put(stream, &word, 4);
	stream_put(stream, packet.data, packet.len);
}

char *
take_login_message(Stream *stream, char *type, size_t *len)
{
	const ByteQueue *in = &stream->in;
	const char *data = in->data + in->start;
	uint32		length;
	char	   *payload;

	if (queue_length(in) < 5)
		return NULL;
	memcpy(&length, data + 1, 4);
	length = pg_ntoh32(length);
	if (length < 4 || length > MAX_LOGIN_MESSAGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message from the server")));
	if (queue_length(in) < length + 1)
		return NULL;
	*type = data[0];
	*len = length - 4;
	payload = palloc(*len + 1);
	memcpy(payload, data + 5, *len);
	payload[*len] = '\0';
	stream_skip(stream, length + 1);
	return payload;
}

static void
append_field(StringInfo payload, char code, const char *text)
{
	if (text == NULL)
		return;
	appendStringInfoChar(payload, code);
	appendBinaryStringInfo(payload, text, strlen(text) + 1);
}

StringInfo
error_payload(const char *severity, const ErrorData *error)
{
	StringInfo	payload = makeStringInfo();

	append_field(payload, 'S', severity);
	append_field(payload, 'V', severity);
	append_field(payload, 'C', unpack_sql_state(error->sqlerrcode));
	append_field(payload, 'M', error->message != NULL ? error->message : "missing error text");
	append_field(payload, 'D', error->detail);
	append_field(payload, 'H', error->hint);
	appendStringInfoChar(payload, '\0');
	return payload;
}

const char *
error_field(const char *payload, size_t len, char code)
{
	const char *end = payload + len;

	for (const char *field = payload; field < end && *field != '\0'; field += strnlen(field, end - field) + 1)
		if (*field == code)
			return field + 1;
	return NULL;
}

StringInfo
error_payload_text(const char *severity, int sqlstate, const char *message)
{
	ErrorData	error = {.sqlerrcode = sqlstate,.message = unconstify(char *, message)};

	return error_payload(severity, &error);
}

StringInfo
error_payload_fatal(const char *payload, size_t len)
{
	StringInfo	fatal = makeStringInfo();
	const char *end = payload + len;

	for (const char *field = payload; field < end && *field != '\0'; field += strnlen(field, end - field) + 1)
		append_field(fatal, *field, *field == 'S' || *field == 'V' ? "FATAL" : field + 1);
	appendStringInfoChar(fatal, '\0');
	return fatal;
}
