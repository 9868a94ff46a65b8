/*-------------------------------------------------------------------------
 *
 * plan_function.h
 *	  The arguments that functions in SQL take for a rebalance plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_PLAN_FUNCTION_H
#define CITUS_REBALANCE_PLAN_FUNCTION_H

#include "postgres.h"

#include "fmgr.h"

#include "rebalance/plan_input.h"

/*
 * The plan described by a function's first arguments, which are those of
 * get_rebalance_table_shards_plan.  Errors for invalid values.
 */
extern PlanRequest plan_request_of(FunctionCallInfo fcinfo);

/* How many arguments these are. */
#define PLAN_REQUEST_ARGUMENTS 7

#endif							/* CITUS_REBALANCE_PLAN_FUNCTION_H */
