/*-------------------------------------------------------------------------
 *
 * compaction.c
 *	  Moving rows into new stripes.
 *
 * A row of the row-wise part is moved by deleting it, as an UPDATE that moves
 * a row to another partition does, and inserting it into a stripe.  Rows that
 * another transaction has locked or changed stay.  All rows of a stripe are
 * moved together: the stripe's record, and all that belongs to it, is deleted.
 * A stripe with rows that a transaction in progress has locked or changed
 * stays (stripe_directory_lock).
 *
 * Snapshots decide, as always, whether they see the rows where they were or
 * where they are.  Sessions that see them where they were, and want to change
 * them, find them by row_moves.c.
 *
 * Tables that are published aren't compacted: subscribers would get deletes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/compaction.h"
#include "columnar/options.h"
#include "columnar/row_moves.h"
#include "columnar/row_sort.h"
#include "columnar/stripe_scan.h"
#include "columnar/stripe_writer.h"
#include "compat/table_am.h"
#include "lib/debug_point.h"

/*
 * COMPACT_WORTHWHILE: so many rows, percent of deleted rows (the latter while
 * what was moved before still takes room), small stripes.
 */
#define LEAST_ROWS 10000
#define LEAST_DELETED_PERCENT 5
#define LEAST_DELETED_PERCENT_UNCLEANED 25
#define LEAST_SMALL_STRIPES 8

/* Moved rows take much room if they are more than one row of so many. */
#define UNCLEANED_DIVISOR 20

/* A stripe with more bytes isn't small, however few rows it has. */
#define SMALL_STRIPE_BYTES (64 * 1024 * 1024)

/* An index that gets entries. */
typedef struct CompactedIndex
{
	Relation	rel;
	IndexInfo  *info;
	ExprState  *predicate;
} CompactedIndex;

typedef struct Compaction
{
	Relation	table;
	CompactionGoal goal;
	CommandId	cid;
	uint64		limit;			/* no more is begun when so many rows were
								 * moved */
	EState	   *estate;
	CompactedIndex *indexes;
	int			nindexes;
	RowSort    *sort;			/* NULL: rows are stored as they come */
	uint64		ntaken;			/* rows that are gone from where they were */
	RowMove    *moves;
	uint32		nmoves;
	uint32		room;
} Compaction;

static void
begin_compaction(Compaction *compaction, Relation table, CompactionGoal goal)
{
	List	   *indexes = RelationGetIndexList(table);
	ColumnarOptions options;
	ListCell   *cell;

	memset(compaction, 0, sizeof(Compaction));
	columnar_options_of(RelationGetRelid(table), &options);
	compaction->table = table;
	compaction->goal = goal;
	compaction->cid = GetCurrentCommandId(true);
	compaction->limit = options.stripe_rows;
	compaction->estate = CreateExecutorState();
	compaction->sort = row_sort_begin(table);
	compaction->indexes = palloc0(Max(list_length(indexes), 1) * sizeof(CompactedIndex));
	foreach(cell, indexes)
	{
		CompactedIndex *index = &compaction->indexes[compaction->nindexes];

		index->rel = index_open(lfirst_oid(cell), RowExclusiveLock);
		if (!index->rel->rd_index->indisready)
		{
			index_close(index->rel, RowExclusiveLock);
			continue;
		}
		index->info = BuildIndexInfo(index->rel);
		index->predicate = ExecPrepareQual(index->info->ii_Predicate, compaction->estate);
		compaction->nindexes++;
	}
	list_free(indexes);
}

static void
end_compaction(Compaction *compaction)
{
	for (int i = 0; i < compaction->nindexes; i++)
		index_close(compaction->indexes[i].rel, NoLock);
	FreeExecutorState(compaction->estate);
	pfree(compaction->indexes);
	if (compaction->moves != NULL)
		pfree(compaction->moves);
}

/*
 * Adds entries for a row.  Its keys are those of a row that is gone by this
 * transaction, so nobody else can have them, and nothing is checked.
 */
static void
add_index_entries(Compaction *compaction, TupleTableSlot *slot)
{
	ExprContext *econtext = GetPerTupleExprContext(compaction->estate);
	MemoryContext old;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	MemoryContextReset(econtext->ecxt_per_tuple_memory);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	econtext->ecxt_scantuple = slot;
	for (int i = 0; i < compaction->nindexes; i++)
	{
		CompactedIndex *index = &compaction->indexes[i];

		if (index->predicate != NULL && !ExecQual(index->predicate, econtext))
			continue;
		FormIndexDatum(index->info, slot, compaction->estate, values, nulls);
		(void) index_insert(index->rel, values, nulls, &slot->tts_tid, compaction->table, UNIQUE_CHECK_NO, false,
							index->info);
	}
	MemoryContextSwitchTo(old);
}

/* Stores a row in a stripe. */
static void
store_moved_row(Compaction *compaction, TupleTableSlot *slot, ItemPointer from)
{
	RowMove    *move;

	if (compaction->nmoves == compaction->room)
	{
		compaction->room = Max(compaction->room * 2, 1024);
		compaction->moves = compaction->moves == NULL ? palloc(compaction->room * sizeof(RowMove)) :
			repalloc_huge(compaction->moves, compaction->room * sizeof(RowMove));
	}
	move = &compaction->moves[compaction->nmoves++];
	move->from = *from;
	if (!stripe_writer_add(compaction->table, slot, compaction->cid))
		elog(ERROR, "row of columnar table \"%s\" is too large to be moved",
			 RelationGetRelationName(compaction->table));
	move->to = slot->tts_tid;
	add_index_entries(compaction, slot);
}

/* Takes a row, which is gone from its ctid. */
static void
take_moved_row(Compaction *compaction, TupleTableSlot *slot, ItemPointer from)
{
	compaction->ntaken++;
	if (compaction->sort != NULL)
		row_sort_put(compaction->sort, slot, from);
	else
		store_moved_row(compaction, slot, from);
}

/* Stores the rows that were taken to be sorted. */
static void
store_sorted_rows(Compaction *compaction)
{
	ItemPointerData from;
	TupleTableSlot *slot;

	if (compaction->sort == NULL)
		return;
	row_sort_perform(compaction->sort);
	while ((slot = row_sort_next(compaction->sort, &from)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		store_moved_row(compaction, slot, &from);
	}
	row_sort_end(compaction->sort);
}

/* A scan of the row-wise part. */
static TableScanDesc
begin_row_wise_scan(Compaction *compaction, Snapshot snapshot)
{
	return GetHeapamTableAmRoutine()->scan_begin(compaction->table, snapshot, 0, NULL, NULL,
												 SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE);
}

/* Whether the row-wise part has enough rows. */
static bool
row_wise_part_is_large(Compaction *compaction, Snapshot snapshot, TupleTableSlot *slot)
{
	int			least = compaction->goal == COMPACT_ALL ? 1 : LEAST_ROWS;
	TableScanDesc scan = begin_row_wise_scan(compaction, snapshot);

	while (least > 0 && GetHeapamTableAmRoutine()->scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		least -= stripe_writer_takes(slot);
	}
	GetHeapamTableAmRoutine()->scan_end(scan);
	ExecClearTuple(slot);
	return least <= 0;
}

static void
move_row_wise_part(Compaction *compaction)
{
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(compaction->table, NULL);

	if (row_wise_part_is_large(compaction, snapshot, slot))
	{
		TableScanDesc scan = begin_row_wise_scan(compaction, snapshot);

		while (compaction->ntaken < compaction->limit && heap->scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			ItemPointerData from = slot->tts_tid;
			TM_FailureData failure;

			CHECK_FOR_INTERRUPTS();
			if (stripe_writer_takes(slot) &&
				heap_delete(compaction->table, &from, compaction->cid, TABLE_DELETE_CHANGING_PARTITION, InvalidSnapshot,
							false, &failure) == TM_Ok)
				take_moved_row(compaction, slot, &from);
		}
		heap->scan_end(scan);
	}
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
}

/* Moves all rows of a stripe, unless others have locked some. */
static void
move_stripe(Compaction *compaction, StripeScan *scan, int number, TupleTableSlot *slot)
{
	StripeInfo *stripe = &scan->stripes[number];

	if (!stripe_directory_lock(compaction->table, stripe->first_block, ExclusiveLock, false))
		return;
	stripe_scan_leave(scan);	/* its marks may be older than the lock */
	stripe_scan_enter(scan, number);
	for (int group = scan->first_group[number]; group < scan->first_group[number + 1]; group++)
	{
		StripeReader *reader = scan->reader;

		CHECK_FOR_INTERRUPTS();
		stripe_scan_goto_group(scan, group);
		for (uint32 row = 0; row < reader->group_rows; row++)
		{
			ItemPointerData from;

			if (row_is_marked(&scan->marks, reader->group_start + row))
				continue;
			stripe_ctid_of_row(stripe->first_block, reader->group_start + row, &from);
			ExecClearTuple(slot);
			stripe_reader_store_values(reader, scan->columns, row, slot);
			take_moved_row(compaction, slot, &from);
			pgstat_count_heap_delete(compaction->table);
		}
	}
	stripe_store_delete_stream(&scan->store, stripe->record.data_id, compaction->cid);
	stripe_store_delete(&scan->store, &stripe->at, compaction->cid);
	DEBUG_POINT("columnar-move");
}

/* What choose_stripes() knows of a stripe. */
typedef enum StripeCase
{
	STRIPE_STAYS,
	STRIPE_IS_SMALL,
	STRIPE_IS_TO_MOVE			/* it has deleted rows, or isn't sorted */
} StripeCase;

static bool
stripe_is_sorted(Compaction *compaction, StripeScan *scan, int number)
{
	if (compaction->sort == NULL)
		return true;
	stripe_scan_enter(scan, number);
	return row_sort_has_sorted(compaction->sort, scan->reader);
}

/* Whether index entries of moved rows take much room. */
static bool
rows_are_uncleaned(StripeStore *store, const StripeInfo *stripes, int nstripes)
{
	uint64		rows = 0;

	for (int i = 0; i < nstripes; i++)
		rows += stripes[i].record.nrows;
	return stripe_directory_uncleaned_rows(store, stripes, nstripes) > rows / UNCLEANED_DIVISOR;
}

bool
columnar_has_uncleaned_rows(Relation table)
{
	StripeStore store;
	StripeInfo *stripes;
	int			count;
	bool		result;

	if (!stripe_store_open(&store, table, AccessShareLock))
		return false;
	stripes = stripe_directory_read(&store, SnapshotSelf, &count);
	result = count > 0 && rows_are_uncleaned(&store, stripes, count);
	pfree(stripes);
	stripe_store_close(&store);
	return result;
}

/*
 * From how many percent of deleted rows on a stripe is to be moved.  The
 * stripe's old bytes and index entries take room until VACUUM has found them,
 * so the stripes of a table are not all moved at once.
 */
static uint64
least_deleted_percent(Compaction *compaction, StripeScan *scan)
{
	if (compaction->goal == COMPACT_ALL)
		return 0;
	return rows_are_uncleaned(&scan->store, scan->stripes, scan->nstripes) ?
		LEAST_DELETED_PERCENT_UNCLEANED : LEAST_DELETED_PERCENT;
}

/* Finds out which stripes are to be moved; of small ones, it takes several. */
static StripeCase *
choose_stripes(Compaction *compaction, StripeScan *scan)
{
	StripeCase *cases = palloc0(Max(scan->nstripes, 1) * sizeof(StripeCase));
	int			least_small = compaction->goal == COMPACT_ALL ? 2 : LEAST_SMALL_STRIPES;
	uint64		least_percent = least_deleted_percent(compaction, scan);
	int			small = 0;

	for (int i = 0; i < scan->nstripes; i++)
	{
		uint64		rows = scan->stripes[i].record.nrows;
		RowMarks	marks;

		CHECK_FOR_INTERRUPTS();
		row_marks_read(&scan->store, &scan->stripes[i], SnapshotSelf, &marks);
		if (marks.bits != NULL)
			pfree(marks.bits);
		if ((marks.count > 0 && (uint64) marks.count * 100 >= rows * least_percent) ||
			!stripe_is_sorted(compaction, scan, i))
			cases[i] = STRIPE_IS_TO_MOVE;
		else if (rows < compaction->limit / 2 && scan->stripes[i].record.footer_at < SMALL_STRIPE_BYTES)
		{
			cases[i] = STRIPE_IS_SMALL;
			small++;
		}
	}
	if (small < least_small)
	{
		for (int i = 0; i < scan->nstripes; i++)
			cases[i] = cases[i] == STRIPE_IS_SMALL ? STRIPE_STAYS : cases[i];
	}
	return cases;
}

static void
move_stripes(Compaction *compaction)
{
	TupleDesc	tupdesc = RelationGetDescr(compaction->table);
	Bitmapset  *columns = stripe_reader_all_columns(tupdesc);
	StripeScan *scan = stripe_scan_begin(compaction->table, tupdesc, SnapshotSelf, columns, NULL);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(tupdesc, &TTSOpsVirtual);
	StripeCase *cases;

	memset(slot->tts_isnull, true, tupdesc->natts * sizeof(bool));
	if (scan->has_store)
	{
		cases = choose_stripes(compaction, scan);
		for (int i = 0; i < scan->nstripes && compaction->ntaken < compaction->limit; i++)
		{
			uint64		rows = scan->stripes[i].record.nrows;

			if (cases[i] != STRIPE_STAYS && (compaction->ntaken == 0 || compaction->ntaken + rows <= compaction->limit))
				move_stripe(compaction, scan, i, slot);
		}
		pfree(cases);
	}
	ExecDropSingleTupleTableSlot(slot);
	stripe_scan_end(scan);
	bms_free(columns);
}

uint64
columnar_compact(Relation table, CompactionGoal goal)
{
	Compaction	compaction;
	StripeStore store;
	uint64		moved;

	stripe_writer_flush(table);
	if (!stripe_writer_prepare(table) || !stripe_writer_may(table))
		return 0;
	begin_compaction(&compaction, table, goal);
	TransferPredicateLocksToHeapRelation(table);
	move_row_wise_part(&compaction);
	if (compaction.ntaken < compaction.limit)
		move_stripes(&compaction);
	store_sorted_rows(&compaction);
	stripe_writer_flush(table);
	if (stripe_store_open(&store, table, RowExclusiveLock))
	{
		if (compaction.nmoves > 0)
			row_moves_write(&store, compaction.moves, compaction.nmoves, compaction.cid);
		row_moves_forget(&store, compaction.cid);
		stripe_store_close(&store);
	}
	TransferPredicateLocksToHeapRelation(table);
	if (compaction.nmoves > 0)
		DEBUG_POINT("columnar-compacted");
	moved = compaction.nmoves;
	end_compaction(&compaction);
	CommandCounterIncrement();
	return moved;
}
