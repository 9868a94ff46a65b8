/*-------------------------------------------------------------------------
 *
 * reshape.h
 *	  What the files about splits and merges share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_RESHAPE_H
#define CITUS_REBALANCE_RESHAPE_H

#include "catalog/metadata.h"
#include "catalog/node.h"

/* Neighbouring shard groups of a node, and what is to replace them. */
typedef struct ReshapePlan
{
	Oid			relid;			/* one of the tables */
	int64		shardid;		/* of the first group */
	HashRange	range;			/* of all of them */
	const ClusterNode *node;	/* that has them */
	List	   *last;			/* IntList: last hash value of each new
								 * group */
	List	   *groups;			/* IntList: the nodes that get them */
} ReshapePlan;

/* Replaces the shard groups by means of other sessions, or cleans up. */
extern void reshape_run(const ReshapePlan *plan);

/* A copy of some of a shard's rows, to be followed up. */
typedef struct ReshapeCopy ReshapeCopy;

/*
 * Copies the rows with those hash values from a shard of the table on this
 * node into the relation of that name on the group's node, in this distributed
 * transaction.
 */
extern ReshapeCopy *reshape_copy_begin(const DistTable *table, Oid relid, const char *name, int32 groupid,
									   HashRange range);

/*
 * Copies what has changed since.  The last time, with writers locked out, it
 * may be in a subtransaction that fails, and be tried again.
 */
extern void reshape_copy_follow(ReshapeCopy *copy, bool last);

extern void reshape_copy_end(ReshapeCopy *copy);

#endif							/* CITUS_REBALANCE_RESHAPE_H */
