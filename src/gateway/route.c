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
 * simple protocol with a deciding literal (query_shape.c).
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

#include "gateway/gateway_stats.h"
#include "gateway/relay.h"
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

/* The client's messages up to a Sync, as far as they have been read. */
typedef struct Segment
{
	const char *next;
	const char *end;
} Segment;

typedef struct Message
{
	char		type;
	const char *payload;
	const char *end;
} Message;

/*
 * Whether a text's route is still valid.  After DDL, its names may mean a
 * local table.
 */
static bool
route_is_current(const PreparedText *text)
{
	return text->route_since != 0 && stream_now - text->route_since <= ROUTE_LIFETIME &&
		text->route_ddl == pg_atomic_read_u64(&gateway_board->ddl);
}

bool
route_is_wanted(const PreparedText *text)
{
	return gateway_node_pool_size > 0 && !text->asked && text->uses > 1 && !route_is_current(text);
}

void
route_asks(PreparedText *text)
{
	uint64		ddl = pg_atomic_read_u64(&gateway_board->ddl);

	route_free(text);
	text->asked = true;
	if (text->route_ddl != ddl)
		text->route_since = 0;
	text->route_ddl = ddl;
}

void
route_free(PreparedText *text)
{
	if (text->route == NULL)
		return;
	pfree(text->route->nodes);
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
		route->nodes = gateway_alloc(sizeof(ServerAddress));
	else
		route->nodes = repalloc(route->nodes, sizeof(ServerAddress) * (route->nnodes + 1));
	route->nodes[route->nnodes] = address;
	return route->nnodes++;
}

void
route_refused(PreparedText *text)
{
	route_free(text);
	text->route_since = stream_now;
	text->anywhere = false;
}

void
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
	route = gateway_alloc(offsetof(Route, shards) + sizeof(RouteShard) * nshards);
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
	text->route = route;
	if (query != NULL)
		route->param = query_literal_number(query, route->param);
	if (route->nshards < nshards || route->param < 0)
		route_free(text);
}

static uint32
get_number(const char *data, int size)
{
	uint32		four;
	uint16		two;

	if (size == 2)
	{
		memcpy(&two, data, 2);
		return pg_ntoh16(two);
	}
	memcpy(&four, data, 4);
	return pg_ntoh32(four);
}

/* The next message, if it is complete. */
static bool
read_message(Segment *segment, Message *message)
{
	uint32		len;

	if (segment->end - segment->next < 5)
		return false;
	len = get_number(segment->next + 1, 4);
	if (len < 4 || segment->end - segment->next < (ptrdiff_t) len + 1)
		return false;
	message->type = segment->next[0];
	message->payload = segment->next + 5;
	message->end = segment->next + len + 1;
	segment->next = message->end;
	return true;
}

/* Skips a string of a message; NULL if it has no end there. */
static const char *
behind_string(const char *string, const char *end)
{
	const char *zero = string < end ? memchr(string, '\0', end - string) : NULL;

	return zero ? zero + 1 : NULL;
}

/*
 * Finds a parameter's value in Bind, after the names; false if it is null, or
 * the message is invalid.
 */
static bool
bound_value(const char *p, const char *end, int wanted, bool *binary, const char **value, int *len)
{
	int			nformats;
	int			nvalues;
	const char *formats;

	if (end - p < 2)
		return false;
	nformats = get_number(p, 2);
	formats = p + 2;
	if (end - formats < 2 * nformats + 2)
		return false;
	p = formats + 2 * nformats;
	nvalues = get_number(p, 2);
	p += 2;
	if (wanted >= nvalues || (nformats > 1 && wanted >= nformats))
		return false;
	*binary = nformats > 0 && get_number(formats + 2 * (nformats == 1 ? 0 : wanted), 2) != 0;
	for (int i = 0;; i++)
	{
		if (end - p < 4)
			return false;
		*len = (int32) get_number(p, 4);
		p += 4;
		if (*len > end - p)
			return false;
		if (i == wanted)
		{
			*value = p;
			return *len >= 0;
		}
		p += Max(*len, 0);
	}
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
	{
		if (len != size)
			return false;
		if (size == 8)
			*number = (int64) (((uint64) get_number(value, 4) << 32) | get_number(value + 4, 4));
		else
			*number = size == 4 ? (int32) get_number(value, 4) : (int16) get_number(value, 2);
		return true;
	}
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
 * that is our own.  NULL if it isn't known.  rest: the message after the
 * names.
 */
static const ServerAddress *
server_of_values(PreparedText *text, const char *rest, const char *end, UnroutedReason *why)
{
	const char *value;
	bool		binary;
	int32		hash;
	int			len;

	if (!has_route(text, why))
		return NULL;
	*why = UNROUTED_VALUE;
	if (!bound_value(rest, end, text->route->param, &binary, &value, &len) ||
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
	const char *statement = behind_string(bind->payload, bind->end);
	const char *rest = statement ? behind_string(statement, bind->end) : NULL;
	const ServerAddress *server;
	PreparedText *text;

	if (rest == NULL || bind->payload[0] != '\0')
		return NULL;
	if (parsed_name != NULL && strcmp(parsed_name, statement) == 0)
		text = parsed;
	else
		text = client_statement(client, statement);
	if (text == NULL)
		return NULL;
	server = server_of_values(text, rest, bind->end, why);
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
	const char *body = behind_string(parse->payload, parse->end);

	if (body == NULL || (parse->payload[0] != '\0' && client_statement(client, parse->payload) != NULL))
		return NULL;
	return prepared_text_get(client, 0, body, parse->end - body);
}

/*
 * Whether the messages after Bind are those of one statement; incomplete: some
 * are missing, and the client doesn't wait for an answer before it sends them.
 */
static bool
is_one_statement(Segment *segment, bool *incomplete)
{
	Message		message;
	bool		executed = false;
	bool		flushed = false;

	while (read_message(segment, &message))
	{
		switch (message.type)
		{
			case 'D':
				if (executed || message.end - message.payload != 2 || message.payload[0] != 'P')
					return false;
				break;
			case 'E':
				if (executed || message.payload == message.end || message.payload[0] != '\0')
					return false;
				executed = true;
				break;
			case 'H':
				if (message.end != message.payload)
					return false;
				flushed = true;
				break;
			case 'S':
				return executed && message.end == message.payload;
			default:
				return false;
		}
	}
	*incomplete = !flushed;
	return false;
}

void
route_forget_shape(Client *client)
{
	if (client->shape != NULL)
		prepared_text_release(client->shape);
	client->shape = NULL;
}

void
route_ask_by_query(Client *client)
{
	Backend    *backend = client->backend;
	const ByteQueue *in = &client->stream.in;

	QueryShape	shape;
	PreparedText *text;

	if (client->shape == NULL)
		return;

	/* another query may have replaced it in between */
	text = query_shape_get(client, in->data + in->start + 5, &shape);
	if (text != client->shape)
		route_forget_shape(client);
	if (text != NULL)
		prepared_text_release(text);
	if (client->shape == NULL)
		return;
	if (backend->asking != NULL || client->shape->asked || backend->pool->address.len > 0)
		prepared_text_release(client->shape);
	else
	{
		route_asks(client->shape);
		backend->asking = client->shape;
		backend->asking_query = gateway_strdup(in->data + in->start + 5);
	}
	client->shape = NULL;
}

/* The server for a query, as server_of_values. */
static const ServerAddress *
server_of_query(PreparedText *text, const QueryShape *shape, UnroutedReason *why)
{
	const QueryLiteral *literal;
	int32		hash;

	if (!has_route(text, why))
		return NULL;
	*why = UNROUTED_VALUE;
	if (text->route->param >= shape->nliterals)
		return NULL;
	literal = &shape->literals[text->route->param];
	if (!hash_of_value(text->route->type, literal->value, literal->len, false, &hash))
		return NULL;
	*why = UNROUTED_HERE;
	return server_of_hash(text->route, hash);
}

RouteVerdict
route_none(UnroutedReason why)
{
	gateway_stats->unrouted[why]++;
	return ROUTE_NONE;
}

static void
take_route(Client *client, PreparedText *text, Pool *pool)
{
	client->routed = true;
	client->routed_text = text;
	prepared_text_hold(text);
	client->alone |= text->alone_until > stream_now || client->routed_len > MAX_SHARED;
	pool_request(client, pool);
}

/* Takes over the reference to the shape of a query that has no route. */
static void
keep_shape(Client *client, PreparedText *text)
{
	route_forget_shape(client);
	if (route_is_wanted(text))
		client->shape = text;
	else
		prepared_text_release(text);
}

/* The same for a query of the simple protocol. */
static RouteVerdict
route_query(Client *client)
{
	const ByteQueue *in = &client->stream.in;
	Segment		segment = {in->data + in->start, in->data + in->end};
	uint32		len = get_number(segment.next + 1, 4);
	const ServerAddress *server;
	QueryShape	shape;
	UnroutedReason why;
	PreparedText *text;
	Message		query;
	Pool	   *pool;

	if (len >= MAX_SHARED)
		return route_none(UNROUTED_FORM);
	if (!read_message(&segment, &query))
		return ROUTE_INCOMPLETE;
	if (behind_string(query.payload, query.end) != query.end ||
		(text = query_shape_get(client, query.payload, &shape)) == NULL)
		return route_none(UNROUTED_FORM);
	server = server_of_query(text, &shape, &why);
	if (server != NULL && server->len > 0 && pool_works(pool = pool_find_node(client->pool, server)))
	{
		client->routed_len = segment.next - (in->data + in->start);
		take_route(client, text, pool);
		prepared_text_release(text);
		return ROUTE_TAKEN;
	}
	keep_shape(client, text);
	return route_none(server != NULL && server->len > 0 ? UNROUTED_UNREACHABLE : why);
}

RouteVerdict
route_statement(Client *client)
{
	const ByteQueue *in = &client->stream.in;
	Segment		segment = {in->data + in->start, in->data + in->end};
	PreparedText *parsed = NULL;
	const char *parsed_name = NULL;
	const ServerAddress *server = NULL;
	RouteVerdict verdict = ROUTE_NONE;
	PreparedText *text = NULL;
	UnroutedReason why = UNROUTED_FORM;
	bool		incomplete = false;
	Message		message;
	Pool	   *pool;

	if (gateway_node_pool_size == 0)
		return ROUTE_NONE;
	if (segment.next[0] == 'Q')
		return route_query(client);
	if ((segment.next[0] != 'P' && segment.next[0] != 'B') || !read_message(&segment, &message))
		return route_none(UNROUTED_FORM);
	if (message.type == 'P')
	{
		parsed = parsed_text(client, &message);
		parsed_name = message.payload;
		if (parsed == NULL || !read_message(&segment, &message))
			message.type = 0;
	}
	if (message.type == 'B')
		server = server_of_bind(client, &message, parsed_name, parsed, &text, &why);
	if (server != NULL)
	{
		why = UNROUTED_FORM;
		if (!is_one_statement(&segment, &incomplete))
			verdict = incomplete && queue_length(in) < MAX_SEGMENT && client_holds(client) ? ROUTE_INCOMPLETE : ROUTE_NONE;
		else if (pool_works(pool = pool_find_node(client->pool, server)))
		{
			client->routed_len = segment.next - (in->data + in->start);
			take_route(client, text, pool);
			verdict = ROUTE_TAKEN;
		}
		else
			why = UNROUTED_UNREACHABLE;
	}
	if (parsed != NULL)
		prepared_text_release(parsed);
	return verdict == ROUTE_NONE ? route_none(why) : verdict;
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
	return text->anywhere && text->route_since != 0 && text->route_ddl == pg_atomic_read_u64(&gateway_board->ddl) &&
		strcmp(text->body, scan->client->settings) == 0;
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
	TextControl control = text_control(query->payload, query->end - query->payload);
	PreparedText *text = NULL;
	QueryShape	shape;

	if (behind_string(query->payload, query->end) != query->end)
	{
		scan->unit->anywhere = false;
		return;
	}
	if (control == CONTROL_NONE && query->end - query->payload < MAX_SHARED)
		text = query_shape_get(scan->client, query->payload, &shape);
	scan_statement(scan, control, query->payload, text);
	if (text == NULL)
		return;
	scan_server(scan->unit, text, server_of_query(text, &shape, &scan->unit->why));
	keep_shape(scan->client, text);
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

	scan->odd |= message->end - message->payload != 2 || message->payload[0] != 'P';
	if (behind_string(message->payload, message->end) != message->end)
		scan->unit->anywhere = false;
	else if (message->type == 'D' && message->payload[0] == 'S')
	{
		text = scanned_text(scan, message->payload + 1);
		scan->unit->anywhere &= text != NULL && (text->control != CONTROL_NONE || text_is_anywhere(scan, text));
	}
}

static void
scan_bind(UnitScan *scan, const Message *bind)
{
	const char *statement = behind_string(bind->payload, bind->end);
	const char *rest = statement ? behind_string(statement, bind->end) : NULL;
	PreparedText *text = rest ? scanned_text(scan, statement) : NULL;

	scan->odd |= bind->payload[0] != '\0';
	if (text == NULL)
	{
		scan->unit->anywhere = false;
		return;
	}
	scan_statement(scan, text->control, text->body + text->body_parse, text);
	if (text->control == CONTROL_NONE)
		scan_server(scan->unit, text, server_of_values(text, rest, bind->end, &scan->unit->why));
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
		case 'Q':
			/* after an error it is skipped, and ends nothing */
			scan->unit->anywhere &= scan->nmessages == 1;
			scan_query_unit(scan, message);
			break;
		case 'P':
			scan_parse(scan, message);
			break;
		case 'B':
			scan_bind(scan, message);
			break;
		case 'H':
		case 'S':
			scan->flushed |= message->type == 'H';
			scan->unit->anywhere &= message->end == message->payload;
			break;
		case 'D':
		case 'C':
			scan_named(scan, message);
			break;
		case 'E':
			scan->odd |= message->payload == message->end || message->payload[0] != '\0';
			scan->nexecuted++;
			break;
		default:
			scan->unit->anywhere = false;
			break;
	}
}

/*
 * Whether the complete unit consists of messages of these types (given as a
 * string with a space after each), without unusual ones.
 */
static bool
unit_is(const UnitScan *scan, const char *types)
{
	char		word[sizeof(scan->types) + 2];

	snprintf(word, sizeof(word), " %s ", scan->types);
	return scan->unit->len > 0 && scan->unit->anywhere && !scan->odd && scan->nmessages < lengthof(scan->types) &&
		strstr(types, word) != NULL;
}

static bool
ends_unit(char type)
{
	return type != '\0' && strchr("QSFXdcf", type) != NULL;
}

bool
unit_scan(Client *client, Unit *unit)
{
	const ByteQueue *in = &client->stream.in;
	Segment		segment = {in->data + in->start, in->data + in->end};
	UnitScan	scan = {.client = client,.unit = unit};
	Message		message = {0};

	memset(unit, 0, sizeof(*unit));
	unit->anywhere = true;
	unit->why = UNROUTED_FORM;
	while (!ends_unit(message.type) && read_message(&segment, &message))
		scan_message(&scan, &message);
	if (ends_unit(message.type))
		unit->len = segment.next - (in->data + in->start);
	else
		unit->anywhere = false;
	unit->ends = scan.ended;

	/* a COMMIT that a later unit executes would not be recognized */
	if (scan.ended && scan.types[0] != 'Q' && (scan.odd || scan.nexecuted < scan.nstatements))
		unit->anywhere = false;
	if (!unit_is(&scan, " Q PBES PBDES BES BDES "))
		unit->begin = NULL;
	unit->only_parses = unit_is(&scan, " PS ");
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
unit_walk(const char *data, size_t len, void (*report) (Client *, char, const char *, const char *), Client *client)
{
	Segment		segment = {data, data + len};
	Message		message;

	while (read_message(&segment, &message))
		report(client, message.type, message.payload, message.end);
}
