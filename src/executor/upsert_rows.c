/*-------------------------------------------------------------------------
 *
 * upsert_rows.c
 *	  State of an upsert text (modify_upsert_text) while it runs on the node
 *	  of a shard.
 *
 * The server inserts the rows of a batch one by one, and reads a row after it
 * has processed the one before.  So the row that was read last is the one that
 * is inserted, or conflicts.  When DO UPDATE's condition is evaluated, the
 * latest version of the existing row is already locked.  The state is reset
 * when the next batch begins.
 *
 * A statement of several batches (again_text) must not update a row twice, nor
 * one that it has inserted.  These are the rows that this transaction has
 * written since the statement began, which command ids show.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "compat/foreach.h"
#include "compat/proc.h"
#include "compat/sql_function.h"
#include "executor/upsert_rows.h"

typedef struct Conflict
{
	int64		ordinal;
	ItemPointerData id;
	Datum		existing;
} Conflict;

/* The row of the batch that was read last. */
static int64 current_row = 0;

static MemoryContext conflicts_context = NULL;
static List *noted_conflicts = NIL;	/* of Conflict */
static TupleDesc noted_columns = NULL;	/* of what they have noted */

/* When the statement began, and in which transaction. */
static CommandId first_command = FirstCommandId;
static LocalTransactionId first_transaction = InvalidLocalTransactionId;

void
upsert_rows_begin(void)
{
	CommandCounterIncrement();
	first_command = GetCurrentCommandId(false);
	first_transaction = PROC_LXID(MyProc);
}

/* citus_internal.upsert_begin(): upsert_rows_begin. */
SQL_FUNCTION(citus_internal_upsert_begin);
Datum
citus_internal_upsert_begin(PG_FUNCTION_ARGS)
{
	upsert_rows_begin();
	PG_RETURN_VOID();
}

/*
 * citus_internal.upsert_once(xmin, cmin): true; an error if a statement of
 * several batches has written the row before.
 */
SQL_FUNCTION(citus_internal_upsert_once);
Datum
citus_internal_upsert_once(PG_FUNCTION_ARGS)
{
	if (first_transaction == PROC_LXID(MyProc) && PG_GETARG_UINT32(1) >= first_command &&
		TransactionIdIsCurrentTransactionId(PG_GETARG_TRANSACTIONID(0)))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("ON CONFLICT DO UPDATE command cannot affect row a second time"),
				 errhint("Ensure that no rows proposed for insertion within the same command have duplicate "
						 "constrained values.")));
	PG_RETURN_BOOL(true);
}

static void
forget_conflicts(void)
{
	if (conflicts_context != NULL)
		MemoryContextReset(conflicts_context);
	noted_conflicts = NIL;
	noted_columns = NULL;
}

/* citus_internal.upsert_row(ordinal): notes that this row is processed now. */
SQL_FUNCTION(citus_internal_upsert_row);
Datum
citus_internal_upsert_row(PG_FUNCTION_ARGS)
{
	current_row = PG_GETARG_INT64(0);
	if (current_row == 1)
	{
		if (conflicts_context == NULL)
			conflicts_context = AllocSetContextCreate(TopMemoryContext, "citus conflicts", ALLOCSET_SMALL_SIZES);
		forget_conflicts();
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

/*
 * Errors unless rows of a type are what the rows are that have been noted,
 * which set what that is if there are none: any statements of a client can
 * have run in between.
 */
static void
check_noted_columns(Oid type)
{
	TupleDesc	columns = lookup_rowtype_tupdesc(type, -1);
	bool		same;

	if (noted_columns == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(conflicts_context);

		noted_columns = CreateTupleDescCopyConstr(columns);
		MemoryContextSwitchTo(old_context);
	}
	same = noted_columns->tdtypeid == type && equalTupleDescs(columns, noted_columns);
	ReleaseTupleDesc(columns);
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rows that were noted are not of type %s", format_type_be(type))));
}

/*
 * citus_internal.upsert_conflict(id, existing): notes what the row conflicts
 * with; false, so that nothing is updated.
 */
SQL_FUNCTION(citus_internal_upsert_conflict);
Datum
citus_internal_upsert_conflict(PG_FUNCTION_ARGS)
{
	HeapTupleHeader existing = PG_GETARG_HEAPTUPLEHEADER(1);
	MemoryContext old_context;
	Conflict   *conflict;

	if (conflicts_context == NULL)
		PG_RETURN_BOOL(false);
	check_noted_columns(HeapTupleHeaderGetTypeId(existing));
	old_context = MemoryContextSwitchTo(conflicts_context);
	conflict = palloc0(sizeof(Conflict));
	conflict->ordinal = current_row;
	ItemPointerCopy((ItemPointer) PG_GETARG_POINTER(0), &conflict->id);
	conflict->existing = datumCopy(HeapTupleHeaderGetDatum(existing), false, -1);
	noted_conflicts = lappend(noted_conflicts, conflict);
	MemoryContextSwitchTo(old_context);
	PG_RETURN_BOOL(false);
}

/*
 * citus_internal.upsert_conflicts(type): returns the noted conflicts, and
 * resets them.
 */
SQL_FUNCTION(citus_internal_upsert_conflicts);
Datum
citus_internal_upsert_conflicts(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ReturnSetInfo *result;

	InitMaterializedSRF(fcinfo, 0);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	if (noted_conflicts != NIL)
		check_noted_columns(type);
	foreach_ptr(Conflict, conflict, noted_conflicts)
	{
		Datum		values[3] = {Int64GetDatum(conflict->ordinal), PointerGetDatum(&conflict->id), conflict->existing};
		bool		nulls[3] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	forget_conflicts();
	PG_RETURN_NULL();
}
