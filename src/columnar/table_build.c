/*-------------------------------------------------------------------------
 *
 * table_build.c
 *	  The access method's functions for whole tables: storage, VACUUM FULL,
 *	  sizes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "columnar/row_sort.h"
#include "columnar/stripe_scan.h"
#include "columnar/stripe_writer.h"
#include "columnar/table_build.h"
#include "columnar/table_scan.h"
#include "compat/table_am.h"
#include "lib/debug_point.h"

static void
columnar_relation_set_new_filelocator(Relation table, const RelFileLocator *locator, char persistence,
									  TransactionId *freeze_xid, MultiXactId *min_multi)
{
	stripe_writer_flush(table);
	GetHeapamTableAmRoutine()->relation_set_new_filelocator(table, locator, persistence, freeze_xid, min_multi);
}

static void
columnar_relation_nontransactional_truncate(Relation table)
{
	stripe_writer_discard(table);
	GetHeapamTableAmRoutine()->relation_nontransactional_truncate(table);
}

static void
columnar_relation_copy_data(Relation table, const RelFileLocator *locator)
{
	stripe_writer_flush(table);
	GetHeapamTableAmRoutine()->relation_copy_data(table, locator);
}

/*
 * Copies the rows that are there, in their present order.  Returns how many.
 */
static double
copy_unsorted(Relation old_table, Relation new_table, CommandId cid, BulkInsertState bulk)
{
	TupleTableSlot *slot = table_slot_create(old_table, NULL);
	TableScanDesc scan = table_beginscan(old_table, SnapshotSelf, 0, NULL, SO_NONE);
	double		rows = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		table_tuple_insert(new_table, slot, cid, TABLE_INSERT_SKIP_FSM, bulk);
		rows++;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return rows;
}

/* The same in the order of an option. */
static double
copy_in_order(Relation old_table, Relation new_table, RowSort *sort, CommandId cid, BulkInsertState bulk)
{
	TupleTableSlot *slot = table_slot_create(old_table, NULL);
	TableScanDesc scan = table_beginscan(old_table, SnapshotSelf, 0, NULL, 0);
	ItemPointerData ctid;
	TupleTableSlot *row;
	double		rows = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		row_sort_put(sort, slot, &slot->tts_tid);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	row_sort_perform(sort);
	while ((row = row_sort_next(sort, &ctid)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		table_tuple_insert(new_table, row, cid, TABLE_INSERT_SKIP_FSM, bulk);
		rows++;
	}
	row_sort_end(sort);
	return rows;
}

/*
 * The same in the order of a B-tree index, whose entries are not read: it
 * would find the rows of a chunk group one by one.
 */
static double
copy_sorted(Relation old_table, Relation new_table, Relation index, CommandId cid, BulkInsertState bulk)
{
	TupleDesc	tupdesc = RelationGetDescr(old_table);
	Tuplesortstate *sort = tuplesort_begin_cluster(tupdesc, index, maintenance_work_mem, NULL, TUPLESORT_NONE);
	TupleTableSlot *slot = table_slot_create(old_table, NULL);
	TupleTableSlot *sorted = MakeSingleTupleTableSlot(tupdesc, &TTSOpsHeapTuple);
	TableScanDesc scan = table_beginscan(old_table, SnapshotSelf, 0, NULL, SO_NONE);
	HeapTuple	tuple;
	double		rows = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		should_free;

		CHECK_FOR_INTERRUPTS();
		tuple = ExecFetchSlotHeapTuple(slot, false, &should_free);
		tuplesort_putheaptuple(sort, tuple);
		if (should_free)
			heap_freetuple(tuple);
	}
	table_endscan(scan);
	tuplesort_performsort(sort);
	while ((tuple = tuplesort_getheaptuple(sort, true)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreHeapTuple(tuple, sorted, false);
		table_tuple_insert(new_table, sorted, cid, TABLE_INSERT_SKIP_FSM, bulk);
		rows++;
	}
	ExecDropSingleTupleTableSlot(sorted);
	ExecDropSingleTupleTableSlot(slot);
	tuplesort_end(sort);
	return rows;
}

/*
 * VACUUM FULL, CLUSTER: writes the rows that are there into new stripes.  The
 * rows that only older snapshots see are not copied; these snapshots get an
 * error (stripe_directory_set_rewritten).
 */
static void
columnar_relation_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index, bool use_sort,
								   TransactionId oldest_xmin, CLUSTER_SNAPSHOT_PARAM TransactionId *xid_cutoff,
								   MultiXactId *multi_cutoff, double *num_tuples, double *tups_vacuumed, double *tups_recently_dead)
{
	CommandId	cid = GetCurrentCommandId(true);
	BulkInsertState bulk = GetBulkInsertState();
	RowSort    *sort;
	StripeStore store;

	if (old_index != NULL && old_index->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("columnar table \"%s\" cannot be clustered on index \"%s\"",
						RelationGetRelationName(old_table), RelationGetRelationName(old_index)),
				 errdetail("Rows of columnar tables are sorted in the order of B-tree indexes only."),
				 errhint("Use an index of access method btree.")));
	*tups_vacuumed = 0;
	*tups_recently_dead = 0;
	if (old_index != NULL)
		*num_tuples = copy_sorted(old_table, new_table, old_index, cid, bulk);
	else if ((sort = row_sort_begin(old_table)) != NULL)
		*num_tuples = copy_in_order(old_table, new_table, sort, cid, bulk);
	else
		*num_tuples = copy_unsorted(old_table, new_table, cid, bulk);
	FreeBulkInsertState(bulk);
	stripe_writer_flush(new_table);
	if (stripe_store_open(&store, new_table, RowExclusiveLock))
	{
		stripe_directory_set_rewritten(&store);
		DEBUG_POINT("columnar-rewrite");
		stripe_store_close(&store);
	}
}

static bool
columnar_relation_needs_toast_table(Relation table)
{
	return true;
}

static Oid
columnar_relation_toast_am(Relation table)
{
	return HEAP_TABLE_AM_OID;
}

/*
 * The directory says how many rows the stripes have.  Those of the row-wise
 * part are estimated by its pages and the width of a row.
 */
static void
columnar_relation_estimate_size(Relation table, int32 *attr_widths, BlockNumber *pages, double *tuples,
								double *allvisfrac)
{
	BlockNumber heap_pages = RelationGetNumberOfBlocks(table);
	double		width = get_rel_data_width(table, attr_widths) + MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);
	double		heap_tuples = floor(heap_pages * (BLCKSZ - SizeOfPageHeaderData) / width);
	double		visible = table->rd_rel->relpages > 0 ?
		(double) table->rd_rel->relallvisible / table->rd_rel->relpages : 0;
	StripeStore store;

	*pages = heap_pages;
	*tuples = 0;
	if (stripe_store_open(&store, table, AccessShareLock))
	{
		int			count;
		StripeInfo *stripes = stripe_directory_read(&store, SnapshotSelf, &count);

		for (int i = 0; i < count; i++)
			*tuples += (double) stripes[i].record.nrows;
		pfree(stripes);
		*pages += RelationGetNumberOfBlocks(store.toast);
		stripe_store_close(&store);
	}
	/* A table with stripes has a page at least, if only an empty one. */
	if (*tuples > 0 && heap_pages == 1)
		heap_tuples = 0;
	*tuples += heap_tuples;
	*allvisfrac = *tuples > 0 ? Min(visible, 1) * heap_tuples / *tuples : 0;
}

void
table_build_set(TableAmRoutine *routine)
{
	routine->relation_set_new_filelocator = columnar_relation_set_new_filelocator;
	routine->relation_nontransactional_truncate = columnar_relation_nontransactional_truncate;
	routine->relation_copy_data = columnar_relation_copy_data;
	routine->relation_copy_for_cluster = columnar_relation_copy_for_cluster;
	routine->relation_needs_toast_table = columnar_relation_needs_toast_table;
	routine->relation_toast_am = columnar_relation_toast_am;
	routine->relation_estimate_size = columnar_relation_estimate_size;
}
