/*-------------------------------------------------------------------------
 *
 * key_names.h
 *	  The names of foreign keys that partitions have from their parents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_KEY_NAMES_H
#define CITUS_TABLE_KEY_NAMES_H

#include "postgres.h"

#include "catalog/metadata.h"

/*
 * Renames a shard's constraint, and that one alone, in the catalog: ALTER
 * TABLE would rename those of its partitions, or lock it more than the
 * statement does.  The new name is visible after CommandCounterIncrement().
 */
extern void constraint_rename(Oid constraint, const char *name);

/*
 * Gives the foreign keys that a partition's shard has from its parent's shard
 * their names.  The parent's must have theirs; a shard that isn't here is left
 * out.  The caller has locked the table as its statement does.
 */
extern void name_keys_of_shard(const DistTable *table, const ShardInfo *shard);

/*
 * The same for this node's shards of a table and of all below it, after a
 * statement that has made keys, or a partition.
 */
extern void name_keys_of_partitions(Oid relid);

#endif							/* CITUS_TABLE_KEY_NAMES_H */
