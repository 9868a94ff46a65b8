/*-------------------------------------------------------------------------
 *
 * follower.h
 *	  Reads on standbys of the nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_FOLLOWER_H
#define CITUS_CATALOG_FOLLOWER_H

#include "postgres.h"

#include "catalog/node.h"

extern void follower_init(void);

/* Whether this session reads shards of other nodes on their standbys. */
extern bool follower_reads(void);

/*
 * The node that this session uses for a group: its active primary, or one of
 * its secondaries.  Errors if there is none.
 */
extern const ClusterNode *follower_or_node_of_group(int32 groupid);

/* Errors if this session reads on standbys: it can't write then. */
extern void follower_refuse_write(void);

/*
 * On a standby, before it runs a task: errors if it has fallen behind further
 * than the session allows.
 */
extern void follower_check_staleness(void);

/*
 * The maintenance worker's job: commits a transaction, so that standbys of
 * this node know how up to date they are.
 */
extern void follower_mark(void);
extern int	follower_mark_interval(void);

#endif							/* CITUS_CATALOG_FOLLOWER_H */
