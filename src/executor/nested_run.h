/*-------------------------------------------------------------------------
 *
 * nested_run.h
 *	  Statements that a plan node runs as a whole.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_NESTED_RUN_H
#define CITUS_EXECUTOR_NESTED_RUN_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "utils/tuplestore.h"

/*
 * Runs a planned statement to its end, under the active snapshot.  Its rows go
 * to a store of the memory context.  text: for messages; must not be the
 * client's where nodes send calls.  Returns how many rows it has written, or
 * returned.
 */
extern uint64 nested_run(PlannedStmt *statement, const char *text, ParamListInfo params, Tuplestorestate *rows,
						 MemoryContext context);

#endif							/* CITUS_EXECUTOR_NESTED_RUN_H */
