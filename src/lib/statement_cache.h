/*-------------------------------------------------------------------------
 *
 * statement_cache.h
 *	  Statements that are kept ready, found by their text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_STATEMENT_CACHE_H
#define CITUS_LIB_STATEMENT_CACHE_H

#include "postgres.h"

#include "lib/ilist.h"
#include "utils/hsearch.h"

/*
 * Which statement: where it runs, as any bytes, its text, and the types of its
 * parameters.
 */
typedef struct StatementKey
{
	const void *place;
	Size		place_size;
	const char *text;
	const Oid  *types;
	int			ntypes;
} StatementKey;

/* The beginning of a cache's entries. */
typedef struct KeptStatement
{
	uint64		hash;			/* hash key, not 0 */
	char	   *content;		/* the bytes of the place, and then the text */
	dlist_node	link;			/* in uses, most recent first */
} KeptStatement;

typedef struct StatementCache
{
	MemoryContext context;
	HTAB	   *statements;
	dlist_head	uses;
	uint64		seen[256];		/* hashes of statements that have come once */
} StatementCache;

extern void statement_cache_init(void);

/* An empty cache in a context of its own, with entries of that size. */
extern StatementCache *statement_cache_create(MemoryContext parent, const char *name, Size entry_size);

/*
 * The statement, from now on the one that was used last; NULL if it isn't
 * kept.  Then *hash is set to what statement_cache_add takes, or to 0 if the
 * statement isn't worth to be kept: it comes for the first time.
 */
extern void *statement_cache_find(StatementCache *cache, const StatementKey *key, uint64 *hash);

/* Keeps it; the caller sets what its entries have besides. */
extern void *statement_cache_add(StatementCache *cache, const StatementKey *key, uint64 hash);

/* The statement to be removed before another one is added, or NULL. */
extern void *statement_cache_superfluous(const StatementCache *cache);

extern void statement_cache_remove(StatementCache *cache, void *statement);

#endif							/* CITUS_LIB_STATEMENT_CACHE_H */
