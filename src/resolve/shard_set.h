/*-------------------------------------------------------------------------
 *
 * shard_set.h
 *	  A task for several shards of a node, which it reads as if they were one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_SHARD_SET_H
#define CITUS_RESOLVE_SHARD_SET_H

#include "nodes/parsenodes.h"

extern void shard_set_init(void);

/*
 * Turns an entry of the query's range table, a logical table that is only
 * read, into UNION ALL of its shards (oids, locked).  Columns keep their
 * numbers; system columns are not available.  Errors for an entry that is
 * written, locked or sampled.
 */
extern void shard_set_expand(Query *query, RangeTblEntry *rte, List *relids);

#endif							/* CITUS_RESOLVE_SHARD_SET_H */
