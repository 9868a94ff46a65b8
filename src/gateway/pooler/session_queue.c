/*-------------------------------------------------------------------------
 *
 * session_queue.c
 *	  Statements of several clients, pipelined on one session.
 *
 * A routed statement is its client's whole transaction, so statements of other
 * clients can be sent to the same session before it has answered the first,
 * each with its own Sync.  This saves most of the system calls and process
 * switches of a short statement.  No statement holds a lock when the next
 * begins, so no client waits for one behind it.  backend->client is the client
 * that is answered now, backend->queue.behind has the clients behind it.
 *
 * A client must not wait for another client's long statement.  Texts whose
 * executions take long, or whose answers are large, don't share a session.
 * Whether a statement will wait for a lock isn't known, so a statement that
 * delays others is cancelled after a moment, and sent again to a session of
 * its own.  A cancel request may arrive late and hit the next statement.
 * While that is possible (backend->queue.cancelling), each answer is examined
 * as a whole, and a statement that failed by another client's request is sent
 * again, too.  An error has undone it, and nothing of its answer has been
 * passed on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "gateway/pooler/session.h"
#include "gateway/server/gateway_stats.h"

/* After this time, a statement that delays others is cancelled. */
#define MAX_DELAY INT64CONST(100000)

/* How long a text that has delayed others shares no session. */
#define ALONE_TIME INT64CONST(10000000)

/* The server buffers no more of an answer than this. */
#define SMALL_ANSWER 8192

static int64
cost_of_queued(const Client *client)
{
	return client != NULL ? client->routed.text->cost : 0;
}

/* How long a client would wait, or -1 if it can't be served there. */
static int64
wait_in_queue(Backend *backend, const Client *client)
{
	int64		wait = cost_of_queued(backend->client);

	if (backend->state != BACKEND_LENT || !backend->queue.shared || backend->queue.cancelling || backend->retired ||
		backend->queue.nbehind == MAX_QUEUED || stream_now - backend->queue.since > LONG_WAIT ||
		strcmp(backend->settings, client->settings) != 0)
		return -1;
	switch (backend_text_state(backend, client->routed.text))
	{
		case TEXT_UNKNOWN:
			if (strcmp(client->routed.text->settings, client->settings) != 0 ||
				backend->statements.not_prepared == client->routed.text->id)
				return -1;
			break;
		case TEXT_SENT:
			return -1;			/* that may fail */
		case TEXT_PREPARED:
			break;
	}
	for (int i = 0; i < backend->queue.nbehind; i++)
		wait += cost_of_queued(backend->queue.behind[i]);
	return wait;
}

Backend *
session_queue_find(Pool *pool, const Client *client, int64 limit)
{
	Backend    *best = NULL;
	int64		least = limit + 1;
	dlist_iter	iter;

	if (client->routed.alone)
		return NULL;
	dlist_foreach(iter, &pool->backends)
	{
		Backend    *backend = dlist_container(Backend, link, iter.cur);
		int64		wait = wait_in_queue(backend, client);

		if (wait < 0 || wait >= least)
			continue;
		best = backend;
		least = wait;
	}
	return best;
}

void
session_queue_join(Backend *backend, Client *client)
{
	session_attach(client, backend);
	client_change_state(client, CLIENT_ACTIVE);
	gateway_stats->pipelined++;
}

/* Cancels the statement that runs now. */
static void
cancel_running(Backend *backend)
{
	backend->queue.cancelling = true;
	cancel_send(backend);
}

void
session_queue_sent(Client *client)
{
	Backend    *backend = client->backend;

	client->routed.sent = true;
	backend->queue.shared = !client->routed.alone;
	if (client != backend->client)
		return;
	backend->queue.since = stream_now;
	if (client->cancelled)
		cancel_running(backend);
}

void
session_queue_forget(Client *client)
{
	if (client->routed.text == NULL)
		return;
	prepared_text_release(client->routed.text);
	if (client->routed.copy != NULL)
		pfree(client->routed.copy);
	memset(&client->routed, 0, sizeof(client->routed));
	client->cancelled = false;
	client_change_policy(client, client->policy->without_node);
}

void
session_queue_again(Client *client)
{
	char	   *copy = client->routed.copy;
	bool		cancelled = client->cancelled;

	/* a Parse has given its name */
	if (copy[0] == PqMsg_Parse)
		client_set_statement(client, copy + MESSAGE_HEAD, NULL);
	stream_unread(&client->stream, copy, client->routed.len);
	gateway_stats->resent++;
	session_queue_forget(client);
	client->routed.alone = true;
	client->cancelled = cancelled;
	session_detach(client);
	client_change_state(client, CLIENT_IDLE);
	client_ready(client);
}

void
session_queue_cancel(Client *client)
{
	client->cancelled = true;
	if (client->routed.sent && client == client->backend->client)
		cancel_running(client->backend);
}

/* The next client's statement runs now. */
static void
next_of_queue(Backend *backend)
{
	backend->client = backend->queue.behind[0];
	backend->queue.nbehind--;
	memmove(backend->queue.behind, backend->queue.behind + 1, sizeof(Client *) * backend->queue.nbehind);
	backend->queue.since = stream_now;
	backend->queue.bytes = 0;
	if (backend->client != NULL && backend->client->cancelled)
		cancel_running(backend);
}

/*
 * Updates the cost of a text after an execution.  Of answers that arrive
 * together (session_answers.c), the first seems to have taken all of the time,
 * and the others none.
 */
static void
note_execution(Backend *backend)
{
	PreparedText *text = backend->client->routed.text;
	int64		took = stream_now - backend->queue.since;

	text->cost += (took - text->cost) / (text->cost == 0 ? 1 : took < text->cost ? 2 : 16);
	if (backend->queue.bytes > SMALL_ANSWER)
		text->alone_until = stream_now + ALONE_TIME;
}

void
session_queue_end(Backend *backend)
{
	Client	   *client = backend->client;

	gateway_stats->routed++;
	if (client != NULL)
	{
		if (client->routed.copy != NULL)
			note_execution(backend);
		session_queue_forget(client);
		session_detach(client);
		client_change_state(client, CLIENT_IDLE);
		client_ready(client);
	}
	if (backend->transaction != TRANSACTION_NONE)
	{
		Pool	   *pool = backend->pool;

		/* a cancel request has hit the ROLLBACK of a block that has moved */
		backend_close(backend);
		pool_ready(pool);
	}
	else if (backend->queue.nbehind == 0)
		backend_give_back(backend);
	else
	{
		next_of_queue(backend);
		pool_ready(backend->pool);
	}
}

/*
 * Whether a complete answer has arrived, and whether it is that of a cancelled
 * statement.
 */
static bool
answer_is_whole(const ByteQueue *in, bool *cancelled)
{
	MessageReader reader = message_reader(in);
	Message		message;

	*cancelled = false;
	while (message_read(&reader, &message))
	{
		if (message.type == PqMsg_ErrorResponse)
			*cancelled = error_has_state(&message, ERRCODE_QUERY_CANCELED);
		if (message.type == PqMsg_ReadyForQuery)
			return true;
	}
	return false;
}

bool
session_queue_may_answer(Backend *backend)
{
	const ByteQueue *in = &backend->stream.in;
	Client	   *client = backend->client;
	bool		cancelled;

	if (!backend->queue.cancelling || backend->queue.bytes > 0 || client == NULL || !client->routed.sent ||
		client->routed.copy == NULL)
		return true;
	if (!answer_is_whole(in, &cancelled))
		return queue_length(in) >= STREAM_HIGH_WATER || backend->stream.ended;
	if (cancelled && !client->cancelled)
	{
		session_queue_again(client);
	}
	return true;
}

bool
session_queue_is_refused(Backend *backend, const Message *error)
{
	static const char *const classes[] = {"42", "3F", "0A", "26"};
	const char *code = error_field(error, PG_DIAG_SQLSTATE);

	if (!backend->client->routed.sent || backend->queue.bytes > 0 || code == NULL)
		return false;
	for (int i = 0; i < lengthof(classes); i++)
		if (strncmp(code, classes[i], 2) == 0)
			return true;
	return false;
}

bool
session_queue_leave(Backend *backend, Client *client)
{
	bool		answered = backend->client == client;

	if (answered && backend->queue.nbehind == 0)
		return false;
	session_detach(client);
	if (!client->routed.sent)
	{
		/* an error has left a part of its statement there */
		ErrorData	error = {
			.sqlerrcode = ERRCODE_CONNECTION_FAILURE,
			.message = "the session has ended with that of another client",
		};

		backend_fail(backend, &error);
	}
	else if (answered)
	{
		stream_pause(&backend->stream, false);
		backend_continue(backend);
	}
	return true;
}

/*
 * Sends the cancel request that arrived while the client waited for a session
 * of this server.
 */
static void
cancel_at_last(Backend *backend)
{
	Client	   *client = backend->client;

	if (client == NULL || !client->cancelled || backend->state != BACKEND_LENT || expect_head(backend) == NULL ||
		client->deaf)
		return;
	client->cancelled = false;
	cancel_send(backend);
}

void
session_queue_tick(Pool *pool)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pool->backends)
	{
		Backend    *backend = dlist_container(Backend, link, iter.cur);
		Client	   *client = backend->client;
		bool		wanted = client != NULL && client->cancelled;

		if (!pool_is_remote(pool))
		{
			cancel_at_last(backend);
			continue;
		}
		if (backend->state != BACKEND_LENT || (backend->queue.nbehind == 0 && !wanted) || backend->cancels > 0 ||
			backend->queue.bytes > 0 || stream_now - backend->queue.since < MAX_DELAY)
			continue;
		if (client != NULL && !wanted)
			client->routed.text->alone_until = stream_now + ALONE_TIME;

		/*
		 * again after that time, since a request may arrive before its
		 * statement
		 */
		backend->queue.since = stream_now;
		cancel_running(backend);
	}
}
