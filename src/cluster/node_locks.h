/*-------------------------------------------------------------------------
 *
 * node_locks.h
 *	  Locks that changes of nodes take on all of them.
 *
 * left_out is a List of groups whose nodes are left alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_LOCKS_H
#define CITUS_CLUSTER_NODE_LOCKS_H

#include "compat/foreach.h"

/* Without a limit to how long others are waited for. */
#define NO_COOLDOWN (-1)

/*
 * Keeps off all other changes of nodes and DDL, on all active nodes, until the
 * end of the transaction.  Errors unless this node is active, if the
 * coordinator can be asked.
 */
extern void node_locks_changes(List *left_out);

/*
 * Keeps off writers of reference tables as well.  tables: Oids of reference
 * tables that are locked with it, in the order of their Oids.
 */
extern void node_locks_replicas(List *left_out, List *tables);

/*
 * node_locks_changes, and keeps off writers to a node.  Sessions that are in
 * the way after cooldown ms are ended.
 */
extern void node_locks_address(int32 groupid, List *left_out, int cooldown);

#endif							/* CITUS_CLUSTER_NODE_LOCKS_H */
