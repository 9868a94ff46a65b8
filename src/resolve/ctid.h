/*-------------------------------------------------------------------------
 *
 * ctid.h
 *	  ctid and tableoid in a task: as the logical table's, not the shard's.
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

/*
 * Whether a query, or a subquery of it, reads a relation's ctid or tableoid.
 */
extern bool ctid_is_used(Query *query);

/*
 * The columns (TargetEntry *) that members of a shard set have behind those of
 * the table, which is range table entry 1 there, if ctid_is_used: the logical
 * ctid, the shard's, and the table.  Adds their names to the set's entry.
 */
extern List *ctid_set_columns(RangeTblEntry *rte);

/*
 * Replaces, in place, ctid and tableoid of the entries (ResolvedEntry *) at
 * all levels of the query, so that they are the table's.
 */
extern void resolve_ctid(Query *query, List *entries);

#endif							/* CITUS_RESOLVE_CTID_H */
