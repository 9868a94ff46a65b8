/*-------------------------------------------------------------------------
 *
 * relations.h
 *	  The pg_dist_* relations: their Oids and columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_RELATIONS_H
#define CITUS_CATALOG_RELATIONS_H

#include "postgres.h"

/*
 * Relations that this library reads or writes by Oid; in relations.c a name
 * for each.
 */
typedef enum DistRelation
{
	PG_DIST_PARTITION,
	PG_DIST_PARTITION_RELID_INDEX,
	PG_DIST_PARTITION_COLOCATION_INDEX,
	PG_DIST_SHARD,
	PG_DIST_SHARD_SHARDID_INDEX,
	PG_DIST_SHARD_RELID_INDEX,
	PG_DIST_PLACEMENT,
	PG_DIST_PLACEMENT_SHARDID_INDEX,
	PG_DIST_COLOCATION,
	PG_DIST_COLOCATION_ID_INDEX,
	PG_DIST_COLOCATION_CONFIGURATION_INDEX,
	PG_DIST_NODE,
	PG_DIST_OBJECT,
	PG_DIST_LOCAL_GROUP,
	PG_DIST_SHARDID_SEQ,
	PG_DIST_PLACEMENTID_SEQ,
	PG_DIST_COLOCATIONID_SEQ,
	PG_DIST_NODEID_SEQ,
	PG_DIST_GROUPID_SEQ,
	PG_DIST_OPERATIONID_SEQ,
	PG_DIST_CLEANUP,
	PG_DIST_TENANT_LIMIT,
	PG_DIST_TENANT_LIMIT_INDEX,
	DIST_RELATION_COUNT,
} DistRelation;

enum pg_dist_partition_columns
{
	Anum_partition_logicalrelid = 1,
	Anum_partition_partmethod,
	Anum_partition_partkey,
	Anum_partition_colocationid,
	Anum_partition_repmodel,
	Anum_partition_autoconverted,
	Natts_partition = Anum_partition_autoconverted
};

enum pg_dist_shard_columns
{
	Anum_shard_logicalrelid = 1,
	Anum_shard_shardid,
	Anum_shard_shardstorage,
	Anum_shard_shardminvalue,
	Anum_shard_shardmaxvalue,
	Natts_shard = Anum_shard_shardmaxvalue
};

enum pg_dist_placement_columns
{
	Anum_placement_placementid = 1,
	Anum_placement_shardid,
	Anum_placement_shardstate,
	Anum_placement_shardlength,
	Anum_placement_groupid,
	Natts_placement = Anum_placement_groupid
};

enum pg_dist_colocation_columns
{
	Anum_colocation_colocationid = 1,
	Anum_colocation_shardcount,
	Anum_colocation_replicationfactor,
	Anum_colocation_distributioncolumntype,
	Anum_colocation_distributioncolumncollation,
	Natts_colocation = Anum_colocation_distributioncolumncollation
};

enum pg_dist_node_columns
{
	Anum_node_nodeid = 1,
	Anum_node_groupid,
	Anum_node_nodename,
	Anum_node_nodeport,
	Anum_node_noderack,
	Anum_node_hasmetadata,
	Anum_node_isactive,
	Anum_node_noderole,
	Anum_node_nodecluster,
	Anum_node_metadatasynced,
	Anum_node_shouldhaveshards,
	Anum_node_nodeisclone,
	Anum_node_nodeprimarynodeid,
	Natts_node = Anum_node_nodeprimarynodeid
};

enum pg_dist_object_columns
{
	Anum_object_classid = 1,
	Anum_object_objid,
	Anum_object_objsubid,
	Anum_object_type,
	Anum_object_object_names,
	Anum_object_object_args,
	Anum_object_argument,
	Anum_object_colocationid,
	Anum_object_force,
	Natts_object = Anum_object_force
};

/* pg_dist_placement.shardstate */
#define PLACEMENT_ACTIVE 1
#define PLACEMENT_ARRIVING 3	/* the shard is being moved there; shardlength
								 * is the number of the operation */
#define PLACEMENT_LEFT 4		/* it was moved away; read under older
								 * snapshots only, and to be dropped */

extern void relations_init(void);

/*
 * Makes sure that the Oids are known; false if the extension is not (wholly)
 * there.  Needs a transaction.
 */
extern bool dist_relations_available(void);

/* Oid of a relation; errors if the extension is not there. */
extern Oid	dist_relid(DistRelation relation);

/* Next value of one of the sequences; permissions are the caller's matter. */
extern int64 dist_next_id(DistRelation sequence);

/*
 * Told by the cache's callback that a relcache entry has changed (InvalidOid:
 * any may have).  Returns the catalog that it is, DIST_RELATION_COUNT if none.
 */
extern DistRelation dist_relations_invalidated(Oid relid);

#endif							/* CITUS_CATALOG_RELATIONS_H */
