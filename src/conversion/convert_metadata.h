/*-------------------------------------------------------------------------
 *
 * convert_metadata.h
 *	  The metadata of tables for other nodes, and of colocation groups.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_CONVERT_METADATA_H
#define CITUS_CONVERSION_CONVERT_METADATA_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Commands (List of char *) that give a node that joins the cluster, or that
 * follows a conversion, the metadata of a table whose definition it has:
 * colocation group, partition, shards, placements.  Idempotent on the
 * receiver.
 */
extern List *table_metadata_commands(Oid relid);

/*
 * Removes a colocation group (0: none) that has lost its last table, on all
 * nodes or only here.  It stays, empty, if a session is just looking for a
 * group: that one may wait for what the caller has locked.
 */
extern void delete_empty_group(int32 colocation_id, bool everywhere);

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

#endif							/* CITUS_CONVERSION_CONVERT_METADATA_H */
