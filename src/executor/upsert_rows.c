/*-------------------------------------------------------------------------
 *
 * upsert_rows.c
 *	  What an upsert text (modify_upsert_text) notes while it runs on the
 *	  node of a shard.
 *
 * The server inserts a batch row by row: the next row is read when the one
 * before is done with.  So the row that was read last is the one that is
 * inserted, or conflicts.  Whoever asks for DO UPDATE's condition has the
 * existing row locked already, in its latest version.
 *
 * All is forgotten when the next batch begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat/sql_function.h"

typedef struct Conflict
{
	int64		ordinal;
	ItemPointerData id;
	Datum		existing;
} Conflict;

/* The row of the batch that was read last. */
static int64 current_row = 0;

static MemoryContext conflicts_context = NULL;
static List *conflicts = NIL;	/* of Conflict */

/* citus_internal.upsert_row(ordinal): the batch goes on with this row. */
SQL_FUNCTION(citus_internal_upsert_row);
Datum
citus_internal_upsert_row(PG_FUNCTION_ARGS)
{
	current_row = PG_GETARG_INT64(0);
	if (current_row == 1)
	{
		if (conflicts_context == NULL)
			conflicts_context = AllocSetContextCreate(TopMemoryContext, "citus conflicts", ALLOCSET_SMALL_SIZES);
		MemoryContextReset(conflicts_context);
		conflicts = NIL;
	}
	PG_RETURN_BOOL(true);
}

/* citus_internal.upsert_ordinal(): the row that has been inserted. */
SQL_FUNCTION(citus_internal_upsert_ordinal);
Datum
citus_internal_upsert_ordinal(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(current_row);
}

/* citus_internal.upsert_conflict(id, existing): notes what the row conflicts with; false, so that nothing is updated. */
SQL_FUNCTION(citus_internal_upsert_conflict);
Datum
citus_internal_upsert_conflict(PG_FUNCTION_ARGS)
{
	MemoryContext old_context;
	Conflict   *conflict;

	if (conflicts_context == NULL)
		PG_RETURN_BOOL(false);
	old_context = MemoryContextSwitchTo(conflicts_context);
	conflict = palloc0(sizeof(Conflict));
	conflict->ordinal = current_row;
	ItemPointerCopy((ItemPointer) PG_GETARG_POINTER(0), &conflict->id);
	conflict->existing = datumCopy(PG_GETARG_DATUM(1), false, -1);
	conflicts = lappend(conflicts, conflict);
	MemoryContextSwitchTo(old_context);
	PG_RETURN_BOOL(false);
}

/* citus_internal.upsert_conflicts(type): what has been noted; forgets it. */
SQL_FUNCTION(citus_internal_upsert_conflicts);
Datum
citus_internal_upsert_conflicts(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ReturnSetInfo *result;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	foreach(cell, conflicts)
	{
		Conflict   *conflict = lfirst(cell);
		Datum		values[3] = {Int64GetDatum(conflict->ordinal), PointerGetDatum(&conflict->id), conflict->existing};
		bool		nulls[3] = {false};

		if (HeapTupleHeaderGetTypeId(DatumGetHeapTupleHeader(conflict->existing)) != type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("rows that were noted are not of type %s", format_type_be(type))));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	conflicts = NIL;
	if (conflicts_context != NULL)
		MemoryContextReset(conflicts_context);
	PG_RETURN_NULL();
}
