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

#endif							/* CITUS_CONVERSION_CONVERT_H */
