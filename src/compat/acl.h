/*-------------------------------------------------------------------------
 *
 * acl.h
 *	  Ownership checks in the newest server's spelling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_ACL_H
#define CITUS_COMPAT_ACL_H

#include "postgres.h"

#include "utils/acl.h"

#if PG_VERSION_NUM < 160000
/* Relations only, which is all that is asked here. */
static inline bool
object_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
	return pg_class_ownercheck(objectid, roleid);
}
#endif

#endif							/* CITUS_COMPAT_ACL_H */
