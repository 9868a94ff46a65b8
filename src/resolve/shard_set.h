/*-------------------------------------------------------------------------
 *
 * shard_set.h
 *	  A task for several shards of a node, which it reads as one relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_SHARD_SET_H
#define CITUS_RESOLVE_SHARD_SET_H

#include "nodes/parsenodes.h"

#include "catalog/metadata.h"

/* A relation of this node that has some of a task's rows. */
typedef struct ShardPart
{
	Oid			relid;
	bool		clipped;		/* only its rows with hash values in range */
	HashRange	range;
} ShardPart;

extern void shard_set_init(void);

/*
 * Turns an entry of the query's range table, a logical table that is only
 * read, into UNION ALL of shards (ShardPart *, locked).  Columns keep their
 * numbers; system columns are not available.  Errors for an entry that is
 * written, locked or sampled.  numbered: the last column is the place of a
 * row's shard in the list.
 */
extern void shard_set_expand(Query *query, RangeTblEntry *rte, List *parts, bool with_ctid, bool numbered);

/*
 * UNION ALL of queries, which have these columns (TargetEntries), under these
 * names where they stand as members.
 */
extern Query *shard_set_union_all(List *members, List *columns, Alias *names);

#endif							/* CITUS_RESOLVE_SHARD_SET_H */
