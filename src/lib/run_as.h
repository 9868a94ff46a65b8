/*-------------------------------------------------------------------------
 *
 * run_as.h
 *	  Acting with the rights of another role for a while.
 *
 * An error in between needs no handling: ending the (sub)transaction restores
 * the role.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_RUN_AS_H
#define CITUS_LIB_RUN_AS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/syscache.h"

typedef struct RunAs
{
	Oid			user;
	int			security_context;
	int			nest;			/* of settings; 0: they stay */
} RunAs;

/* Switches to user; InvalidOid: no change.  The result is for run_as_end. */
static inline RunAs
run_as_begin(Oid user)
{
	RunAs		saved = {0};

	GetUserIdAndSecContext(&saved.user, &saved.security_context);
	if (OidIsValid(user) && user != saved.user)
		SetUserIdAndSecContext(user, saved.security_context | SECURITY_LOCAL_USERID_CHANGE);
	return saved;
}

/*
 * The same for code that may call functions of a table's owner: as in the
 * server's ANALYZE, these have only the owner's rights, and can't change the
 * session's settings.
 */
static inline RunAs
run_as_owner_begin(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	RunAs		saved = {0};

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	GetUserIdAndSecContext(&saved.user, &saved.security_context);
	SetUserIdAndSecContext(((Form_pg_class) GETSTRUCT(tuple))->relowner,
						   saved.security_context | SECURITY_RESTRICTED_OPERATION);
	ReleaseSysCache(tuple);
	saved.nest = NewGUCNestLevel();
	return saved;
}

static inline void
run_as_end(RunAs saved)
{
	if (saved.nest > 0)
		AtEOXact_GUC(false, saved.nest);
	SetUserIdAndSecContext(saved.user, saved.security_context);
}

#endif							/* CITUS_LIB_RUN_AS_H */
