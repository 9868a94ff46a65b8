/*-------------------------------------------------------------------------
 *
 * node_sync.h
 *	  Creates on a node everything that all nodes have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_SYNC_H
#define CITUS_CLUSTER_NODE_SYNC_H

#include "catalog/node.h"

/*
 * Makes an active node (its row exists, and node_exclude_changes_everywhere
 * was called) equal to the others, in the distributed transaction: drops
 * everything from a former membership, then creates the rows of pg_dist_node,
 * roles and other objects, the definition and metadata of all distributed and
 * reference tables, and the data of reference tables, whose placements on it
 * are added on all nodes.
 */
extern void node_sync(const ClusterNode *node);

/*
 * The part for tables, of which the node has none yet: first their
 * definitions, and then, with the list that the first step returns, everything
 * else.
 */
extern List *table_sync_definitions(const ClusterNode *node);
extern void table_sync_rest(const ClusterNode *node, List *tables);

#endif							/* CITUS_CLUSTER_NODE_SYNC_H */
