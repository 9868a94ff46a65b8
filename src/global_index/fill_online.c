/*-------------------------------------------------------------------------
 *
 * fill_online.c
 *	  Entries for the rows that a table has, while others write them.
 *
 * Rows that were written since the index has its entries have theirs.  One
 * transaction lists the rows that have none, as of one point in time.  Others
 * lock some of these rows each, as a writer does, and add their entries.  So
 * writers wait for such a transaction at most.  A row that is locked itself is
 * left out; and all of this is repeated until every row has its entry.
 *
 * The list outlives transactions, so it has memory and files of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "global_index/entry_plan.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/run_as.h"
#include "lib/subtransaction.h"
#include "table/definition.h"
#include "table/run_commands.h"

/* Rows that one transaction locks. */
#define FILL_ROWS 1000

/* Rows that are read at once. */
#define LIST_ROWS 10000

/* Entries that rows lack. */
typedef struct MissingEntries
{
	MemoryContext context;
	TupleDesc	desc;			/* the entries' */
	Tuplestorestate *rows;
	TupleTableSlot *slot;
} MissingEntries;

/*
 * Starts the next transaction; its statements see what is committed when they
 * start.
 */
static void
next_fill_transaction(void)
{
	run_commands_next_transaction();
	XactIsoLevel = XACT_READ_COMMITTED;
	PushActiveSnapshot(GetTransactionSnapshot());	/* for functions in
													 * conditions */
}

/* The entries that rows lack, those of a shard together. */
static char *
missing_query(Relation rel, Relation index, Oid entries)
{
	StringInfoData columns;
	EntryShape	shape;

	entry_shape(rel, index, &shape);
	initStringInfo(&columns);
	for (int i = 0; i < shape.ncolumns; i++)
		appendStringInfo(&columns, "%sc%d", i == 0 ? "" : ", ", i);
	return psprintf("SELECT * FROM (%s EXCEPT ALL TABLE %s) d (%s) ORDER BY pg_catalog.worker_hash(c%d)",
					entries_query(rel, index), relation_qualified_name(entries), columns.data, shape.nkeys);
}

/* Reads the rows of a query into the list; how many. */
static uint64
list_rows(MissingEntries *missing, const char *sql)
{
	Portal		portal;
	uint64		count = 0;

	SPI_connect();
	portal = SPI_cursor_parse_open(NULL, sql, &(SPIParseOpenOptions) {.read_only = false});
	do
	{
		SPI_cursor_fetch(portal, true, LIST_ROWS);
		for (uint64 i = 0; i < SPI_processed; i++)
			tuplestore_puttuple(missing->rows, SPI_tuptable->vals[i]);
		count += SPI_processed;
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed == LIST_ROWS);
	SPI_cursor_close(portal);
	SPI_finish();
	return count;
}

/* Lists the entries that rows lack; false if there are none. */
static bool
list_missing(MissingEntries *missing, Oid relid, Oid indexid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Relation	index = index_open(indexid, AccessShareLock);
	Oid			entries = global_index_entries(indexid);
	Relation	entries_rel = relation_open(entries, AccessShareLock);
	MemoryContext old_context = MemoryContextSwitchTo(missing->context);
	ResourceOwner owner = CurrentResourceOwner;
	RunAs		caller;
	bool		any;

	missing->desc = CreateTupleDescCopy(RelationGetDescr(entries_rel));
	missing->slot = MakeSingleTupleTableSlot(missing->desc, &TTSOpsMinimalTuple);
	CurrentResourceOwner = NULL;
	missing->rows = tuplestore_begin_heap(false, true, maintenance_work_mem);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old_context);
	caller = run_as_owner_begin(entries);
	entries_require_all_rows();
	any = list_rows(missing, missing_query(rel, index, entries)) > 0;
	run_as_end(caller);
	relation_close(entries_rel, AccessShareLock);
	index_close(index, AccessShareLock);
	relation_close(rel, AccessShareLock);
	return any;
}

/* A transaction's rows, by columns of their entries. */
typedef struct FillBatch
{
	int			count;
	Datum	   *values[MAX_ENTRY_COLUMNS];
	bool	   *nulls[MAX_ENTRY_COLUMNS];
} FillBatch;

/* Takes rows from the list, no more than that; false if there are none. */
static bool
take_listed_rows(MissingEntries *missing, int ncolumns, int limit, FillBatch *batch)
{
	batch->count = 0;
	for (int i = 0; i < ncolumns; i++)
	{
		batch->values[i] = palloc(sizeof(Datum) * limit);
		batch->nulls[i] = palloc(sizeof(bool) * limit);
	}
	while (batch->count < limit && tuplestore_gettupleslot(missing->rows, true, false, missing->slot))
	{
		for (int i = 0; i < ncolumns; i++)
		{
			Form_pg_attribute att = TupleDescAttr(missing->desc, i);
			Datum		value = slot_getattr(missing->slot, i + 1, &batch->nulls[i][batch->count]);

			batch->values[i][batch->count] = batch->nulls[i][batch->count] ? (Datum) 0 :
				datumCopy(value, att->attbyval, att->attlen);
		}
		batch->count++;
	}
	ExecClearTuple(missing->slot);	/* its tuple is in the batch's memory */
	return batch->count > 0;
}

/* Adds the entries of a batch's rows, which it locks. */
static void
fill_listed_rows(MissingEntries *missing, Oid relid, Oid indexid, const EntryShape *shape, FillBatch *batch, bool waits)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Relation	index = index_open(indexid, AccessShareLock);
	const char *value = quote_identifier(get_attname(relid, shape->dist_attno, false));
	Oid			types[MAX_ENTRY_COLUMNS];
	Datum		params[MAX_ENTRY_COLUMNS];
	int			nparams = 0;
	int			lower_bound = 1;
	StringInfoData sql;
	StringInfoData columns;
	ParamRows	rows = {0};

	initStringInfo(&sql);
	initStringInfo(&columns);
	appendStringInfoString(&sql, entries_query(rel, index));
	for (int i = 0; i <= shape->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(missing->desc, i);
		const char *column = i == shape->nkeys ? value : i < shape->nindex ? entry_key_text(index, i + 1) :
			quote_identifier(get_attname(relid, shape->identity[i - shape->nindex], false));

		if (i >= shape->nrequired && i < shape->nindex)
			continue;			/* it may be null */
		types[nparams] = get_array_type(att->atttypid);
		params[nparams++] = PointerGetDatum(construct_md_array(batch->values[i], batch->nulls[i], 1, &batch->count, &lower_bound,
															   att->atttypid, att->attlen, att->attbyval, att->attalign));
		if (i == shape->nkeys)
		{
			appendStringInfo(&sql, " AND (%s OPERATOR(pg_catalog.=) ANY ($%d) OR %s IS NULL)", value, nparams, value);
			continue;
		}
		appendStringInfo(&sql, " AND %s OPERATOR(pg_catalog.=) ANY ($%d)", column, nparams);
		appendStringInfo(&columns, "%s%s", nparams == 1 ? "" : ", ", column);
		param_rows_add(&rows, nparams, types[nparams - 1]);
	}
	if (nparams > 2)
		appendStringInfo(&sql, " AND (%s) IN (%s)", columns.data, param_rows_query(&rows));
	appendStringInfo(&sql, " FOR SHARE%s", waits ? "" : " SKIP LOCKED");
	entries_add(rel, indexid, sql.data, nparams, types, params);
	index_close(index, AccessShareLock);
	relation_close(rel, AccessShareLock);
}

/* What fill_waiting is to add. */
typedef struct FillCall
{
	MissingEntries *missing;
	Oid			relid;
	Oid			indexid;
	const EntryShape *shape;
	FillBatch  *batch;
	bool		waits;
} FillCall;

static bool
fill_called(void *arg)
{
	FillCall   *call = arg;

	fill_listed_rows(call->missing, call->relid, call->indexid, call->shape, call->batch, call->waits);
	return true;
}

/*
 * Adds the entries of rows of a list.  If one of them goes to another shard
 * while it is waited for, or since the snapshot, to lock it is an error
 * (40001): its writer has written its entry, and the next list has the others.
 */
static void
fill_unless_moved(FillCall *call)
{
	ErrorData  *error;

	if (!subtransaction_run(fill_called, call, &error) && error->sqlerrcode != ERRCODE_T_R_SERIALIZATION_FAILURE)
		catch_rethrow(error);
}

/* Adds the entries of a list's rows; those of rows that are locked later. */
static void
fill_list(MissingEntries *missing, Oid relid, Oid indexid, bool waits)
{
	MemoryContext batch_context = AllocSetContextCreate(missing->context, "entries of a transaction", ALLOCSET_DEFAULT_SIZES);
	bool		more = true;

	while (more)
	{
		Relation	rel = relation_open(relid, AccessShareLock);
		Relation	index = index_open(indexid, AccessShareLock);
		MemoryContext old_context = MemoryContextSwitchTo(batch_context);
		EntryShape	shape;
		FillBatch	batch;

		CHECK_FOR_INTERRUPTS();
		entry_shape(rel, index, &shape);
		index_close(index, AccessShareLock);
		relation_close(rel, AccessShareLock);
		/* the first one is waited for, while no other one is locked */
		more = take_listed_rows(missing, shape.nkeys + 1, waits ? 1 : FILL_ROWS, &batch);
		if (more)
			fill_unless_moved(&(FillCall) {missing, relid, indexid, &shape, &batch, waits});
		waits = false;
		next_fill_transaction();
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(batch_context);
	}
}

/*
 * Lists the rows without an entry and adds their entries; false if there are
 * none.  waits: also those that are locked, one of them.
 */
static bool
fill_once(Oid relid, Oid index, bool waits)
{
	MissingEntries missing = {0};
	volatile bool any = false;

	missing.context = AllocSetContextCreate(CurrentMemoryContext, "entries that rows lack", ALLOCSET_DEFAULT_SIZES);
	next_fill_transaction();
	PG_TRY();
	{
		any = list_missing(&missing, relid, index);
		next_fill_transaction();
		if (!waits)
			DEBUG_POINT("global-index-listed");
		if (any)
			fill_list(&missing, relid, index, waits);
	}
	PG_FINALLY();
	{
		if (missing.rows != NULL)
			tuplestore_end(missing.rows);	/* its files, too */
	}
	PG_END_TRY();
	MemoryContextDelete(missing.context);
	return any;
}

void
entries_fill_online(Oid relid, Oid index)
{
	bool		waits = false;

	while (fill_once(relid, index, waits))
		waits = true;
}
