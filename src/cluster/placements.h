/*-------------------------------------------------------------------------
 *
 * placements.h
 *	  What a node holds, when it leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_PLACEMENTS_H
#define CITUS_CLUSTER_PLACEMENTS_H

#include "catalog/node.h"

/*
 * Removes, on all active nodes but this one, the placements of reference
 * tables in a node's group; errors if it has the only placement of a shard.
 * verb says in the message what is being done.
 */
extern void placements_leave_group(const ClusterNode *node, const char *verb);

#endif							/* CITUS_CLUSTER_PLACEMENTS_H */
