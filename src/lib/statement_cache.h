/*-------------------------------------------------------------------------
 *
 * statement_cache.h
 *	  A cache of prepared statements, by text.
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
	const void *scope;
	Size		scope_size;
	const char *text;
	const Oid  *types;
	int			ntypes;
} StatementKey;

/* The beginning of a cache's entries. */
typedef struct KeptStatement
{
	uint64		hash;			/* hash key, not 0 */
	char	   *content;		/* the bytes of the scope, and then the text */
	dlist_node	link;			/* in uses, most recent first */
} KeptStatement;

typedef struct StatementCache
{
	MemoryContext context;
	HTAB	   *statements;
	dlist_head	uses;
	uint64		seen[256];		/* hashes of statements that were used once */
} StatementCache;

extern void statement_cache_init(void);

/* An empty cache in a context of its own, with entries of that size. */
extern StatementCache *statement_cache_create(MemoryContext parent, const char *name, Size entry_size);

/*
 * Finds the statement, and marks it as most recently used; NULL if it isn't
 * cached.  Then *hash is set to the argument for statement_cache_add, or to 0
 * if the statement shouldn't be cached, since it is used for the first time
 * (which doesn't matter if at_once).
 */
extern void *statement_cache_find(StatementCache *cache, const StatementKey *key, bool at_once, uint64 *hash);

/* Adds it; the caller sets the other fields of the entry. */
extern void *statement_cache_add(StatementCache *cache, const StatementKey *key, uint64 hash);

/* The statement to be removed before another one is added, or NULL. */
extern void *statement_cache_superfluous(const StatementCache *cache);

/* Forgets a statement; frees its entry, but not what the caller's leads to. */
extern void statement_cache_remove(StatementCache *cache, void *statement);

#endif							/* CITUS_LIB_STATEMENT_CACHE_H */
