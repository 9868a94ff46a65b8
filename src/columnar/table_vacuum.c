/*-------------------------------------------------------------------------
 *
 * table_vacuum.c
 *	  VACUUM of columnar tables.
 *
 * The heap's function vacuums the row-wise part, but doesn't cut it off: a
 * page must stay (stripe_directory_read).  The TOAST table, with the stripes,
 * is vacuumed as a table of its own.
 *
 * Ctids of stripes' rows are never given out again, so index entries for dead
 * ones do no harm but take room.  They are removed when there are new ones:
 * entries for rows with old marks, and for rows of stripes that the directory
 * doesn't have any more.
 *
 * VACUUM moves no rows: the server leaves its transaction out of snapshots, so
 * that it must not insert any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "catalog/storage.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/row_marks.h"
#include "columnar/stripe_reader.h"
#include "columnar/table_vacuum.h"
#include "compat/index_vacuum.h"
#include "compat/table_am.h"
#include "lib/debug_point.h"

/* The row-wise part isn't cut off for less. */
#define LEAST_EMPTY_PAGES 16

/* Which rows of stripes are dead. */
typedef struct DeadRows
{
	StripeInfo *stripes;		/* that some snapshot may see */
	int			nstripes;
	RowMarks   *marks;			/* of each: rows that no snapshot sees */
	BlockNumber end;			/* ctids from here on are newer */
	uint64		count;			/* also of those that were never used */
	int			last;			/* the stripe that was found last */
} DeadRows;

static void
find_dead_rows(Relation table, StripeStore *store, DeadRows *dead)
{
	TransactionId horizon = GetOldestNonRemovableTransactionId(table);

	memset(dead, 0, sizeof(DeadRows));
	dead->stripes = stripe_directory_read_all(store, &dead->nstripes, &dead->end);
	dead->marks = palloc0(Max(dead->nstripes, 1) * sizeof(RowMarks));
	dead->count = (uint64) (dead->end - STRIPE_FIRST_BLOCK) * STRIPE_BLOCK_ROWS;
	for (int i = 0; i < dead->nstripes; i++)
	{
		StripeInfo *stripe = &dead->stripes[i];

		CHECK_FOR_INTERRUPTS();
		if (stripe->record.state == STRIPE_WRITTEN)
			row_marks_read_old(store, stripe, horizon, &dead->marks[i]);
		dead->count += dead->marks[i].count;
		dead->count -= Min(dead->count, (uint64) stripe->record.nblocks * STRIPE_BLOCK_ROWS);
	}
}

/* Goes to the last stripe whose ctids begin at a block or before. */
static bool
find_stripe_before(DeadRows *dead, BlockNumber block)
{
	int			low = 0;
	int			high = dead->nstripes - 1;

	if (dead->nstripes == 0 || block < dead->stripes[0].first_block)
		return false;
	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (dead->stripes[middle].first_block <= block)
			low = middle;
		else
			high = middle - 1;
	}
	dead->last = low;
	return true;
}

/* IndexBulkDeleteCallback */
static bool
is_dead_row(ItemPointer ctid, void *state)
{
	DeadRows   *dead = state;
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	StripeInfo *stripe;

	if (!ctid_is_in_stripe(ctid) || block >= dead->end)
		return false;
	stripe = dead->nstripes > 0 ? &dead->stripes[dead->last] : NULL;
	if (stripe == NULL || block < stripe->first_block || block - stripe->first_block >= stripe->record.nblocks)
	{
		if (!find_stripe_before(dead, block))
			return true;
		stripe = &dead->stripes[dead->last];
		if (block - stripe->first_block >= stripe->record.nblocks)
			return true;
	}
	return dead->marks[dead->last].bits != NULL &&
		row_is_marked(&dead->marks[dead->last], stripe_row_of_ctid(stripe, ctid));
}

static void
remove_dead_entries(Relation table, DeadRows *dead, int message_level, BufferAccessStrategy strategy)
{
	Relation   *indexes;
	int			nindexes;

	vac_open_indexes(table, RowExclusiveLock, &nindexes, &indexes);
	for (int i = 0; i < nindexes; i++)
	{
		IndexVacuumInfo info;
		IndexBulkDeleteResult *result;

		compat_index_vacuum_info(&info, table, indexes[i]);
		info.analyze_only = false;
		info.report_progress = false;
		info.estimated_count = true;
		info.message_level = message_level;
		info.num_heap_tuples = table->rd_rel->reltuples;
		info.strategy = strategy;
		result = index_bulk_delete(&info, NULL, is_dead_row, dead);
		(void) index_vacuum_cleanup(&info, result);
	}
	vac_close_indexes(nindexes, indexes, NoLock);
}

static void
vacuum_stripe_entries(Relation table, int message_level, BufferAccessStrategy strategy)
{
	StripeStore store;
	DeadRows	dead;

	if (!stripe_store_open(&store, table, RowExclusiveLock))
		return;
	if (RelationGetNumberOfBlocks(table) > 0)
	{
		find_dead_rows(table, &store, &dead);
		if (dead.count != stripe_directory_cleaned_rows(&store))
		{
			remove_dead_entries(table, &dead, message_level, strategy);
			DEBUG_POINT("columnar-vacuum");
			stripe_directory_set_cleaned_rows(&store, dead.count);
		}
	}
	stripe_store_close(&store);
}

static bool
page_is_unused(Relation table, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	Page		page;
	bool		unused = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page))
	{
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber offset = FirstOffsetNumber; unused && offset <= last; offset++)
			unused = !ItemIdIsUsed(PageGetItemId(page, offset));
	}
	UnlockReleaseBuffer(buffer);
	return unused;
}

/* The number of pages, one at least, up to the last that is used. */
static BlockNumber
used_pages(Relation table, BlockNumber pages, BufferAccessStrategy strategy)
{
	while (pages > 1 && page_is_unused(table, pages - 1, strategy))
	{
		CHECK_FOR_INTERRUPTS();
		pages--;
	}
	return pages;
}

/* Cuts off unused pages of the row-wise part, if nobody uses the table. */
static void
cut_off_row_wise_part(Relation table, BufferAccessStrategy strategy)
{
	BlockNumber pages = RelationGetNumberOfBlocks(table);
	BlockNumber used;

	if (pages < LEAST_EMPTY_PAGES || pages - used_pages(table, pages, strategy) < LEAST_EMPTY_PAGES ||
		!ConditionalLockRelation(table, AccessExclusiveLock))
		return;
	pages = RelationGetNumberOfBlocks(table);
	used = used_pages(table, pages, strategy);
	if (used < pages)
		RelationTruncate(table, used);
	UnlockRelation(table, AccessExclusiveLock);
}

/* As the server vacuums a heap, maybe with unused pages at its end cut off. */
static void
vacuum_heap(Relation heap, VacOptValue truncate)
{
	VacuumParams params = {
		.options = VACOPT_VACUUM,
		.freeze_min_age = -1,
		.freeze_table_age = -1,
		.multixact_freeze_min_age = -1,
		.multixact_freeze_table_age = -1,
		.log_vacuum_min_duration = -1,
		.index_cleanup = VACOPTVALUE_AUTO,
		.truncate = truncate,
		.nworkers = -1,
	};

	GetHeapamTableAmRoutine()->relation_vacuum(heap, &params, NULL);
}

void
table_vacuum_leftovers(Relation table)
{
	Oid			toastid = table->rd_rel->reltoastrelid;

	vacuum_heap(table, VACOPTVALUE_DISABLED);
	cut_off_row_wise_part(table, NULL);
	vacuum_stripe_entries(table, DEBUG2, NULL);
	if (OidIsValid(toastid) && ConditionalLockRelationOid(toastid, ShareUpdateExclusiveLock))
	{
		Relation	toast = table_open(toastid, NoLock);

		vacuum_heap(toast, VACOPTVALUE_ENABLED);
		table_close(toast, NoLock);
	}
}

/* VACUUM VERBOSE: what the stripes are. */
static void
report_stripes(Relation table)
{
	StripeStore store;
	StripeInfo *stripes;
	int			count;
	uint64		rows = 0;
	uint64		deleted = 0;
	uint64		bytes = 0;
	uint64		raw_bytes = 0;
	uint64		chunks = 0;

	if (!stripe_store_open(&store, table, AccessShareLock))
		return;
	stripes = stripe_directory_read(&store, SnapshotSelf, &count);
	for (int i = 0; i < count; i++)
	{
		StripeReader *reader = stripe_reader_open(&store, &stripes[i], RelationGetDescr(table), NULL);
		uint64		nchunks = (uint64) reader->footer.ngroups * reader->footer.natts;
		RowMarks	marks;

		CHECK_FOR_INTERRUPTS();
		row_marks_read(&store, &stripes[i], SnapshotSelf, &marks);
		rows += stripes[i].record.nrows;
		deleted += marks.count;
		bytes += stripes[i].record.footer_at + stripes[i].record.footer_len;
		chunks += nchunks;
		for (uint64 chunk = 0; chunk < nchunks; chunk++)
			raw_bytes += reader->footer.chunks[chunk].raw_len;
		stripe_reader_close(reader);
	}
	ereport(INFO,
			(errmsg("statistics for \"%s\":\n"
					"storage id: %u\n"
					"total file size: %llu, total data size: %llu\n"
					"compression rate: %.2fx\n"
					"total row count: %llu, stripe count: %d, average rows per stripe: %llu\n"
					"chunk count: %llu, deleted rows in stripes: %llu, row-wise pages: %u",
					RelationGetRelationName(table), RelationGetRelid(store.toast),
					(unsigned long long) RelationGetNumberOfBlocks(store.toast) * BLCKSZ, (unsigned long long) bytes,
					bytes > 0 ? (double) raw_bytes / bytes : 1.0, (unsigned long long) rows, count,
					(unsigned long long) (count > 0 ? rows / count : 0), (unsigned long long) chunks,
					(unsigned long long) deleted, RelationGetNumberOfBlocks(table))));
	stripe_store_close(&store);
}

static void
columnar_relation_vacuum(Relation table, VACUUM_PARAMS, BufferAccessStrategy strategy)
{
	VacuumParams own = *params;
	bool		verbose = (params->options & VACOPT_VERBOSE) != 0;

	own.truncate = VACOPTVALUE_DISABLED;
	GetHeapamTableAmRoutine()->relation_vacuum(table, &own, strategy);
	if (params->index_cleanup != VACOPTVALUE_DISABLED)
		vacuum_stripe_entries(table, verbose ? INFO : DEBUG2, strategy);
	if (params->truncate != VACOPTVALUE_DISABLED)
		cut_off_row_wise_part(table, strategy);
	if (verbose)
		report_stripes(table);
}

void
table_vacuum_set(TableAmRoutine *routine)
{
	routine->relation_vacuum = columnar_relation_vacuum;
}
