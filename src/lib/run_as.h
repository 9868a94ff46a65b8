/*-------------------------------------------------------------------------
 *
 * run_as.h
 *	  Acting with the rights of another role for a while.
 *
 * An error in between needs no care: ending the (sub)transaction restores the
 * role.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_RUN_AS_H
#define CITUS_LIB_RUN_AS_H

#include "postgres.h"

#include "miscadmin.h"

typedef struct RunAs
{
	Oid			user;
	int			security_context;
} RunAs;

/* From now on acts as user; InvalidOid: as before.  Returns what run_as_end needs. */
static inline RunAs
run_as_begin(Oid user)
{
	RunAs		saved;

	GetUserIdAndSecContext(&saved.user, &saved.security_context);
	if (OidIsValid(user) && user != saved.user)
		SetUserIdAndSecContext(user, saved.security_context | SECURITY_LOCAL_USERID_CHANGE);
	return saved;
}

static inline void
run_as_end(RunAs saved)
{
	SetUserIdAndSecContext(saved.user, saved.security_context);
}

#endif							/* CITUS_LIB_RUN_AS_H */
