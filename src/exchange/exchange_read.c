/*-------------------------------------------------------------------------
 *
 * exchange_read.c
 *	  The rows of an exchange, as a function in FROM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/supportnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "compat/sql_function.h"
#include "exchange/exchange_row.h"
#include "exchange/exchange_store.h"

/*
 * Rows that are expected where the task's initiator doesn't say: many, so that
 * a plan for all exchanges costs more than one for this.
 */
#define EXCHANGE_UNKNOWN_ROWS 10000000

/* Reads so many bytes at an offset of a file; false at its end. */
static bool
read_exchange(File file, void *data, int len, off_t offset)
{
	int			found = FileRead(file, data, len, offset, WAIT_EVENT_BUFFILE_READ);

	if (found == 0)
		return false;
	if (found != len)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": read %d of %d bytes", FilePathName(file), found, len)));
	return true;
}

/* Adds the rows of a source to a tuplestore. */
static void
read_source(File file, ExchangeRow *row, TupleDesc columns, Tuplestorestate *store)
{
	MemoryContext batch_context = AllocSetContextCreate(CurrentMemoryContext, "citus exchange batch",
														ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(batch_context);
	off_t		offset = 0;
	int32		length;

	while (read_exchange(file, &length, sizeof(length), offset))
	{
		StringInfoData batch = {.data = MemoryContextAllocHuge(batch_context, (Size) length + 1),.len = length,
		.maxlen = length + 1};
		Datum	   *values = palloc(sizeof(Datum) * columns->natts);
		bool	   *nulls = palloc(sizeof(bool) * columns->natts);

		CHECK_FOR_INTERRUPTS();
		(void) read_exchange(file, batch.data, length, offset + sizeof(length));
		while (exchange_row_take(row, &batch, values, nulls))
			tuplestore_putvalues(store, columns, values, nulls);
		offset += sizeof(length) + length;
		MemoryContextReset(batch_context);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(batch_context);
}

/* citus_internal.exchange_read(id text, sources text[], nrows bigint) */
SQL_FUNCTION(citus_internal_exchange_read);
Datum
citus_internal_exchange_read(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *id = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ExchangeRow *row;
	Datum	   *sources;
	int			nsources;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row = exchange_row_create(result->setDesc, false);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &sources, NULL, &nsources);
	for (int i = 0; i < nsources; i++)
	{
		File		file = exchange_store_open(id, TextDatumGetCString(sources[i]));

		if (file < 0)
			continue;
		read_source(file, row, result->setDesc, result->setResult);
		FileClose(file);
	}
	PG_RETURN_NULL();
}

/* Its support function: how many rows the planner is to expect. */
SQL_FUNCTION(citus_internal_exchange_read_support);
Datum
citus_internal_exchange_read_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	const Const *rows;

	if (!IsA(request, SupportRequestRows) || !IsA(request->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	rows = lthird(((FuncExpr *) request->node)->args);
	request->rows = IsA(rows, Const) && !rows->constisnull ? DatumGetInt64(rows->constvalue) : EXCHANGE_UNKNOWN_ROWS;
	PG_RETURN_POINTER(request);
}
