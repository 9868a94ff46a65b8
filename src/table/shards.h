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

/*
 * What the names of publications begin with that have shards while these are
 * being moved.
 */
#define MOVE_PUBLICATION_PREFIX "citus_shard_move_publication_"

/*
 * Indexes (integer List) of the table's shards that are placed on this node;
 * NIL for a reference table.
 */
extern List *local_shard_indexes(const DistTable *table);

/* Relations (List of Oid) of the table's shards on this node. */
extern List *local_shard_relids(const DistTable *table);

/*
 * Shards (ShardInfo *) of a table that are placed on this node, or were and
 * are kept for older snapshots: all that are dropped with the table.
 */
extern List *local_shards_with_former(const DistTable *table);

/* Their relations (List of Oid). */
extern List *local_relids_to_drop(const DistTable *table);

/*
 * Creates the relations of those shards of a table that are placed on this
 * node and missing, with indexes and constraints, but without foreign keys.
 * Existing ones must be the table's.  The metadata must exist.  Takes
 * AccessShareLock on the table.
 */
extern void create_local_shards(Oid relid);

/*
 * Adds the foreign keys that the table's shards on this node lack: new ones,
 * or existing ones after a reference table was recreated.  The server checks
 * their rows.  The shards of tables that the keys reference must exist.
 */
extern void create_local_shard_keys(Oid relid);

/*
 * Creates a shard that is to be placed here, with all but indexes and foreign
 * keys; those of other tables that it is a partition of must be there.
 */
extern void shard_create_copy(const DistTable *table, const ShardInfo *shard);

/*
 * Gives it its indexes, when it has its rows; its partitions must have theirs.
 */
extern void shard_index_copy(const DistTable *table, const ShardInfo *shard);

/*
 * Adds a shard's foreign keys without checking its rows, which are copies of
 * checked ones; the server can't do so for a partitioned table, whose keys are
 * checked.
 */
extern void shard_add_known_foreign_keys(const DistTable *table, const ShardInfo *shard);

/* Whether a constraint is known to hold for all rows. */
extern bool constraint_is_valid(Oid constraint);

/*
 * Says of a table's constraint, in its shards on this node, that existing rows
 * have not been checked.
 */
extern void shards_uncheck_constraint(const DistTable *table, const char *name);

/*
 * Sets the replica identity (REPLICA_IDENTITY_*) without the lock of ALTER
 * TABLE: the caller has locked out writers.
 */
extern void shard_set_replica_identity(Oid shard_relid, char identity);

/*
 * Errors if shards of a distributed table are on a node that is not active,
 * and so can't be changed.
 */
extern void shards_check_active(const DistTable *table);

/*
 * Runs a raw statement that names the table, or its dependent objects, on each
 * of the table's shards on this node.
 */
extern void run_on_local_shards(const DistTable *table, Node *stmt, const char *query);

/*
 * A copy of stmt for each of them: for statements after which the names can't
 * be looked up any more.
 */
extern List *resolve_for_local_shards(const DistTable *table, Node *stmt);

/*
 * Runs commands of table_definition.h on each of the table's shards on this
 * node.
 */
extern void run_commands_on_local_shards(const DistTable *table, List *commands);

/*
 * Renames the indexes of partitions' shards on this node, whose names the
 * server has chosen, to the names derived from the logical indexes.
 */
extern void name_indexes_of_partitions(Oid relid);

/*
 * Drops relations (List of Oid) with all that depends on them; asks for no
 * permission.
 */
extern void drop_relations(List *relids);

#endif							/* CITUS_TABLE_SHARDS_H */
