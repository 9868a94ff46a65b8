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
 * For the start of a statement's planning, in a transaction: resets the
 * session's caches if they exceed citus.max_session_cache_size.  For most
 * statements, only increments a counter.
 */
extern void cache_limit_check(void);

#endif							/* CITUS_CATALOG_CACHE_LIMIT_H */
