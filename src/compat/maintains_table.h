/*-------------------------------------------------------------------------
 *
 * maintains_table.h
 *	  Whether a user may refresh a materialized view or CLUSTER a table: the
 *	  owner, or from version 17 on, who has the privilege MAINTAIN.
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

/*
 * Whether CLUSTER of a partitioned table takes this partition; a warning if
 * not, as the server's version says it.
 */
static inline bool
compat_clusters_partition(Oid relid)
{
#if PG_VERSION_NUM >= 170000
	if (pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK)
		return true;
	ereport(WARNING,
			(errmsg("permission denied to cluster \"%s\", skipping it", get_rel_name(relid))));
	return false;
#else
	return object_ownercheck(RelationRelationId, relid, GetUserId()) ||
		object_ownercheck(DatabaseRelationId, MyDatabaseId, GetUserId());
#endif
}

#endif							/* CITUS_COMPAT_MAINTAINS_TABLE_H */
