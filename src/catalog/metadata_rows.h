/*-------------------------------------------------------------------------
 *
 * metadata_rows.h
 *	  Writes this node's pg_dist_* rows of tables.
 *
 * None of these functions asks for permissions; their SQL-callable wrappers
 * do.  All end with a CommandCounterIncrement, so that the next lookup sees
 * the change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_METADATA_ROWS_H
#define CITUS_CATALOG_METADATA_ROWS_H

#include "catalog/metadata.h"

#define PARTMETHOD_HASH 'h'
#define PARTMETHOD_NONE 'n'
#define REPMODEL_STREAMING 's'	/* one placement */
#define REPMODEL_REFERENCE 't'	/* a placement on every node */

#define SHARD_STORAGE_TABLE 't'

/*
 * The default colocation group: the oldest one with this configuration, or 0
 * if there is none.  type InvalidOid: no distribution column.
 */
extern int32 metadata_default_colocation(int shard_count, int replication_factor, Oid type, Oid collation);

/* Adds a colocation group, unless it exists. */
extern void metadata_insert_colocation(int32 colocation_id, int shard_count, int replication_factor,
									   Oid type, Oid collation);

/* Adds or replaces the row of a table. dist_column: NULL without one. */
extern void metadata_insert_partition(Oid relid, char partmethod, const char *dist_column, int32 colocation_id,
									  char repmodel);

/*
 * Adds or replaces a shard. min_value, max_value: its hash values as text, or
 * NULL.
 */
extern void metadata_insert_shard(Oid relid, int64 shardid, char storage, const char *min_value,
								  const char *max_value);

/* Adds or replaces a shard's placement in a group. */
extern void metadata_insert_placement(int64 shardid, int64 length, int32 groupid, int64 placementid);

/* The table of a shard, or InvalidOid; or an error. */
extern Oid	metadata_shard_relid(int64 shardid);
extern Oid	metadata_require_shard(int64 shardid);

/*
 * Removes placements, shards and the row of a table; returns its colocation
 * group if it was the last one there, else 0.
 */
extern int32 metadata_delete_table(Oid relid);

/* Removes a colocation group, whether it has tables or not. */
extern void metadata_delete_colocation(int32 colocation_id);

/*
 * Moves a table to another group; returns the old one if it was the last one
 * there, else 0.
 */
extern int32 metadata_update_colocation(Oid relid, int32 colocation_id);

#endif							/* CITUS_CATALOG_METADATA_ROWS_H */
