/*-------------------------------------------------------------------------
 *
 * convert.h
 *	  Converting tables from local to distributed and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_CONVERT_H
#define CITUS_CONVERSION_CONVERT_H

#include "catalog/metadata.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

/* citus.shard_count: shards of a new colocation group. */
extern int	shard_count_setting;

extern void convert_init(void);

/*
 * Commands (List of char *) that give a node that joins the cluster, or that
 * follows a conversion, the metadata of a table whose definition it has:
 * colocation group, partition, shards, placements.  Idempotent on the
 * receiver.
 */
extern List *table_metadata_commands(Oid relid);

/*
 * Removes a colocation group (0: none) that has lost its last table, on all
 * nodes or only here.  It stays, empty, if a session is currently choosing a
 * group, since that one may wait for a lock of the caller.
 */
extern void delete_empty_group(int32 colocation_id, bool everywhere);

/*
 * Distributes a table that has become a partition of a distributed one on this
 * node, with its own partitions.
 */
extern void distribute_partition(Oid relid);

/*
 * Distributes local tables of this node, with their partitions, as ones of a
 * single shard in a colocation group of a schema.
 */
extern void distribute_into_group(List *roots, int32 colocation_id);

/*
 * Whether a colocation group is that of the tables which
 * citus_add_local_table_to_metadata() keeps on their node.
 */
extern bool group_stays_on_node(int32 colocation_id);

/*
 * Opens a relation that a function was given, and locks it; errors (42P01) if
 * it is gone then.
 */
extern Relation open_table_by_oid(Oid relid, LOCKMODE mode);

/*
 * Keeps others from making, choosing and dropping colocation groups, on any
 * node, until the transaction ends.
 */
extern void colocation_lock(void);

/*
 * Takes a lock that conflicts with that, on the coordinator, too, or only
 * here; false if it would have to wait.
 */
extern bool colocation_try_lock(bool everywhere);

#endif							/* CITUS_CONVERSION_CONVERT_H */
