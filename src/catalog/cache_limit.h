/*-------------------------------------------------------------------------
 *
 * cache_limit.h
 *	  A bound for the memory of a session's caches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_CACHE_LIMIT_H
#define CITUS_CATALOG_CACHE_LIMIT_H

extern void cache_limit_init(void);

/*
 * For the start of a statement's planning, in a transaction: lets the
 * session's caches go if they have outgrown citus.max_session_cache_size.
 * Costs a count, but for one statement of many.
 */
extern void cache_limit_check(void);

#endif							/* CITUS_CATALOG_CACHE_LIMIT_H */
