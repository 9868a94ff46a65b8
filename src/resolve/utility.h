/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  Replaces the logical names in a utility statement by those of a shard.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_UTILITY_H
#define CITUS_RESOLVE_UTILITY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "catalog/metadata.h"

/*
 * Changes a raw utility statement, in place, so that it is about the shard
 * with the range in each table of the colocation group that it names:
 * relations become citus_data.<shard>, and names of indexes, constraints and
 * statistics objects get the shard's suffix.  Other relations stay.
 * must_exist: error with ERRCODE_SHARD_NOT_HERE when such a shard is not on
 * this node.  Errors with ERRCODE_FEATURE_NOT_SUPPORTED for kinds of
 * statements that have no shards.
 */
extern void resolve_utility(Node *stmt, int colocation_id, HashRange range, bool must_exist);

/*
 * The table that a relation or index, as named here, belongs to, or NULL if it
 * is not distributed.
 */
extern const DistTable *dist_table_of_rangevar(const RangeVar *relation);

/*
 * The table that an index belongs to; another relation's Oid is returned as it
 * is.
 */
extern Oid	table_of_relation(Oid relid);

/*
 * The same as dist_table_of_rangevar for any relation's Oid: a table, or an
 * index of one.
 */
extern const DistTable *dist_table_of_relation(Oid relid);

/*
 * Name of a table's constraint in the shard of a range.  A check or NOT NULL
 * constraint that a partition has from its partitioned table has the same name
 * in the shards of both, as PostgreSQL requires.
 */
extern char *shard_constraint_name(const DistTable *table, const char *name, HashRange range);

/* A name in a statement as RangeVar of a shard's relation, or of its index. */
extern RangeVar *shard_rangevar(const char *name, int64 shardid);

#endif							/* CITUS_RESOLVE_UTILITY_H */
