/*-------------------------------------------------------------------------
 *
 * delegated_call.h
 *	  Calls of functions and procedures that the node of a shard group runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DELEGATED_CALL_H
#define CITUS_PLANNER_DELEGATED_CALL_H

#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* citus.enable_function_delegation */
extern bool citus_enable_delegation;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods delegated_call_methods;

/*
 * The statement by which the node of the rows runs a distributed procedure;
 * NULL if the procedure isn't distributed, or can't run there.  columns: of
 * the row that it returns, or NULL if it returns none.
 */
extern PlannedStmt *delegated_call_of_procedure(const CallStmt *call, TupleDesc columns);

#endif							/* CITUS_PLANNER_DELEGATED_CALL_H */
