/*-------------------------------------------------------------------------
 *
 * prepared_text.h
 *	  Statements that clients have prepared, each kept once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_PREPARED_TEXT_H
#define CITUS_GATEWAY_POOLER_PREPARED_TEXT_H

#include "postgres.h"

#include "gateway/pooler/message.h"
#include "gateway/pooler/statement_text.h"

/*
 * A statement that clients have prepared, shared by all that have the same.
 */
typedef struct PreparedText
{
	uint64		id;				/* names it on backends; never used again */
	int			refs;
	uint32		hash;			/* of the following, its key */
	uint64		pool;
	uint64		private;		/* see prepared_text_get() */
	uint64		ddl;			/* gateway_area->ddl when it came up */
	const char *settings;		/* that it was prepared under */
	const char *parse;			/* Parse's text and types */
	size_t		parse_len;
	uint64		columns;		/* hash value of those that it has been said
								 * to return; 0: none have been asked for */
	uint32		uses;
	int64		cost;			/* microseconds that one execution on another
								 * node takes, lately */
	int64		alone_until;	/* until then, its executions share no
								 * session */
	bool		asked;			/* a session is being asked for the route */
	uint64		route_ddl;		/* gateway_area->ddl before it was asked */
	int64		route_since;	/* when the route was learnt; 0: never */
	struct Route *route;		/* palloc'd; NULL: it has none, as far as is
								 * known */
	bool		anywhere;		/* learnt with the route: means the same on
								 * every node */
	int			clean_blocks;	/* that began with it, in a row; see block.c */
	int64		leaves_for;		/* microseconds */
	int64		leaves_until;	/* until then, blocks that begin with it start
								 * on this node */
	TextControl control;
	bool		names_statements;	/* it may name prepared statements, or
									 * list them */
} PreparedText;

/*
 * A reference to the text, under the settings, of clients of the pool;
 * private: 0, or a number that no other text has, or that of all normalized
 * queries.
 */
#define NORMALIZED_NUMBER PG_UINT64_MAX
extern PreparedText *prepared_text_get(uint64 pool, const char *settings, uint64 private, const char *parse, size_t len);
extern void prepared_text_hold(PreparedText *text);
/*
 * Whether the text may return other columns than when it came up: DDL has
 * committed on this server since then, or it came up in a transaction, whose
 * DDL may have been undone.
 */
extern bool prepared_text_is_old(const PreparedText *text);
/*
 * A session has said which columns the text returns: a RowDescription, or
 * NoData.  Returns whether clients know the same ones.
 */
extern bool prepared_text_described(PreparedText *text, const Message *description);
extern void prepared_text_release(PreparedText *text);
#define PREPARED_NAME_SIZE 40
extern void prepared_text_name(const PreparedText *text, char *name);

#endif							/* CITUS_GATEWAY_POOLER_PREPARED_TEXT_H */
