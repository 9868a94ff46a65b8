/*-------------------------------------------------------------------------
 *
 * reshape.h
 *	  Declarations shared by the files about splits and merges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_RESHAPE_H
#define CITUS_REBALANCE_RESHAPE_H

#include "catalog/metadata.h"
#include "catalog/node.h"

/* Neighbouring shard groups of a node, and their replacements. */
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

/* A copy of some of a shard's rows, to which later changes are applied. */
typedef struct ReshapeCopy ReshapeCopy;

/*
 * Copies the rows with those hash values from a shard of the table on this
 * node into the relation of that name on the group's node, in this distributed
 * transaction.
 */
extern ReshapeCopy *reshape_copy_begin(const DistTable *table, Oid relid, const char *name, int32 groupid,
									   HashRange range);

/*
 * Copies the changes since the last copy.  The last call, with writers locked
 * out, may be in a subtransaction that fails, and is then repeated.
 */
extern void reshape_copy_follow(ReshapeCopy *copy, bool last);

/* Ends the copy, also one that has failed. */
extern void reshape_copy_end(ReshapeCopy *copy);

#endif							/* CITUS_REBALANCE_RESHAPE_H */
