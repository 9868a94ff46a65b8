/*-------------------------------------------------------------------------
 *
 * block.c
 *	  Transaction blocks on another node's session.
 *
 * The gateway answers a client's BEGIN itself, and sends it with the next
 * statement.  If that has a route (route.c), the block begins on a session of
 * the node that has its rows.  Since every node runs every statement, the
 * block can continue there with all texts that mean the same on every node, as
 * reported by a session of this server.
 *
 * If another statement follows, one that reads a local table for instance, the
 * block moves: the node's session rolls back, and the client's messages are
 * replayed on a session of this server.  The answers are compared with those
 * that the client has received, by a hash value.  If they are equal, the new
 * transaction is equivalent to the one that the client has seen, and the block
 * continues; otherwise another session has changed the rows in between, and
 * the client's statement fails with 40001.  So a block begins on a node only
 * if earlier blocks that began with the same statement could have run there to
 * their end, and not for a while after one had to move.
 *
 * A block is processed by *units*: messages up to a Sync, or a query.  On
 * another node, the next unit is sent when the last one has been answered.  On
 * a session of this server, the gateway follows a block as long as it has done
 * nothing that could change what texts mean (block_is_clean): until then,
 * texts that the client prepares are shared with others, and their routes can
 * be requested.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "gateway/routing/policy.h"
#include "gateway/server/gateway_stats.h"

/* A block that has sent more can't move. */
#define MAX_JOURNAL (256 * 1024)

/*
 * How long blocks start on this server after one had to move, for each of
 * citus.gateway_clean_blocks; doubled each time.
 */
#define LEAVING_TIME INT64CONST(10000)
#define MAX_LEAVING_TIME INT64CONST(3600000000)

#define CONFLICT_QUERY "SELECT citus_internal.gateway_block_conflict()"

/* Hash value of answers, independent of the order of rows. */
typedef struct AnswersHash
{
	uint64		units;			/* that have been answered */
	uint64		total;			/* of the messages before the last one */
	uint64		last;
} AnswersHash;

/* The meaning of a prepared statement's name before the block changed it. */
typedef struct FormerName
{
	slist_node	link;
	PreparedText *text;			/* a reference, or NULL */
	char		name[FLEXIBLE_ARRAY_MEMBER];
} FormerName;

struct Block
{
	char	   *begin;			/* its BEGIN, which is to be sent; or NULL */
	char	   *held;			/* the same, as long as the block lasts; NULL:
								 * it is a part of the first unit */
	bool		by_query;		/* and leaves no portal */
	bool		unit_open;		/* a unit is being passed on */
	bool		unit_anywhere;
	int			begins;			/* executions to come that don't count for
								 * that */
	bool		ends;			/* the last unit ends the block */
	bool		refused;		/* the node doesn't know a table of the last
								 * unit */
	int			units;			/* that have been sent to a node */
	ByteQueue	journal;		/* their messages */
	size_t		last_unit;		/* where the last of them begins there */
	bool		too_long;		/* for the journal */
	AnswersHash answers;		/* answers that the client has received */
	AnswersHash answers_before; /* the last unit */
	slist_head	former_names;	/* of units that have been sent to a node */
	PreparedText *decider;		/* a reference, or NULL */
	int			resending;		/* units that are to be sent again */
	int			replaying;		/* and whose answers are compared */
	AnswersHash replayed;		/* these answers */
};

/* Hash value of no bytes, and the factor, of the 64-bit FNV-1a hash. */
#define FNV_BASIS UINT64CONST(0xcbf29ce484222325)
#define FNV_PRIME UINT64CONST(0x100000001b3)

static void
forget_former_names(Block *block)
{
	while (!slist_is_empty(&block->former_names))
	{
		FormerName *former = slist_container(FormerName, link, slist_pop_head_node(&block->former_names));

		if (former->text != NULL)
			prepared_text_release(former->text);
		pfree(former);
	}
}

/* The client's block has ended. */
static void
block_forget(Client *client)
{
	Block	   *block = client->block;

	client->block = NULL;
	client->deaf = false;
	client->clean = false;
	client_change_policy(client, &policy_direct);
	if (block->held != NULL)
		pfree(block->held);
	if (block->decider != NULL)
		prepared_text_release(block->decider);
	queue_free(&block->journal);
	forget_former_names(block);
	pfree(block);
}

/*
 * Answers a message of a unit that is a BEGIN, or that prepares a known text.
 */
static void
answer_message(Client *client, const Message *message)
{
	const char *begin = client->block->held;
	const char *tag = pg_tolower((unsigned char) begin[strspn(begin, " \t\r\n\f\v")]) == 's' ? "START TRANSACTION" : "BEGIN";
	MessageReader fields = message_fields(message);
	const char *name;

	switch (message->type)
	{
		case PqMsg_Parse:
			name = message_read_string(&fields);
			client_set_statement(client, name, client_text(client, 0, fields.next, fields.end - fields.next));
			message_put_empty(&client->stream, PqMsg_ParseComplete);
			break;
		case PqMsg_Bind:
			message_put_empty(&client->stream, PqMsg_BindComplete);
			break;
		case PqMsg_Describe:
			message_put_empty(&client->stream, PqMsg_NoData);
			break;
		case PqMsg_Execute:
			message_put_string(&client->stream, PqMsg_CommandComplete, tag);
			break;
		case PqMsg_Query:
			client_set_statement(client, "", NULL);
			message_put_string(&client->stream, PqMsg_CommandComplete, tag);
			message_put_ready(&client->stream, TRANSACTION_OPEN);
			break;
		case PqMsg_Sync:
			message_put_ready(&client->stream, TRANSACTION_OPEN);
			break;
	}
}

static void
answer_unit(Client *client, const Unit *unit)
{
	client_show_idle(client);
	unit_walk(client->stream.in.data + client->stream.in.start, unit->len, answer_message, client);
	stream_skip(&client->stream, unit->len);
}

bool
block_may_begin(Client *client)
{
	Message		message;
	MessageReader fields;
	const char *statement;
	const PreparedText *text;

	if (!message_peek(&client->stream.in, &message))
		return false;
	fields = message_fields(&message);
	switch (message.type)
	{
		case PqMsg_Query:
			return text_control(fields.next, fields.end - fields.next) == CONTROL_BEGIN;
		case PqMsg_Parse:
			return message_read_string(&fields) != NULL &&
				text_control(fields.next, fields.end - fields.next) == CONTROL_BEGIN;
		case PqMsg_Bind:
			statement = message_read_string(&fields) != NULL ? message_read_string(&fields) : NULL;
			text = statement ? client_statement(client, statement) : NULL;
			return text != NULL && text->control == CONTROL_BEGIN;
		default:
			return false;
	}
}

/* The name whose meaning a message changes; NULL if it changes none. */
static const char *
changed_name(const Message *message)
{
	MessageReader fields = message_fields(message);

	switch (message->type)
	{
		case PqMsg_Parse:
			return message_read_string(&fields);
		case PqMsg_Query:
			return "";
		case PqMsg_Close:
			return message->len > 0 && *fields.next++ == NAMED_STATEMENT ? message_read_string(&fields) : NULL;
		default:
			return NULL;
	}
}

/* Stores the meaning of a name that a message of the block changes. */
static void
remember_former_name(Client *client, const Message *message)
{
	Block	   *block = client->block;
	const char *name = changed_name(message);
	FormerName *former;
	slist_iter	iter;

	if (name == NULL)
		return;
	slist_foreach(iter, &block->former_names)
		if (strcmp(slist_container(FormerName, link, iter.cur)->name, name) == 0)
			return;
	former = gateway_alloc(offsetof(FormerName, name) + strlen(name) + 1);
	strcpy(former->name, name);
	former->text = client_statement(client, name);
	if (former->text != NULL)
		prepared_text_hold(former->text);
	slist_push_head(&block->former_names, &former->link);
}

/* Gives the client's names the meanings that they had before the block. */
static void
restore_names(Client *client)
{
	slist_iter	iter;

	slist_foreach(iter, &client->block->former_names)
	{
		FormerName *former = slist_container(FormerName, link, iter.cur);

		client_set_statement(client, former->name, former->text);
		former->text = NULL;
	}
	forget_former_names(client->block);
}

/* Adds a unit that is sent to a node to the journal. */
static void
add_unit(Client *client, const Unit *unit)
{
	size_t		len = unit->len;
	Block	   *block = client->block;
	const ByteQueue *in = &client->stream.in;

	client_show_active(client);
	block->units++;
	block->ends = unit->ends;
	block->answers_before = block->answers;
	block->last_unit = queue_length(&block->journal);
	if (block->last_unit + len > MAX_JOURNAL)
	{
		block->too_long = true;
		queue_free(&block->journal);
	}
	if (!block->too_long)
		queue_put(&block->journal, in->data + in->start, len);
	unit_walk(in->data + in->start, len, remember_former_name, client);
	route_forget_query(client);
}

/* Chooses the session for the block's first unit. */
static NextStep
place_block(Client *client, const Unit *unit)
{
	Block	   *block = client->block;
	Pool	   *pool;

	block->unit_open = true;
	block->unit_anywhere = unit->anywhere;
	if (unit->decider == NULL)
		return route_none(unit->why);
	block->decider = unit->decider;
	prepared_text_hold(block->decider);
	if (unit->server == NULL)
		return route_none(UNROUTED_HERE);
	if (!unit->anywhere || gateway_clean_blocks < 0 ||
		block->decider->clean_blocks < gateway_clean_blocks || block->decider->leaves_until > stream_now)
		return route_none(UNROUTED_BLOCK);
	pool = pool_find_node(client->pool, unit->server);
	if (!pool_works(pool) || pool_blocks(pool, true) >= gateway_pool_size)
		return route_none(UNROUTED_UNREACHABLE);
	client_change_policy(client, &policy_node_block);
	client->routed.text = unit->decider;
	prepared_text_hold(client->routed.text);
	client->routed.len = unit->len;
	client->routed.alone = true;
	add_unit(client, unit);
	pool_request(client, pool);
	return STEP_TAKEN;
}

/* A node's session could not be opened: resets the block to its beginning. */
static void
reset_block(Block *block)
{
	block->units = 0;
	queue_free(&block->journal);
	forget_former_names(block);
	block->too_long = false;
	if (block->decider != NULL)
		prepared_text_release(block->decider);
	block->decider = NULL;
}

/* Follows the block that the client begins, if it does. */
static NextStep
follow_block(Client *client, const Unit *unit)
{
	Message		message;
	Block	   *block;

	if (!unit->begins)
		return route_statement(client);
	block = gateway_alloc(sizeof(Block));
	client->block = block;
	client->clean = true;
	client_change_policy(client, &policy_block);
	if (unit->begin == NULL)
	{
		block->begins = 1;
		return place_block(client, unit);
	}
	block->begin = block->held = gateway_strdup(unit->begin);
	block->by_query = message_peek(&client->stream.in, &message) && message.type == PqMsg_Query;
	answer_unit(client, unit);
	return STEP_TAKEN;
}

NextStep
block_open(Client *client)
{
	NextStep	step = STEP_MORE;
	Unit		unit;

	if (unit_scan(client, &unit))
		step = follow_block(client, &unit);
	else if (!client_holds(client))
		step = route_none(UNROUTED_FORM);	/* passed on as it comes */
	unit_free(&unit);
	return step;
}

NextStep
block_choose(Client *client)
{
	NextStep	step = STEP_MORE;
	Unit		unit;

	reset_block(client->block);
	if (unit_scan(client, &unit))
	{
		if (client->block->begin != NULL && unit.only_parses)
		{
			/* the next message decides where the block begins */
			answer_unit(client, &unit);
			step = STEP_TAKEN;
		}
		else
			step = place_block(client, &unit);
	}
	else if (!client_holds(client))
	{
		/* it will be passed on as it comes */
		unit_free(&unit);
		step = place_block(client, &unit);
	}
	unit_free(&unit);
	return step;
}

/*
 * Moves the block, all of whose units have been answered, to a session of this
 * server.
 */
static void
move_block(Client *client)
{
	Block	   *block = client->block;
	Backend    *backend = client->backend;

	block->decider->clean_blocks = 0;
	block->decider->leaves_for = Min(Max(block->decider->leaves_for * 2, LEAVING_TIME * gateway_clean_blocks),
									 MAX_LEAVING_TIME);
	block->decider->leaves_until = stream_now + block->decider->leaves_for;
	if (block->too_long)
	{
		client_fail_text(client, ERRCODE_T_R_SERIALIZATION_FAILURE,
						 "the gateway can't move a long transaction block from one node to another");
		return;
	}
	session_detach(client);
	expect_push(backend, EXPECT_QUERY, READER_NOBODY);
	message_put_string(&backend->stream, PqMsg_Query, "ROLLBACK");

	restore_names(client);
	route_forget_query(client);
	if (block->refused)
	{
		/* that one has not been answered */
		stream_unread(&client->stream, block->journal.data + block->last_unit,
					  queue_length(&block->journal) - block->last_unit);
		block->journal.end = block->last_unit;
		block->units--;
		block->answers = block->answers_before;
	}
	stream_unread(&client->stream, block->journal.data + block->journal.start, queue_length(&block->journal));
	queue_free(&block->journal);
	block->begin = block->held;
	block->refused = false;
	block->unit_open = false;
	block->resending = block->replaying = block->units;
	client->deaf = block->replaying > 0;
	gateway_stats->moved_blocks++;
	session_queue_forget(client);
	client_change_state(client, CLIENT_IDLE);
	pool_request(client, client->pool);
}

/*
 * Inspects the next unit of a block; false if it isn't complete, and that
 * matters.
 */
static bool
begin_unit(Client *client, Unit *unit, bool matters)
{
	if (!unit_scan(client, unit) && matters && client_holds(client))
		return false;
	client->block->unit_open = true;
	client->block->unit_anywhere = unit->anywhere;
	return true;
}

/* Sends the BEGIN that was already answered; an error closes the client. */
static void
send_begin(Client *client)
{
	Block	   *block = client->block;
	Backend    *backend = client->backend;
	StringInfoData body;

	/* no types of parameters */
	initStringInfo(&body);
	packet_string(&body, block->begin);
	appendBinaryStringInfo(&body, "\0\0", sizeof(uint16));
	backend_note_unnamed(backend, NULL);
	expect_push(backend, EXPECT_PARSE, READER_SETTING);
	message_put_parse(&backend->stream, "", body.data, body.len);
	expect_push(backend, EXPECT_BIND, READER_SETTING);
	message_put_bind(&backend->stream, "");
	expect_push(backend, EXPECT_EXECUTE, READER_SETTING);
	message_put_execute(&backend->stream);
	if (block->by_query)
	{
		expect_push(backend, EXPECT_CLOSE, READER_SETTING);
		message_put_named(&backend->stream, PqMsg_Close, NAMED_PORTAL, "");
	}
	block->begin = NULL;
}

void
block_begin(Client *client)
{
	if (client->block != NULL && client->block->begin != NULL)
		send_begin(client);
}

NextStep
block_next(Client *client, const Message *message)
{
	Block	   *block = client->block;
	NextStep	step;
	Unit		unit;

	if (client_waits_for_cancel(client))
		return STEP_WAIT;
	if (block->unit_open)
		return STEP_PASS;
	if (block->resending > 0)
	{
		block->resending--;
		block->unit_open = true;
		block->unit_anywhere = true;
		return STEP_PASS;
	}
	if (block->replaying > 0)
		return STEP_WAIT;
	if (client->input.in_copy)
		return STEP_PASS;
	step = begin_unit(client, &unit, client->clean) ? STEP_PASS : STEP_MORE;
	unit_free(&unit);
	return step;
}

NextStep
node_block_next(Client *client, const Message *message)
{
	NextStep	step = STEP_MORE;
	Unit		unit;

	if (client->routed.sent || client_waits_for_cancel(client))
		return STEP_WAIT;
	if (client->block->unit_open)
		return STEP_PASS;
	if (message->type == PqMsg_Flush && message->len == 0)
	{
		/* all has been answered */
		message_skip(&client->stream, message);
		return STEP_TAKEN;
	}
	if (begin_unit(client, &unit, true))
	{
		if (unit.len > 0 && (unit.anywhere || (client->backend->transaction == TRANSACTION_FAILED && !unit.may_end)))
		{
			add_unit(client, &unit);
			step = STEP_PASS;
		}
		else
		{
			move_block(client);
			step = STEP_TAKEN;
		}
	}
	unit_free(&unit);
	return step;
}

void
block_passed(Client *client, const Message *message)
{
	Block	   *block = client->block;
	bool		executes = message->type == PqMsg_Query || message->type == PqMsg_Execute || message->type == PqMsg_FunctionCall;

	if (message->type == PqMsg_Execute && block->begins > 0)
		block->begins--;
	else if (!block->unit_anywhere && executes)
		client->clean = false;
	if (message_ends_unit(message->type))
		block->unit_open = false;
	route_ask(client, message);
}

void
node_block_passed(Client *client, const Message *message)
{
	block_passed(client, message);
	if (message_ends_unit(message->type))
		session_queue_sent(client);
}

static void
hash_more(uint64 *hash, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*hash = (*hash ^ (unsigned char) data[i]) * FNV_PRIME;
}

/* Whether a message counts as an answer; '\0': a further part of one. */
static bool
is_compared(char type)
{
	switch (type)
	{
		case '\0':
		case PqMsg_DataRow:
		case PqMsg_CommandComplete:
		case PqMsg_EmptyQueryResponse:
		case PqMsg_PortalSuspended:
		case PqMsg_ErrorResponse:
		case PqMsg_ReadyForQuery:
			return true;
		default:
			return false;
	}
}

static bool
note_answer_hash(AnswersHash *hash, char type, const void *data, size_t len)
{
	if (!is_compared(type))
		return false;
	if (type != '\0')
	{
		hash->total += hash->last;
		hash->last = FNV_BASIS;
		hash_more(&hash->last, (const char *) &hash->units, sizeof(hash->units));
		hash_more(&hash->last, &type, 1);
	}
	/* an error's texts may name its node */
	if (type != PqMsg_ErrorResponse)
		hash_more(&hash->last, data, len);
	if (type == PqMsg_ReadyForQuery)
		hash->units++;
	return true;
}

bool
block_note(Client *client, char type, const void *data, size_t len)
{
	return note_answer_hash(&client->block->answers, type, data, len);
}

bool
block_note_replayed(Client *client, char type, const void *data, size_t len)
{
	return client->block->replaying > 0 && note_answer_hash(&client->block->replayed, type, data, len);
}

/*
 * The client's next unit, for which the block has moved, is answered by an
 * error; false if the client has been closed.
 */
static bool
block_conflicts(Client *client)
{
	Unit		unit;

	(void) unit_scan(client, &unit);
	unit_free(&unit);
	route_forget_query(client);
	if (unit.len == 0 || client->backend->transaction == TRANSACTION_NONE)
	{
		client_fail_text(client, ERRCODE_T_R_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
		return false;
	}
	stream_skip(&client->stream, unit.len);
	client->clean = false;
	expect_push(client->backend, EXPECT_QUERY, READER_CLIENT);
	message_put_string(&client->backend->stream, PqMsg_Query, CONFLICT_QUERY);
	return true;
}

void
block_answered(Backend *backend)
{
	Client	   *client = backend->client;
	Block	   *block = client->block;

	if (block->replaying > 0 && --block->replaying == 0)
	{
		client->deaf = false;
		if (block->replayed.total + block->replayed.last != block->answers.total + block->answers.last &&
			!block_conflicts(client))
			return;
	}
	if (backend->transaction == TRANSACTION_NONE && expect_head(backend) == NULL && block->replaying == 0)
	{
		if (block->decider != NULL)
			block->decider->clean_blocks = client->clean ? block->decider->clean_blocks + 1 : 0;
		block_forget(client);
	}
	session_done(backend);
}

void
node_block_answered(Backend *backend)
{
	Client	   *client = backend->client;

	if (expect_head(backend) == NULL)
		backend->answers.unsynced = false;
	client->routed.sent = false;
	client->cancelled = false;
	client_show_idle(client);
	backend->queue.cancelling = false;
	backend->queue.bytes = 0;
	if (backend->transaction == TRANSACTION_NONE && !client->block->refused)
	{
		gateway_stats->node_blocks++;
		session_queue_forget(client);
		block_forget(client);
		session_done(backend);
		return;
	}
	if (client->block->refused)
		move_block(client);
	else
		gateway_stats->routed++;
	client_ready(client);
}

bool
node_block_refused(Backend *backend, const Message *error)
{
	Client	   *client = backend->client;

	if (!session_queue_is_refused(backend, error))
		return false;
	client->block->refused = !client->block->ends;
	client->deaf = client->block->refused;
	return client->block->refused;
}

void
node_block_cancelled(Client *client)
{
	if (client->block->unit_open || client->routed.sent)
		session_queue_cancel(client);
}

void
block_closed(Client *client)
{
	block_forget(client);
	route_forget_query(client);
}
