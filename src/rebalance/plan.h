/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  Computes which shard groups to move where, so that nodes are equally
 *	  loaded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_PLAN_H
#define CITUS_REBALANCE_PLAN_H

#include "postgres.h"

#include "catalog/node.h"
#include "compat/foreach.h"

typedef struct PlanNode
{
	const ClusterNode *node;
	double		capacity;		/* 0: is to hold no shards */
	double		load;			/* costs of the shard groups there, as the plan
								 * goes on */
} PlanNode;

/* A shard group: the shards of colocated tables with the same hash values. */
typedef struct PlanShard
{
	int64		shardid;		/* of one of its shards */
	Oid			relid;			/* and that one's table */
	int			colocation;		/* position among the colocation groups,
								 * from 0 */
	int			home;			/* node (position) where it is, as the plan
								 * goes on */
	bool		movable;		/* may be moved, and has not been */
	double		cost;
	int64		bytes;			/* of all its shards */
} PlanShard;

/* Why a shard group moves. */
typedef enum MoveReason
{
	MOVE_DRAIN,					/* its node is to hold no shards */
	MOVE_NOT_ALLOWED,			/* the strategy forbids that node */
	MOVE_BALANCE
} MoveReason;

typedef struct PlanMove
{
	const PlanShard *shard;
	const PlanNode *from;
	const PlanNode *to;
	MoveReason	reason;
	double		from_load;		/* before the move, relative to the average
								 * load of nodes of their capacity */
	double		to_load;
} PlanMove;

typedef struct RebalancePlan
{
	PlanNode   *nodes;
	int			nnodes;
	PlanShard  *shards;
	int			nshards;
	int			ncolocations;

	/*
	 * nodes that differ from the average by up to this fraction are balanced
	 */
	double		threshold;

	/*
	 * a move must reduce the load of the fuller node by this fraction of the
	 * shard's cost
	 */
	double		improvement_threshold;
	int			max_moves;
	bool		drain_only;		/* only moves that must be */

	/* Whether a shard may be on a node; asked at most once for each pair. */
	bool		(*allowed) (struct RebalancePlan *plan, const PlanShard *shard, const PlanNode *node);
	void	   *arg;			/* of allowed */

	List	   *moves;			/* result: PlanMove, in the order in which they
								 * are to be made */

	/* private to plan.c */
	int8	   *allowed_memo;	/* [nshards][nnodes]: 0 unknown, 1 yes, -1
								 * no */
	int		   *counts;			/* [ncolocations][nnodes]: shard groups */
} RebalancePlan;

/*
 * Sets moves; loads of the nodes are those that the homes of the shards make.
 */
extern void plan_compute(RebalancePlan *plan);

/* Why a move is made, as a sentence; palloc'd. */
extern char *plan_move_reason(const PlanMove *move);

#endif							/* CITUS_REBALANCE_PLAN_H */
