/*-------------------------------------------------------------------------
 *
 * ctid.h
 *	  ctid in a task: as the logical table's, not the shard's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_CTID_H
#define CITUS_RESOLVE_CTID_H

#include "nodes/parsenodes.h"

/* A range table entry that stands for a shard, or for a set of shards. */
typedef struct ResolvedEntry
{
	RangeTblEntry *rte;
	Oid			shard_relid;	/* of a set, one of them */
	int			set_columns;	/* of a set: the table's columns, which those
								 * of ctid_set_columns follow; 0: one shard */
} ResolvedEntry;

/* Whether a query, or a subquery of it, reads ctid of a relation. */
extern bool ctid_is_used(Query *query);

/*
 * The columns (TargetEntry *) that members of a shard set have behind those of
 * the table, which is range table entry 1 there, if ctid is used: the logical
 * ctid, and the shard's.  Adds their names to the set's entry.
 */
extern List *ctid_set_columns(RangeTblEntry *rte);

/*
 * Replaces, in place, ctid of the entries (ResolvedEntry *) at all levels of
 * the query, so that it is unique over all shards of the table.
 */
extern void resolve_ctid(Query *query, List *entries);

#endif							/* CITUS_RESOLVE_CTID_H */
