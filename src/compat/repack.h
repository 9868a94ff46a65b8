/*-------------------------------------------------------------------------
 *
 * repack.h
 *	  CLUSTER, which is a kind of REPACK since version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_REPACK_H
#define CITUS_COMPAT_REPACK_H

#include "postgres.h"

#include "nodes/makefuncs.h"

#if PG_VERSION_NUM >= 190000
#include "commands/repack.h"

/* Of a partitioned table, which has none. */
#define COMPAT_NO_CLUSTERED_INDEX ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
#else
#include "commands/cluster.h"

#define COMPAT_NO_CLUSTERED_INDEX ERRCODE_UNDEFINED_OBJECT

typedef ClusterStmt RepackStmt;

#define T_RepackStmt T_ClusterStmt
#define finish_heap_swap(relid, heap, is_catalog, swap_toast, check, is_internal, reindex, xid, multi, persistence) \
	finish_heap_swap(relid, heap, is_catalog, swap_toast, check, is_internal, xid, multi, persistence)
#endif

/* The table; NULL for all tables. */
static inline RangeVar *
compat_repacked(const RepackStmt *stmt)
{
#if PG_VERSION_NUM >= 190000
	return stmt->relation == NULL ? NULL : stmt->relation->relation;
#else
	return stmt->relation;
#endif
}

static inline void
compat_set_repacked(RepackStmt *stmt, RangeVar *relation)
{
#if PG_VERSION_NUM >= 190000
	stmt->relation = makeVacuumRelation(relation, InvalidOid, NIL);
#else
	stmt->relation = relation;
#endif
}

/* Whether the statement is spelled as CLUSTER. */
static inline bool
compat_is_cluster(const RepackStmt *stmt)
{
#if PG_VERSION_NUM >= 190000
	return stmt->command == REPACK_COMMAND_CLUSTER;
#else
	return true;
#endif
}

/* Whether rows are to be in the order of an index. */
static inline bool
compat_repacks_by_index(const RepackStmt *stmt)
{
#if PG_VERSION_NUM >= 190000
	return stmt->usingindex || stmt->command == REPACK_COMMAND_CLUSTER;
#else
	return true;
#endif
}

/* How the statement is spelled, and what is in front of its index. */
static inline const char *
compat_repack_name(const RepackStmt *stmt)
{
	return compat_is_cluster(stmt) ? "CLUSTER" : "REPACK";
}

static inline const char *
compat_repack_using(const RepackStmt *stmt)
{
	return compat_is_cluster(stmt) ? "USING" : "USING INDEX";
}

#endif							/* CITUS_COMPAT_REPACK_H */
