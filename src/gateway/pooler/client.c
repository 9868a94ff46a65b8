/*-------------------------------------------------------------------------
 *
 * client.c
 *	  Clients of a gateway process: from their login to their end.
 *
 * A client has a backend only while it is in a transaction, sends or waits for
 * something, or while the backend is pinned to it.  Its data are processed
 * message by message (client_process); the rest stays in its stream, which is
 * read up to the high water mark.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "gateway/pooler/session.h"
#include "gateway/server/gateway_stats.h"
#include "lib/catch_error.h"

/* As in the server: the maximal length of messages without data. */
#define SMALL_MESSAGE 10000

/* A message of this type, which is empty. */
#define TERMINATE ((const char[]) {PqMsg_Terminate, 0, 0, 0, sizeof(uint32)})

/* How long a part of a unit is kept, in microseconds (client_holds). */
#define HOLD_PART 5000

/*
 * How long the last messages of a client that has left may take, in
 * microseconds.
 */
#define LAST_WORK INT64CONST(5000000)

const ClientPolicy *client_first_policy;

/* Those of whose units a part is kept, the longest one first. */
static dlist_head held_clients = DLIST_STATIC_INIT(held_clients);

static void client_arrived(Stream *stream);
static void client_drained(Stream *stream);
static void client_failed(Stream *stream, const ErrorData *error);

static const StreamHandler client_handler = {
	.arrived = client_arrived,
	.drained = client_drained,
	.failed = client_failed,
};

/*
 * A number that no other client of the gateway has; the process is in its high
 * bits.
 */
static int32
new_client_number(void)
{
	static uint32 last = 0;
	bool		used = true;

	while (used)
	{
		dlist_iter	iter;

		last = (last + 1) & ((1 << CANCEL_PID_BITS) - 1);
		used = false;
		if (ngateway_clients < (1 << (CANCEL_PID_BITS - 4)) && last != 0)
			break;
		dlist_foreach(iter, &gateway_clients)
			used |= (dlist_container(Client, link, iter.cur)->who.number & ((1 << CANCEL_PID_BITS) - 1)) == last;
	}
	return (int32) ((gateway_start->number + 1) << CANCEL_PID_BITS | last);
}

/* Sets TCP keepalives as the server does, so that dead clients are noticed. */
static void
watch_client(int fd)
{
	const struct
	{
		int			option;
		int			value;
	}			options[] = {
		{TCP_KEEPIDLE, tcp_keepalives_idle},
		{TCP_KEEPINTVL, tcp_keepalives_interval},
		{TCP_KEEPCNT, tcp_keepalives_count},
		{TCP_USER_TIMEOUT, tcp_user_timeout},
	};
	int			on = 1;

	(void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	for (int i = 0; i < lengthof(options); i++)
		if (options[i].value > 0)
			(void) setsockopt(fd, IPPROTO_TCP, options[i].option, &options[i].value, sizeof(int));
}

Client *
client_accept(int fd, const SockAddr *address)
{
	Client	   *client = gateway_alloc(sizeof(Client));

	watch_client(fd);
	stream_open(&client->stream, fd, &client_handler, false);
	client->stream.half_open = true;
	client->stream.received = &gateway_stats->received;
	client->stream.sent = &gateway_stats->sent;
	client->who.address = *address;
	client->who.server_address.salen = sizeof(client->who.server_address.addr);
	if (getsockname(fd, (struct sockaddr *) &client->who.server_address.addr, &client->who.server_address.salen) != 0)
		client->who.server_address.salen = 0;
	client->who.number = new_client_number();
	client_change_policy(client, client_first_policy);
	client_change_state(client, CLIENT_STARTING);
	if (!pg_strong_random(client->who.cancel_key.bytes, sizeof(client->who.cancel_key.bytes)))
		client_fail_text(client, ERRCODE_INTERNAL_ERROR, "could not generate random cancel key");
	else if (ngateway_clients > gateway_max_clients)
		client_fail_text(client, ERRCODE_TOO_MANY_CONNECTIONS, "sorry, too many clients already");
	return client;
}

static void
free_text(char *text)
{
	if (text != NULL)
		pfree(text);
}

bool
client_holds(Client *client)
{
	if (client->input.left_at != 0)
		return false;
	if (client->input.held_since == 0)
	{
		client->input.held_since = stream_now;
		dlist_push_tail(&held_clients, &client->input.held_link);
		stream_wake(stream_now + HOLD_PART);
	}
	return stream_now - client->input.held_since < HOLD_PART;
}

static void
release_held(Client *client)
{
	if (client->input.held_since == 0)
		return;
	client->input.held_since = 0;
	dlist_delete(&client->input.held_link);
}

void
client_release_held(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &held_clients)
	{
		Client	   *client = dlist_container(Client, input.held_link, iter.cur);

		if (stream_now - client->input.held_since < HOLD_PART)
		{
			stream_wake(client->input.held_since + HOLD_PART);
			break;
		}
		client_ready(client);
	}
}

void
client_close(Client *client)
{
	if (client->state == CLIENT_CLOSED)
		return;
	client_change_state(client, CLIENT_CLOSED);
	client_entry_drop(client->entry);
	release_held(client);
	if (client->login != NULL)
		login_abandon(client->login);
	if (client->backend != NULL)
		backend_abandon(client->backend, client);
	session_queue_forget(client);
	client->policy->closed(client);
	if (client->origin != NULL)
		client->origin->closed(client);
	if (client->pool != NULL)
		pool_leave(client->pool);
	client_drop_statements(client);
	free_text(client->who.user);
	free_text(client->who.database);
	free_text(client->who.parameters);
	free_text(client->who.application_name);
	free_text(client->settings);
	stream_close(&client->stream, client);
}

void
client_fail_message(Client *client, const char *payload, size_t len)
{
	if (client->state == CLIENT_CLOSED)
		return;
	stream_put_message(&client->stream, PqMsg_ErrorResponse, payload, len);
	client_close(client);
}

void
client_fail(Client *client, const ErrorData *error)
{
	StringInfo	payload = error_payload("FATAL", error);

	client_fail_message(client, payload->data, payload->len);
}

void
client_fail_text(Client *client, int sqlstate, const char *message)
{
	StringInfo	payload = error_payload_text("FATAL", sqlstate, message);

	client_fail_message(client, payload->data, payload->len);
}

void
client_check_idle(Client *client)
{
	int			limit = client->policy->in_block ? client->limits.block : client->limits.session;

	if (client->input.left_at != 0 && stream_now - client->input.left_at > LAST_WORK)
	{
		client_close(client);
		return;
	}
	if (client->state != CLIENT_IDLE || limit == 0 || stream_now - client->since < limit * INT64CONST(1000))
		return;
	if (client->policy->in_block)
		client_fail_text(client, ERRCODE_IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
						 "terminating connection due to idle-in-transaction timeout");
	else
		client_fail_text(client, ERRCODE_IDLE_SESSION_TIMEOUT, "terminating connection due to idle-session timeout");
}

static void
client_failed(Stream *stream, const ErrorData *error)
{
	client_fail((Client *) stream, error);
}

void
client_authenticated(Client *client)
{
	gateway_stats->logins++;
	if (client->origin != NULL)
	{
		client->origin->authenticated(client);
		return;
	}
	client_change_state(client, CLIENT_GREETING);
	pool_request_greeting(client);
}

/*
 * Sends the ParameterStatus messages of the pool's sessions, with the client's
 * own application_name.
 */
static void
put_parameters(Client *client)
{
	MessageReader reader = message_reader(&client->pool->greeting);
	Message		status;

	while (message_read(&reader, &status))
	{
		StringInfoData payload;

		if (client->who.application_name == NULL || strcmp(status.payload, "application_name") != 0)
		{
			stream_put_message(&client->stream, status.type, status.payload, status.len);
			continue;
		}
		initStringInfo(&payload);
		packet_string(&payload, "application_name");
		packet_string(&payload, client->who.application_name);
		stream_put_message(&client->stream, PqMsg_ParameterStatus, payload.data, payload.len);
	}
}

/* Enters the client, which has been let in, in the shared area. */
static void
show_client(Client *client)
{
	ClientEntry shown = {
		.number = client->who.number,
		.state = CLIENT_SHOWN_IDLE,
		.since = stream_now,
		.connected = client->since,
		.role = client->who.role,
		.database = client->who.database_id,
		.address = client->who.address,
	};

	if (client->who.application_name != NULL)
		strlcpy(shown.application_name, client->who.application_name, sizeof(shown.application_name));
	client->entry = client_entry_take(gateway_start->number, &shown);
}

void
client_greet(Client *client)
{
	uint32		number = pg_hton32(0);
	uint32		pid = pg_hton32(client->who.number);

	stream_put_message(&client->stream, PqMsg_AuthenticationRequest, &number, sizeof(number));
	put_parameters(client);
	client->who.cancel_key.len = client->who.protocol >= PG_PROTOCOL(3, 2) ? LONG_CANCEL_KEY : SHORT_CANCEL_KEY;
	stream_put_head(&client->stream, PqMsg_BackendKeyData, sizeof(uint32) + sizeof(pid) + client->who.cancel_key.len);
	stream_put(&client->stream, &pid, sizeof(pid));
	stream_put(&client->stream, client->who.cancel_key.bytes, client->who.cancel_key.len);
	message_put_ready(&client->stream, TRANSACTION_NONE);
	show_client(client);
	client->limits = client->pool->limits;
	client_change_state(client, CLIENT_IDLE);
	client_ready(client);
}

/* How long a client's message may be, as in the server; 0: it is none. */
static uint32
max_length(char type)
{
	switch (type)
	{
		case PqMsg_Query:
		case PqMsg_Parse:
		case PqMsg_Bind:
		case PqMsg_CopyData:
		case PqMsg_FunctionCall:
			return MaxAllocSize - 1 - sizeof(uint32);
		case PqMsg_Describe:
		case PqMsg_Execute:
		case PqMsg_Close:
		case PqMsg_Sync:
		case PqMsg_Flush:
		case PqMsg_Terminate:
		case PqMsg_CopyDone:
		case PqMsg_CopyFail:
		case PqMsg_PasswordMessage:
			return SMALL_MESSAGE - sizeof(uint32);
		default:
			return 0;
	}
}

static void
invalid_message(const Message *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid frontend message type %d", message->type)));
}

/*
 * Reads the head of the next message; false if it isn't complete.  A client
 * whose messages can't be told apart is closed without an answer, as the
 * server does it.
 */
static bool
next_message(Client *client, Message *message)
{
	if (!message_peek(&client->stream.in, message))
		return false;
	if (max_length(message->type) == 0)
		invalid_message(message);
	if (message->len > max_length(message->type))
	{
		ereport(COMMERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid message length")));
		client_close(client);
		return false;
	}
	return true;
}

/*
 * Passes on the available part of the current message; false if it isn't
 * complete.
 */
static bool
pass_rest(Client *client)
{
	ByteQueue  *in = &client->stream.in;
	size_t		len = Min(queue_length(in), client->input.pass_left);

	if (client->input.pass_left == 0)
		return true;
	if (len > 0)
	{
		stream_put(&client->backend->stream, in->data + in->start, len);
		stream_skip(&client->stream, len);
		client->input.pass_left -= len;
	}
	return client->input.pass_left == 0;
}

/* Handles a message that needs no backend; returns whether it was one. */
static bool
take_without_backend(Client *client, const Message *message)
{
	/*
	 * between transactions, these have no effect but an answer; the server
	 * knows what is wrong with one that isn't empty
	 */
	if (client->backend != NULL || (message->type != PqMsg_Sync && message->type != PqMsg_Flush) || message->len > 0)
		return false;
	message_skip(&client->stream, message);
	if (message->type == PqMsg_Sync)
		message_put_ready(&client->stream, client->policy->in_block ? TRANSACTION_OPEN : TRANSACTION_NONE);
	return true;
}

static void
process_login(Client *client, const Message *message)
{
	const char *payload = message_copy(message);

	message_skip(&client->stream, message);
	login_answer(client->login, message->type, payload, message->len);
}

bool
client_waits_for_cancel(const Client *client)
{
	return client->backend->cancels > 0 && expect_head(client->backend) == NULL;
}

static bool
session_is_busy(const Backend *backend)
{
	return backend->state != BACKEND_LENT || backend->answers.checking;
}

/* Processes the next message of a client that has logged in. */
static NextStep
process_message(Client *client, const Message *message)
{
	Backend    *backend = client->backend;
	NextStep	step;

	if (message->type == PqMsg_PasswordMessage)
		invalid_message(message);
	if (take_without_backend(client, message))
		return STEP_TAKEN;
	if (backend != NULL && session_is_busy(backend))
		return STEP_WAIT;
	step = backend == NULL ? client->policy->choose(client) : client->policy->next(client, message);
	if (step == STEP_PASS || step == STEP_TAKEN)
		release_held(client);
	if (step != STEP_PASS)
		return step;
	if (backend == NULL)
		pool_request(client, client->pool);
	else if (client_forward(client, message))
		client->policy->passed(client, message);
	else
		return session_is_busy(backend) ? STEP_WAIT : STEP_MORE;
	return STEP_TAKEN;
}

static NextStep
process_next(Client *client)
{
	Backend    *backend = client->backend;
	Message		message;

	switch (client->state)
	{
		case CLIENT_STARTING:
			startup_arrived(client);
			return client->state == CLIENT_STARTING ? STEP_MORE : STEP_TAKEN;
		case CLIENT_LOGIN:
		case CLIENT_IDLE:
		case CLIENT_ACTIVE:
			break;
		default:
			return STEP_WAIT;
	}
	if (backend != NULL && !backend_is_remote(backend) && stream_is_full(&backend->stream))
		return STEP_WAIT;
	if (!pass_rest(client) || !next_message(client, &message))
		return STEP_MORE;
	if (message.type == PqMsg_Terminate && (backend == NULL || expect_head(backend) == NULL))
	{
		client_close(client);
		return STEP_TAKEN;
	}
	if (client->state != CLIENT_LOGIN)
		return process_message(client, &message);
	if (!message_is_whole(&message))
		return STEP_MORE;
	process_login(client, &message);
	return STEP_TAKEN;
}

static void
process_messages(Client *client)
{
	NextStep	step;

	do
		step = process_next(client);
	while (step == STEP_TAKEN);
	if (client->state != CLIENT_CLOSED)
		stream_pause(&client->stream, step == STEP_WAIT && queue_length(&client->stream.in) >= STREAM_HIGH_WATER);
}

/*
 * The client's connection has ended: what it has sent is worked off, as by a
 * server, which learns of the end when it reads on.  So a Terminate replaces
 * the rest of a message that will not be complete.
 */
static void
leave_client(Client *client)
{
	ByteQueue  *in = &client->stream.in;
	MessageReader reader = message_reader(in);
	Message		message;

	if (client->state <= CLIENT_GREETING || client->input.pass_left > queue_length(in))
	{
		client_close(client);
		return;
	}
	client->input.left_at = stream_now;
	reader.next += client->input.pass_left;
	while (message_read(&reader, &message))
		;
	in->end = reader.next - in->data;
	queue_put(in, TERMINATE, sizeof(TERMINATE));
	client_ready(client);
}

void
client_process(Client *client)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		process_messages(client);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		client_fail(client, error);
	}
	PG_END_TRY();
	if (client->state == CLIENT_CLOSED)
		return;
	if (client->input.held_since != 0 && stream_now - client->input.held_since >= HOLD_PART)
		release_held(client);	/* it waits for something else now */
	if (client->state == CLIENT_IDLE)
		client->since = stream_now;
	if (client->stream.ended && client->input.left_at == 0)
		leave_client(client);
	stream_settle(&client->stream);
}

static void
client_arrived(Stream *stream)
{
	client_ready((Client *) stream);
}

/*
 * The client has taken all data of its backend: resumes reading from the
 * backend.
 */
static void
client_drained(Stream *stream)
{
	Client	   *client = (Client *) stream;

	if (client->backend != NULL)
	{
		stream_pause(&client->backend->stream, false);
		backend_continue(client->backend);
	}
}

void
client_cancel_session(Client *client)
{
	if (client->backend != NULL && client->backend->state == BACKEND_LENT && !client->deaf)
		cancel_send(client->backend);
	else
		client->cancelled = client->state == CLIENT_WAITING || client->backend != NULL;
}

/* The client with a number, or NULL. */
static Client *
find_client(int32 number)
{
	dlist_iter	iter;

	dlist_foreach(iter, &gateway_clients)
	{
		Client	   *client = dlist_container(Client, link, iter.cur);

		if (client->who.number == number)
			return client;
	}
	return NULL;
}

bool
client_cancel(int32 pid, const CancelKey *key, bool passed)
{
	Client	   *client = find_client(pid);

	if (client == NULL || (!passed && client->who.cancel_key.len != key->len) ||
		timingsafe_bcmp(client->who.cancel_key.bytes, key->bytes, key->len) != 0)
		return false;
	client->policy->cancelled(client);
	return true;
}

void
client_obey(int number, ClientOrder order)
{
	Client	   *client = find_client(number);

	if (client == NULL)
		return;
	switch (order)
	{
		case ORDER_CANCEL:
			client->policy->cancelled(client);
			break;
		case ORDER_TERMINATE:
			client_fail_text(client, ERRCODE_ADMIN_SHUTDOWN, "terminating connection due to administrator command");
			break;
	}
}

void
client_show_idle(Client *client)
{
	client_entry_show(client->entry, 0, client->policy->in_block ? CLIENT_SHOWN_IN_BLOCK : CLIENT_SHOWN_IDLE, stream_now);
}

void
client_show_active(Client *client)
{
	const Backend *backend = client->backend;
	int			pid = backend != NULL && backend->entry != NULL ? (int) pg_ntoh32(backend->pid) : 0;

	client_entry_show(client->entry, pid, CLIENT_SHOWN_ACTIVE, stream_now);
}
