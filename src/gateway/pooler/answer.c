/*-------------------------------------------------------------------------
 *
 * answer.c
 *	  The messages of backends: their receiver, and what they show about the
 *	  backend's state.
 *
 * A backend answers in the order of its messages, so a ring of expected
 * answers gives the receiver of each message.  In the extended protocol, the
 * server skips everything after an error up to the next Sync.  We drop the
 * same entries from the ring, and undo what we had assumed about skipped
 * statements.
 *
 * During COPY FROM, the server ignores Syncs.  libpq sends one before it knows
 * that its statement is a COPY, so Syncs are removed from the ring when the
 * COPY begins; CopyDone leaves a mark there, for the messages that were sent
 * after it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "gateway/pooler/session.h"

/* A client that does not read must not hold up others behind it. */
#define SHARED_HIGH_WATER (16 * 1024 * 1024)

static void skip_to_sync(Backend *backend, bool failed);

Expect *
expect_head(Backend *backend)
{
	ExpectRing *ring = &backend->answers.expected;

	return ring->head == ring->tail ? NULL : &ring->entries[ring->head & (ring->size - 1)];
}

/*
 * A query doesn't replace a Sync, since the server skips it after an error,
 * too.  If the server doesn't skip it, ready_for_query notices that.
 */
static void
note_asked(Backend *backend, ExpectKind kind)
{
	if (kind != EXPECT_COPY_END && kind != EXPECT_QUERY)
		backend->answers.unsynced = kind != EXPECT_SYNC;
}

Expect *
expect_push(Backend *backend, ExpectKind kind, ExpectReader reader)
{
	ExpectRing *ring = &backend->answers.expected;
	Expect	   *expect;

	if (ring->tail == ring->head)
		backend->heard = stream_now;
	if (ring->tail - ring->head == ring->size)
	{
		uint32		size = Max(ring->size * 2, 16);
		Expect	   *entries = MemoryContextAllocHuge(gateway_context, sizeof(Expect) * size);

		for (uint32 i = ring->head; i != ring->tail; i++)
			entries[i & (size - 1)] = ring->entries[i & (ring->size - 1)];
		if (ring->entries != NULL)
			pfree(ring->entries);
		ring->entries = entries;
		ring->size = size;
	}
	expect = &ring->entries[ring->tail++ & (ring->size - 1)];
	memset(expect, 0, sizeof(*expect));
	expect->kind = kind;
	expect->reader = reader;
	note_asked(backend, kind);
	if (kind == EXPECT_QUERY)
		backend_note_unnamed(backend, NULL);
	return expect;
}

static void
free_expect(Expect *expect)
{
	if (expect->text != NULL)
		prepared_text_release(expect->text);
	if (expect->former != NULL)
		prepared_text_release(expect->former);
	if (expect->name != NULL)
		pfree(expect->name);
}

static void
pop_expect(Backend *backend)
{
	free_expect(expect_head(backend));
	backend->answers.expected.head++;
}

void
expect_free(Backend *backend)
{
	while (expect_head(backend) != NULL)
		pop_expect(backend);
	if (backend->answers.expected.entries != NULL)
		pfree(backend->answers.expected.entries);
	memset(&backend->answers.expected, 0, sizeof(backend->answers.expected));
}

void
expect_settle(Backend *backend)
{
	Expect	   *expect;

	if (backend->answers.skipping)
		skip_to_sync(backend, false);
	while ((expect = expect_head(backend)) != NULL)
	{
		if (expect->kind == EXPECT_COPY_END)
			pop_expect(backend);
		else if (expect->reader == READER_LOCAL)
		{
			if (backend->client != NULL && !backend->client->deaf)
				message_put_empty(&backend->client->stream, expect->kind == EXPECT_PARSE ? PqMsg_ParseComplete : PqMsg_CloseComplete);
			backend->queue.bytes++;
			pop_expect(backend);
		}
		else
			break;
	}
}

static bool
changes_name(const Expect *expect)
{
	return expect->name != NULL && expect->kind != EXPECT_BIND;
}

/*
 * A message has not changed what a name means: that is still former, whose
 * reference is taken over.  later: where the messages begin that can change
 * it again.
 */
static void
undo_name(Backend *backend, const Expect *expect, uint32 later, PreparedText *former)
{
	ExpectRing *ring = &backend->answers.expected;
	Client	   *client = backend->client;

	for (; later != ring->tail; later++)
	{
		Expect	   *next = &ring->entries[later & (ring->size - 1)];

		if (!changes_name(next) || strcmp(next->name, expect->name) != 0)
			continue;
		if (next->former != NULL)
			prepared_text_release(next->former);
		next->former = former;
		return;
	}
	if (client != NULL && client_statement(client, expect->name) == expect->text)
		client_set_statement(client, expect->name, former);
	else if (former != NULL)
		prepared_text_release(former);
}

/*
 * The server has skipped a message, or answered it by an error: undoes its
 * effects on the client's state.
 */
static void
undo_expect(Backend *backend, Expect *expect, uint32 later, bool failed)
{
	PreparedText *former = expect->former;

	if (expect->kind == EXPECT_PARSE && expect->text != NULL && expect->reader != READER_LOCAL &&
		backend_text_state(backend, expect->text) == TEXT_SENT)
		backend_remove_text(backend, expect->text);
	if (expect->text != NULL && expect->kind == EXPECT_PARSE && expect->text == backend->statements.unnamed)
		backend_note_unnamed(backend, NULL);
	if (!changes_name(expect))
		return;

	/* a Parse that fails has dropped the statement without a name */
	if (failed && former != NULL)
		prepared_text_release(former);
	expect->former = NULL;
	undo_name(backend, expect, later, failed ? NULL : former);
}

/*
 * After an error in the extended protocol: the server skips all messages
 * before the next Sync.  failed: the first of them has raised the error.
 */
static void
skip_to_sync(Backend *backend, bool failed)
{
	ExpectRing *ring = &backend->answers.expected;
	uint32		end = ring->head;

	while (end != ring->tail && ring->entries[end & (ring->size - 1)].kind != EXPECT_SYNC)
		end++;
	backend->answers.skipping = end == ring->tail;

	/* the last one first, since each is undone to what was before it */
	for (uint32 i = end; i != ring->head; i--)
		undo_expect(backend, &ring->entries[(i - 1) & (ring->size - 1)], end, failed && i - 1 == ring->head);
	while (ring->head != end)
		pop_expect(backend);
}

/* Whether an ErrorResponse is the last of its session. */
static bool
is_fatal(const Message *error)
{
	const char *severity = error_field(error, PG_DIAG_SEVERITY_NONLOCALIZED);

	return severity != NULL && strcmp(severity, "ERROR") != 0;
}

/* Has the client's policy note an answer, or a part of it. */
static bool
note_answer(Client *client, char type, const void *data, size_t len)
{
	return client->policy->note != NULL && client->policy->note(client, type, data, len);
}

/* Passes a message on, unless the client has already received it. */
static void
tell_client(Client *client, char type, const char *payload, size_t len)
{
	(void) note_answer(client, type, payload, len);
	if (!client->deaf)
		stream_put_message(&client->stream, type, payload, len);
}

/* The same for an error or notice, in which our names may be. */
static void
tell_report(Client *client, const Expect *expect, const Message *report)
{
	StringInfo	own = client_own_names(client, expect != NULL && expect->unnamed, report);

	if (own != NULL)
		tell_client(client, report->type, own->data, own->len);
	else
		tell_client(client, report->type, report->payload, report->len);
}

/*
 * The error that the client gets about a name, for which the server was made
 * to raise one; NULL: the server's own.
 */
static StringInfo
error_about_name(const Expect *expect, const Message *error)
{
	if (expect == NULL || !error_has_state(error, ERRCODE_UNDEFINED_PSTATEMENT))
		return NULL;
	switch (expect->reader)
	{
		case READER_DUPLICATE:
			return error_payload_text("ERROR", ERRCODE_DUPLICATE_PSTATEMENT,
									  psprintf("prepared statement \"%s\" already exists", expect->name));
		case READER_OUTDATED:
			return error_payload_text("ERROR", ERRCODE_FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
		default:
			return NULL;
	}
}

/* What the client waited for has been told, or will not be. */
static void
end_checking(Backend *backend)
{
	if (!backend->answers.checking)
		return;
	backend->answers.checking = false;
	if (backend->client != NULL)
		client_ready(backend->client);
}

static void
error_answered(Backend *backend, const Message *error)
{
	Client	   *client;
	Expect	   *expect;
	StringInfo	about_name;

	if (backend->client == NULL || backend->client->policy->refused == NULL ||
		!backend->client->policy->refused(backend, error))
		expect_settle(backend);
	client = backend->client;
	expect = expect_head(backend);
	about_name = error_about_name(expect, error);
	if (client != NULL && about_name != NULL)
		tell_client(client, error->type, about_name->data, about_name->len);
	else if (client != NULL && expect != NULL && (expect->reader == READER_RESTORE || expect->reader == READER_SETTING))
	{
		StringInfo	fatal = error_payload_fatal(error);

		client_fail_message(client, fatal->data, fatal->len);
		return;
	}
	else if (expect != NULL && (expect->reader == READER_QUIET || backend->state == BACKEND_RESTORING))
	{
		if (expect->text != NULL)
			backend->statements.not_prepared = expect->text->id;
	}
	else if (client != NULL)
	{
		tell_report(client, expect, error);
		backend->answers.end_told = is_fatal(error) && !client->deaf;
	}

	if (client != NULL)
		client->input.in_copy = false;
	backend->answers.dying = is_fatal(error);
	if (expect != NULL && expect->kind != EXPECT_QUERY)
		skip_to_sync(backend, true);
	end_checking(backend);
}

/*
 * The server begins to take rows, so it skips the Syncs that were sent before
 * the end of the rows.
 */
static void
copy_begins(Backend *backend)
{
	ExpectRing *ring = &backend->answers.expected;
	uint32		to = ring->head + 1;
	uint32		from;

	if (backend->client != NULL)
		backend->client->input.in_copy = true;
	for (from = to; from != ring->tail; from++)
	{
		Expect	   *expect = &ring->entries[from & (ring->size - 1)];

		if (expect->kind == EXPECT_COPY_END)
		{
			if (backend->client != NULL)
				backend->client->input.in_copy = false;
			from++;
			break;
		}
		if (expect->kind == EXPECT_SYNC)
			free_expect(expect);
		else
			ring->entries[to++ & (ring->size - 1)] = *expect;
	}
	for (; from != ring->tail; from++)
		ring->entries[to++ & (ring->size - 1)] = ring->entries[from & (ring->size - 1)];
	ring->tail = to;
	for (from = ring->head; from != to; from++)
		note_asked(backend, ring->entries[from & (ring->size - 1)].kind);
	end_checking(backend);
}

/* Processes the backend's report of its state (session_state.c). */
void
answer_state(Backend *backend, const char *value)
{
	char		pins[16];
	uint32		generation;
	Oid			role;
	Oid			database;
	int			end = 0;
	const char *settings;

	if (sscanf(value, "%15s %u %u %u %d %d %d%n", pins, &generation, &role, &database, &backend->limits.session,
			   &backend->limits.block, &backend->limits.statement, &end) != 7 || value[end] != ' ' ||
		role != backend->pool->role || database != backend->pool->database_id)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("the role or the database has been replaced by another of its name"),
				 errhint("Connect again.")));
	settings = value + end + 1;
	backend->pinned = pins[0] != '-';
	if (backend->statements.generation != generation)
	{
		backend->statements.generation = generation;
		backend_forget_texts(backend);
		if (backend->client != NULL && backend->state == BACKEND_LENT)
			client_deallocate(backend->client);
	}
	if (backend->client != NULL && backend->state == BACKEND_LENT)
		backend->client->limits = backend->limits;
	if (strcmp(backend->settings, settings) == 0)
		return;
	pfree(backend->settings);
	backend->settings = gateway_strdup(settings);
	if (backend->client != NULL && backend->state == BACKEND_LENT)
	{
		pfree(backend->client->settings);
		backend->client->settings = gateway_strdup(settings);
	}
}

static void
parameter_reported(Backend *backend, const Message *status)
{
	MessageReader fields = message_fields(status);
	const char *name = message_read_string(&fields);
	const char *value = name ? message_read_string(&fields) : NULL;

	if (value != NULL && strcmp(name, GATEWAY_STATE_SETTING) == 0)
		answer_state(backend, value);
	else if (value != NULL && strcmp(name, GATEWAY_DEALLOCATED) == 0)
	{
		if (backend->client != NULL)
			client_set_statement(backend->client, value, NULL);
	}
	else if (backend->state == BACKEND_LENT && backend->client != NULL)
	{
		if (value != NULL && strcmp(name, "application_name") == 0)
			client_entry_rename(backend->client->entry, value);
		tell_client(backend->client, status->type, status->payload, status->len);
	}
}

/*
 * Passes a notification on with its sender's number instead of the process id
 * of the session: its own, or that of the client that has had the session
 * last.
 */
static void
notification_arrived(Backend *backend, const Message *notification)
{
	char	   *payload = unconstify(char *, notification->payload);
	uint32		number = backend->client->who.number;

	if (notification->len >= sizeof(number) && memcmp(payload, &backend->pid, sizeof(number)) != 0)
	{
		memcpy(&number, payload, sizeof(number));
		number = (uint32) client_number_of_last((int) pg_ntoh32(number));
	}
	number = pg_hton32(number);
	if (notification->len >= sizeof(number) && number != 0)
		memcpy(payload, &number, sizeof(number));
	tell_client(backend->client, notification->type, payload, notification->len);
}

static void
ready_for_query(Backend *backend, const char *payload)
{
	Expect	   *expect = expect_head(backend);
	Client	   *client = backend->client;

	if (expect == NULL || (expect->kind != EXPECT_SYNC && expect->kind != EXPECT_QUERY))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("unexpected message from the server"),
				 errdetail("It is ready for a query, but has not answered \"%c\".", expect == NULL ? '-' : expect->kind)));
	backend->transaction = payload[0];
	if (expect->reader == READER_RESTORE)
	{
		pop_expect(backend);
		backend_restored(backend);
		return;
	}
	if (expect->reader == READER_SETTING)
	{
		pop_expect(backend);
		return;
	}
	if (expect->reader == READER_QUESTION)
		backend_question_answered(backend, NULL);
	if (client != NULL && expect->reader != READER_QUIET)
	{
		tell_client(client, PqMsg_ReadyForQuery, payload, 1);
		client->input.in_copy = false;
	}
	pop_expect(backend);
	if (expect_head(backend) == NULL)
		backend->answers.checking = false;
	if (!backend_is_remote(backend))
	{
		if (client != NULL && !client->deaf)
			client->cancelled = false;
		expect_settle(backend);
		if (expect_head(backend) == NULL)
		{
			backend->answers.unsynced = false;
			backend->answers.checking = false;
		}
	}
	if (client != NULL)
		client->policy->answered(backend);
	else
		session_done(backend);
}

/* A message that ends the answer at the head of the ring. */
static bool
is_answer(char type, ExpectKind kind)
{
	switch (kind)
	{
		case EXPECT_PARSE:
			return type == PqMsg_ParseComplete;
		case EXPECT_BIND:
			return type == PqMsg_BindComplete;
		case EXPECT_CLOSE:
			return type == PqMsg_CloseComplete;
		case EXPECT_DESCRIBE:
			return type == PqMsg_RowDescription || type == PqMsg_NoData;
		case EXPECT_EXECUTE:
			return type == PqMsg_CommandComplete || type == PqMsg_EmptyQueryResponse || type == PqMsg_PortalSuspended;
		default:
			return false;
	}
}

/*
 * A message that is handled as a whole; others are passed on as they arrive.
 */
static bool
is_handled_whole(const Message *message, const Expect *expect)
{
	switch (message->type)
	{
		case PqMsg_ParameterStatus:
		case PqMsg_ErrorResponse:
		case PqMsg_NoticeResponse:
		case PqMsg_ReadyForQuery:
		case PqMsg_NotificationResponse:
		case PqMsg_BackendKeyData:
		case PqMsg_AuthenticationRequest:
		case PqMsg_NegotiateProtocolVersion:
			return true;
		case PqMsg_DataRow:
			return expect != NULL && expect->reader == READER_QUESTION;
		default:
			return false;
	}
}

/* A row with one column, NULL perhaps. */
static void
question_row_arrived(Backend *backend, const Message *row)
{
	MessageReader fields = message_fields(row);
	uint16		columns;
	uint32		len;

	if (message_read_uint16(&fields, &columns) && message_read_uint32(&fields, &len) && (int32) len > 0)
		backend_question_answered(backend, fields.next);
}

static void
whole_answer(Backend *backend, const Message *message)
{
	Client	   *client = backend->state == BACKEND_LENT ? backend->client : NULL;

	switch (message->type)
	{
		case PqMsg_ErrorResponse:
			error_answered(backend, message);
			break;
		case PqMsg_ParameterStatus:
			parameter_reported(backend, message);
			break;
		case PqMsg_ReadyForQuery:
			ready_for_query(backend, message->payload);
			break;
		case PqMsg_DataRow:
			question_row_arrived(backend, message);
			break;
		case PqMsg_NoticeResponse:
			if (client != NULL)
				tell_report(client, expect_head(backend), message);
			backend->queue.bytes++;
			break;
		case PqMsg_NotificationResponse:
			if (client != NULL)
				notification_arrived(backend, message);
			backend->queue.bytes++;
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("unexpected message from the server")));
	}
}

/*
 * Passes on the available part of the current message; false if it isn't
 * complete.
 */
static bool
pass_answer(Backend *backend)
{
	ByteQueue  *in = &backend->stream.in;
	size_t		len = Min(queue_length(in), backend->answers.pass_left);

	if (len > 0)
	{
		if (backend->answers.pass_noted && backend->client != NULL)
			(void) note_answer(backend->client, '\0', in->data + in->start, len);
		if (backend->answers.pass_on && backend->client != NULL)
			stream_put(&backend->client->stream, in->data + in->start, len);
		stream_skip(&backend->stream, len);
		backend->answers.pass_left -= len;
	}
	if (backend->answers.pass_left == 0 && backend->answers.pass_ends)
	{
		Expect	   *expect = expect_head(backend);
		bool		checked;

		backend->answers.pass_ends = false;
		if (expect->kind == EXPECT_PARSE && expect->text != NULL)
			backend_text_prepared(backend, expect->text);
		checked = expect->reader == READER_COLUMNS;
		pop_expect(backend);
		expect_settle(backend);
		if (checked || expect_head(backend) == NULL)
			end_checking(backend);
	}
	return backend->answers.pass_left == 0;
}

/*
 * Whether a command tag shows that the command has dropped all prepared
 * statements.
 */
static bool
drops_statements(const Message *complete)
{
	return message_is_string(complete) &&
		(strcmp(complete->payload, "DEALLOCATE ALL") == 0 || strcmp(complete->payload, "DISCARD ALL") == 0);
}

/*
 * Drops the client's prepared statements, except those that it has sent since.
 * The session will report this, too, at the end of its transaction.
 */
static void
statements_dropped(Backend *backend)
{
	const ExpectRing *ring = &backend->answers.expected;
	Client	   *client = backend->client;

	backend->statements.generation++;
	backend_forget_texts(backend);
	if (client != NULL)
		client_deallocate(client);
	for (uint32 i = ring->head; i != ring->tail; i++)
	{
		const Expect *expect = &ring->entries[i & (ring->size - 1)];

		if (expect->kind == EXPECT_PARSE && expect->text != NULL)
			backend_add_text(backend, expect->text);
		if (client == NULL || !changes_name(expect) || expect->name[0] == '\0')
			continue;
		if (expect->text != NULL)
			prepared_text_hold(expect->text);
		client_set_statement(client, expect->name, expect->text);
	}
}

/*
 * Replaces the tables and columns in a RowDescription by none: as numbers of
 * another node, they would be those of other tables here.
 */
static void
hide_tables(const Message *description)
{
	char	   *end = unconstify(char *, description->payload) + description->len;
	char	   *name = unconstify(char *, description->payload) + sizeof(uint16);

	while (name < end)
	{
		char	   *table = name + strnlen(name, end - name) + 1;

		if (table + 18 > end)
			break;
		memset(table, 0, sizeof(Oid) + sizeof(int16));
		name = table + 18;
	}
}

/* Whether a message that is passed on is examined first, as a whole. */
static bool
is_examined(const Backend *backend, const Message *message, const Expect *expect)
{
	switch (message->type)
	{
		case PqMsg_CommandComplete:
			return message->len <= sizeof("DEALLOCATE ALL");
		case PqMsg_RowDescription:
			return backend_is_remote(backend) || (expect != NULL && expect->kind == EXPECT_DESCRIBE && expect->text != NULL);
		case PqMsg_NoData:
			return expect != NULL && expect->kind == EXPECT_DESCRIBE && expect->text != NULL;
		default:
			return false;
	}
}

static void
examine_answer(Backend *backend, const Message *message, const Expect *expect)
{
	if (message->type == PqMsg_CommandComplete)
	{
		if (drops_statements(message))
			statements_dropped(backend);
		return;
	}
	if (backend_is_remote(backend) && message->type == PqMsg_RowDescription)
		hide_tables(message);
	if (expect != NULL && expect->kind == EXPECT_DESCRIBE && expect->text != NULL &&
		!prepared_text_described(expect->text, message) && expect->reader == READER_COLUMNS)
		backend->statements.outdated = expect->text->id;
}

/*
 * Begins to pass a message on, of which the head is there: to the client,
 * perhaps.
 */
static void
begin_answer(Backend *backend, const Message *message, const Expect *expect)
{
	if (message->type == PqMsg_CopyInResponse)
		copy_begins(backend);
	backend->answers.pass_on = (expect == NULL || expect->reader == READER_CLIENT) && backend->client != NULL &&
		backend->state == BACKEND_LENT;
	backend->answers.pass_noted = backend->answers.pass_on && note_answer(backend->client, message->type, NULL, 0);
	backend->answers.pass_on = backend->answers.pass_on && !backend->client->deaf;
	if (backend->answers.pass_on)
	{
		backend->queue.bytes += MESSAGE_HEAD + message->len;
		stream_put(&backend->client->stream, message->payload - MESSAGE_HEAD, MESSAGE_HEAD);
	}
	stream_skip(&backend->stream, MESSAGE_HEAD);
	backend->answers.pass_left = message->len;
	backend->answers.pass_ends = expect != NULL && is_answer(message->type, expect->kind);
}

/* Handles one message, or its head; false if it isn't complete. */
static bool
take_answer(Backend *backend)
{
	Message		message;
	const Expect *expect;

	if (!message_peek(&backend->stream.in, &message))
		return false;
	if (message.type != PqMsg_ErrorResponse)
		expect_settle(backend);
	expect = expect_head(backend);
	if (!message_is_valid(&message))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message from the server")));
	if (is_handled_whole(&message, expect))
	{
		if (!message_is_whole(&message))
			return false;
		message.payload = message_copy(&message);
		message_skip(&backend->stream, &message);
		whole_answer(backend, &message);
		return true;
	}
	if (is_examined(backend, &message, expect))
	{
		if (!message_is_whole(&message))
			return false;
		examine_answer(backend, &message, expect);
	}
	begin_answer(backend, &message, expect);
	return true;
}

void
answer_arrived(Backend *backend)
{
	while (backend->state != BACKEND_CLOSED)
	{
		if (backend->client != NULL && stream_is_full(&backend->client->stream) &&
			(backend->queue.nbehind == 0 || queue_length(&backend->client->stream.out) > SHARED_HIGH_WATER))
		{
			stream_pause(&backend->stream, true);
			return;
		}
		if (!pass_answer(backend) || !session_queue_may_answer(backend) || !take_answer(backend))
			return;
	}
}
