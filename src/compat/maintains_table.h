/*-------------------------------------------------------------------------
 *
 * maintains_table.h
 *	  Whether a user may maintain a table (VACUUM, ANALYZE, CLUSTER, REINDEX,
 *	  REFRESH, LOCK): the owner, or from version 17 on, who has the privilege
 *	  MAINTAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_MAINTAINS_TABLE_H
#define CITUS_COMPAT_MAINTAINS_TABLE_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "compat/acl.h"

#if PG_VERSION_NUM < 170000
#define RangeVarCallbackMaintainsTable RangeVarCallbackOwnsTable
#endif

/* Whether the user may maintain the relation. */
static inline bool
compat_may_maintain(Oid relid)
{
#if PG_VERSION_NUM >= 170000
	return pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
#else
	return object_ownercheck(RelationRelationId, relid, GetUserId());
#endif
}

/*
 * Whether the user may VACUUM or ANALYZE the relation, one that other
 * databases don't share: the database's owner may, too.
 */
static inline bool
compat_may_vacuum(Oid relid)
{
	return compat_may_maintain(relid) || object_ownercheck(DatabaseRelationId, MyDatabaseId, GetUserId());
}

/*
 * Whether CLUSTER of a partitioned table takes this partition; a warning if
 * not, as the server's version says it.
 */
static inline bool
compat_clusters_partition(Oid relid)
{
#if PG_VERSION_NUM >= 170000
	if (compat_may_maintain(relid))
		return true;
	ereport(WARNING,
			(errmsg("permission denied to cluster \"%s\", skipping it", get_rel_name(relid))));
	return false;
#else
	return compat_may_vacuum(relid);
#endif
}

#endif							/* CITUS_COMPAT_MAINTAINS_TABLE_H */
