/*-------------------------------------------------------------------------
 *
 * table_index.c
 *	  The access method's functions that build indexes.
 *
 * For the row-wise part, the heap's functions are called, which insist on a
 * relation whose access method is the heap: heap_view_make().
 *
 * A concurrent build indexes what one snapshot sees of both parts, so that no
 * row comes in two versions.  A later one sees the rows that were missed: the
 * ctids of those that the index has come in order, the row-wise part's first.
 *
 * A BRIN index has entries for ranges of blocks, of which a stripe's would be
 * far beyond the last: it is about the row-wise part.  For stripes, the bounds
 * of chunks do its work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "columnar/stripe_scan.h"
#include "columnar/stripe_writer.h"
#include "columnar/table_index.h"
#include "columnar/table_scan.h"
#include "compat/sort_datum.h"
#include "lib/debug_point.h"

/*
 * A copy of a relation, with the heap as its access method.  It is not freed
 * if there is an error meanwhile, since the storage manager and resource
 * owners may point to it.  What is counted belongs to the relation, to which
 * the counters point back, at the latest from here on.
 */
static Relation
heap_view_make(Relation table)
{
	Relation	view = MemoryContextAlloc(TopMemoryContext, sizeof(RelationData));

	(void) pgstat_should_count_relation(table);
	memcpy(view, table, sizeof(RelationData));
	view->rd_smgr = NULL;
	view->rd_tableam = GetHeapamTableAmRoutine();
	return view;
}

static void
heap_view_free(Relation view)
{
	RelationCloseSmgr(view);
	pfree(view);
}

/* The columns that an index reads, from 0. */
static Bitmapset *
columns_of_index(Relation table, IndexInfo *info)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *columns = NULL;
	int			attno = -1;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		if (info->ii_IndexAttrNumbers[i] > 0)
			columns = bms_add_member(columns, info->ii_IndexAttrNumbers[i] - 1);
	}
	pull_varattnos((Node *) info->ii_Expressions, 1, &attnos);
	pull_varattnos((Node *) info->ii_Predicate, 1, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		if (attno + FirstLowInvalidHeapAttributeNumber <= 0)
			return stripe_reader_all_columns(RelationGetDescr(table));
		columns = bms_add_member(columns, attno + FirstLowInvalidHeapAttributeNumber - 1);
	}
	return columns;
}

/* Makes the current row the slot's, as values; columns not read are NULL. */
static void
store_virtual_row(StripeScan *scan, TupleTableSlot *slot)
{
	const StripeReader *reader = scan->reader;
	uint32		row = (uint32) scan->row - reader->group_start;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	stripe_reader_store_values(reader, scan->columns, row, slot);
	stripe_ctid_of_row(reader->stripe.first_block, (uint32) scan->row, &slot->tts_tid);
	slot->tts_tableOid = RelationGetRelid(reader->table);
}

/*
 * Calls back for each row of the stripes that a snapshot sees.  With
 * SnapshotSelf, also for those that are deleted: older snapshots may see them;
 * stripes of transactions in progress are this one's then, as the caller's
 * lock keeps others out.  Returns how many rows are not deleted.
 */
static double
index_stripes(Relation table, Relation index, IndexInfo *info, Snapshot snapshot, pg_atomic_uint64 *shared,
			  IndexBuildCallback callback, void *callback_state)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsVirtual);
	ExprState  *predicate = ExecPrepareQual(info->ii_Predicate, estate);
	StripeScan *scan = stripe_scan_begin(table, RelationGetDescr(table), snapshot, columns_of_index(table, info),
										 shared);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	double		rows = 0;

	econtext->ecxt_scantuple = slot;
	scan->marked_too = snapshot == SnapshotSelf;
	while (stripe_scan_next(scan, ForwardScanDirection))
	{
		bool		alive = !stripe_scan_row_is_marked(scan);

		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		store_virtual_row(scan, slot);
		if (alive)
			rows++;
		if (predicate != NULL && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, nulls);
		callback(index, &slot->tts_tid, values, nulls, alive, callback_state);
	}
	stripe_scan_end(scan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);

	/* These may have been pointing into the executor's state. */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
	return rows;
}

/*
 * The row-wise part's share of a build: pages from start on, as many as
 * nblocks, of what the scan sees, if there is one, which ends.
 */
static double
index_row_wise_part(Relation table, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible, bool progress,
					BlockNumber start, BlockNumber nblocks, IndexBuildCallback callback, void *callback_state,
					Snapshot snapshot, TableScanDesc scan)
{
	Relation	view = heap_view_make(table);
	TableScanDesc heap_scan = NULL;
	double		rows;

	if (scan != NULL)
		heap_scan = heap_beginscan(view, scan->rs_snapshot, 0, NULL, scan->rs_parallel,
								   scan->rs_flags & ~SO_TEMP_SNAPSHOT);
	else if (IsMVCCSnapshot(snapshot) && index->rd_rel->relam != BRIN_AM_OID)
	{
		heap_scan = table_beginscan_strat(view, snapshot, 0, NULL, true, allow_sync);
		allow_sync = true;		/* or the server thinks that it began a scan */
	}
	rows = view->rd_tableam->index_build_range_scan(view, index, info, allow_sync, anyvisible, progress, start,
													nblocks, callback, callback_state, heap_scan);
	heap_view_free(view);
	if (scan != NULL)
		table_endscan(scan);
	return rows;
}

static double
columnar_index_build_range_scan(Relation table, Relation index, struct IndexInfo *info, bool allow_sync,
								bool anyvisible, bool progress, BlockNumber start, BlockNumber nblocks,
								IndexBuildCallback callback, void *callback_state, TableScanDesc scan)
{
	bool		registered = scan == NULL && info->ii_Concurrent;
	Snapshot	snapshot = SnapshotSelf;
	pg_atomic_uint64 *shared = NULL;
	double		rows = 0;

	if (registered)
		snapshot = RegisterSnapshot(GetTransactionSnapshot());
	else if (info->ii_Concurrent)
		snapshot = scan->rs_snapshot;
	if (scan != NULL)
		shared = table_scan_shared_groups(scan);
	else
		stripe_writer_flush(table);
	if (index->rd_rel->relam != BRIN_AM_OID)
		rows = index_stripes(table, index, info, snapshot, shared, callback, callback_state);
	DEBUG_POINT("columnar-index");
	rows += index_row_wise_part(table, index, info, allow_sync, anyvisible, progress, start, nblocks, callback,
								callback_state, snapshot, scan);
	if (registered)
		UnregisterSnapshot(snapshot);
	return rows;
}

/* The ctids that an index has, in order. */
typedef struct IndexedCtids
{
	Tuplesortstate *sort;
	ItemPointerData ctid;
	bool		at_end;
} IndexedCtids;

/* As the server encodes them for validate_index(). */
static bool
next_indexed_ctid(IndexedCtids *indexed)
{
	Datum		value;
	bool		isnull;

	indexed->at_end = !compat_sort_next_datum(indexed->sort, &value, &isnull);
	if (!indexed->at_end)
		itemptr_decode(&indexed->ctid, DatumGetInt64(value));
	return !indexed->at_end;
}

/* Adds entries to an index that is being built. */
typedef struct IndexFiller
{
	Relation	table;
	Relation	index;
	IndexInfo  *info;
	Snapshot	snapshot;
	EState	   *estate;
	ExprState  *predicate;
	struct ValidateIndexState *state;
} IndexFiller;

/* Adds the entry of a row, if the index has rows like it. */
static void
add_missed_entry(IndexFiller *filler, TupleTableSlot *slot, ItemPointer ctid)
{
	IndexInfo  *info = filler->info;
	ExprContext *econtext = GetPerTupleExprContext(filler->estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	MemoryContextReset(econtext->ecxt_per_tuple_memory);
	econtext->ecxt_scantuple = slot;
	if (filler->predicate != NULL && !ExecQual(filler->predicate, econtext))
		return;
	FormIndexDatum(info, slot, filler->estate, values, nulls);
	(void) index_insert(filler->index, values, nulls, ctid, filler->table,
						info->ii_Unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
	filler->state->tups_inserted++;
}

/*
 * Notes which rows of a page the index has, by their offsets; *indexed is
 * at none before the page.
 */
static void
note_indexed_rows(IndexedCtids *indexed, BlockNumber block, bool *in_index)
{
	memset(in_index, 0, MaxHeapTuplesPerPage * sizeof(bool));
	while (!indexed->at_end && ItemPointerGetBlockNumber(&indexed->ctid) <= block)
	{
		if (ItemPointerGetBlockNumber(&indexed->ctid) == block)
			in_index[ItemPointerGetOffsetNumber(&indexed->ctid) - 1] = true;
		(void) next_indexed_ctid(indexed);
	}
}

/*
 * Adds the entries that the index lacks for rows of the row-wise part.  An
 * entry leads to the first version of a row in its page (HOT).
 */
static void
index_missed_heap_rows(IndexFiller *filler, IndexedCtids *indexed)
{
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();
	TableScanDesc scan = heap->scan_begin(filler->table, filler->snapshot, 0, NULL, NULL,
										  SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE);
	TupleTableSlot *slot = table_slot_create(filler->table, NULL);
	BlockNumber block = InvalidBlockNumber;
	OffsetNumber roots[MaxHeapTuplesPerPage];
	bool		in_index[MaxHeapTuplesPerPage];

	while (heap->scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		OffsetNumber offset = ItemPointerGetOffsetNumber(&slot->tts_tid);
		ItemPointerData root;

		CHECK_FOR_INTERRUPTS();
		if (ItemPointerGetBlockNumber(&slot->tts_tid) != block)
		{
			Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;

			block = ItemPointerGetBlockNumber(&slot->tts_tid);
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			heap_get_root_tuples(BufferGetPage(buffer), roots);
			LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
			note_indexed_rows(indexed, block, in_index);
		}
		filler->state->htups++;
		if (!OffsetNumberIsValid(roots[offset - 1]))
			elog(ERROR, "row (%u,%u) of columnar table \"%s\" has no first version", block, offset,
				 RelationGetRelationName(filler->table));
		ItemPointerSet(&root, block, roots[offset - 1]);
		if (!in_index[roots[offset - 1] - 1])
			add_missed_entry(filler, slot, &root);
	}
	ExecDropSingleTupleTableSlot(slot);
	heap->scan_end(scan);
}

/* The same for rows of the stripes. */
static void
index_missed_stripe_rows(IndexFiller *filler, IndexedCtids *indexed)
{
	TupleDesc	tupdesc = RelationGetDescr(filler->table);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(tupdesc, &TTSOpsVirtual);
	StripeScan *scan = stripe_scan_begin(filler->table, tupdesc, filler->snapshot,
										 columns_of_index(filler->table, filler->info), NULL);

	while (stripe_scan_next(scan, ForwardScanDirection))
	{
		store_virtual_row(scan, slot);
		filler->state->htups++;
		while (!indexed->at_end && ItemPointerCompare(&indexed->ctid, &slot->tts_tid) < 0)
			(void) next_indexed_ctid(indexed);
		if (indexed->at_end || !ItemPointerEquals(&indexed->ctid, &slot->tts_tid))
			add_missed_entry(filler, slot, &slot->tts_tid);
	}
	stripe_scan_end(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * The heap's function would ask whether a key is taken in the row-wise part
 * only.
 */
static void
columnar_index_validate_scan(Relation table, Relation index, struct IndexInfo *info, Snapshot snapshot,
							 struct ValidateIndexState *state)
{
	IndexedCtids indexed = {.sort = state->tuplesort};
	IndexFiller filler = {
		.table = table,
		.index = index,
		.info = info,
		.snapshot = snapshot,
		.estate = CreateExecutorState(),
		.state = state
	};

	filler.predicate = ExecPrepareQual(info->ii_Predicate, filler.estate);
	(void) next_indexed_ctid(&indexed);
	index_missed_heap_rows(&filler, &indexed);
	if (index->rd_rel->relam != BRIN_AM_OID)
		index_missed_stripe_rows(&filler, &indexed);
	FreeExecutorState(filler.estate);

	/* These may have been pointing into the executor's state. */
	info->ii_ExpressionsState = NIL;
	info->ii_PredicateState = NULL;
}

void
table_index_set(TableAmRoutine *routine)
{
	routine->index_build_range_scan = columnar_index_build_range_scan;
	routine->index_validate_scan = columnar_index_validate_scan;
}
