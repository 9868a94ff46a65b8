/*-------------------------------------------------------------------------
 *
 * client_message.c
 *	  Passing a client's messages on to its backend.
 *
 * Messages are passed on unchanged, as they arrive, except for names of
 * prepared statements.  A client's name denotes a text (prepared_text.c); the
 * backend gets our name of that text, which the gateway prepares there if
 * necessary.  A text that the backend has is not parsed again.  A name that
 * the client has not defined is passed on unchanged: it may come from PREPARE;
 * otherwise the server raises the error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "gateway/pooler/session.h"
#include "gateway/pooler/statement_text.h"

/* The maximal length of the names of a message together. */
#define MAX_NAMES (64 * 1024)

/* No statement has this name. */
#define NO_STATEMENT "citus_gateway_none"

/* The maximal length of a query that is examined. */
#define MAX_EXAMINED 8192

typedef struct StatementEntry
{
	char	   *name;
	PreparedText *text;
	uint64		order;			/* in which they were prepared */
	char		status;
} StatementEntry;

#define SH_PREFIX statements
#define SH_ELEMENT_TYPE StatementEntry
#define SH_KEY_TYPE char *
#define SH_KEY name
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key), strlen(key))
#define SH_EQUAL(table, left, right) (strcmp(left, right) == 0)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct ClientStatements
{
	statements_hash *table;
};

PreparedText *
client_text(const Client *client, uint64 private, const char *parse, size_t len)
{
	return prepared_text_get(client->pool->number, client->settings, private, parse, len);
}

PreparedText *
client_statement(Client *client, const char *name)
{
	StatementEntry *entry;

	if (client->statements == NULL)
		return NULL;
	entry = statements_lookup(client->statements->table, unconstify(char *, name));
	return entry ? entry->text : NULL;
}

void
client_set_statement(Client *client, const char *name, PreparedText *text)
{
	static uint64 last_order = 0;
	StatementEntry *entry;
	bool		found;

	client->names_version += name[0] != '\0';
	if (client->statements == NULL)
	{
		if (text == NULL)
			return;
		client->statements = gateway_alloc(sizeof(*client->statements));
		client->statements->table = statements_create(gateway_context, 2, NULL);
	}
	entry = statements_lookup(client->statements->table, unconstify(char *, name));
	if (entry != NULL)
	{
		char	   *old_name = entry->name;

		prepared_text_release(entry->text);
		entry->text = text;
		entry->order = ++last_order;
		if (text != NULL)
			return;
		statements_delete(client->statements->table, old_name);
		pfree(old_name);
	}
	else if (text != NULL)
	{
		entry = statements_insert(client->statements->table, gateway_strdup(name), &found);
		entry->text = text;
		entry->order = ++last_order;
	}
}

void
client_drop_statements(Client *client)
{
	statements_iterator iterator;
	StatementEntry *entry;

	client->names_version++;
	if (client->statements == NULL)
		return;
	statements_start_iterate(client->statements->table, &iterator);
	while ((entry = statements_iterate(client->statements->table, &iterator)) != NULL)
	{
		prepared_text_release(entry->text);
		pfree(entry->name);
	}
	statements_destroy(client->statements->table);
	pfree(client->statements);
	client->statements = NULL;
}

void
client_visit_statements(const Client *client, void (*visit) (const char *name, PreparedText *text, uint64 order, void *arg),
						void *arg)
{
	statements_iterator iterator;
	StatementEntry *entry;

	if (client->statements == NULL)
		return;
	statements_start_iterate(client->statements->table, &iterator);
	while ((entry = statements_iterate(client->statements->table, &iterator)) != NULL)
		visit(entry->name, entry->text, entry->order, arg);
}

typedef struct TextName
{
	uint64		id;
	const char *name;			/* NULL: the text has none */
} TextName;

/* For client_visit_statements: finds a text's name by its id. */
static void
note_name_of_text(const char *name, PreparedText *text, uint64 order, void *arg)
{
	TextName   *wanted = arg;

	if (text->id == wanted->id && name[0] != '\0')
		wanted->name = name;
}

StringInfo
client_own_names(const Client *client, bool unnamed, const Message *report)
{
	const char *payload = report->payload;
	const char *end = payload + report->len;
	StringInfo	own = NULL;

	for (const char *ours; (ours = memmem(payload, end - payload, PREPARED_NAME_PREFIX, strlen(PREPARED_NAME_PREFIX))) != NULL;)
	{
		char	   *behind;
		uint64		id = strtou64(ours + strlen(PREPARED_NAME_PREFIX), &behind, 10);

		if (own == NULL)
			own = makeStringInfo();
		appendBinaryStringInfo(own, payload, ours - payload);
		if (!unnamed)
		{
			TextName	wanted = {id, NULL};

			/* without one, it is the client's own word */
			client_visit_statements(client, note_name_of_text, &wanted);
			appendStringInfoString(own, wanted.name != NULL ? wanted.name : pnstrdup(ours, behind - ours));
		}
		payload = behind;
	}
	if (own != NULL)
		appendBinaryStringInfo(own, payload, end - payload);
	return own;
}

void
client_deallocate(Client *client)
{
	PreparedText *unnamed = client_statement(client, "");

	if (unnamed != NULL)
		prepared_text_hold(unnamed);
	client_drop_statements(client);
	if (unnamed != NULL)
		client_set_statement(client, "", unnamed);
}

void
send_parse_as(Backend *backend, const char *name, const char *parse, size_t parse_len)
{
	if (name[0] == '\0')
		backend_note_unnamed(backend, NULL);
	message_put_parse(&backend->stream, name, parse, parse_len);
}

void
send_parse(Backend *backend, const PreparedText *text)
{
	char		name[PREPARED_NAME_SIZE];

	prepared_text_name(text, name);
	send_parse_as(backend, name, text->parse, text->parse_len);
}

/*
 * Whether the backend must and can get other settings to prepare a text.  In a
 * transaction, which a pipeline is before its Sync, a text is prepared under
 * the current settings.
 */
static bool
needs_own_settings(Backend *backend, const PreparedText *text)
{
	return backend_text_state(backend, text) == TEXT_UNKNOWN && backend->transaction == TRANSACTION_NONE && !backend->answers.unsynced &&
		expect_head(backend) == NULL && backend->statements.not_prepared != text->id && strcmp(text->settings, backend->client->settings) != 0;
}

void
send_columns_question(Backend *backend, PreparedText *text)
{
	char		name[PREPARED_NAME_SIZE];

	prepared_text_name(text, name);
	expect_push(backend, EXPECT_DESCRIBE, READER_COLUMNS)->text = text;
	prepared_text_hold(text);
	message_put_named(&backend->stream, PqMsg_Describe, NAMED_STATEMENT, name);
}

/* Prepares the text under our name on the backend, if necessary. */
static void
ensure_text(Backend *backend, PreparedText *text)
{
	Expect	   *expect;

	if (backend_text_state(backend, text) != TEXT_UNKNOWN)
		return;
	expect = expect_push(backend, EXPECT_PARSE, READER_NOBODY);
	expect->text = text;
	prepared_text_hold(text);
	backend_add_text(backend, text);
	send_parse(backend, text);
}

/* A message to the session is about to be sent, perhaps behind a BEGIN. */
static void
begin_sending(Client *client)
{
	if (client->policy->begin != NULL)
		client->policy->begin(client);
}

/* Starts passing a message on. */
static void
begin_passing(Client *client, const Message *message)
{
	stream_put_head(&client->backend->stream, message->type, message->len + sizeof(uint32));
	stream_skip(&client->stream, MESSAGE_HEAD);
	client->input.pass_left = message->len;
}

/* Passes a message on that the server will refuse, with its own error. */
static bool
forward_damaged(Client *client, const Message *message)
{
	begin_sending(client);
	expect_push(client->backend, message->type, READER_CLIENT);
	begin_passing(client, message);
	return true;
}

/*
 * Makes the server raise an error, which is replaced by another one for the
 * client, about a name.
 */
static void
refuse_name(Client *client, const char *name, ExpectReader reader)
{
	expect_push(client->backend, EXPECT_BIND, reader)->name = gateway_strdup(name);
	message_put_bind(&client->backend->stream, NO_STATEMENT);
}

/*
 * Has a session of this server that doesn't know a text prepare it and report
 * its columns, if these may differ from the ones that clients know; then true,
 * and the client's message must wait.
 */
static bool
columns_are_asked(Client *client, PreparedText *text)
{
	Backend    *backend = client->backend;

	if (text->columns == 0 || backend_is_remote(backend) || backend->answers.skipping ||
		backend_text_state(backend, text) != TEXT_UNKNOWN ||
		!(prepared_text_is_old(text) || (backend->transaction != TRANSACTION_NONE && !client->clean)))
		return false;
	ensure_text(backend, text);
	send_columns_question(backend, text);
	message_put_empty(&backend->stream, PqMsg_Flush);
	backend->answers.checking = true;
	return true;
}

/*
 * The text of a Parse.  Unfinished earlier messages of the client may change
 * what it means without our knowledge: then the text isn't shared with other
 * clients, nor if *private is set, as it is then.
 */
static PreparedText *
text_of_parse(Client *client, const char *parse, size_t len, bool *private)
{
	static uint64 last_private = 0;
	Backend    *backend = client->backend;

	if (!*private && (backend_is_remote(backend) || client->clean || (backend->transaction == TRANSACTION_NONE && expect_head(backend) == NULL)))
	{
		PreparedText *text = client_text(client, 0, parse, len);

		/* a Parse that has not been answered may be skipped */
		if (backend_is_remote(backend) || backend_text_state(backend, text) != TEXT_SENT)
			return text;
		prepared_text_release(text);
	}
	*private = true;
	return client_text(client, ++last_private, parse, len);
}

static bool
forward_parse(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	const char *name;
	const char *body;
	size_t		len;
	PreparedText *text;
	PreparedText *former;
	Expect	   *expect;
	bool		private;

	if (!message_is_whole(message))
		return false;
	name = message_copy(message);
	body = name + strlen(name) + 1;
	if (body > name + message->len)
		return forward_damaged(client, message);
	len = message->len - (body - name);

	if (name[0] != '\0' && client_statement(client, name) != NULL && !client->input.in_copy && expect_head(backend) != NULL)
	{
		/* what has not been answered may drop the name, or be skipped */
		message_put_empty(&backend->stream, PqMsg_Flush);
		backend->answers.checking = true;
		return false;
	}

	/* a client's names of statements don't mean what another's do */
	private = !backend_is_remote(backend) && text_names_statements(body, strlen(body));
	if (private && !statement_names_tell(client, body, NULL))
		return false;
	message_skip(&client->stream, message);
	if (name[0] != '\0' && client_statement(client, name) != NULL)
	{
		/* errors of the text come first */
		expect_push(backend, EXPECT_PARSE, READER_NOBODY);
		send_parse_as(backend, "", body, len);
		refuse_name(client, name, READER_DUPLICATE);
		return true;
	}
	text = text_of_parse(client, body, len, &private);
	former = client_statement(client, name);
	if (former != NULL)
		prepared_text_hold(former);
	client_set_statement(client, name, text);
	prepared_text_hold(text);
	if (name[0] == '\0' && private)
	{
		/* nor is it worth a name: a pipeline may have many of them */
		expect = expect_push(backend, EXPECT_PARSE, READER_CLIENT);
		send_parse_as(backend, "", body, len);
		backend_note_unnamed(backend, text);
	}
	else if (backend_text_state(backend, text) != TEXT_UNKNOWN && backend->transaction != TRANSACTION_FAILED)
		expect = expect_push(backend, EXPECT_PARSE, READER_LOCAL);
	else if (backend_text_state(backend, text) != TEXT_UNKNOWN)
	{
		/* in a failed transaction, most can't be prepared: the server knows */
		expect = expect_push(backend, EXPECT_PARSE, READER_CLIENT);
		send_parse_as(backend, "", body, len);
	}
	else
	{
		expect = expect_push(backend, EXPECT_PARSE, READER_CLIENT);
		backend_add_text(backend, text);
		send_parse(backend, text);
	}
	expect->text = text;
	expect->name = gateway_strdup(name);
	expect->former = former;
	return true;
}

/*
 * Refuses a name, if the session has just reported that its text returns other
 * columns than before; then true.  The session forgets the text: if these
 * columns are those of DDL that is undone, the text is used again.
 */
static bool
is_outdated(Client *client, const PreparedText *text, const char *name)
{
	Backend    *backend = client->backend;
	char		our_name[PREPARED_NAME_SIZE];

	if (backend->statements.outdated != text->id)
		return false;
	backend->statements.outdated = 0;
	prepared_text_name(text, our_name);
	expect_push(backend, EXPECT_CLOSE, READER_NOBODY);
	message_put_named(&backend->stream, PqMsg_Close, NAMED_STATEMENT, our_name);
	backend_remove_text(backend, text);
	refuse_name(client, name, READER_OUTDATED);
	return true;
}

/*
 * The client has no statement without a name, so the session must not have one
 * either, that of another client for instance.
 */
static void
drop_unnamed(Backend *backend)
{
	backend_note_unnamed(backend, NULL);
	expect_push(backend, EXPECT_CLOSE, READER_NOBODY);
	message_put_named(&backend->stream, PqMsg_Close, NAMED_STATEMENT, "");
}

/* Remembers what the portal without a name is of. */
static void
note_bound(Backend *backend, PreparedText *text)
{
	if (text != NULL)
		prepared_text_hold(text);
	if (backend->statements.bound != NULL)
		prepared_text_release(backend->statements.bound);
	backend->statements.bound = text;
}

static bool
forward_bind(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	MessageReader fields = message_fields(message);
	const char *portal = message_read_string(&fields);
	const char *statement = portal ? message_read_string(&fields) : NULL;
	char		name[PREPARED_NAME_SIZE];
	size_t		names_len;
	PreparedText *text;

	if (statement == NULL)
	{
		if (message->there > MAX_NAMES)
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("the name of a portal or prepared statement is too long")));
		if (!message_is_whole(message))
			return false;
		note_bound(backend, NULL);
		return forward_damaged(client, message);
	}
	names_len = fields.next - portal;
	text = client_statement(client, statement);
	if (portal[0] == '\0')
		note_bound(backend, text);
	if (text == NULL)
	{
		begin_sending(client);
		if (statement[0] == '\0')
			drop_unnamed(backend);
		expect_push(backend, EXPECT_BIND, READER_CLIENT);
		begin_passing(client, message);
		return true;
	}
	if (text != backend->statements.unnamed && needs_own_settings(backend, text))
	{
		backend_prepare(backend, text);
		return false;
	}
	begin_sending(client);
	if (text->names_statements && !statement_names_tell(client, text->parse, text))
		return false;
	if (text == backend->statements.unnamed)
	{
		expect_push(backend, EXPECT_BIND, READER_CLIENT);
		begin_passing(client, message);
		return true;
	}
	if (columns_are_asked(client, text))
		return false;
	if (backend->statements.outdated == text->id)
	{
		if (!message_is_whole(message))
			return false;
		statement = pstrdup(statement);
		message_skip(&client->stream, message);
		return is_outdated(client, text, statement);
	}
	ensure_text(backend, text);
	expect_push(backend, EXPECT_BIND, READER_CLIENT)->unnamed = statement[0] == '\0';
	prepared_text_name(text, name);
	client->input.pass_left = message->len - names_len;
	stream_put_head(&backend->stream, PqMsg_Bind,
					sizeof(uint32) + (statement - portal) + strlen(name) + 1 + client->input.pass_left);
	stream_put(&backend->stream, portal, statement - portal);
	stream_put(&backend->stream, name, strlen(name) + 1);
	stream_skip(&client->stream, MESSAGE_HEAD + names_len);
	return true;
}

/* Describe and Close: of a statement, by our name. */
static bool
forward_named(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	MessageReader fields = message_fields(message);
	const char *name;
	char		what;
	PreparedText *text = NULL;
	Expect	   *expect;

	if (!message_is_whole(message))
		return false;
	if (message->len < 2)
		return forward_damaged(client, message);
	what = *fields.next++;
	if ((name = message_read_string(&fields)) == NULL || fields.next != fields.end)
		return forward_damaged(client, message);
	if (what == NAMED_STATEMENT)
		text = client_statement(client, name);
	if (text != NULL && message->type == PqMsg_Describe && text != backend->statements.unnamed && needs_own_settings(backend, text))
	{
		backend_prepare(backend, text);
		return false;
	}
	begin_sending(client);
	if (text != NULL && message->type == PqMsg_Describe && text->names_statements &&
		!statement_names_tell(client, text->parse, text))
		return false;
	if (text != NULL && message->type == PqMsg_Describe && text != backend->statements.unnamed && columns_are_asked(client, text))
		return false;
	name = pstrdup(name);
	message_skip(&client->stream, message);
	if (text != NULL && message->type == PqMsg_Describe && is_outdated(client, text, name))
		return true;
	if (text != NULL && message->type == PqMsg_Close)
	{
		expect = expect_push(backend, EXPECT_CLOSE, READER_LOCAL);
		expect->former = text;
		expect->name = gateway_strdup(name);
		prepared_text_hold(text);
		client_set_statement(client, name, NULL);
		return true;
	}
	if (text != NULL)
	{
		char		our_name[PREPARED_NAME_SIZE] = "";

		if (text != backend->statements.unnamed)
		{
			ensure_text(backend, text);
			prepared_text_name(text, our_name);
		}
		expect_push(backend, EXPECT_DESCRIBE, READER_CLIENT)->text = text;
		prepared_text_hold(text);
		message_put_named(&backend->stream, PqMsg_Describe, NAMED_STATEMENT, our_name);
		return true;
	}
	if (message->type == PqMsg_Describe && what == NAMED_STATEMENT && name[0] == '\0')
		drop_unnamed(backend);
	expect = expect_push(backend, message->type, READER_CLIENT);
	if (message->type == PqMsg_Describe && what == NAMED_PORTAL && name[0] == '\0' && backend->statements.bound != NULL)
	{
		expect->text = backend->statements.bound;
		prepared_text_hold(expect->text);
	}
	message_put_named(&backend->stream, message->type, what, name);
	return true;
}

/*
 * An Execute.  What is sent behind DEALLOCATE waits for its answer, since the
 * meaning of the client's names depends on it.
 */
static bool
forward_execute(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	const PreparedText *text = backend->statements.bound;

	if (text == NULL || !text->names_statements || backend->answers.skipping || backend_is_remote(backend))
	{
		expect_push(backend, EXPECT_EXECUTE, READER_CLIENT);
		begin_passing(client, message);
		return true;
	}
	if (!message_is_whole(message))
		return false;
	expect_push(backend, EXPECT_EXECUTE, READER_CLIENT);
	stream_put_message(&backend->stream, PqMsg_Execute, message->payload, message->len);
	message_skip(&client->stream, message);
	if (text_drops_statements(text->parse, strlen(text->parse)))
	{
		message_put_empty(&backend->stream, PqMsg_Flush);
		backend->answers.checking = true;
	}
	return true;
}

/* A query drops the statement without a name. */
static void
note_query(Client *client, Expect *expect)
{
	expect->name = gateway_strdup("");
	expect->former = client_statement(client, "");
	if (expect->former == NULL)
		return;
	prepared_text_hold(expect->former);
	client_set_statement(client, "", NULL);
}

/* Whether a query is whole, and nothing but a short text. */
static bool
is_short_query(const Message *message)
{
	return message->type == PqMsg_Query && message->len <= MAX_EXAMINED && message->len > 0 &&
		message->payload[message->len - 1] == '\0';
}

/* Describe, Bind and Close do it themselves. */
static bool
begins_block(char type)
{
	return type != PqMsg_Bind && type != PqMsg_Describe && type != PqMsg_Close;
}

static bool
forward_query(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	Expect	   *expect;

	/* what names statements is told to the session first */
	if (is_short_query(message) && !backend_is_remote(backend) && text_names_statements(message->payload, message->len - 1) &&
		!statement_names_tell(client, message->payload, NULL))
		return false;
	expect = expect_push(backend, EXPECT_QUERY, READER_CLIENT);
	if (message->type == PqMsg_Query)
	{
		note_query(client, expect);
		backend->answers.checking = is_short_query(message) && !backend_is_remote(backend) && !backend->answers.skipping &&
			text_drops_statements(message->payload, message->len - 1);
	}
	begin_passing(client, message);
	return true;
}

bool
client_forward(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	bool		done = true;

	/* the server skips these while it takes rows */
	if (client->input.in_copy && (message->type == PqMsg_Sync || message->type == PqMsg_Flush))
	{
		if (message_is_whole(message))
			message_skip(&client->stream, message);
		return message_is_whole(message);
	}
	if (message->type == PqMsg_Query && message->len <= MAX_EXAMINED && !message_is_whole(message))
		return false;
	if (begins_block(message->type))
		begin_sending(client);
	switch (message->type)
	{
		case PqMsg_Parse:
			done = forward_parse(client, message);
			break;
		case PqMsg_Bind:
			done = forward_bind(client, message);
			break;
		case PqMsg_Describe:
		case PqMsg_Close:
			done = forward_named(client, message);
			break;
		case PqMsg_Execute:
			done = forward_execute(client, message);
			break;
		case PqMsg_Query:
		case PqMsg_FunctionCall:
			done = forward_query(client, message);
			break;
		case PqMsg_Flush:
			/* the only answer is the error if it isn't empty */
			if (message->len > 0)
				expect_push(backend, EXPECT_EXECUTE, READER_CLIENT);
			begin_passing(client, message);
			break;
		case PqMsg_Sync:
			expect_push(backend, EXPECT_SYNC, READER_CLIENT);
			begin_passing(client, message);
			break;
		case PqMsg_CopyDone:
		case PqMsg_CopyFail:
			expect_push(backend, EXPECT_COPY_END, READER_CLIENT);
			client->input.in_copy = false;
			begin_passing(client, message);
			break;
		case PqMsg_Terminate:
			/* earlier messages are processed first */
			expect_push(backend, EXPECT_TERMINATE, READER_CLIENT);
			begin_passing(client, message);
			break;
		default:
			begin_passing(client, message);
			break;
	}

	/* for another node's session, answer.c does it when they are answered */
	if (done && !backend_is_remote(backend))
		expect_settle(backend);
	return done;
}
