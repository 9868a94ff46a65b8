/*-------------------------------------------------------------------------
 *
 * delegated_call_run.h
 *	  Runs calls on the node of a shard group, or here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_DELEGATED_CALL_RUN_H
#define CITUS_EXECUTOR_DELEGATED_CALL_RUN_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "utils/tuplestore.h"

/*
 * Runs a statement of delegated_call.c (not NULL) for the client's statement;
 * stores the rows, which have these columns.  Returns false without effect if
 * this node has the shard, or if the other one refuses the call.
 */
extern bool delegated_call_run(PlannedStmt *there, const PlannedStmt *statement, ParamListInfo params,
							   TupleDesc columns, Tuplestorestate *rows);

/*
 * Whether the call that is being started is its client's whole transaction.
 */
extern bool delegated_call_commits(void);

/* Called when this node starts to run a delegated call. */
extern void delegated_call_starts(void);

extern void delegated_call_init(void);

#endif							/* CITUS_EXECUTOR_DELEGATED_CALL_RUN_H */
