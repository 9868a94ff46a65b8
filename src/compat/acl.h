/*-------------------------------------------------------------------------
 *
 * acl.h
 *	  Checks of ownership and rights in the newest server's spelling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_ACL_H
#define CITUS_COMPAT_ACL_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"

#if PG_VERSION_NUM < 160000
/* Rights to the only kind of objects that is asked for here. */
static inline AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	Assert(classid == ProcedureRelationId);
	return pg_proc_aclcheck(objectid, roleid, mode);
}

/* Kinds of objects that are asked for here. */
static inline bool
object_ownercheck(Oid classid, Oid objectid, Oid roleid)
{
	switch (classid)
	{
		case DatabaseRelationId:
			return pg_database_ownercheck(objectid, roleid);
		case NamespaceRelationId:
			return pg_namespace_ownercheck(objectid, roleid);
		case ProcedureRelationId:
			return pg_proc_ownercheck(objectid, roleid);
		default:
			Assert(classid == RelationRelationId);
			return pg_class_ownercheck(objectid, roleid);
	}
}
#endif

#endif							/* CITUS_COMPAT_ACL_H */
