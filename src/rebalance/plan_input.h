/*-------------------------------------------------------------------------
 *
 * plan_input.h
 *	  A rebalance plan of this cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_PLAN_INPUT_H
#define CITUS_REBALANCE_PLAN_INPUT_H

#include "postgres.h"

#include "rebalance/plan.h"

/* The options of a plan. */
typedef struct PlanRequest
{
	Oid			relid;			/* only its colocation group; InvalidOid:
								 * all */
	const char *strategy;		/* NULL: the default one */
	double		threshold;		/* negative: the strategy's */
	double		improvement_threshold;	/* negative: the strategy's */
	int			max_moves;
	List	   *excluded;		/* of int64 *: shards that stay where they are,
								 * and those colocated with them */
	bool		drain_only;
} PlanRequest;

/*
 * Makes a plan in CurrentMemoryContext; its moves may be none.  Errors unless
 * this is the coordinator.
 */
extern RebalancePlan *plan_of_cluster(const PlanRequest *request);

#endif							/* CITUS_REBALANCE_PLAN_INPUT_H */
