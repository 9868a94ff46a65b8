/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  Runs utility statements on the shards that are on this node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_SHARDS_H
#define CITUS_TABLE_SHARDS_H

#include "catalog/metadata.h"
#include "nodes/parsenodes.h"

/* Indexes (integer List) of the table's shards that are placed on this node; NIL for a reference table. */
extern List *local_shard_indexes(const DistTable *table);

/* Relations (List of Oid) of the table's shards on this node. */
extern List *local_shard_relids(const DistTable *table);

/* Creates the local relations of all shards of the table that are placed on this node and missing. */
extern void create_local_shards(Oid relid);

/* Errors if shards of a distributed table are on a node that is not active, and so can't be changed. */
extern void shards_check_active(const DistTable *table);

/* Runs a raw statement that names the table, or what hangs on it, on each of the table's shards on this node. */
extern void run_on_local_shards(const DistTable *table, Node *stmt, const char *query);

/* A copy of stmt for each of them: for statements after which the names would not be found any more. */
extern List *resolve_for_local_shards(const DistTable *table, Node *stmt);

/* Runs commands of table_definition.h on each of the table's shards on this node. */
extern void run_commands_on_local_shards(const DistTable *table, List *commands);

/*
 * The server has picked names for the indexes that shards of partitions have got with those of a partitioned
 * table: on this node, gives them the names that follow from those of the logical indexes.
 */
extern void name_indexes_of_partitions(Oid relid);

/* Drops relations (List of Oid) with all that depends on them; asks for no permission. */
extern void drop_relations(List *relids);

#endif							/* CITUS_TABLE_SHARDS_H */
