/*-------------------------------------------------------------------------
 *
 * route.c
 *	  Routing: statements are sent directly to the node that has their rows.
 *
 * When a client without a backend sends Bind, Execute and Sync (with Parse and
 * Describe, as drivers do) of a text whose route is known, one of the
 * parameters determines the shard (route_function.c).  Its hash value is
 * computed as in the server, and the client gets a session of that shard's
 * node until the end of the statement, which is a transaction.  The messages
 * are passed on as to any other session.  The same holds for a query of the
 * simple protocol with a deciding literal (normalized_query.c).
 *
 * Transaction blocks (block.c) are processed by units: messages up to a Sync.
 *
 * A route is requested when a text is used for the second time, from a session
 * that has the text, between two clients; and again when the route is old or
 * DDL has committed on this server.  A wrong route costs time but doesn't
 * change the answer.  If a node can't be reached, statements run on this
 * server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <netdb.h>

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "common/ip.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "gateway/routing/policy.h"
#include "gateway/server/gateway_stats.h"
#include "remote/node_call.h"
#include "sharding/hash.h"

#define MAX_SEGMENT (64 * 1024)

/* A longer statement doesn't share a session. */
#define MAX_SHARED 8192
#define ROUTE_LIFETIME INT64CONST(10000000)

typedef struct RouteShard
{
	int32		first_hash;
	int			node;
} RouteShard;

typedef struct Route
{
	int			param;			/* from 0 */
	Oid			type;
	int			nshards;
	int			nnodes;
	ServerAddress *nodes;
	RouteShard	shards[FLEXIBLE_ARRAY_MEMBER];
} Route;

/*
 * Whether a text's route is still valid.  After DDL, its names may mean a
 * local table.
 */
static bool
route_is_current(const PreparedText *text)
{
	return text->route_since != 0 && stream_now - text->route_since <= ROUTE_LIFETIME &&
		text->route_ddl == pg_atomic_read_u64(&gateway_area->ddl);
}

static void
route_free(PreparedText *text)
{
	if (text->route != NULL)
		pfree(text->route);
	text->route = NULL;
}

/*
 * The number of a node in the route, which is added if it is new; -1 if the
 * address is none.
 */
static int
route_node(Route *route, const char *host, const char *port)
{
	ServerAddress address = {.len = 0};
	struct addrinfo hint = {.ai_flags = AI_NUMERICHOST,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	if (strcmp(host, "-") != 0)
	{
		if (pg_getaddrinfo_all(host, port, &hint, &found) != 0)
			return -1;
		memcpy(&address.addr, found->ai_addr, found->ai_addrlen);
		address.len = found->ai_addrlen;
		pg_freeaddrinfo_all(hint.ai_family, found);
	}
	for (int i = 0; i < route->nnodes; i++)
		if (route->nodes[i].len == address.len && memcmp(&route->nodes[i].addr, &address.addr, address.len) == 0)
			return i;
	if (route->nodes == NULL)
		route->nodes = palloc(sizeof(ServerAddress));
	else
		route->nodes = repalloc(route->nodes, sizeof(ServerAddress) * (route->nnodes + 1));
	route->nodes[route->nnodes] = address;
	return route->nnodes++;
}

/* A copy of the route that lives as long as its text, in one piece. */
static Route *
keep_route(const Route *route)
{
	size_t		size = MAXALIGN(offsetof(Route, shards) + sizeof(RouteShard) * route->nshards);
	Route	   *kept = gateway_alloc(size + sizeof(ServerAddress) * route->nnodes);

	memcpy(kept, route, offsetof(Route, shards) + sizeof(RouteShard) * route->nshards);
	kept->nodes = (ServerAddress *) ((char *) kept + size);
	memcpy(kept->nodes, route->nodes, sizeof(ServerAddress) * route->nnodes);
	return kept;
}

void
route_refused(PreparedText *text)
{
	route_free(text);
	text->route_since = stream_now;
	text->anywhere = false;
}

/*
 * Stores a session's answer; NULL: there is no route.  query: of a normalized
 * one, the query by which it was requested.
 */
static void
route_learn(PreparedText *text, const char *described, const char *query)
{
	Route	   *route;
	int			anywhere;
	int			param;
	Oid			type;
	int			nshards;
	int			end = 0;

	route_free(text);
	text->route_since = stream_now;
	text->anywhere = false;
	if (described == NULL || sscanf(described, "%d %d %u %d%n", &anywhere, &param, &type, &nshards, &end) != 4)
		return;
	text->anywhere = anywhere;
	if (param < 1 || nshards < 1 || nshards > 1000000)
		return;
	route = palloc0(offsetof(Route, shards) + sizeof(RouteShard) * nshards);
	route->param = param - 1;
	route->type = type;
	for (described += end; route->nshards < nshards; described += end)
	{
		RouteShard *shard = &route->shards[route->nshards];
		char		host[128];
		char		port[16];

		if (sscanf(described, " %d %127s %15s%n", &shard->first_hash, host, port, &end) != 3 ||
			(shard->node = route_node(route, host, port)) < 0)
			break;
		route->nshards++;
	}
	if (query != NULL)
		route->param = query_literal_number(query, route->param);
	if (route->nshards == nshards && route->param >= 0)
		text->route = keep_route(route);
}

/* The next of the values in Bind; *len is negative if it is null. */
static bool
read_value(MessageReader *bind, const char **value, int *len)
{
	uint32		size;

	if (!message_read_uint32(bind, &size) || (int32) size > bind->end - bind->next)
		return false;
	*len = (int32) size;
	*value = bind->next;
	bind->next += Max(*len, 0);
	return true;
}

/*
 * Finds a parameter's value in Bind, behind the names; false if it is null, or
 * the message is invalid.
 */
static bool
bound_value(MessageReader bind, int wanted, bool *binary, const char **value, int *len)
{
	uint16		nformats;
	uint16		nvalues;
	uint16		format = 0;

	if (!message_read_uint16(&bind, &nformats))
		return false;
	for (int i = 0; i < nformats; i++)
	{
		uint16		read;

		if (!message_read_uint16(&bind, &read))
			return false;
		if (nformats == 1 || i == wanted)
			format = read;
	}
	if (!message_read_uint16(&bind, &nvalues) || wanted >= nvalues || (nformats > 1 && wanted >= nformats))
		return false;
	*binary = format != 0;
	*len = -1;
	for (int i = 0; i <= wanted; i++)
		if (!read_value(&bind, value, len))
			return false;
	return *len >= 0;
}

/* The number in a binary value, in the network's order. */
static bool
read_binary(const char *value, int len, int64 *number)
{
	MessageReader reader = {value, value + len};
	uint16		two;
	uint32		high;
	uint32		low;

	if (len == 2 && message_read_uint16(&reader, &two))
		*number = (int16) two;
	else if (message_read_uint32(&reader, &high) && len == 4)
		*number = (int32) high;
	else if (len == 8 && message_read_uint32(&reader, &low))
		*number = (int64) (((uint64) high << 32) | low);
	else
		return false;
	return true;
}

/*
 * Reads an integer of the type's size; false if only the server can parse it.
 */
static bool
read_integer(const char *value, int len, bool binary, int size, int64 *number)
{
	char		text[24];
	char	   *end;

	if (binary)
		return len == size && read_binary(value, len, number);
	if (len < 1 || len >= sizeof(text) || strspn(value, "-0123456789") < len)
		return false;
	memcpy(text, value, len);
	text[len] = '\0';
	errno = 0;
	*number = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && end != text &&
		(size == 8 || (*number >= (size == 4 ? PG_INT32_MIN : PG_INT16_MIN) &&
					   *number <= (size == 4 ? PG_INT32_MAX : PG_INT16_MAX)));
}

/* Whether a text has the same bytes in every encoding. */
static bool
is_plain_text(const char *value, int len)
{
	for (int i = 0; i < len; i++)
		if (IS_HIGHBIT_SET(value[i]) || value[i] == '\0')
			return false;
	return true;
}

/* The hash value of a parameter, by the server's hash functions. */
static bool
hash_of_value(Oid type, const char *value, int len, bool binary, int32 *hash)
{
	int64		number;

	switch (type)
	{
		case INT2OID:
			if (!read_integer(value, len, binary, 2, &number))
				return false;
			*hash = DatumGetInt32(DirectFunctionCall1(hashint2, Int16GetDatum((int16) number)));
			return true;
		case INT4OID:
			if (!read_integer(value, len, binary, 4, &number))
				return false;
			*hash = DatumGetInt32(DirectFunctionCall1(hashint4, Int32GetDatum((int32) number)));
			return true;
		case INT8OID:
			if (!read_integer(value, len, binary, 8, &number))
				return false;
			*hash = DatumGetInt32(DirectFunctionCall1(hashint8, Int64GetDatum(number)));
			return true;
		case TEXTOID:
		case VARCHAROID:
			if (!is_plain_text(value, len))
				return false;
			*hash = (int32) hash_bytes((const unsigned char *) value, len);
			return true;
		case UUIDOID:
			if (!binary || len != 16)
				return false;
			*hash = (int32) hash_bytes((const unsigned char *) value, len);
			return true;
		default:
			return false;
	}
}

static const ServerAddress *
server_of_hash(const Route *route, int32 hash)
{
	int			shard = hash_position(&route->shards[0].first_hash, sizeof(route->shards[0]), route->nshards, hash);

	return &route->nodes[route->shards[shard].node];
}

/* Whether a text has a route; else, why not.  Counts as a use of the text. */
static bool
has_route(PreparedText *text, UnroutedReason *why)
{
	text->uses++;
	*why = text->route_since == 0 || !route_is_current(text) ? UNROUTED_NEW : UNROUTED_WITHOUT_ROUTE;
	return text->route != NULL && route_is_current(text);
}

/*
 * The server for a Bind, which counts as a use of its text; its length is 0 if
 * that is our own.  NULL if it isn't known.  values: Bind after the names.
 */
static const ServerAddress *
server_of_values(PreparedText *text, MessageReader values, UnroutedReason *why)
{
	const char *value = NULL;
	bool		binary;
	int32		hash;
	int			len;

	if (!has_route(text, why))
		return NULL;
	*why = UNROUTED_VALUE;
	if (!bound_value(values, text->route->param, &binary, &value, &len) ||
		!hash_of_value(text->route->type, value, len, binary, &hash))
		return NULL;
	*why = UNROUTED_HERE;
	return server_of_hash(text->route, hash);
}

/*
 * The server for a Bind of the unnamed portal; NULL if it isn't known, or is
 * our own.
 */
static const ServerAddress *
server_of_bind(Client *client, const Message *bind, const char *parsed_name, PreparedText *parsed,
			   PreparedText **found, UnroutedReason *why)
{
	MessageReader fields = message_fields(bind);
	const char *portal = message_read_string(&fields);
	const char *statement = portal ? message_read_string(&fields) : NULL;
	const ServerAddress *server;
	PreparedText *text;

	if (statement == NULL || portal[0] != '\0')
		return NULL;
	if (parsed_name != NULL && strcmp(parsed_name, statement) == 0)
		text = parsed;
	else
		text = client_statement(client, statement);
	if (text == NULL)
		return NULL;
	server = server_of_values(text, fields, why);
	*found = text;
	return server != NULL && server->len > 0 ? server : NULL;
}

/*
 * The text of a Parse, as a reference; NULL if it is invalid, so that the
 * server raises the error.
 */
static PreparedText *
parsed_text(Client *client, const Message *parse)
{
	MessageReader fields = message_fields(parse);
	const char *name = message_read_string(&fields);

	if (name == NULL || (name[0] != '\0' && client_statement(client, name) != NULL))
		return NULL;
	return client_text(client, 0, fields.next, fields.end - fields.next);
}

/* Describe or Close, of the portal without a name; Execute of it. */
static bool
is_of_unnamed_portal(const Message *message)
{
	if (message->type == PqMsg_Execute)
		return message->len > 0 && message->payload[0] == '\0';
	return message->len == 2 && message->payload[0] == NAMED_PORTAL;
}

/*
 * Whether the messages after Bind are those of one statement; incomplete: some
 * are missing, and the client doesn't wait for an answer before it sends them.
 */
static bool
is_one_statement(MessageReader *reader, bool *incomplete)
{
	Message		message;
	bool		executed = false;
	bool		flushed = false;

	while (message_read(reader, &message))
	{
		switch (message.type)
		{
			case PqMsg_Describe:
				if (executed || !is_of_unnamed_portal(&message))
					return false;
				break;
			case PqMsg_Execute:
				if (executed || !is_of_unnamed_portal(&message))
					return false;
				executed = true;
				break;
			case PqMsg_Flush:
				if (message.len > 0)
					return false;
				flushed = true;
				break;
			case PqMsg_Sync:
				return executed && message.len == 0;
			default:
				return false;
		}
	}
	*incomplete = !flushed;
	return false;
}

void
route_forget_query(Client *client)
{
	if (client->query_text != NULL)
		prepared_text_release(client->query_text);
	client->query_text = NULL;
}

/* Whose route a session is asked for. */
typedef struct RouteQuestion
{
	PreparedText *text;			/* a reference */
	char	   *query;			/* if that is normalized: a query of it */
} RouteQuestion;

static void
route_answered(void *about, const char *answer)
{
	RouteQuestion *question = about;

	question->text->asked = false;
	route_learn(question->text, answer, question->query);
	prepared_text_release(question->text);
	if (question->query != NULL)
		pfree(question->query);
	pfree(question);
}

/* Whether the text's route must be requested. */
static bool
route_is_wanted(const PreparedText *text)
{
	return gateway_node_pool_size > 0 && !text->asked && text->uses > 1 && !route_is_current(text);
}

/*
 * Has the backend asked for the route of a text that it has prepared, or of a
 * query.
 */
static void
ask_for_route(Backend *backend, PreparedText *text, const char *query)
{
	uint64		ddl = pg_atomic_read_u64(&gateway_area->ddl);
	RouteQuestion *question;
	char		name[PREPARED_NAME_SIZE];
	char	   *call;

	if (backend->question.query != NULL || backend_is_remote(backend) || !route_is_wanted(text))
		return;
	route_free(text);
	text->asked = true;
	if (text->route_ddl != ddl)
		text->route_since = 0;
	text->route_ddl = ddl;
	question = gateway_alloc(sizeof(RouteQuestion));
	question->text = text;
	prepared_text_hold(text);
	if (query != NULL)
		question->query = gateway_strdup(query);
	prepared_text_name(text, name);
	call = query != NULL ? node_call(NODE_gateway_query_route, node_text(query)) : node_call(NODE_gateway_route, node_text(name));
	backend->question = (BackendQuestion) {gateway_strdup(call), route_answered, question};
}

void
route_ask(Client *client, const Message *message)
{
	PreparedText *bound = client->backend->statements.bound;
	PreparedText *text;
	NormalizedQuery	normalized;

	if (message->type == PqMsg_Bind && bound != NULL && backend_text_state(client->backend, bound) != TEXT_UNKNOWN)
		ask_for_route(client->backend, bound, NULL);
	if (message->type != PqMsg_Query || client->query_text == NULL)
		return;

	/* another query may have replaced it in between */
	text = message_is_string(message) ? normalized_query_get(client, message->payload, &normalized) : NULL;
	if (text != NULL && text == client->query_text)
		ask_for_route(client->backend, text, message->payload);
	if (text != NULL)
		prepared_text_release(text);
	route_forget_query(client);
}

/* The server for a query, as server_of_values. */
static const ServerAddress *
server_of_query(PreparedText *text, const NormalizedQuery *normalized, UnroutedReason *why)
{
	const QueryLiteral *literal;
	int32		hash;

	if (!has_route(text, why))
		return NULL;
	*why = UNROUTED_VALUE;
	if (text->route->param >= normalized->nliterals)
		return NULL;
	literal = &normalized->literals[text->route->param];
	if (!hash_of_value(text->route->type, literal->value, literal->len, false, &hash))
		return NULL;
	*why = UNROUTED_HERE;
	return server_of_hash(text->route, hash);
}

NextStep
route_none(UnroutedReason why)
{
	gateway_stats->unrouted[why]++;
	return STEP_PASS;
}

static void
take_route(Client *client, PreparedText *text, Pool *pool)
{
	client_change_policy(client, &policy_routed);
	client->routed.text = text;
	prepared_text_hold(text);
	client->routed.copy = MemoryContextAlloc(gateway_context, client->routed.len);
	memcpy(client->routed.copy, message_reader(&client->stream.in).next, client->routed.len);
	client->routed.alone |= text->alone_until > stream_now || client->routed.len > MAX_SHARED;
	pool_request(client, pool);
}

/*
 * Takes over the reference to the text of a normalized query that has no
 * route.
 */
static void
keep_query_text(Client *client, PreparedText *text)
{
	route_forget_query(client);
	if (route_is_wanted(text))
		client->query_text = text;
	else
		prepared_text_release(text);
}

/* Routes the client's messages up to next, if the node can be reached. */
static bool
send_to_node(Client *client, PreparedText *text, const ServerAddress *server, const char *next)
{
	Pool	   *pool = pool_find_node(client->pool, server);

	if (!pool_works(pool))
		return false;
	client->routed.len = next - message_reader(&client->stream.in).next;
	take_route(client, text, pool);
	return true;
}

/* The same for a query of the simple protocol. */
static NextStep
route_query(Client *client, const Message *query)
{
	const ServerAddress *server;
	NormalizedQuery	normalized;
	UnroutedReason why;
	PreparedText *text;

	if (query->len >= MAX_SHARED)
		return route_none(UNROUTED_FORM);
	if (!message_is_whole(query))
		return STEP_MORE;
	if (!message_is_string(query) || (text = normalized_query_get(client, query->payload, &normalized)) == NULL)
		return route_none(UNROUTED_FORM);
	server = server_of_query(text, &normalized, &why);
	if (server != NULL && server->len > 0)
	{
		if (send_to_node(client, text, server, query->payload + query->len))
		{
			prepared_text_release(text);
			return STEP_TAKEN;
		}
		why = UNROUTED_UNREACHABLE;
	}
	keep_query_text(client, text);
	return route_none(why);
}

NextStep
route_statement(Client *client)
{
	const ByteQueue *in = &client->stream.in;
	MessageReader reader = message_reader(in);
	PreparedText *parsed = NULL;
	const char *parsed_name = NULL;
	const ServerAddress *server = NULL;
	NextStep step = STEP_PASS;
	PreparedText *text = NULL;
	UnroutedReason why = UNROUTED_FORM;
	bool		incomplete = false;
	Message		message = {0};

	if (gateway_node_pool_size == 0)
		return STEP_PASS;
	if (message_peek(in, &message) && message.type == PqMsg_Query)
		return route_query(client, &message);
	if ((message.type != PqMsg_Parse && message.type != PqMsg_Bind) || !message_read(&reader, &message))
		return route_none(UNROUTED_FORM);
	if (message.type == PqMsg_Parse)
	{
		parsed = parsed_text(client, &message);
		parsed_name = message.payload;
		if (parsed == NULL || !message_read(&reader, &message))
			message.type = 0;
	}
	if (message.type == PqMsg_Bind)
		server = server_of_bind(client, &message, parsed_name, parsed, &text, &why);
	if (server != NULL)
	{
		why = UNROUTED_FORM;
		if (!is_one_statement(&reader, &incomplete))
			step = incomplete && queue_length(in) < MAX_SEGMENT && client_holds(client) ? STEP_MORE : STEP_PASS;
		else if (send_to_node(client, text, server, reader.next))
			step = STEP_TAKEN;
		else
			why = UNROUTED_UNREACHABLE;
	}
	if (parsed != NULL)
		prepared_text_release(parsed);
	return step == STEP_PASS ? route_none(why) : step;
}

/* The statements of a unit that is inspected. */
#define MAX_UNIT_TEXTS 16

typedef struct UnitScan
{
	Client	   *client;
	Unit	   *unit;
	char		types[8];		/* of its first messages */
	int			nmessages;
	bool		odd;			/* with portals that have names, or of a
								 * statement's description */
	bool		flushed;		/* the client waits for an answer */
	int			nstatements;
	int			nexecuted;
	bool		ended;			/* the block, by one of them */
	int			ntexts;			/* in its Parse messages */
	const char *names[MAX_UNIT_TEXTS];
	PreparedText *texts[MAX_UNIT_TEXTS];	/* references */
} UnitScan;

/*
 * Whether a text means the same on every node, under the client's settings and
 * after the DDL that there was.
 */
static bool
text_is_anywhere(UnitScan *scan, const PreparedText *text)
{
	return text->anywhere && text->route_since != 0 && text->route_ddl == pg_atomic_read_u64(&gateway_area->ddl) &&
		strcmp(text->settings, scan->client->settings) == 0;
}

/* A statement of the unit, with its text if it isn't a query by itself. */
static void
scan_statement(UnitScan *scan, TextControl control, const char *sql, const PreparedText *text)
{
	Unit	   *unit = scan->unit;

	scan->nstatements++;
	if (scan->ended)
		unit->anywhere = false;
	unit->begin = NULL;

	/* BEGIN may not have been executed yet */
	if (scan->nstatements == 2 && scan->nexecuted == 0)
		unit->begins = false;
	unit->may_end |= !isalpha((unsigned char) sql[0]) || strchr("aceprACEPR", sql[0]) != NULL;
	switch (control)
	{
		case CONTROL_NONE:
			unit->anywhere &= text != NULL && text_is_anywhere(scan, text);
			break;
		case CONTROL_BEGIN:
			if (scan->nstatements == 1 && scan->client->block == NULL)
			{
				unit->begins = true;
				unit->begin = pstrdup(sql);
			}
			else
				unit->anywhere = false;
			break;
		case CONTROL_END:
			scan->ended = true;
			break;
		case CONTROL_INSIDE:
			break;
	}
}

/* The first statement with a route decides. */
static void
scan_server(Unit *unit, PreparedText *text, const ServerAddress *server)
{
	if (server == NULL || unit->decider != NULL)
		return;
	prepared_text_hold(text);
	unit->decider = text;
	unit->server = server->len > 0 ? server : NULL;
}

static void
scan_query_unit(UnitScan *scan, const Message *query)
{
	TextControl control = text_control(query->payload, query->len);
	PreparedText *text = NULL;
	NormalizedQuery	normalized;

	if (!message_is_string(query))
	{
		scan->unit->anywhere = false;
		return;
	}
	if (control == CONTROL_NONE && query->len < MAX_SHARED)
		text = normalized_query_get(scan->client, query->payload, &normalized);
	scan_statement(scan, control, query->payload, text);
	if (text == NULL)
		return;
	scan_server(scan->unit, text, server_of_query(text, &normalized, &scan->unit->why));
	keep_query_text(scan->client, text);
}

/* The text that a name denotes there; or NULL. */
static PreparedText *
scanned_text(UnitScan *scan, const char *name)
{
	for (int i = 0; i < scan->ntexts; i++)
		if (strcmp(scan->names[i], name) == 0)
			return scan->texts[i];
	return client_statement(scan->client, name);
}

/* Describe, or Close. */
static void
scan_named(UnitScan *scan, const Message *message)
{
	const PreparedText *text;

	scan->odd |= !is_of_unnamed_portal(message);
	if (!message_is_string(message))
		scan->unit->anywhere = false;
	else if (message->type == PqMsg_Describe && message->payload[0] == NAMED_STATEMENT)
	{
		text = scanned_text(scan, message->payload + 1);
		scan->unit->anywhere &= text != NULL && (text->control != CONTROL_NONE || text_is_anywhere(scan, text));
	}
}

static void
scan_bind(UnitScan *scan, const Message *bind)
{
	MessageReader fields = message_fields(bind);
	const char *portal = message_read_string(&fields);
	const char *statement = portal ? message_read_string(&fields) : NULL;
	PreparedText *text = statement ? scanned_text(scan, statement) : NULL;

	scan->odd |= portal == NULL || portal[0] != '\0';
	if (text == NULL)
	{
		scan->unit->anywhere = false;
		return;
	}
	scan_statement(scan, text->control, text->parse, text);
	if (text->control == CONTROL_NONE)
		scan_server(scan->unit, text, server_of_values(text, fields, &scan->unit->why));
}

static void
scan_parse(UnitScan *scan, const Message *parse)
{
	PreparedText *text = scan->ntexts < MAX_UNIT_TEXTS ? parsed_text(scan->client, parse) : NULL;

	if (text == NULL)
	{
		scan->unit->anywhere = false;
		return;
	}
	scan->names[scan->ntexts] = parse->payload;
	scan->texts[scan->ntexts++] = text;
	scan->unit->anywhere &= text->control != CONTROL_NONE || text_is_anywhere(scan, text);
}

static void
scan_message(UnitScan *scan, const Message *message)
{
	if (scan->nmessages < lengthof(scan->types) - 1)
		scan->types[scan->nmessages] = message->type;
	scan->nmessages++;
	switch (message->type)
	{
		case PqMsg_Query:
			/* after an error it is skipped, and ends nothing */
			scan->unit->anywhere &= scan->nmessages == 1;
			scan_query_unit(scan, message);
			break;
		case PqMsg_Parse:
			scan_parse(scan, message);
			break;
		case PqMsg_Bind:
			scan_bind(scan, message);
			break;
		case PqMsg_Flush:
		case PqMsg_Sync:
			scan->flushed |= message->type == PqMsg_Flush;
			scan->unit->anywhere &= message->len == 0;
			break;
		case PqMsg_Describe:
		case PqMsg_Close:
			scan_named(scan, message);
			break;
		case PqMsg_Execute:
			scan->odd |= !is_of_unnamed_portal(message);
			scan->nexecuted++;
			break;
		default:
			scan->unit->anywhere = false;
			break;
	}
}

/* The types of the messages of a unit that is nothing but a BEGIN. */
static const char *const begin_units[] = {
	(const char[]) {PqMsg_Query, '\0'},
	(const char[]) {PqMsg_Parse, PqMsg_Bind, PqMsg_Execute, PqMsg_Sync, '\0'},
	(const char[]) {PqMsg_Parse, PqMsg_Bind, PqMsg_Describe, PqMsg_Execute, PqMsg_Sync, '\0'},
	(const char[]) {PqMsg_Bind, PqMsg_Execute, PqMsg_Sync, '\0'},
	(const char[]) {PqMsg_Bind, PqMsg_Describe, PqMsg_Execute, PqMsg_Sync, '\0'},
};

/* Those of one that only prepares a text. */
static const char *const parsing_units[] = {
	(const char[]) {PqMsg_Parse, PqMsg_Sync, '\0'},
};

/*
 * Whether the complete unit consists of messages of one of n lists of types,
 * without unusual ones.
 */
static bool
unit_is(const UnitScan *scan, const char *const *lists, int n)
{
	if (scan->unit->len == 0 || !scan->unit->anywhere || scan->odd || scan->nmessages >= lengthof(scan->types))
		return false;
	for (int i = 0; i < n; i++)
		if (strcmp(scan->types, lists[i]) == 0)
			return true;
	return false;
}

static bool
ends_unit(char type)
{
	switch (type)
	{
		case PqMsg_Query:
		case PqMsg_Sync:
		case PqMsg_FunctionCall:
		case PqMsg_Terminate:
		case PqMsg_CopyData:
		case PqMsg_CopyDone:
		case PqMsg_CopyFail:
			return true;
		default:
			return false;
	}
}

bool
unit_scan(Client *client, Unit *unit)
{
	const ByteQueue *in = &client->stream.in;
	MessageReader reader = message_reader(in);
	UnitScan	scan = {.client = client,.unit = unit};
	Message		message = {0};

	memset(unit, 0, sizeof(*unit));
	unit->anywhere = true;
	unit->why = UNROUTED_FORM;
	while (!ends_unit(message.type) && message_read(&reader, &message))
		scan_message(&scan, &message);
	if (ends_unit(message.type))
		unit->len = reader.next - (in->data + in->start);
	else
		unit->anywhere = false;
	unit->ends = scan.ended;

	/* a COMMIT that a later unit executes would not be recognized */
	if (scan.ended && scan.types[0] != PqMsg_Query && (scan.odd || scan.nexecuted < scan.nstatements))
		unit->anywhere = false;
	if (!unit_is(&scan, begin_units, lengthof(begin_units)))
		unit->begin = NULL;
	unit->only_parses = unit_is(&scan, parsing_units, lengthof(parsing_units));
	for (int i = 0; i < scan.ntexts; i++)
		prepared_text_release(scan.texts[i]);
	return unit->len > 0 || scan.flushed || queue_length(in) >= MAX_SEGMENT;
}

void
unit_free(Unit *unit)
{
	if (unit->decider != NULL)
		prepared_text_release(unit->decider);
	unit->decider = NULL;
}

void
unit_walk(const char *data, size_t len, void (*report) (Client *, const Message *), Client *client)
{
	MessageReader reader = {data, data + len};
	Message		message;

	while (message_read(&reader, &message))
		report(client, &message);
}
