/*-------------------------------------------------------------------------
 *
 * call.c
 *	  CALL of a procedure that may be delegated to the node of its rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "catalog/node_session.h"
#include "ddl/handlers.h"
#include "executor/delegated_call_run.h"
#include "planner/delegated_call.h"

/* Returns the procedure's result row. */
static void
return_row(DestReceiver *dest, TupleDesc columns, Tuplestorestate *rows)
{
	TupOutputState *output = begin_tup_output_tupdesc(dest, columns, &TTSOpsMinimalTuple);

	while (tuplestore_gettupleslot(rows, true, false, output->slot))
		(void) output->dest->receiveSlot(output->slot, output->dest);
	end_tup_output(output);
}

void
call_run_for_node(UtilityCall *call)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		utility_run_next(call, true);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		node_session_call_fails(geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	node_session_call_ends();
}

bool
call_utility(UtilityCall *call)
{
	CallStmt   *stmt = castNode(CallStmt, call->pstmt->utilityStmt);
	TupleDesc	columns = stmt->funcexpr->funcresulttype == RECORDOID ? CallStmtResultDesc(stmt) : NULL;
	PlannedStmt *there = delegated_call_of_procedure(stmt, columns);
	Tuplestorestate *rows;
	bool		done;

	if (there == NULL)
		return false;
	rows = tuplestore_begin_heap(false, false, work_mem);
	PushActiveSnapshot(GetTransactionSnapshot());
	done = delegated_call_run(there, call->pstmt, call->params, columns, rows);
	PopActiveSnapshot();
	if (done && columns != NULL)
		return_row(call->dest, columns, rows);
	tuplestore_end(rows);
	return done;
}
