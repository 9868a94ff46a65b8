/*-------------------------------------------------------------------------
 *
 * member_sync.h
 *	  Sends nodes the membership changes that they have missed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_MEMBER_SYNC_H
#define CITUS_CLUSTER_MEMBER_SYNC_H

#include "postgres.h"

extern void member_sync_init(void);

/* How often the daemon looks for such nodes, in milliseconds. */
extern int	metadata_sync_interval;

/*
 * On the coordinator: gives the nodes that have missed changes of
 * pg_dist_node, and can be reached now, all its rows.  Does nothing on other
 * nodes.
 */
extern void members_sync(void);

#endif							/* CITUS_CLUSTER_MEMBER_SYNC_H */
