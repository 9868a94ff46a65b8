/*-------------------------------------------------------------------------
 *
 * clone_plan.h
 *	  Which shard groups of a node its clone takes over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_CLONE_PLAN_H
#define CITUS_REBALANCE_CLONE_PLAN_H

#include "catalog/metadata.h"
#include "catalog/node.h"

/* A shard group of the node. */
typedef struct CloneGroup
{
	Oid			relid;			/* one of its tables */
	int64		shardid;		/* that one's shard */
	int			colocation_id;	/* 0: of that table only */
	HashRange	range;
	double		cost;
	int64		bytes;			/* of all its shards */
	bool		leaves;			/* for the clone */
} CloneGroup;

/*
 * The shard groups of a node (List of CloneGroup *), as a strategy (NULL: the
 * default one) divides them between the node and a clone of it; the largest
 * first.  Errors if a table of the node is unlogged.
 */
extern List *clone_plan(const ClusterNode *primary, const ClusterNode *clone, const char *strategy);

#endif							/* CITUS_REBALANCE_CLONE_PLAN_H */
