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

#include "access/xlogdefs.h"

#include "catalog/node.h"

/* How far a standby is. */
typedef struct FollowerState
{
	bool		up;				/* it answers, and is a standby */
	XLogRecPtr	replayed;
	int64		age_ms;			/* of the last commit that it has replayed */
} FollowerState;

/*
 * Asks a secondary node, and waits until it has replayed the WAL up to a
 * place, for wait_ms at most.  A failure is a state, too.
 */
typedef void (*FollowerProbe) (const ClusterNode *node, XLogRecPtr place, int wait_ms, FollowerState *state);
extern FollowerProbe follower_probe;

extern void follower_init(void);

/*
 * Whether this transaction reads shards of other nodes on their standbys, as
 * far as there are any that it may read.
 */
extern bool follower_reads(void);

/*
 * The node that this transaction uses for a group: its active primary, or one
 * of its secondaries.  Errors if there is none.  May ask, and wait for, a
 * secondary.
 */
extern const ClusterNode *follower_or_node_of_group(int32 groupid);

/* Setting citus.follower_wait_timeout, in milliseconds. */
extern int	follower_wait_ms(void);

/* Errors if this session reads on standbys: it can't write then. */
extern void follower_refuse_write(void);

/*
 * On a standby, before it runs a client's statement: errors if it has not yet
 * replayed what citus.session_token says.
 */
extern void follower_check_token(void);

/*
 * On a standby, before it runs a task: errors if it has fallen behind further
 * than the session allows.
 */
extern void follower_check_staleness(void);

/*
 * The maintenance worker's job: if this node has standbys, which is returned,
 * commits a transaction, so that they know how up to date they are.
 */
extern bool follower_mark(void);
extern int	follower_mark_interval(void);

#endif							/* CITUS_CATALOG_FOLLOWER_H */
