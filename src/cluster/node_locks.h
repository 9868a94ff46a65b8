/*-------------------------------------------------------------------------
 *
 * node_locks.h
 *	  The locks for changes of nodes, on all nodes.
 *
 * left_out is a List of groups whose nodes are skipped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_LOCKS_H
#define CITUS_CLUSTER_NODE_LOCKS_H

#include "compat/foreach.h"

/* No limit for the wait. */
#define NO_COOLDOWN (-1)

/*
 * Blocks all other changes of nodes and DDL, on all active nodes, until the
 * end of the transaction.  Errors unless this node is active, if the
 * coordinator can be asked.
 */
extern void node_exclude_changes_everywhere(List *left_out);

/*
 * Blocks writers of reference tables as well.  tables: Oids of reference
 * tables that are locked with it, in the order of their Oids.
 */
extern void node_exclude_replicas_everywhere(List *left_out, List *tables);

/*
 * Blocks writers of reference tables, and all use of tables on the node of a
 * group, which leaves (0: on none).
 */
extern void node_exclude_leaving_everywhere(List *left_out, int32 leaving);

/*
 * node_exclude_changes_everywhere, and blocks writers to a node.  Sessions
 * that hold conflicting locks after cooldown ms are terminated.
 */
extern void node_exclude_address_everywhere(int32 groupid, List *left_out, int cooldown);

#endif							/* CITUS_CLUSTER_NODE_LOCKS_H */
