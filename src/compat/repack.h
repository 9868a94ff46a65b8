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
#else
#include "commands/cluster.h"

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

#endif							/* CITUS_COMPAT_REPACK_H */
