/*-------------------------------------------------------------------------
 *
 * roles.h
 *	  Membership in roles.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_ROLES_H
#define CITUS_COMPAT_ROLES_H

#include "postgres.h"

#include "utils/acl.h"

/* Whether member may SET ROLE to role. */
static inline bool
role_may_become(Oid member, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return member_can_set_role(member, role);
#else
	return is_member_of_role(member, role);
#endif
}

#endif							/* CITUS_COMPAT_ROLES_H */
