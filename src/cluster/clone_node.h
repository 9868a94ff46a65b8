/*-------------------------------------------------------------------------
 *
 * clone_node.h
 *	  Clones: standbys of nodes that will become nodes themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_CLONE_NODE_H
#define CITUS_CLUSTER_CLONE_NODE_H

#include "catalog/node.h"

/* The clone with that id; errors if it isn't one. */
extern const ClusterNode *clone_require(int32 nodeid);

/*
 * Errors unless the server at an address is an asynchronous standby of a node
 * that streams from it.  Returns the name of the replication slot that it
 * uses; NULL if none.
 */
extern char *clone_check_standby(const char *host, int32 port, const ClusterNode *primary);

/* Errors if a node that is to leave has a clone. */
extern void clone_check_none(const ClusterNode *primary);

#endif							/* CITUS_CLUSTER_CLONE_NODE_H */
