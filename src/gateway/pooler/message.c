/*-------------------------------------------------------------------------
 *
 * message.c
 *	  Reading and writing messages of the protocol, errors among them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "gateway/pooler/message.h"

#define MAX_LOGIN_MESSAGE (1024 * 1024)

/* The message whose first bytes are at data. */
static bool
message_at(const char *data, size_t there, Message *message)
{
	uint32		len;

	if (there < MESSAGE_HEAD)
		return false;
	memcpy(&len, data + 1, sizeof(len));
	message->type = data[0];
	message->len = pg_ntoh32(len) - sizeof(len);
	message->payload = data + MESSAGE_HEAD;
	message->there = Min(there - MESSAGE_HEAD, message->len);
	return true;
}

bool
message_peek(const ByteQueue *in, Message *message)
{
	return message_at(in->data + in->start, queue_length(in), message);
}

void
message_skip(Stream *stream, const Message *message)
{
	stream_skip(stream, MESSAGE_HEAD + (size_t) message->len);
}

char *
message_copy(const Message *message)
{
	char	   *payload = MemoryContextAllocHuge(CurrentMemoryContext, (size_t) message->len + 1);

	memcpy(payload, message->payload, message->len);
	payload[message->len] = '\0';
	return payload;
}

bool
message_read(MessageReader *reader, Message *message)
{
	Message		read;

	if (!message_at(reader->next, reader->end - reader->next, &read) || !message_is_valid(&read) || !message_is_whole(&read))
		return false;
	*message = read;
	reader->next = read.payload + read.len;
	return true;
}

const char *
message_read_string(MessageReader *reader)
{
	const char *string = reader->next;
	const char *zero = string < reader->end ? memchr(string, '\0', reader->end - string) : NULL;

	if (zero == NULL)
		return NULL;
	reader->next = zero + 1;
	return string;
}

bool
message_read_uint16(MessageReader *reader, uint16 *number)
{
	if (reader->end - reader->next < sizeof(*number))
		return false;
	memcpy(number, reader->next, sizeof(*number));
	*number = pg_ntoh16(*number);
	reader->next += sizeof(*number);
	return true;
}

bool
message_read_uint32(MessageReader *reader, uint32 *number)
{
	if (reader->end - reader->next < sizeof(*number))
		return false;
	memcpy(number, reader->next, sizeof(*number));
	*number = pg_ntoh32(*number);
	reader->next += sizeof(*number);
	return true;
}

bool
message_is_string(const Message *message)
{
	MessageReader fields = message_fields(message);

	return message_is_whole(message) && message_read_string(&fields) != NULL && fields.next == fields.end;
}

bool
message_take(Stream *stream, Message *message)
{
	if (!message_peek(&stream->in, message))
		return false;
	if (message->len > MAX_LOGIN_MESSAGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message from the server")));
	if (!message_is_whole(message))
		return false;
	message->payload = message_copy(message);
	message_skip(stream, message);
	return true;
}

void
message_keep(ByteQueue *queue, const Message *message)
{
	uint32		len = pg_hton32(message->len + sizeof(len));

	queue_put(queue, &message->type, 1);
	queue_put(queue, &len, sizeof(len));
	queue_put(queue, message->payload, message->len);
}

void
message_put_empty(Stream *stream, char type)
{
	stream_put_message(stream, type, NULL, 0);
}

void
message_put_string(Stream *stream, char type, const char *text)
{
	stream_put_message(stream, type, text, strlen(text) + 1);
}

void
message_put_parse(Stream *stream, const char *name, const char *body, size_t len)
{
	stream_put_head(stream, PqMsg_Parse, sizeof(uint32) + strlen(name) + 1 + len);
	stream_put(stream, name, strlen(name) + 1);
	stream_put(stream, body, len);
}

void
message_put_bind(Stream *stream, const char *statement)
{
	/* how many formats of parameters, parameters, formats of columns */
	static const uint16 counts[3] = {0, 0, 0};

	stream_put_head(stream, PqMsg_Bind, sizeof(uint32) + 1 + strlen(statement) + 1 + sizeof(counts));
	stream_put(stream, "", 1);
	stream_put(stream, statement, strlen(statement) + 1);
	stream_put(stream, counts, sizeof(counts));
}

void
message_put_execute(Stream *stream)
{
	static const uint32 all_rows = 0;

	stream_put_head(stream, PqMsg_Execute, sizeof(uint32) + 1 + sizeof(all_rows));
	stream_put(stream, "", 1);
	stream_put(stream, &all_rows, sizeof(all_rows));
}

void
message_put_named(Stream *stream, char type, char what, const char *name)
{
	stream_put_head(stream, type, sizeof(uint32) + 1 + strlen(name) + 1);
	stream_put(stream, &what, 1);
	stream_put(stream, name, strlen(name) + 1);
}

void
message_put_ready(Stream *stream, char transaction)
{
	stream_put_message(stream, PqMsg_ReadyForQuery, &transaction, 1);
}

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

	append_field(payload, PG_DIAG_SEVERITY, severity);
	append_field(payload, PG_DIAG_SEVERITY_NONLOCALIZED, severity);
	append_field(payload, PG_DIAG_SQLSTATE, unpack_sql_state(error->sqlerrcode));
	append_field(payload, PG_DIAG_MESSAGE_PRIMARY, error->message != NULL ? error->message : "missing error text");
	append_field(payload, PG_DIAG_MESSAGE_DETAIL, error->detail);
	append_field(payload, PG_DIAG_MESSAGE_HINT, error->hint);
	appendStringInfoChar(payload, '\0');
	return payload;
}

const char *
error_field(const Message *error, char code)
{
	MessageReader fields = message_fields(error);
	const char *field;

	while ((field = message_read_string(&fields)) != NULL)
		if (*field == code)
			return field + 1;
	return NULL;
}

bool
error_has_state(const Message *error, int sqlstate)
{
	const char *code = error_field(error, PG_DIAG_SQLSTATE);

	return code != NULL && strcmp(code, unpack_sql_state(sqlstate)) == 0;
}

StringInfo
error_payload_text(const char *severity, int sqlstate, const char *message)
{
	ErrorData	error = {.sqlerrcode = sqlstate,.message = unconstify(char *, message)};

	return error_payload(severity, &error);
}

StringInfo
error_payload_fatal(const Message *error)
{
	StringInfo	fatal = makeStringInfo();
	MessageReader fields = message_fields(error);
	const char *field;

	while ((field = message_read_string(&fields)) != NULL && *field != '\0')
		append_field(fatal, *field, *field == PG_DIAG_SEVERITY || *field == PG_DIAG_SEVERITY_NONLOCALIZED ? "FATAL" : field + 1);
	appendStringInfoChar(fatal, '\0');
	return fatal;
}
