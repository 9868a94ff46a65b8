/*-------------------------------------------------------------------------
 *
 * members.h
 *	  Rows of pg_dist_node, changed on all nodes in one transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_MEMBERS_H
#define CITUS_CLUSTER_MEMBERS_H

#include "catalog/metadata.h"
#include "catalog/node.h"

/* A row to be added to pg_dist_node. */
typedef struct NewNode
{
	int32		nodeid;
	int32		groupid;
	const char *host;
	int32		port;
	const char *role;			/* primary, secondary or unavailable */
	const char *cluster;
	bool		active;
	bool		should_have_shards;
	int32		clone_of;		/* the id of a node whose clone it is; 0:
								 * none */
} NewNode;

/* Errors unless this node is the coordinator. */
extern void require_coordinator(void);

/*
 * In the following functions, left_out is a List of groups whose active nodes
 * are skipped; NIL for none.
 */

/*
 * Adds to left_out the groups of other active nodes that can't be changed now,
 * with a warning for each.
 */
extern List *members_leave_out_unreachable(List *left_out);

/*
 * Marks the nodes of those groups as having missed a change;
 * node_exclude_changes_everywhere must have been called.
 */
extern void members_mark_unsynced(List *groups, List *left_out);

/* Groups of the other active nodes, without those left out. */
extern List *members_other_groups(List *left_out);

/*
 * Runs a statement here and on all other active nodes, in the distributed
 * transaction.  The active nodes are those from before the statement.
 */
extern void members_exec(const char *sql, List *left_out);

/* Runs a statement here only. */
extern void members_exec_here(const char *sql);

/* The node with this address; errors if there is none. */
extern ClusterNode *members_require(const char *host, int32 port);

/* Errors unless that can be the address of a node; if it is one's. */
extern void members_check_address(const char *host, int32 port);
extern void members_check_address_is_free(const char *host, int32 port);

/* A group id that no node has. */
extern int32 members_next_groupid(void);

/* The noderole of a node itself, as opposed to its standby. */
#define ROLE_PRIMARY "primary"

/* Adds a row on all active nodes but a new one itself; ids must be set. */
extern void members_insert(const NewNode *node);

/* Sets columns of a node's row on all active nodes: "column = value, ...". */
extern void members_set(int32 nodeid, const char *assignments, List *left_out);

/* Removes a node's row on all active nodes. */
extern void members_delete(int32 nodeid, List *left_out);

/*
 * Statement that adds a node's row as this node's pg_dist_node has it;
 * palloc'd.
 */
extern char *members_row_command(int32 nodeid);

#endif							/* CITUS_CLUSTER_MEMBERS_H */
