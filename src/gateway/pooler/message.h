/*-------------------------------------------------------------------------
 *
 * message.h
 *	  Reading and writing messages of the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_MESSAGE_H
#define CITUS_GATEWAY_POOLER_MESSAGE_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "compat/protocol.h"
#include "gateway/pooler/stream.h"

/* What ReadyForQuery says about the session. */
#define TRANSACTION_NONE 'I'
#define TRANSACTION_OPEN 'T'
#define TRANSACTION_FAILED 'E'

/* What Describe and Close are about. */
#define NAMED_STATEMENT 'S'
#define NAMED_PORTAL 'P'

/* The type and the length in front of a message's payload. */
#define MESSAGE_HEAD 5

/* A message in a buffer, or the part of it that has arrived. */
typedef struct Message
{
	char		type;
	uint32		len;			/* of the payload */
	const char *payload;
	size_t		there;			/* bytes of the payload that have arrived */
} Message;

/* Messages, or the fields of one, that are read one after another. */
typedef struct MessageReader
{
	const char *next;
	const char *end;
} MessageReader;

static inline bool
message_is_whole(const Message *message)
{
	return message->there == message->len;
}

/* Whether the length in its head can be one. */
static inline bool
message_is_valid(const Message *message)
{
	return message->len <= PG_UINT32_MAX - sizeof(uint32);
}

static inline MessageReader
message_fields(const Message *message)
{
	return (MessageReader) {message->payload, message->payload + message->there};
}

static inline MessageReader
message_reader(const ByteQueue *in)
{
	return (MessageReader) {in->data + in->start, in->data + in->end};
}

/* Whether it is the last of what a client sends to get ReadyForQuery. */
static inline bool
message_ends_unit(char type)
{
	return type == PqMsg_Query || type == PqMsg_Sync || type == PqMsg_FunctionCall;
}

/*
 * The message at the start of a buffer; false if its head has not arrived.
 */
extern bool message_peek(const ByteQueue *in, Message *message);
/* Takes it off the stream, of which it is the first. */
extern void message_skip(Stream *stream, const Message *message);
/* Its payload, which is whole, palloc'd, with a zero byte behind it. */
extern char *message_copy(const Message *message);
/* The next message; false, and nothing is changed, if it isn't whole. */
extern bool message_read(MessageReader *reader, Message *message);
/*
 * The next field: NULL, or false, if there is none.  A string has a zero byte
 * at its end.
 */
extern const char *message_read_string(MessageReader *reader);
extern bool message_read_uint16(MessageReader *reader, uint16 *number);
extern bool message_read_uint32(MessageReader *reader, uint32 *number);
/* Whether the message is whole, and its payload one string. */
extern bool message_is_string(const Message *message);

/*
 * Takes the next message of a server during login from the stream; false if it
 * isn't complete.  The payload, palloc'd, is followed by a zero byte.
 */
extern bool message_take(Stream *stream, Message *message);

/* Appends a message to a queue. */
extern void message_keep(ByteQueue *queue, const Message *message);

/* Appends a message without, or with one string as payload. */
extern void message_put_empty(Stream *stream, char type);
extern void message_put_string(Stream *stream, char type, const char *text);
/* body: the text, and the types of parameters. */
extern void message_put_parse(Stream *stream, const char *name, const char *body, size_t len);
/* Binds a statement without parameters to the portal without a name. */
extern void message_put_bind(Stream *stream, const char *statement);
/* Executes that portal. */
extern void message_put_execute(Stream *stream);
/* Describe or Close; what: NAMED_STATEMENT or NAMED_PORTAL. */
extern void message_put_named(Stream *stream, char type, char what, const char *name);
extern void message_put_ready(Stream *stream, char transaction);

/* Appends text with its zero byte, or data in hexadecimal digits. */
extern void packet_string(StringInfo packet, const char *text);
extern void packet_hex(StringInfo packet, const void *data, size_t len);

/* A field of an ErrorResponse; NULL if it has none of this code. */
extern const char *error_field(const Message *error, char code);
extern bool error_has_state(const Message *error, int sqlstate);
/* ErrorResponse's payload, palloc'd. */
extern StringInfo error_payload(const char *severity, const ErrorData *error);
/* The ErrorResponse of a server, with severity FATAL. */
extern StringInfo error_payload_fatal(const Message *error);
extern StringInfo error_payload_text(const char *severity, int sqlstate, const char *message);

#endif							/* CITUS_GATEWAY_POOLER_MESSAGE_H */
