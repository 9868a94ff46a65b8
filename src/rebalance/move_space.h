/*-------------------------------------------------------------------------
 *
 * move_space.h
 *	  Whether a node's disk has room for a shard group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_MOVE_SPACE_H
#define CITUS_REBALANCE_MOVE_SPACE_H

#include "postgres.h"

#include "catalog/node.h"
#include "remote/connection.h"

extern void move_space_init(void);

/*
 * Errors if the shard and those colocated with it would leave too little space
 * on the target's disk.  The sessions are on the node that has the shards, and
 * on the target.
 */
extern void move_space_check(int64 shardid, RemoteConn *source, RemoteConn *target, const ClusterNode *node);

#endif							/* CITUS_REBALANCE_MOVE_SPACE_H */
