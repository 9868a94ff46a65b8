/*-------------------------------------------------------------------------
 *
 * table_scan.c
 *	  The access method's scans.
 *
 * A scan returns the rows of the stripes, then those of the row-wise part,
 * which a scan of the heap finds (backward, the other way round).  A scan of a
 * range of ctids returns rows in their order, so the row-wise part comes
 * first.  All columns are read: the server's own scan doesn't say which it
 * needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "utils/snapmgr.h"

#include "columnar/stripe_fetch.h"
#include "columnar/stripe_scan.h"
#include "columnar/stripe_writer.h"
#include "columnar/table_scan.h"
#include "compat/table_am.h"

/* The shared state of a parallel scan. */
typedef struct ColumnarParallelScan
{
	ParallelBlockTableScanDescData heap;	/* must be first */
	pg_atomic_uint64 next_group;
} ColumnarParallelScan;

static TableScanDesc
columnar_scan_begin(Relation table, Snapshot snapshot, int nkeys, struct ScanKeyData *key,
					ParallelTableScanDesc parallel, uint32 flags)
{
	ColumnarScan *scan = palloc0(sizeof(ColumnarScan));

	if (nkeys > 0)
		elog(ERROR, "scan of columnar table \"%s\" has keys", RelationGetRelationName(table));
	stripe_writer_flush(table);
	scan->base.rs_rd = table;
	scan->base.rs_snapshot = snapshot;
	scan->base.rs_flags = flags;
	scan->base.rs_parallel = parallel;
	scan->context = CurrentMemoryContext;
	scan->heap = GetHeapamTableAmRoutine()->scan_begin(table, snapshot, 0, NULL, parallel,
													   flags & ~SO_TEMP_SNAPSHOT);
	return &scan->base;
}

static void
columnar_scan_end(TableScanDesc sscan)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	if (scan->stripes != NULL)
		stripe_scan_end(scan->stripes);
	if (scan->heap_slot != NULL)
		ExecDropSingleTupleTableSlot(scan->heap_slot);
	GetHeapamTableAmRoutine()->scan_end(scan->heap);
	if ((scan->base.rs_flags & SO_TEMP_SNAPSHOT) != 0)
		UnregisterSnapshot(scan->base.rs_snapshot);
	pfree(scan);
}

static void
columnar_scan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params, bool allow_strat, bool allow_sync,
					 bool allow_pagemode)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	stripe_writer_flush(scan->base.rs_rd);
	if (scan->stripes != NULL)
		stripe_scan_rewind(scan->stripes);
	scan->part = SCAN_STRIPES;
	scan->selected_at = 0;
	scan->sample_next = 0;
	scan->range_begun = false;
	GetHeapamTableAmRoutine()->scan_rescan(scan->heap, NULL, set_params, allow_strat, allow_sync, allow_pagemode);
}

pg_atomic_uint64 *
table_scan_shared_groups(TableScanDesc scan)
{
	ColumnarParallelScan *parallel = (ColumnarParallelScan *) scan->rs_parallel;

	return parallel != NULL ? &parallel->next_group : NULL;
}

/*
 * ANALYZE's scans have no snapshot.  Of a dead stripe, chunks may be missing.
 */
static Snapshot
snapshot_for_stripes(ColumnarScan *scan)
{
	Snapshot	given = scan->base.rs_snapshot;

	if (given != NULL && given->snapshot_type == SNAPSHOT_ANY)
	{
		InitNonVacuumableSnapshot(scan->not_dead, GlobalVisTestFor(scan->base.rs_rd));
		return &scan->not_dead;
	}
	if (given != NULL)
		return given;
	return ActiveSnapshotSet() ? GetActiveSnapshot() : SnapshotSelf;
}

static bool group_is_in_range(void *arg, const StripeReader *reader, int group);

void
table_scan_begin_stripes(ColumnarScan *scan, TupleDesc tupdesc)
{
	MemoryContext old;

	if (scan->stripes != NULL)
		return;
	old = MemoryContextSwitchTo(scan->context);
	scan->stripes = stripe_scan_begin(scan->base.rs_rd, tupdesc, snapshot_for_stripes(scan),
									  scan->projection != NULL ? scan->projection->columns :
									  stripe_reader_all_columns(tupdesc),
									  table_scan_shared_groups(&scan->base));
	scan->stripes->marked_too = scan->stripes->snapshot == &scan->not_dead;
	if (scan->projection != NULL)
	{
		scan->stripes->test = scan->projection->test;
		scan->stripes->test_arg = scan->projection->test_arg;
		scan->stripes->filter = scan->projection->filter;
		scan->stripes->filter_arg = scan->projection->filter_arg;
	}
	if (scan->ranged)
	{
		scan->stripes->test = group_is_in_range;
		scan->stripes->test_arg = scan;
	}
	MemoryContextSwitchTo(old);
}

static bool
next_stripe_row(ColumnarScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	if (!stripe_scan_next(scan->stripes, direction))
		return false;
	stripe_reader_store_tuple(scan->stripes->reader, (uint32) scan->stripes->row, slot);
	return true;
}

static bool
columnar_scan_getnextslot(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();

	table_scan_begin_stripes(scan, slot->tts_tupleDescriptor);
	if (!ScanDirectionIsBackward(direction))
	{
		if (scan->part == SCAN_STRIPES)
		{
			if (next_stripe_row(scan, direction, slot))
				return true;
			scan->part = SCAN_ROW_WISE;
		}
		return heap->scan_getnextslot(scan->heap, direction, slot);
	}

	/* A backward scan that begins, begins at the end. */
	if (scan->part == SCAN_STRIPES && scan->stripes->group < 0)
	{
		scan->part = SCAN_ROW_WISE;
		scan->stripes->group = scan->stripes->ngroups;
	}
	if (scan->part == SCAN_ROW_WISE)
	{
		if (heap->scan_getnextslot(scan->heap, direction, slot))
			return true;
		scan->part = SCAN_STRIPES;
	}
	if (next_stripe_row(scan, direction, slot))
		return true;
	ExecClearTuple(slot);
	return false;
}

static bool
ctid_is_in_range(ColumnarScan *scan, ItemPointer ctid)
{
	return ItemPointerCompare(ctid, &scan->range_min) >= 0 && ItemPointerCompare(ctid, &scan->range_max) <= 0;
}

/* ChunkGroupTest: whether the range has ctids of a chunk group's rows. */
static bool
group_is_in_range(void *arg, const StripeReader *reader, int group)
{
	ColumnarScan *scan = arg;
	uint32		start = 0;
	ItemPointerData first;
	ItemPointerData last;

	for (int i = 0; i < group; i++)
		start += reader->footer.group_rows[i];
	stripe_ctid_of_row(reader->stripe.first_block, start, &first);
	stripe_ctid_of_row(reader->stripe.first_block, start + reader->footer.group_rows[group] - 1, &last);
	return ItemPointerCompare(&first, &scan->range_max) <= 0 && ItemPointerCompare(&last, &scan->range_min) >= 0;
}

static void
columnar_scan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	scan->ranged = true;
	scan->range_begun = false;
	scan->range_min = *mintid;
	scan->range_max = *maxtid;
	if (scan->stripes != NULL)
		stripe_scan_rewind(scan->stripes);
	GetHeapamTableAmRoutine()->scan_set_tidrange(scan->heap, mintid, maxtid);
}

static bool
next_stripe_row_of_range(ColumnarScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	while (stripe_scan_next(scan->stripes, direction))
	{
		ItemPointerData ctid;

		stripe_ctid_of_row(scan->stripes->reader->stripe.first_block, (uint32) scan->stripes->row, &ctid);
		if (!ctid_is_in_range(scan, &ctid))
			continue;
		stripe_reader_store_tuple(scan->stripes->reader, (uint32) scan->stripes->row, slot);
		return true;
	}
	return false;
}

static bool
columnar_scan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	bool		backward = ScanDirectionIsBackward(direction);
	ColumnarScanPart last = backward ? SCAN_ROW_WISE : SCAN_STRIPES;

	table_scan_begin_stripes(scan, slot->tts_tupleDescriptor);
	if (!scan->range_begun)
	{
		scan->range_begun = true;
		scan->part = backward ? SCAN_STRIPES : SCAN_ROW_WISE;
		scan->stripes->group = backward ? scan->stripes->ngroups : -1;
	}
	for (;;)
	{
		bool		found = scan->part == SCAN_STRIPES ? next_stripe_row_of_range(scan, direction, slot) :
			GetHeapamTableAmRoutine()->scan_getnextslot_tidrange(scan->heap, direction, slot);

		if (found || scan->part == last)
		{
			if (!found)
				ExecClearTuple(slot);
			return found;
		}
		scan->part = last;
	}
}

void
table_scan_project(TableScanDesc sscan, const ColumnarProjection *projection)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	MemoryContext old = MemoryContextSwitchTo(scan->context);
	int			column = -1;

	scan->projection = projection;
	scan->column_numbers = palloc(Max(bms_num_members(projection->columns), 1) * sizeof(int));
	while ((column = bms_next_member(projection->columns, column)) >= 0)
		scan->column_numbers[scan->ncolumns++] = column;
	scan->heap_slot = table_slot_create(scan->base.rs_rd, NULL);
	MemoryContextSwitchTo(old);
}

/* Stores the projection's values of a row of the stripes' chunk group. */
static void
store_values_of_stripe(const ColumnarScan *scan, uint32 row, TupleTableSlot *slot)
{
	const StripeReader *reader = scan->stripes->reader;

	stripe_reader_store_values(reader, scan->projection->columns, row, slot);
	slot->tts_tableOid = RelationGetRelid(scan->base.rs_rd);
	stripe_ctid_of_row(reader->stripe.first_block, reader->group_start + row, &slot->tts_tid);
}

/* Stores the projection's values of the row in the heap's slot. */
static void
store_values_of_heap(const ColumnarScan *scan, TupleTableSlot *slot)
{
	if (scan->ncolumns > 0)
		slot_getsomeattrs(scan->heap_slot, scan->column_numbers[scan->ncolumns - 1] + 1);
	ExecClearTuple(slot);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		int			column = scan->column_numbers[i];

		slot->tts_isnull[column] = scan->heap_slot->tts_isnull[column];
		slot->tts_values[column] = scan->heap_slot->tts_values[column];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(scan->base.rs_rd);
	slot->tts_tid = scan->heap_slot->tts_tid;
}

/*
 * Finds the next selected row of the stripes, in the chunk group that is
 * loaded or in another one; false if there is none.
 */
static bool
next_selected_row(ColumnarScan *scan, bool backward, uint32 *row)
{
	StripeScan *stripes = scan->stripes;

	if (backward ? scan->selected_at <= 0 : scan->selected_at + 1 >= (int64) stripes->nselected)
	{
		scan->selected_at = 0;
		if (!stripe_scan_next_group(stripes, backward))
			return false;
		scan->selected_at = backward ? (int64) stripes->nselected : -1;
	}
	scan->selected_at += backward ? -1 : 1;
	*row = stripes->selected[scan->selected_at];
	return true;
}

/* Begins, with a slot that later gets the projection's values. */
static void
begin_values(ColumnarScan *scan, TupleTableSlot *slot)
{
	if (scan->stripes != NULL)
		return;
	/* The columns that aren't read are NULL in all rows. */
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	table_scan_begin_stripes(scan, slot->tts_tupleDescriptor);
}

StripeScan *
table_scan_next_group(TableScanDesc sscan, TupleTableSlot *slot)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	begin_values(scan, slot);
	if (scan->part != SCAN_STRIPES || !stripe_scan_next_group(scan->stripes, false))
		return NULL;
	scan->selected_at = scan->stripes->nselected;
	return scan->stripes;
}

static bool
next_values_of_stripes(ColumnarScan *scan, bool backward, TupleTableSlot *slot, bool *filtered)
{
	uint32		row;

	if (!next_selected_row(scan, backward, &row))
		return false;
	store_values_of_stripe(scan, row, slot);
	*filtered = scan->projection->filter != NULL;
	return true;
}

bool
table_scan_next_values(TableScanDesc sscan, ScanDirection direction, TupleTableSlot *slot, bool *filtered)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;
	bool		backward = ScanDirectionIsBackward(direction);

	*filtered = false;
	begin_values(scan, slot);
	if (backward && scan->part == SCAN_STRIPES && scan->stripes->group < 0)
	{
		/* A backward scan that begins, begins at the end. */
		scan->part = SCAN_ROW_WISE;
		scan->stripes->group = scan->stripes->ngroups;
	}
	if (!backward && scan->part == SCAN_STRIPES)
	{
		if (next_values_of_stripes(scan, false, slot, filtered))
			return true;
		scan->part = SCAN_ROW_WISE;
	}
	if (scan->part == SCAN_ROW_WISE)
	{
		if (GetHeapamTableAmRoutine()->scan_getnextslot(scan->heap, direction, scan->heap_slot))
		{
			store_values_of_heap(scan, slot);
			return true;
		}
		if (backward)
			scan->part = SCAN_STRIPES;
	}
	if (backward && next_values_of_stripes(scan, true, slot, filtered))
		return true;
	ExecClearTuple(slot);
	return false;
}

void
table_scan_count_groups(TableScanDesc sscan, uint64 *read, uint64 *skipped)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	*read = scan->stripes != NULL ? scan->stripes->groups_read : 0;
	*skipped = scan->stripes != NULL ? scan->stripes->groups_skipped : 0;
}

static Size
columnar_parallelscan_estimate(Relation table)
{
	return sizeof(ColumnarParallelScan);
}

static Size
columnar_parallelscan_initialize(Relation table, ParallelTableScanDesc parallel)
{
	ColumnarParallelScan *shared = (ColumnarParallelScan *) parallel;

	stripe_writer_flush(table);
	table_block_parallelscan_initialize(table, parallel);
	pg_atomic_init_u64(&shared->next_group, 0);
	return sizeof(ColumnarParallelScan);
}

static void
columnar_parallelscan_reinitialize(Relation table, ParallelTableScanDesc parallel)
{
	ColumnarParallelScan *shared = (ColumnarParallelScan *) parallel;

	table_block_parallelscan_reinitialize(table, parallel);
	pg_atomic_write_u64(&shared->next_group, 0);
}

static bool
columnar_tuple_tid_valid(TableScanDesc sscan, ItemPointer ctid)
{
	ColumnarScan *scan = (ColumnarScan *) sscan;

	return ctid_is_in_stripe(ctid) || GetHeapamTableAmRoutine()->tuple_tid_valid(scan->heap, ctid);
}

/*
 * A row of a stripe has at most one next version, which is in the row-wise
 * part.
 */
static void
columnar_tuple_get_latest_tid(TableScanDesc sscan, ItemPointer ctid)
{
	Relation	table = sscan->rs_rd;
	StripeStore store;
	StripeInfo	stripe;
	bool		updated = false;

	if (ctid_is_in_stripe(ctid))
	{
		stripe_writer_flush_row(table, ctid);
		if (!stripe_store_open(&store, table, AccessShareLock))
			return;
		if (stripe_directory_find(&store, ctid, sscan->rs_snapshot, &stripe))
			updated = row_mark_next_version(&store, &stripe, stripe_row_of_ctid(&stripe, ctid),
											sscan->rs_snapshot, ctid);
		stripe_store_close(&store);
		if (!updated || ItemPointerIndicatesMovedPartitions(ctid))
			return;
	}
	heap_get_latest_tid(sscan, ctid);
}

void
table_scan_set(TableAmRoutine *routine)
{
	routine->scan_begin = columnar_scan_begin;
	routine->scan_end = columnar_scan_end;
	routine->scan_rescan = columnar_scan_rescan;
	routine->scan_getnextslot = columnar_scan_getnextslot;
	routine->scan_set_tidrange = columnar_scan_set_tidrange;
	routine->scan_getnextslot_tidrange = columnar_scan_getnextslot_tidrange;
	routine->parallelscan_estimate = columnar_parallelscan_estimate;
	routine->parallelscan_initialize = columnar_parallelscan_initialize;
	routine->parallelscan_reinitialize = columnar_parallelscan_reinitialize;
	routine->tuple_tid_valid = columnar_tuple_tid_valid;
	routine->tuple_get_latest_tid = columnar_tuple_get_latest_tid;
}
