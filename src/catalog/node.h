/*-------------------------------------------------------------------------
 *
 * node.h
 *	  Nodes and groups: cached rows of pg_dist_node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_NODE_H
#define CITUS_CATALOG_NODE_H

#include "postgres.h"

#include "compat/foreach.h"

typedef struct ClusterNode
{
	int32		nodeid;
	int32		groupid;		/* 0 is the coordinator */
	char	   *host;
	int32		port;
	bool		is_active;
	bool		has_metadata;
	bool		metadata_synced;	/* false: has missed changes of nodes */
	bool		is_primary;
	bool		is_secondary;	/* a standby of its group's primary */
	char	   *cluster;		/* of secondaries; the primaries' is
								 * "default" */
	bool		should_have_shards;
	bool		is_clone;		/* a standby that will become a node */
	int32		clone_of;		/* the id of its primary; 0: no clone */
} ClusterNode;

extern void node_init(void);

/*
 * Setting citus.local_hostname: the name by which this server registers
 * itself.
 */
extern char *node_local_hostname;

/*
 * Primary nodes that are active, ordered by groupid.  If pg_dist_node is
 * empty, an empty list: the server is then a cluster of one, all work is
 * local.  The list and its members are valid until the end of the transaction.
 */
extern List *node_active_primaries(void);

/* As above without this node itself. */
extern List *node_active_primaries_remote(void);

/*
 * The active primary of a group; errors with ERRCODE_UNDEFINED_OBJECT if there
 * is none.
 */
extern const ClusterNode *node_of_group(int32 groupid);

/*
 * Nodes on which new shards may be placed (shouldhaveshards); the local node
 * if there is no other.  Registers this server as group 0
 * ("citus.local_hostname") first when pg_dist_node is empty.
 */
extern List *node_shard_targets(void);

/* All rows of pg_dist_node, by groupid and nodeid; valid as above. */
extern List *node_all(void);

/* The node with an address, active or not, or NULL; valid as above. */
extern ClusterNode *node_at_address(const char *host, int32 port);

/*
 * The node with that id, or NULL; the primary of a group, active or not, or
 * NULL.  Valid as above.
 */
extern ClusterNode *node_with_id(int32 nodeid);
extern ClusterNode *node_primary_of(int32 groupid);

/* The node with that id; errors if there is none. */
extern ClusterNode *node_require_id(int32 nodeid);

/*
 * Whether that is a node's address, or this server's own while pg_dist_node is
 * empty.
 */
extern bool node_is_known(const char *host, int32 port);

/*
 * Keeps the set of nodes, and the tables of new nodes, from changing until the
 * end of the transaction (ROW EXCLUSIVE on pg_dist_node; cheap).  To be called
 * before the nodes are looked at by DDL and the creation of tables.
 */
extern void node_share_set_local(void);

/*
 * As above for writes to reference tables, whose rows new nodes get last: ROW
 * SHARE, which allows that a new node gets definitions meanwhile.
 */
extern void node_share_replicas_local(void);

/*
 * The number of a non-existent relation whose lock represents a node in the
 * following locks.
 */
#define NODE_LOCK_RELATION(groupid) (PG_UINT32_MAX - (Oid) (groupid))

/*
 * Keeps the address of a group's node from changing until the end of the
 * transaction, which will write there.
 */
extern void node_share_address_local(int32 groupid);

/*
 * Waits for sessions that hold that lock, and blocks others, until the end of
 * the transaction.
 */
extern void node_exclude_address_local(int32 groupid);

/* Waits for a change of the address of a group's node, if one is under way. */
extern void node_await_address(int32 groupid);

#endif							/* CITUS_CATALOG_NODE_H */
