/*-------------------------------------------------------------------------
 *
 * node_sync.h
 *	  Gives a node all that every node has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_SYNC_H
#define CITUS_CLUSTER_NODE_SYNC_H

#include "catalog/node.h"

/*
 * Makes an active node (its row is in place, and node_locks_changes was
 * called) equal to the others, in the distributed transaction: what it had
 * from a former membership is dropped, then it gets the rows of pg_dist_node,
 * roles and other objects, the definition and metadata of all distributed and
 * reference tables, and the data of reference tables, whose placements on it
 * are added on all nodes.
 */
extern void node_sync(const ClusterNode *node);

/*
 * The part of it that is about tables; the node has none yet.  First their
 * definitions, and then, with the list that the first step returns, all else.
 */
extern List *table_sync_definitions(const ClusterNode *node);
extern void table_sync_rest(const ClusterNode *node, List *tables);

#endif							/* CITUS_CLUSTER_NODE_SYNC_H */
