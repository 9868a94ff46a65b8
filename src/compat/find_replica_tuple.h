/*-------------------------------------------------------------------------
 *
 * find_replica_tuple.h
 *	  Finding a replicated row by an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_FIND_REPLICA_TUPLE_H
#define CITUS_COMPAT_FIND_REPLICA_TUPLE_H

#include "postgres.h"

#include "executor/executor.h"

#if PG_VERSION_NUM < 190000
#define RelationFindReplTupleByIndex(rel, index, skip_duplicates, mode, wanted, found) \
	RelationFindReplTupleByIndex(rel, index, mode, wanted, found)
#endif

#endif							/* CITUS_COMPAT_FIND_REPLICA_TUPLE_H */
