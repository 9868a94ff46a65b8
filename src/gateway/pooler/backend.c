/*-------------------------------------------------------------------------
 *
 * backend.c
 *	  Sessions that a gateway process has opened, and lends to its clients.
 *
 * A backend logs in as its clients' user, with the key that one of them has
 * proven to have (scram_key.c), so a client has the same rights there as in a
 * session of its own.  Between two clients with different settings, the
 * gateway resets the session and restores the next client's settings.  It
 * sends no message of that client before the server has confirmed this, so
 * that a statement never runs with a wrong role.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "libpq/pqcomm.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "gateway/pooler/session.h"
#include "gateway/server/gateway_stats.h"
#include "lib/catch_error.h"

/*
 * A session that has prepared more texts than this is closed when it is
 * returned to the pool.
 */
#define MAX_TEXTS 2000

typedef struct BackendText
{
	uint64		id;
	char		status;
	TextState	state;
} BackendText;

#define SH_PREFIX idset
#define SH_ELEMENT_TYPE BackendText
#define SH_KEY_TYPE uint64
#define SH_KEY id
#define SH_HASH_KEY(table, key) murmurhash32((uint32) (key))
#define SH_EQUAL(table, left, right) ((left) == (right))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static void backend_arrived(Stream *stream);
static void backend_drained(Stream *stream);
static void backend_failed(Stream *stream, const ErrorData *error);

static const StreamHandler backend_handler = {
	.arrived = backend_arrived,
	.drained = backend_drained,
	.failed = backend_failed,
};

TextState
backend_text_state(Backend *backend, const PreparedText *text)
{
	BackendText *entry = idset_lookup(backend->statements.texts, text->id);

	return entry ? entry->state : TEXT_UNKNOWN;
}

void
backend_text_prepared(Backend *backend, const PreparedText *text)
{
	BackendText *entry = idset_lookup(backend->statements.texts, text->id);

	if (entry != NULL)
		entry->state = TEXT_PREPARED;
}

void
backend_add_text(Backend *backend, const PreparedText *text)
{
	bool		found;

	idset_insert(backend->statements.texts, text->id, &found)->state = TEXT_SENT;
	if (backend->statements.texts->members > MAX_TEXTS)
		backend->retired = true;
}

void
backend_remove_text(Backend *backend, const PreparedText *text)
{
	idset_delete(backend->statements.texts, text->id);
}

void
backend_forget_texts(Backend *backend)
{
	idset_reset(backend->statements.texts);
}

void
backend_note_unnamed(Backend *backend, PreparedText *text)
{
	if (text != NULL)
		prepared_text_hold(text);
	if (backend->statements.unnamed != NULL)
		prepared_text_release(backend->statements.unnamed);
	backend->statements.unnamed = text;
}

void
backend_open(Pool *pool)
{
	Backend    *backend;
	int			fd = process_connect(&pool->address);

	if (fd < 0)
	{
		StringInfo	error = error_payload_text("FATAL", ERRCODE_CANNOT_CONNECT_NOW,
											   "the gateway can't connect to its server");

		pool_open_failed(pool, error->data, error->len);
		return;
	}
	backend = gateway_alloc(sizeof(Backend));
	stream_open(&backend->stream, fd, &backend_handler, true);
	backend->pool = pool;
	backend->transaction = TRANSACTION_NONE;
	backend->settings = gateway_strdup("");
	backend->statements.texts = idset_create(gateway_context, 16, NULL);
	backend->opened = stream_now;
	backend_change_state(backend, BACKEND_CONNECTING);
}

void
backend_question_answered(Backend *backend, const char *answer)
{
	BackendQuestion question = backend->question;

	if (question.query == NULL)
		return;
	memset(&backend->question, 0, sizeof(backend->question));
	pfree(question.query);
	question.answered(question.about, answer);
}

void
backend_ask(Backend *backend, const char *query)
{
	backend_change_state(backend, BACKEND_ASKING);
	expect_push(backend, EXPECT_QUERY, READER_QUESTION);
	message_put_string(&backend->stream, PqMsg_Query, query);
}

void
backend_close(Backend *backend)
{
	if (backend->state == BACKEND_CLOSED)
		return;
	backend_change_state(backend, BACKEND_CLOSED);
	if (backend->client != NULL)
		session_detach(backend->client);
	for (int i = 0; i < backend->queue.nbehind; i++)
		if (backend->queue.behind[i] != NULL)
			session_detach(backend->queue.behind[i]);
	cancel_forget(backend);
	session_entry_drop(backend->entry);
	backend_question_answered(backend, NULL);
	expect_free(backend);
	if (backend->statements.bound != NULL)
		prepared_text_release(backend->statements.bound);
	backend_note_unnamed(backend, NULL);
	statement_names_free(backend);
	scram_login_free(backend->scram);
	queue_free(&backend->greeting);
	pfree(backend->settings);
	idset_destroy(backend->statements.texts);
	stream_close(&backend->stream, backend);
}

void
backend_fail(Backend *backend, const ErrorData *error)
{
	Client	   *client = backend->client;
	Client	   *behind[MAX_QUEUED];
	int			nbehind = backend->queue.nbehind;
	Pool	   *pool = backend->pool;
	bool		opening = backend->state == BACKEND_CONNECTING || backend->state == BACKEND_LOGIN;
	const Expect *head = expect_head(backend);
	bool		told = backend->answers.end_told || (head != NULL && head->kind == EXPECT_TERMINATE);

	if (error->sqlerrcode == ERRCODE_PROTOCOL_VIOLATION)
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("the gateway closes a session (PID %d): %s", (int) pg_ntoh32(backend->pid), error->message),
				 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0));
	memcpy(behind, backend->queue.behind, sizeof(behind));
	backend_close(backend);
	if (client != NULL && told)
		client_close(client);
	else if (client != NULL)
		client_fail(client, error);
	for (int i = 0; i < nbehind; i++)
	{
		if (behind[i] == NULL)
			continue;

		/* a session that ends has not started the following statements */
		if (backend->answers.dying)
			session_queue_again(behind[i]);
		else
			client_fail(behind[i], error);
	}
	if (opening)
	{
		StringInfo	payload = error_payload("FATAL", error);

		pool_open_failed(pool, payload->data, payload->len);
	}
	else
		pool_ready(pool);
}

static void
backend_failed(Stream *stream, const ErrorData *error)
{
	backend_fail((Backend *) stream, error);
}

void
backend_continue(Backend *backend)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		answer_arrived(backend);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		backend_fail(backend, error);
	}
	PG_END_TRY();
}

void
backend_abandon(Backend *backend, Client *client)
{
	Pool	   *pool = backend->pool;
	bool		clean = backend->state == BACKEND_LENT && backend->transaction == TRANSACTION_NONE && !backend->answers.unsynced &&
		!backend->pinned && backend->statements.told_names == NIL && expect_head(backend) == NULL && client->input.pass_left == 0;

	if (session_queue_leave(backend, client))
		return;
	session_detach(client);
	if (clean)
	{
		backend_give_back(backend);
		return;
	}
	if (expect_head(backend) != NULL)
		cancel_send(backend);
	backend_close(backend);
	pool_ready(pool);
}

void
backend_give_back(Backend *backend)
{
	Client	   *client = backend->client;

	if (backend->transaction != TRANSACTION_NONE || backend->answers.unsynced || expect_head(backend) != NULL || backend->pinned ||
		(client != NULL && client->input.pass_left > 0) ||

	/* a cancel request that is under way must not hit the next client */
		backend->cancels > 0)
	{
		if (client != NULL)
			client_ready(client);
		return;
	}
	backend->queue.shared = false;
	backend->queue.cancelling = false;
	if (!backend_is_remote(backend))
		gateway_stats->transactions++;
	if (client != NULL)
	{
		session_detach(client);
		client_change_state(client, CLIENT_IDLE);
		client_ready(client);
	}
	pool_ready(backend->pool);
	backend->retired |= pool_renews(backend->pool, backend);
	if (backend->retired)
		backend_close(backend);
	else if (backend->question.query != NULL)
		backend_ask(backend, backend->question.query);
	else
		backend_change_state(backend, BACKEND_IDLE);
}

void
session_done(Backend *backend)
{
	if (backend_is_remote(backend))
		session_queue_end(backend);
	else
	{
		statement_names_forget(backend);
		backend_give_back(backend);
	}
}

static void
send_settings(Backend *backend, const char *settings, ExpectReader reader)
{
	char	   *command = psprintf(FRESH_SESSION "%s", settings);

	expect_push(backend, EXPECT_QUERY, reader);
	message_put_string(&backend->stream, PqMsg_Query, command);
}

void
backend_lend(Backend *backend, Client *client)
{
	session_attach(client, backend);
	session_entry_lend(backend->entry, client->entry, &client->who.address, &client->who.server_address);
	client_change_state(client, CLIENT_ACTIVE);
	backend->queue.bytes = 0;
	if (strcmp(backend->settings, client->settings) == 0)
		backend_change_state(backend, BACKEND_LENT);
	else
	{
		gateway_stats->restores++;
		backend_change_state(backend, BACKEND_RESTORING);
		send_settings(backend, client->settings, READER_RESTORE);
	}
}

void
backend_prepare(Backend *backend, PreparedText *text)
{
	Expect	   *expect;

	backend_change_state(backend, BACKEND_RESTORING);
	send_settings(backend, text->settings, READER_SETTING);
	expect = expect_push(backend, EXPECT_PARSE, READER_QUIET);
	expect->text = text;
	prepared_text_hold(text);
	backend_add_text(backend, text);
	send_parse(backend, text);
	if (text->columns != 0 && !backend_is_remote(backend))
		send_columns_question(backend, text);
	expect_push(backend, EXPECT_SYNC, READER_SETTING);
	message_put_empty(&backend->stream, PqMsg_Sync);
	send_settings(backend, backend->client->settings, READER_RESTORE);
}

void
backend_restored(Backend *backend)
{
	Client	   *client = backend->client;

	backend_change_state(backend, BACKEND_LENT);

	/*
	 * as the server reports them, so that they compare equal from now on;
	 * sessions on other nodes report none
	 */
	if (!backend_is_remote(backend))
	{
		pfree(client->settings);
		client->settings = gateway_strdup(backend->settings);
		client->limits = backend->limits;
	}
	else
	{
		pfree(backend->settings);
		backend->settings = gateway_strdup(client->settings);
	}
	client_ready(client);
}

static void
send_session_startup(Backend *backend)
{
	const Pool *pool = backend->pool;
	StringInfoData parameters;

	initStringInfo(&parameters);
	appendBinaryStringInfo(&parameters, pool->parameters, pool->parameters_len);
	if (pool_is_remote(pool))
	{
		packet_string(&parameters, ANSWERS_TOGETHER_SETTING);
		packet_string(&parameters, "on");
	}
	send_startup_packet(&backend->stream, pool->user, pool->database, !pool_is_remote(pool) ? "session" : NULL,
						parameters.data, parameters.len);
	backend_change_state(backend, BACKEND_LOGIN);
}

void
session_authenticate(Stream *stream, ScramLogin **scram, const ScramKey *key, const char *user, const Message *message)
{
	MessageReader fields = message_fields(message);
	StringInfoData answer;
	uint32		request;

	if (!message_read_uint32(&fields, &request))
		return;
	initStringInfo(&answer);
	if (request == AUTH_REQ_OK)
		return;
	if (request == AUTH_REQ_SASL_FIN && *scram != NULL)
	{
		scram_login_check(*scram, fields.next);
		return;
	}
	if (request == AUTH_REQ_SASL && key->known && *scram == NULL)
		*scram = scram_login_begin(key, &answer);
	else if (request == AUTH_REQ_SASL_CONT && *scram != NULL)
		scram_login_next(*scram, fields.next, &answer);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("the gateway could not log in to the server as user \"%s\"", user),
				 errdetail("The server asks for a password that the client has not proven to know."),
				 errhint("Use scram-sha-256 for the gateway's clients, or trust for its own connections, in pg_hba.conf.")));
	stream_put_message(stream, PqMsg_PasswordMessage, answer.data, answer.len);
}

/* The session is there. */
static void
backend_opened(Backend *backend)
{
	Pool	   *pool = backend->pool;

	if (!backend->known && !pool_is_remote(pool))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server does not report the state of its sessions to the gateway")));
	backend_change_state(backend, BACKEND_IDLE);
	scram_login_free(backend->scram);
	backend->scram = NULL;
	queue_free(&pool->greeting);
	pool->greeting = backend->greeting;
	memset(&backend->greeting, 0, sizeof(backend->greeting));
	pool->limits = backend->limits;
	pool_ready(pool);
}

/* A ParameterStatus: of the session's state, or for clients. */
static void
parameter_greeted(Backend *backend, const Message *status)
{
	MessageReader fields = message_fields(status);
	const char *name = message_read_string(&fields);
	const char *value = name ? message_read_string(&fields) : NULL;

	if (value == NULL)
		return;
	if (strcmp(name, GATEWAY_STATE_SETTING) != 0)
		message_keep(&backend->greeting, status);
	else
	{
		answer_state(backend, value);
		backend->known = true;
	}
}

/*
 * A message of the server while it logs the session in; false if that failed.
 */
static bool
login_message(Backend *backend, const Message *message)
{
	Pool	   *pool = backend->pool;

	switch (message->type)
	{
		case PqMsg_AuthenticationRequest:
			session_authenticate(&backend->stream, &backend->scram, &pool->key, pool->user, message);
			break;
		case PqMsg_ParameterStatus:
			parameter_greeted(backend, message);
			break;
		case PqMsg_BackendKeyData:
			if (message->len < sizeof(backend->pid) + sizeof(backend->key))
				break;
			memcpy(&backend->pid, message->payload, sizeof(backend->pid));
			memcpy(&backend->key, message->payload + sizeof(backend->pid), sizeof(backend->key));
			if (!pool_is_remote(pool))
				backend->entry = session_entry_take(gateway_start->number, (int32) pg_ntoh32(backend->pid));
			break;
		case PqMsg_ReadyForQuery:
			backend_opened(backend);
			break;
		case PqMsg_ErrorResponse:
			backend_close(backend);
			pool_open_failed(pool, message->payload, message->len);
			return false;
		default:
			break;
	}
	return true;
}

static void
login_messages(Backend *backend)
{
	Message		message;

	while (backend->state == BACKEND_LOGIN && message_take(&backend->stream, &message))
		if (!login_message(backend, &message))
			return;
}

static void
backend_arrived(Stream *stream)
{
	Backend    *backend = (Backend *) stream;
	bool		ended = stream->ended;

	backend->heard = stream_now;
	if (backend->state == BACKEND_CONNECTING && !ended)
		send_session_startup(backend);
	if (backend->state == BACKEND_LOGIN)
		login_messages(backend);
	if (backend->state != BACKEND_CONNECTING && backend->state != BACKEND_LOGIN)
		answer_arrived(backend);

	/*
	 * the message that it ends may take a while, and until then no client may
	 * get it
	 */
	ended |= backend->answers.dying && backend->state == BACKEND_IDLE;
	if (ended && backend->state != BACKEND_CLOSED &&
		(backend->client == NULL || !stream_is_full(&backend->client->stream)))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the server closed the connection unexpectedly"),
				 errdetail("The session of this client has ended.")));
}

/*
 * The backend has taken all data of its client: resumes reading from the
 * client.
 */
static void
backend_drained(Stream *stream)
{
	Backend    *backend = (Backend *) stream;

	if (backend->client != NULL && backend->state == BACKEND_LENT)
		client_ready(backend->client);
}
