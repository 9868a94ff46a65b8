/*-------------------------------------------------------------------------
 *
 * policy.h
 *	  The policies of clients, and what they share: routes, and blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_ROUTING_POLICY_H
#define CITUS_GATEWAY_ROUTING_POLICY_H

#include "postgres.h"

#include "gateway/pooler/session.h"

extern const ClientPolicy policy_direct;
extern const ClientPolicy policy_routed;
extern const ClientPolicy policy_block;
extern const ClientPolicy policy_node_block;

/* block.c: the functions of both policies for blocks */
/* Whether the client's next message may be the start of a BEGIN. */
extern bool block_may_begin(Client *client);
/*
 * It may be: follows the block if it is one; calls route_statement otherwise.
 */
extern NextStep block_open(Client *client);
extern NextStep block_choose(Client *client);
extern void block_begin(Client *client);
extern NextStep block_next(Client *client, const Message *message);
extern NextStep node_block_next(Client *client, const Message *message);
extern void block_passed(Client *client, const Message *message);
extern void node_block_passed(Client *client, const Message *message);
extern bool block_note(Client *client, char type, const void *data, size_t len);
extern bool block_note_replayed(Client *client, char type, const void *data, size_t len);
extern void block_answered(Backend *backend);
extern void node_block_answered(Backend *backend);
extern bool node_block_refused(Backend *backend, const Message *error);
extern void node_block_cancelled(Client *client);
extern void block_closed(Client *client);

/* normalized_query.c */
#define MAX_LITERALS 32

typedef struct QueryLiteral
{
	int			offset;			/* in the text */
	const char *value;
	int			len;
} QueryLiteral;

typedef struct NormalizedQuery
{
	StringInfoData text;
	int			nliterals;
	QueryLiteral literals[MAX_LITERALS];
} NormalizedQuery;

/*
 * A reference to the text for all queries that are normalized to the same;
 * NULL: this one can't be normalized.
 */
extern PreparedText *normalized_query_get(const Client *client, const char *text, NormalizedQuery *normalized);
/* The number of the literal at an offset; -1: there is none. */
extern int	query_literal_number(const char *text, int offset);

/* route.c */
/* What a client sends up to a Sync, or a query of the simple protocol. */
typedef struct Unit
{
	size_t		len;			/* bytes; 0: it isn't all there */
	bool		anywhere;		/* everything in it means the same on every
								 * node */
	bool		begins;			/* a transaction block */
	bool		ends;			/* one */
	bool		may_end;		/* one that has failed, perhaps */
	bool		only_parses;	/* a text that is known */
	const char *begin;			/* its text, if the unit is nothing else; or
								 * NULL */
	PreparedText *decider;		/* whose route decides, a reference; or NULL */
	const ServerAddress *server;	/* the server of its route; NULL: this
									 * node */
	UnroutedReason why;			/* there is no decider */
} Unit;

/*
 * Inspects the unit that has begun; false if it isn't complete and more will
 * come. unit_free is to be called in any case.
 */
extern bool unit_scan(Client *client, Unit *unit);
extern void unit_free(Unit *unit);
/* Calls report for each message of some units. */
extern void unit_walk(const char *data, size_t len, void (*report) (Client *, const Message *), Client *client);
/*
 * The client, without a backend, has sent the start of a statement: requests a
 * session of the node that has its rows, if known.
 */
extern NextStep route_statement(Client *client);
/* The statement isn't routed; counts why. */
extern NextStep route_none(UnroutedReason why);
/* Its query's route is not to be asked for. */
extern void route_forget_query(Client *client);
/*
 * A message has been passed on to the client's own session, which may be asked
 * for a route once it has been given back.
 */
extern void route_ask(Client *client, const Message *message);
/* A session of another node could not run the text. */
extern void route_refused(PreparedText *text);

#endif							/* CITUS_GATEWAY_ROUTING_POLICY_H */
