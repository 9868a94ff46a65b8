/*-------------------------------------------------------------------------
 *
 * nested_run.c
 *	  Statements that a plan node runs as a whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "utils/snapmgr.h"

#include "compat/executor_run.h"
#include "executor/nested_run.h"

uint64
nested_run(PlannedStmt *statement, const char *text, ParamListInfo params, Tuplestorestate *rows, MemoryContext context)
{
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	QueryDesc  *query_desc;
	uint64		processed;

	SetTuplestoreDestReceiverParams(dest, rows, context, false, NULL, NULL);
	query_desc = CreateQueryDesc(statement, text, GetActiveSnapshot(), InvalidSnapshot, dest, params, NULL, 0);
	ExecutorStart(query_desc, 0);
	ExecutorRun(query_desc, ForwardScanDirection, 0);
	ExecutorFinish(query_desc);
	processed = query_desc->estate->es_processed;
	ExecutorEnd(query_desc);
	FreeQueryDesc(query_desc);
	dest->rDestroy(dest);
	return processed;
}
