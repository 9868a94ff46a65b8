/*-------------------------------------------------------------------------
 *
 * rebalance_job.h
 *	  Making a background job of a rebalance plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_REBALANCE_JOB_H
#define CITUS_REBALANCE_REBALANCE_JOB_H

#include "postgres.h"

#include "rebalance/plan_input.h"

/* How a job makes its moves. */
typedef struct RebalanceJob
{
	const char *transfer_mode;	/* a value of citus.shard_transfer_mode */
	bool		automatic;		/* no user has asked for it */
	const ClusterNode *leaving; /* if not NULL: is removed when its shards have
								 * been moved */
} RebalanceJob;

/*
 * Makes a job, for the current user, of the moves of a plan; returns its
 * number, or 0 if there is nothing to do.  Errors if there is one that has not
 * ended.
 */
extern int64 rebalance_job_create(const PlanRequest *request, const RebalanceJob *how);

/*
 * Makes an automatic job that splits the shard groups of a plan that have more
 * bytes than that; none if there are none.
 */
extern void rebalance_job_split(const RebalancePlan *plan, int64 limit);

#endif							/* CITUS_REBALANCE_REBALANCE_JOB_H */
