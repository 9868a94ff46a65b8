/*-------------------------------------------------------------------------
 *
 * convert.h
 *	  From local to distributed tables and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_CONVERT_H
#define CITUS_CONVERSION_CONVERT_H

#include "catalog/metadata.h"
#include "utils/rel.h"

/* citus.shard_count: shards of a new colocation group. */
extern int	shard_count_setting;

extern void convert_init(void);

/*
 * Commands (List of char *) that give a node that joins the cluster, or that
 * follows a conversion, the metadata of a table whose definition it has:
 * colocation group, partition, shards, placements.  Idempotent on the receiver.
 */
extern List *table_metadata_commands(Oid relid);

/*
 * Has the other nodes remove a colocation group (0: none) that is removed here.  They do so by themselves with its last
 * table, unless they still see another one, whose drop has been committed here but not yet there.
 */
extern void relay_deleted_group(int32 colocation_id);

/* Opens a relation that a function was given, with AccessExclusiveLock; errors (42P01) if it is gone then. */
extern Relation open_table_by_oid(Oid relid);

/* Errors unless this node is the coordinator. */
extern void check_coordinator(void);

#endif							/* CITUS_CONVERSION_CONVERT_H */
