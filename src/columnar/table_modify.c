/*-------------------------------------------------------------------------
 *
 * table_modify.c
 *	  The access method's functions that write and lock rows.
 *
 * Rows of the row-wise part are the heap's; its functions do all the work for
 * them.  A new version of a stripe's row is always a row of that part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "columnar/row_marks.h"
#include "columnar/row_moves.h"
#include "columnar/stripe_fetch.h"
#include "columnar/stripe_writer.h"
#include "columnar/table_modify.h"
#include "compat/table_am.h"

/* A row of a stripe that is being locked or changed. */
typedef struct StripeRow
{
	StripeStore store;
	StripeInfo	stripe;
	ItemPointerData ctid;
	ItemPointerData head;		/* after it was locked */
} StripeRow;

/*
 * Only a table that is made by this transaction, by CREATE TABLE AS or ALTER
 * TABLE, gets stripes from the first row on.
 */
static bool
is_new_table(Relation table)
{
	return OidIsValid(table->rd_rel->relrewrite) || table->rd_createSubid != InvalidSubTransactionId;
}

static void
columnar_tuple_insert(Relation table, TupleTableSlot *slot, CommandId cid, InsertOptions options,
					  struct BulkInsertStateData *bulk)
{
	if (stripe_writer_wants(table, cid, bulk != NULL && is_new_table(table), 1) &&
		stripe_writer_add(table, slot, cid))
		return;
	GetHeapamTableAmRoutine()->tuple_insert(table, slot, cid, options, bulk);
}

static void
columnar_multi_insert(Relation table, TupleTableSlot **slots, int nslots, CommandId cid, InsertOptions options,
					  struct BulkInsertStateData *bulk)
{
	if (!stripe_writer_wants(table, cid, bulk != NULL && is_new_table(table), nslots))
	{
		GetHeapamTableAmRoutine()->multi_insert(table, slots, nslots, cid, options, bulk);
		return;
	}
	for (int i = 0; i < nslots; i++)
	{
		if (!stripe_writer_add(table, slots[i], cid))
			GetHeapamTableAmRoutine()->tuple_insert(table, slots[i], cid, options, bulk);
	}
}

/*
 * Rows of a COPY stay in memory, as those of an INSERT do: a distributed one
 * comes in parts, which together make a stripe of a shard.  The storage of a
 * table that is being rewritten is about to become another table's.
 */
static void
columnar_finish_bulk_insert(Relation table, InsertOptions options)
{
	if (OidIsValid(table->rd_rel->relrewrite))
		stripe_writer_flush(table);
	(void) stripe_writer_prepare(table);
}

/*
 * Opens the stripe of a row that some snapshot has seen, and keeps others from
 * moving its rows.  False if the row was moved: *moved is its ctid now.  The
 * store is open in both cases.
 */
static bool
open_stripe_row(StripeRow *row, Relation table, ItemPointer ctid, ItemPointer moved)
{
	row->ctid = *ctid;
	stripe_writer_flush_row(table, ctid);
	if (!stripe_store_open(&row->store, table, RowExclusiveLock) ||
		!stripe_directory_find(&row->store, ctid, SnapshotAny, &row->stripe))
		elog(ERROR, "columnar table \"%s\" has no row (%u,%u)", RelationGetRelationName(table),
			 ItemPointerGetBlockNumberNoCheck(ctid), ItemPointerGetOffsetNumberNoCheck(ctid));
	(void) stripe_directory_lock(table, row->stripe.first_block, RowShareLock, true);
	return stripe_directory_find(&row->store, ctid, SnapshotSelf, &row->stripe) ||
		!row_moves_find(&row->store, ctid, InvalidTransactionId, moved);
}

/* The same; if the row was moved, the result for the caller is in failure. */
static bool
open_unmoved_row(StripeRow *row, Relation table, ItemPointer ctid, TM_FailureData *failure)
{
	if (open_stripe_row(row, table, ctid, &failure->ctid))
		return true;
	failure->xmax = InvalidTransactionId;
	failure->cmax = InvalidCommandId;
	failure->traversed = false;
	stripe_store_close(&row->store);
	return false;
}

/*
 * Finds out where a row of the row-wise part, which is gone from its place,
 * has moved to, if it is this table's.
 */
static bool
find_moved_row(Relation table, ItemPointer ctid, TM_FailureData *failure)
{
	StripeStore store;
	bool		found;

	if (!ItemPointerIndicatesMovedPartitions(&failure->ctid) || !stripe_store_open(&store, table, AccessShareLock))
		return false;
	found = row_moves_find(&store, ctid, failure->xmax, &failure->ctid);
	stripe_store_close(&store);
	return found;
}

/*
 * Locks a row.  The result is that of row_mark_lock(), but an error names the
 * table.
 */
static TM_Result
lock_stripe_row(StripeRow *row, CommandId cid, LockTupleMode mode, LockWaitPolicy policy, TM_FailureData *failure)
{
	TM_Result	result = row_mark_lock(&row->store, &row->stripe, &row->ctid, cid, mode,
									   policy == LockWaitError ? LockWaitSkip : policy, &row->head, failure);

	if (result == TM_WouldBlock && policy == LockWaitError)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not obtain lock on row in relation \"%s\"",
						RelationGetRelationName(row->store.table))));
	return result;
}

/*
 * Locks a row that is to be changed or deleted.  A crosscheck snapshot must
 * see it as well.
 */
static TM_Result
lock_for_change(StripeRow *row, CommandId cid, Snapshot crosscheck, bool wait, TM_FailureData *failure)
{
	Relation	table = row->store.table;
	TM_Result	result;

	result = lock_stripe_row(row, cid, LockTupleExclusive, wait ? LockWaitBlock : LockWaitSkip, failure);
	if (result == TM_Ok && crosscheck != InvalidSnapshot && !stripe_row_is_visible(table, &row->ctid, crosscheck))
	{
		failure->ctid = row->ctid;
		failure->xmax = InvalidTransactionId;
		failure->cmax = InvalidCommandId;
		result = TM_Updated;
	}
	if (result == TM_Ok)
		CheckForSerializableConflictIn(table, &row->ctid, ItemPointerGetBlockNumberNoCheck(&row->ctid));
	return result == TM_WouldBlock ? TM_BeingModified : result;
}

/* The row as a heap's tuple; only columns of the key, if it isn't NULL. */
static HeapTuple
copy_identity(StripeRow *row, Bitmapset *key)
{
	Relation	table = row->store.table;
	TupleTableSlot *slot = table_slot_create(table, NULL);
	HeapTuple	tuple;

	stripe_fetch_row(&row->store, &row->stripe, &row->ctid, NULL, slot);
	if (key == NULL)
		tuple = ExecCopySlotHeapTuple(slot);
	else
	{
		slot_getallattrs(slot);
		for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
			slot->tts_isnull[i] = slot->tts_isnull[i] ||
				!bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, key);
		tuple = heap_form_tuple(RelationGetDescr(table), slot->tts_values, slot->tts_isnull);
	}
	ExecDropSingleTupleTableSlot(slot);
	return tuple;
}

/* Hides a row of the row-wise part from this transaction, too. */
static void
hide_heap_row(Relation table, ItemPointer ctid)
{
	Buffer		buffer = ReadBuffer(table, ItemPointerGetBlockNumber(ctid));
	Page		page;
	HeapTupleHeader header;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	header = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, ItemPointerGetOffsetNumber(ctid)));
	header->t_infomask |= HEAP_XMIN_INVALID;
	MarkBufferDirtyHint(buffer, true);
	UnlockReleaseBuffer(buffer);
}

/*
 * Lets logical decoding see that a row of a published table is deleted: what
 * subscribers need to find the row becomes a row of the row-wise part, unseen
 * by decoding, and is deleted.  No other transaction ever sees both, and this
 * one finds the inserter failed.
 */
static void
publish_delete(StripeRow *row, CommandId cid)
{
	Relation	table = row->store.table;
	bool		full = table->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	Bitmapset  *key = full ? NULL : RelationGetIdentityKeyBitmap(table);
	HeapTuple	tuple;
	TM_FailureData failure;

	if (!full && key == NULL)
		return;
	tuple = copy_identity(row, key);
	heap_insert(table, tuple, cid, HEAP_INSERT_NO_LOGICAL, NULL);
	/* Values that were toasted are deleted by a later command only. */
	if (tuple->t_len > TOAST_TUPLE_THRESHOLD)
		CommandCounterIncrement();
	if (heap_delete(table, &tuple->t_self, cid + 1, 0, InvalidSnapshot, false, &failure) != TM_Ok)
		elog(ERROR, "could not publish that a row of columnar table \"%s\" is deleted",
			 RelationGetRelationName(table));
	hide_heap_row(table, &tuple->t_self);
	heap_freetuple(tuple);
	bms_free(key);
}

bool		columnar_deletes_move = false;

static TM_Result
columnar_tuple_delete(Relation table, ItemPointer ctid, DELETE_PARAMS)
{
	StripeRow	row;
	ItemPointerData moved;
	TM_Result	result;

	if (!ctid_is_in_stripe(ctid))
	{
		result = GetHeapamTableAmRoutine()->tuple_delete(table, ctid, DELETE_ARGS);
		if (result == TM_Updated)
			(void) find_moved_row(table, ctid, failure);
		return result;
	}
	if (!open_unmoved_row(&row, table, ctid, failure))
		return TM_Updated;
	result = lock_for_change(&row, cid, crosscheck, wait, failure);
	if (result == TM_Ok)
	{
		ItemPointerSetMovedPartitions(&moved);
		if (columnar_is_published(table))
			publish_delete(&row, cid);
		row_mark_gone(&row.store, &row.stripe, stripe_row_of_ctid(&row.stripe, ctid), &row.head,
					  DELETE_CHANGES_PARTITION || columnar_deletes_move ? &moved : NULL, cid);
		pgstat_count_heap_delete(table);
	}
	stripe_store_close(&row.store);
	return result;
}

/*
 * Locks the new version of a row that was locked before, as the heap's update
 * does: its xmax tells ON CONFLICT's updates from inserts.
 */
static void
keep_row_lock(Relation table, TupleTableSlot *slot, CommandId cid)
{
	HeapTupleData tuple = {.t_self = slot->tts_tid};
	TM_FailureData failure;
	Buffer		buffer;
	bool		copied;
	HeapTuple	own;

	if (heap_lock_tuple(table, &tuple, cid + 1, LockTupleExclusive, LockWaitBlock, false, &buffer, &failure) == TM_Ok)
	{
		own = ExecFetchSlotHeapTuple(slot, false, &copied);
		own->t_data->t_infomask = tuple.t_data->t_infomask;
		HeapTupleHeaderSetXmax(own->t_data, HeapTupleHeaderGetRawXmax(tuple.t_data));
		if (copied)
			heap_freetuple(own);
	}
	ReleaseBuffer(buffer);
}

static TM_Result
columnar_tuple_update(Relation table, ItemPointer ctid, TupleTableSlot *slot, CommandId cid,
					  UPDATE_OPTIONS_PARAM Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *failure, LockTupleMode *lockmode,
					  TU_UpdateIndexes *update_indexes)
{
	StripeRow	row;
	TM_Result	result;
	bool		locked;

	if (!ctid_is_in_stripe(ctid))
	{
		result = GetHeapamTableAmRoutine()->tuple_update(table, ctid, slot, cid, UPDATE_OPTIONS_ARG snapshot,
														 crosscheck, wait, failure, lockmode, update_indexes);
		if (result == TM_Updated)
			(void) find_moved_row(table, ctid, failure);
		return result;
	}
	*lockmode = LockTupleExclusive;
	*update_indexes = TU_None;
	if (!open_unmoved_row(&row, table, ctid, failure))
		return TM_Updated;
	locked = row_mark_is_own_lock(&row.store, &row.stripe, stripe_row_of_ctid(&row.stripe, ctid));
	result = lock_for_change(&row, cid, crosscheck, wait, failure);
	if (result == TM_Ok)
	{
		if (columnar_is_published(table))
			publish_delete(&row, cid);
		GetHeapamTableAmRoutine()->tuple_insert(table, slot, cid, 0, NULL);
		if (locked)
			keep_row_lock(table, slot, cid);
		row_mark_gone(&row.store, &row.stripe, stripe_row_of_ctid(&row.stripe, ctid), &row.head, &slot->tts_tid, cid);
		pgstat_count_heap_delete(table);
		*update_indexes = TU_All;
	}
	stripe_store_close(&row.store);
	return result;
}

/* Locks a row where it is, of either part. */
static TM_Result
lock_row_here(Relation table, ItemPointer ctid, Snapshot snapshot, TupleTableSlot *slot, CommandId cid,
			  LockTupleMode mode, LockWaitPolicy policy, uint8 flags, TM_FailureData *failure)
{
	StripeRow	row;
	TM_Result	result;

	if (!ctid_is_in_stripe(ctid))
	{
		result = GetHeapamTableAmRoutine()->tuple_lock(table, ctid, snapshot, slot, cid, mode, policy,
													   flags & ~TUPLE_LOCK_FLAG_FIND_LAST_VERSION, failure);
		if (result == TM_Updated)
			(void) find_moved_row(table, ctid, failure);
		return result;
	}
	if (!open_unmoved_row(&row, table, ctid, failure))
		return TM_Updated;
	result = lock_stripe_row(&row, cid, mode, policy, failure);
	if (result == TM_Ok)
		stripe_fetch_row(&row.store, &row.stripe, ctid, NULL, slot);
	stripe_store_close(&row.store);
	return result;
}

/*
 * Whether the row at a ctid of the row-wise part is the version that a
 * transaction has made.
 */
static bool
is_version_of(Relation table, ItemPointer ctid, TransactionId xid)
{
	HeapTupleData tuple = {.t_self = *ctid};
	Buffer		buffer;
	bool		result;

	if (!heap_fetch(table, SnapshotAny, &tuple, &buffer, false))
		return false;
	result = TransactionIdEquals(HeapTupleHeaderGetXmin(tuple.t_data), xid);
	ReleaseBuffer(buffer);
	return result;
}

static TM_Result
columnar_tuple_lock(Relation table, ItemPointer ctid, Snapshot snapshot, TupleTableSlot *slot, CommandId cid,
					LockTupleMode mode, LockWaitPolicy policy, uint8 flags, TM_FailureData *failure)
{
	bool		traversed = false;
	TM_Result	result;

	for (;;)
	{
		result = lock_row_here(table, ctid, snapshot, slot, cid, mode, policy, flags, failure);
		if (result != TM_Updated || (flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) == 0)
			break;
		if (ItemPointerIndicatesMovedPartitions(&failure->ctid))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));
		if (!ctid_is_in_stripe(&failure->ctid) && !is_version_of(table, &failure->ctid, failure->xmax))
		{
			result = TM_Deleted;
			break;
		}
		*ctid = failure->ctid;
		traversed = true;
	}
	failure->traversed = traversed;
	return result;
}

void
table_modify_set(TableAmRoutine *routine)
{
	routine->tuple_insert = columnar_tuple_insert;
	routine->multi_insert = columnar_multi_insert;
	routine->finish_bulk_insert = columnar_finish_bulk_insert;
	routine->tuple_delete = columnar_tuple_delete;
	routine->tuple_update = columnar_tuple_update;
	routine->tuple_lock = columnar_tuple_lock;
}
