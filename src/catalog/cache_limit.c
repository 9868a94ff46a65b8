/*-------------------------------------------------------------------------
 *
 * cache_limit.c
 *	  A bound for the memory of a session's caches.
 *
 * The server caches the metadata of all relations that a session uses until
 * the session ends.  A node has many shards with indexes, and each session
 * that other nodes keep open uses most of them in time.  So from a certain
 * size on, all caches are reset, as the server does when its queue of
 * invalidation messages overflows: relations in use stay, other entries are
 * read again when needed, and cached plans are rebuilt.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "catalog/cache_limit.h"

/*
 * The number of statements between two measurements of the memory, which take
 * some time for each relation.
 */
#define CHECK_INTERVAL 256

static int	max_session_cache_size = 64 * 1024;

void
cache_limit_init(void)
{
	DefineCustomIntVariable("citus.max_session_cache_size",
							"Sets the memory that a session's caches of relations and plans may take.",
							"A session that is above it lets all of them go.  -1 means no limit.",
							&max_session_cache_size, 64 * 1024, -1, INT_MAX, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

void
cache_limit_check(void)
{
	static int	statements = 0;

	if (likely(++statements < CHECK_INTERVAL))
		return;
	statements = 0;
	if (max_session_cache_size >= 0 &&
		MemoryContextMemAllocated(CacheMemoryContext, true) / 1024 > (Size) max_session_cache_size)
		InvalidateSystemCaches();
}
