/*-------------------------------------------------------------------------
 *
 * columnar.c
 *	  The table access method "columnar".
 *
 * See README.md.  This file has the access method's routine, and its functions
 * that fetch rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "columnar/bitmap_scan.h"
#include "columnar/chunk_cache.h"
#include "columnar/columnar.h"
#include "columnar/compaction.h"
#include "columnar/join_filter.h"
#include "columnar/late_fetch.h"
#include "columnar/options.h"
#include "columnar/scan_node.h"
#include "columnar/stripe_fetch.h"
#include "columnar/stripe_format.h"
#include "columnar/stripe_writer.h"
#include "columnar/table_build.h"
#include "columnar/table_index.h"
#include "columnar/table_modify.h"
#include "columnar/table_sample.h"
#include "columnar/table_scan.h"
#include "columnar/table_vacuum.h"
#include "compat/bitmap_pages.h"
#include "compat/sql_function.h"
#include "compat/table_am.h"

typedef struct ColumnarIndexFetch
{
	IndexFetchTableData base;	/* must be first */
	IndexFetchTableData *heap;	/* of the row-wise part */
	const Bitmapset *columns;	/* of stripes' rows, from 1; NULL: all */
} ColumnarIndexFetch;

static TableAmRoutine columnar_routine;

static const TupleTableSlotOps *
columnar_slot_callbacks(Relation table)
{
	return &TTSOpsBufferHeapTuple;
}

static IndexFetchTableData *
columnar_index_fetch_begin(INDEX_FETCH_PARAMS)
{
	ColumnarIndexFetch *fetch = palloc0(sizeof(ColumnarIndexFetch));

	fetch->base.rel = table;
	fetch->heap = GetHeapamTableAmRoutine()->index_fetch_begin(INDEX_FETCH_ARGS);
	return &fetch->base;
}

void
columnar_index_fetch_columns(IndexFetchTableData *fetch, const Bitmapset *columns)
{
	((ColumnarIndexFetch *) fetch)->columns = columns;
}

static void
columnar_index_fetch_reset(IndexFetchTableData *base)
{
	GetHeapamTableAmRoutine()->index_fetch_reset(((ColumnarIndexFetch *) base)->heap);
}

static void
columnar_index_fetch_end(IndexFetchTableData *base)
{
	GetHeapamTableAmRoutine()->index_fetch_end(((ColumnarIndexFetch *) base)->heap);
	pfree(base);
}

static bool
columnar_index_fetch_tuple(IndexFetchTableData *base, ItemPointer ctid, Snapshot snapshot, TupleTableSlot *slot,
						   bool *call_again, bool *all_dead)
{
	if (!ctid_is_in_stripe(ctid))
		return GetHeapamTableAmRoutine()->index_fetch_tuple(((ColumnarIndexFetch *) base)->heap, ctid, snapshot,
															slot, call_again, all_dead);
	*call_again = false;
	if (all_dead != NULL)
		*all_dead = false;
	return stripe_fetch_visible(base->rel, ctid, snapshot, ((ColumnarIndexFetch *) base)->columns, slot);
}

static bool
columnar_tuple_fetch_row_version(Relation table, ItemPointer ctid, Snapshot snapshot, TupleTableSlot *slot)
{
	if (!ctid_is_in_stripe(ctid))
		return GetHeapamTableAmRoutine()->tuple_fetch_row_version(table, ctid, snapshot, slot);
	return stripe_fetch_visible(table, ctid, snapshot, NULL, slot);
}

static bool
columnar_tuple_satisfies_snapshot(Relation table, TupleTableSlot *slot, Snapshot snapshot)
{
	if (!ctid_is_in_stripe(&slot->tts_tid))
		return GetHeapamTableAmRoutine()->tuple_satisfies_snapshot(table, slot, snapshot);
	return stripe_row_is_visible(table, &slot->tts_tid, snapshot);
}

/*
 * The heap's function finds out which of its rows are gone; entries of rows
 * of stripes stay.
 */
static TransactionId
columnar_index_delete_tuples(Relation table, TM_IndexDeleteOp *delstate)
{
	int			kept = 0;

	for (int i = 0; i < delstate->ndeltids; i++)
	{
		if (!ctid_is_in_stripe(&delstate->deltids[i].tid))
			delstate->deltids[kept++] = delstate->deltids[i];
	}
	delstate->ndeltids = kept;
	if (kept == 0)
		return InvalidTransactionId;
	return GetHeapamTableAmRoutine()->index_delete_tuples(table, delstate);
}

bool
columnar_is_columnar(Relation table)
{
	return table->rd_tableam == &columnar_routine;
}

/* citus_internal.columnar_handler(internal) */
SQL_FUNCTION(citus_internal_columnar_handler);
Datum
citus_internal_columnar_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&columnar_routine);
}

void
columnar_init(void)
{
	/* What isn't said otherwise is the heap's. */
	memcpy(&columnar_routine, GetHeapamTableAmRoutine(), sizeof(TableAmRoutine));
	columnar_routine.slot_callbacks = columnar_slot_callbacks;
	columnar_routine.index_fetch_begin = columnar_index_fetch_begin;
	columnar_routine.index_fetch_reset = columnar_index_fetch_reset;
	columnar_routine.index_fetch_end = columnar_index_fetch_end;
	columnar_routine.index_fetch_tuple = columnar_index_fetch_tuple;
	columnar_routine.tuple_fetch_row_version = columnar_tuple_fetch_row_version;
	columnar_routine.tuple_satisfies_snapshot = columnar_tuple_satisfies_snapshot;
	columnar_routine.index_delete_tuples = columnar_index_delete_tuples;
	columnar_routine.scan_set_tidrange = NULL;
	columnar_routine.scan_getnextslot_tidrange = NULL;
	compat_own_bitmap_scans(&columnar_routine);
	table_scan_set(&columnar_routine);
	table_sample_set(&columnar_routine);
	table_modify_set(&columnar_routine);
	table_build_set(&columnar_routine);
	table_index_set(&columnar_routine);
	table_vacuum_set(&columnar_routine);
	columnar_compaction_init();
	columnar_options_init();
	stripe_writer_init();
	chunk_cache_init();
	scan_node_init();
	bitmap_scan_init();
	late_fetch_init();
	join_filter_init();
}
