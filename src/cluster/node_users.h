/*-------------------------------------------------------------------------
 *
 * node_users.h
 *	  Transactions that the removal of a node waits for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_USERS_H
#define CITUS_CLUSTER_NODE_USERS_H

#include "catalog/node.h"
#include "compat/foreach.h"

/*
 * Waits for the present transactions that will block the removal of a node: on
 * all nodes but those of the groups left out, and on the node itself if it can
 * be reached.  A NOTICE names them if that takes long; errors after
 * lock_timeout.  In a transaction block, whose own locks count too, does
 * nothing.
 */
extern void node_users_await(const ClusterNode *leaving, bool reachable, List *left_out);

#endif							/* CITUS_CLUSTER_NODE_USERS_H */
