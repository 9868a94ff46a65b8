/*-------------------------------------------------------------------------
 *
 * node_password.h
 *	  Passwords by which nodes log in on each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_PASSWORD_H
#define CITUS_CLUSTER_NODE_PASSWORD_H

#include "postgres.h"

#include "catalog/node.h"

/*
 * Sends a new node this node's rows of pg_dist_authinfo for all nodes, as far
 * as it has none for the same role.
 */
extern void node_passwords_send(const ClusterNode *node);

#endif							/* CITUS_CLUSTER_NODE_PASSWORD_H */
