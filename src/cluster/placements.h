/*-------------------------------------------------------------------------
 *
 * placements.h
 *	  The placements of a node that leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_PLACEMENTS_H
#define CITUS_CLUSTER_PLACEMENTS_H

#include "catalog/node.h"

/*
 * Condition of rows of pg_dist_placement: of reference tables, which all
 * active nodes have.
 */
#define PLACEMENT_OF_REFERENCE "shardid IN (SELECT s.shardid FROM pg_catalog.pg_dist_shard s " \
	"JOIN pg_catalog.pg_dist_partition p USING (logicalrelid) WHERE p.repmodel = 't')"

/*
 * Errors if a node's group has the only placement of a shard; verb says in the
 * message what is being done.
 */
extern void placements_check_none(const ClusterNode *node, const char *verb);

/*
 * Removes the placements of reference tables in a group, on all active nodes
 * but those of the groups left out.
 */
extern void placements_delete(int32 groupid, List *left_out);

#endif							/* CITUS_CLUSTER_PLACEMENTS_H */
