/*-------------------------------------------------------------------------
 *
 * login_triggers.h
 *	  Event triggers that fire when a session begins, which version 17 added.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_LOGIN_TRIGGERS_H
#define CITUS_COMPAT_LOGIN_TRIGGERS_H

#include "postgres.h"

#include "miscadmin.h"

/* Whether the server has them at all. */
#define COMPAT_LOGIN_TRIGGERS (PG_VERSION_NUM >= 170000)

/* Whether the session, which is being started, is about to fire some. */
static inline bool
compat_login_triggers_due(void)
{
#if COMPAT_LOGIN_TRIGGERS
	return MyDatabaseHasLoginEventTriggers;
#else
	return false;
#endif
}

/* Has it fire none. */
static inline void
compat_login_triggers_skip(void)
{
#if COMPAT_LOGIN_TRIGGERS
	MyDatabaseHasLoginEventTriggers = false;
#endif
}

#endif							/* CITUS_COMPAT_LOGIN_TRIGGERS_H */
