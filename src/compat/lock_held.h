/*-------------------------------------------------------------------------
 *
 * lock_held.h
 *	  LockHeldByMe can look for stronger locks as well since version 17.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_LOCK_HELD_H
#define CITUS_COMPAT_LOCK_HELD_H

#include "postgres.h"

#include "storage/lock.h"

/* Whether this backend holds the lock in just this mode. */
static inline bool
compat_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, false);
#else
	return LockHeldByMe(tag, mode);
#endif
}

#endif							/* CITUS_COMPAT_LOCK_HELD_H */
