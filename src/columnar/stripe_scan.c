/*-------------------------------------------------------------------------
 *
 * stripe_scan.c
 *	  Scanning the stripes of a table.
 *
 * The directory is read once, when the scan begins; the chunk groups of all
 * stripes are numbered in its order, which is the same for all processes of a
 * parallel scan, since they have the same snapshot.  These take groups by
 * number from a shared counter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/stripe_scan.h"

StripeScan *
stripe_scan_begin(Relation table, TupleDesc tupdesc, Snapshot snapshot, const Bitmapset *columns,
				  pg_atomic_uint64 *shared)
{
	StripeScan *scan = palloc0(sizeof(StripeScan));

	scan->context = CurrentMemoryContext;
	scan->arena = arena_make();
	scan->snapshot = snapshot;
	scan->tupdesc = tupdesc;
	scan->columns = columns;
	scan->shared = shared;
	scan->stripe = -1;
	scan->group = -1;
	scan->has_store = stripe_store_open(&scan->store, table, AccessShareLock);
	if (!scan->has_store)
		return scan;
	scan->stripes = stripe_directory_read(&scan->store, snapshot, &scan->nstripes);
	scan->first_group = palloc((scan->nstripes + 1) * sizeof(int));
	for (int i = 0; i < scan->nstripes; i++)
	{
		scan->first_group[i] = scan->ngroups;
		scan->ngroups += scan->stripes[i].record.ngroups;
	}
	scan->first_group[scan->nstripes] = scan->ngroups;
	return scan;
}

void
stripe_scan_leave(StripeScan *scan)
{
	if (scan->reader != NULL)
		stripe_reader_close(scan->reader);
	if (scan->marks.bits != NULL)
		pfree(scan->marks.bits);
	scan->reader = NULL;
	scan->marks.bits = NULL;
	scan->stripe = -1;
	scan->loaded = false;
}

void
stripe_scan_enter(StripeScan *scan, int stripe)
{
	MemoryContext old;

	if (scan->stripe == stripe)
		return;
	stripe_scan_leave(scan);
	old = MemoryContextSwitchTo(scan->context);
	scan->reader = stripe_reader_open(&scan->store, &scan->stripes[stripe], scan->tupdesc, scan->arena);
	row_marks_read(&scan->store, &scan->stripes[stripe], scan->snapshot, &scan->marks);
	MemoryContextSwitchTo(old);
	scan->stripe = stripe;
}

/* Opens the stripe with a chunk group, if another one is open. */
static void
enter_stripe_of_group(StripeScan *scan, int group)
{
	int			low = 0;
	int			high = scan->nstripes - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (scan->first_group[middle] <= group)
			low = middle;
		else
			high = middle - 1;
	}
	stripe_scan_enter(scan, low);
}

void
stripe_scan_goto_group(StripeScan *scan, int group)
{
	enter_stripe_of_group(scan, group);
	stripe_reader_load(scan->reader, &scan->store, group - scan->first_group[scan->stripe], scan->columns);
	scan->group = group;
	scan->loaded = true;
	scan->row = (int64) scan->reader->group_start - 1;
}

bool
stripe_scan_goto_row(StripeScan *scan, int stripe, uint32 row)
{
	StripeReader *reader;
	uint32		start;

	stripe_scan_enter(scan, stripe);
	scan->row = row;
	if (stripe_scan_row_is_marked(scan))
		return false;
	reader = scan->reader;
	if (!scan->loaded || row < reader->group_start || row - reader->group_start >= reader->group_rows)
	{
		stripe_scan_goto_group(scan, scan->first_group[stripe] + stripe_reader_group_of(reader, row, &start));
		scan->row = row;
	}
	return true;
}

int
stripe_scan_find(const StripeScan *scan, ItemPointer ctid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	int			low = 0;
	int			high = scan->nstripes;

	/* The first one that begins after the block. */
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (scan->stripes[middle].first_block <= block)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || stripe_row_of_ctid(&scan->stripes[low - 1], ctid) >= scan->stripes[low - 1].record.nrows)
		return -1;
	return low - 1;
}

/* Goes to the next group that may have rows; false if there is none. */
static bool
next_wanted_group(StripeScan *scan, bool backward)
{
	scan->loaded = false;
	for (;;)
	{
		int64		next;

		CHECK_FOR_INTERRUPTS();
		if (scan->shared != NULL)
			next = (int64) pg_atomic_fetch_add_u64(scan->shared, 1);
		else
			next = (int64) scan->group + (backward ? -1 : 1);
		if (next < 0 || next >= scan->ngroups)
		{
			scan->group = next < 0 ? -1 : scan->ngroups;	/* not beyond it */
			return false;
		}
		enter_stripe_of_group(scan, (int) next);
		scan->group = (int) next;
		if (scan->test == NULL ||
			scan->test(scan->test_arg, scan->reader, scan->group - scan->first_group[scan->stripe]))
			break;
		scan->groups_skipped++;
	}
	scan->groups_read++;
	return true;
}

bool
stripe_scan_next(StripeScan *scan, ScanDirection direction)
{
	bool		backward = ScanDirectionIsBackward(direction);

	for (;;)
	{
		while (scan->loaded)
		{
			scan->row += backward ? -1 : 1;
			if (scan->row < scan->reader->group_start ||
				scan->row >= (int64) scan->reader->group_start + scan->reader->group_rows)
				break;
			if (scan->marked_too || !row_is_marked(&scan->marks, (uint32) scan->row))
				return true;
		}
		if (!next_wanted_group(scan, backward))
			return false;
		stripe_scan_goto_group(scan, scan->group);
		if (backward)
			scan->row += scan->reader->group_rows + 1;
	}
}

/* Selects the rows of the reader's group that the snapshot sees. */
static void
select_visible_rows(StripeScan *scan)
{
	StripeReader *reader = scan->reader;
	uint32		count = 0;

	scan->selected = arena_alloc(reader->arena, reader->group_rows * sizeof(uint32));
	if (scan->marks.bits == NULL)
	{
		for (; count < reader->group_rows; count++)
			scan->selected[count] = count;
	}
	else
	{
		for (uint32 row = 0; row < reader->group_rows; row++)
		{
			scan->selected[count] = row;
			count += !row_is_marked(&scan->marks, reader->group_start + row);
		}
	}
	scan->nselected = count;
}

bool
stripe_scan_next_group(StripeScan *scan, bool backward)
{
	while (next_wanted_group(scan, backward))
	{
		int			column = -1;

		stripe_reader_goto(scan->reader, scan->group - scan->first_group[scan->stripe]);
		select_visible_rows(scan);
		if (scan->filter != NULL && scan->nselected > 0)
			scan->nselected = scan->filter(scan->filter_arg, scan->reader, &scan->store, scan->selected,
										   scan->nselected);
		if (scan->nselected == 0)
			continue;
		while ((column = bms_next_member(scan->columns, column)) >= 0)
			stripe_reader_need(scan->reader, &scan->store, column);
		return true;
	}
	scan->nselected = 0;
	return false;
}

void
stripe_scan_rewind(StripeScan *scan)
{
	scan->group = -1;
	scan->loaded = false;
	scan->nselected = 0;
}

void
stripe_scan_end(StripeScan *scan)
{
	stripe_scan_leave(scan);
	if (scan->has_store)
		stripe_store_close(&scan->store);
	if (scan->stripes != NULL)
		pfree(scan->stripes);
	if (scan->first_group != NULL)
		pfree(scan->first_group);
	MemoryContextDelete(scan->arena->context);
	pfree(scan);
}
