/*-------------------------------------------------------------------------
 *
 * row_marks.c
 *	  Locks on rows of stripes, and marks of those that are gone.
 *
 * A stripe does not change, so what happens to its rows is written beside it,
 * in two kinds of records of the table's store:
 *
 *	  head	  a row's lock.  It is made when the row is first locked, visible
 *			  to all, and says nothing: its xmax is the row's.
 *	  gone	  the row is deleted, or has a next version.  It is always made by
 *			  updating the head, so that at each time, and for each snapshot
 *			  that sees the stripe, one of the two is visible, or neither was
 *			  ever made.
 *
 * So the heap's own functions find out who may lock a row, who waits for whom,
 * and who sees that it is gone.  A head may be removed by VACUUM when nobody
 * sees it any more; the gone one stays as long as the stripe.
 *
 * An update takes the strongest lock, so that nobody can lock the old version
 * while a new one, which would have to be locked too, isn't committed yet.
 *
 * Lock: a heavyweight lock on the row's ctid is held while its head is looked
 * up and made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "columnar/row_marks.h"
#include "compat/varlena.h"
#include "lib/debug_point.h"

/* Numbers are stored: they stay as they are. */
typedef enum MarkKind
{
	MARK_HEAD = 1,
	MARK_DELETED = 2,
	MARK_UPDATED = 3
} MarkKind;

typedef struct MarkRecord
{
	uint8		kind;			/* a MarkKind */
	uint8		check;			/* mark_check(), or 0 (earlier versions) */
	ItemPointerData next;		/* MARK_UPDATED: the next version */
} MarkRecord;

/* Streams have the numbers from 0 on. */
#define MARK_NUMBER(row) (-1 - (int32) (row))
#define MARK_ROW(number) ((uint32) (-1 - (number)))

/*
 * The complement of the kind; of a stripe of a later version, combined with
 * the bytes of the number and the next version, so that it differs if any bit
 * does.
 */
static uint8
mark_check(const StripeInfo *stripe, int32 number, const MarkRecord *mark)
{
	const uint8 *next = (const uint8 *) &mark->next;
	uint8		check = (uint8) ~mark->kind;

	if (stripe->record.version < STRIPE_VERSION_CHECKED_NUMBERS)
		return check;
	for (Size i = 0; i < sizeof(mark->next); i++)
		check ^= next[i];
	return check ^ number ^ (number >> 8) ^ (number >> 16) ^ (number >> 24);
}

static void
read_mark_bytes(StripeStore *store, const StripeInfo *stripe, int32 number, const char *bytes, Size len, MarkRecord *mark)
{
	if (len == sizeof(MarkRecord))
		memcpy(mark, bytes, sizeof(MarkRecord));
	if (len != sizeof(MarkRecord) || mark->kind < MARK_HEAD || mark->kind > MARK_UPDATED ||
		((mark->check != 0 || stripe->record.version >= STRIPE_VERSION_CHECKED_NUMBERS) &&
		 mark->check != mark_check(stripe, number, mark)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("mark of a row of columnar table \"%s\" is damaged", RelationGetRelationName(store->table))));
}

static void
read_mark_record(StripeStore *store, const StripeInfo *stripe, const StoredRecord *record, MarkRecord *mark)
{
	read_mark_bytes(store, stripe, record->number, record->bytes, record->len, mark);
}

/* Those that a snapshot sees; with a horizon, only older ones. */
static void
read_gone_marks(StripeStore *store, const StripeInfo *stripe, Snapshot snapshot, TransactionId horizon, RowMarks *marks)
{
	StoreScan  *scan = stripe_store_scan(store, stripe->record.data_id, PG_INT32_MIN, -1, false, snapshot);
	StoredRecord record;
	MarkRecord	mark;

	marks->bits = NULL;
	marks->count = 0;
	while (stripe_store_scan_next(scan, &record))
	{
		uint32		row = MARK_ROW(record.number);

		read_mark_record(store, stripe, &record, &mark);
		if (mark.kind == MARK_HEAD || row >= stripe->record.nrows)
			continue;
		if (TransactionIdIsValid(horizon) && record.xmin_bits != HEAP_XMIN_FROZEN &&
			!TransactionIdPrecedes(record.xmin, horizon))
			continue;
		if (marks->bits == NULL)
			marks->bits = palloc0((stripe->record.nrows + 7) / 8);
		if (!row_is_marked(marks, row))
			marks->count++;
		marks->bits[row / 8] |= 1 << (row % 8);
	}
	stripe_store_scan_end(scan);
}

void
row_marks_read(StripeStore *store, const StripeInfo *stripe, Snapshot snapshot, RowMarks *marks)
{
	read_gone_marks(store, stripe, snapshot, InvalidTransactionId, marks);
}

void
row_marks_read_old(StripeStore *store, const StripeInfo *stripe, TransactionId horizon, RowMarks *marks)
{
	read_gone_marks(store, stripe, SnapshotSelf, horizon, marks);
}

bool
row_marks_are_of_rows(StripeStore *store, const StripeInfo *stripe)
{
	StoreScan  *scan = stripe_store_scan(store, stripe->record.data_id, PG_INT32_MIN,
										 MARK_NUMBER((uint32) stripe->record.nrows), false, SnapshotAny);
	StoredRecord record;
	bool		found = stripe_store_scan_next(scan, &record);

	stripe_store_scan_end(scan);
	return !found;
}

bool
row_is_visible(StripeStore *store, const StripeInfo *stripe, uint32 row, Snapshot snapshot)
{
	bool		dirty = snapshot->snapshot_type == SNAPSHOT_DIRTY;
	TransactionId xmin = snapshot->xmin;
	TransactionId xmax = InvalidTransactionId;
	bool		head = false;
	bool		gone = false;
	StoreScan  *scan;
	StoredRecord record;
	MarkRecord	mark;

	if (stripe->record.state == STRIPE_RESERVED || snapshot->snapshot_type == SNAPSHOT_ANY)
	{
		if (dirty)
			snapshot->xmax = InvalidTransactionId;
		return true;
	}
	scan = stripe_store_scan(store, stripe->record.data_id, MARK_NUMBER(row), MARK_NUMBER(row), false, snapshot);
	while (stripe_store_scan_next(scan, &record))
	{
		read_mark_record(store, stripe, &record, &mark);
		if (mark.kind != MARK_HEAD)
			gone = true;
		else
		{
			head = true;
			if (dirty)
				xmax = snapshot->xmax;
		}
	}
	stripe_store_scan_end(scan);
	if (dirty)
	{
		snapshot->xmin = xmin;
		snapshot->xmax = xmax;
	}
	return head || !gone;
}

/*
 * Finds the head of a row, or a mark that it is gone if the head was removed
 * since.
 */
static bool
find_mark(StripeStore *store, const StripeInfo *stripe, uint32 row, MarkRecord *mark, ItemPointer at)
{
	StoreScan  *scan = stripe_store_scan(store, stripe->record.data_id, MARK_NUMBER(row), MARK_NUMBER(row), false,
										 SnapshotAny);
	StoredRecord record;
	MarkRecord	one;
	bool		found = false;

	while (stripe_store_scan_next(scan, &record))
	{
		read_mark_record(store, stripe, &record, &one);
		if (found && one.kind != MARK_HEAD)
			continue;
		*mark = one;
		*at = record.at;
		found = true;
	}
	stripe_store_scan_end(scan);
	return found;
}

/* Finds or makes the head; see find_mark(). */
static void
require_mark(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, MarkRecord *mark, ItemPointer at)
{
	uint32		row = stripe_row_of_ctid(stripe, ctid);

	if (find_mark(store, stripe, row, mark, at))
		return;
	(void) GetCurrentTransactionId();
	LockTuple(store->table, ctid, ExclusiveLock);
	if (!find_mark(store, stripe, row, mark, at))
	{
		memset(mark, 0, sizeof(MarkRecord));
		mark->kind = MARK_HEAD;
		ItemPointerSetInvalid(&mark->next);
		mark->check = mark_check(stripe, MARK_NUMBER(row), mark);
		*at = stripe_store_insert(store, stripe->record.data_id, MARK_NUMBER(row), mark, sizeof(MarkRecord),
								  GetCurrentCommandId(true), STORED_FOR_ALL);
		DEBUG_POINT("columnar-head");
	}
	UnlockTuple(store->table, ctid, ExclusiveLock);
}

/* Reads the mark at a place, if it was made by the given transaction. */
static bool
read_mark_at(StripeStore *store, const StripeInfo *stripe, uint32 row, ItemPointer at, TransactionId xmin,
			 MarkRecord *mark)
{
	HeapTupleData tuple;
	Buffer		buffer;
	bool		valid = false;

	tuple.t_self = *at;
	if (!heap_fetch(store->toast, SnapshotAny, &tuple, &buffer, false))
		return false;
	if (TransactionIdEquals(HeapTupleHeaderGetXmin(tuple.t_data), xmin))
	{
		bool		isnull;
		struct varlena *data = (struct varlena *)
			DatumGetPointer(heap_getattr(&tuple, 3, RelationGetDescr(store->toast), &isnull));

		read_mark_bytes(store, stripe, MARK_NUMBER(row), VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data), mark);
		valid = true;
	}
	ReleaseBuffer(buffer);
	return valid;
}

TM_Result
row_mark_lock(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, CommandId cid, LockTupleMode mode,
			  LockWaitPolicy policy, ItemPointer head, TM_FailureData *failure)
{
	HeapTupleData tuple;
	MarkRecord	mark;
	Buffer		buffer;
	TM_Result	result;

	require_mark(store, stripe, ctid, &mark, head);
	if (mark.kind == MARK_HEAD)
	{
		tuple.t_self = *head;
		result = heap_lock_tuple(store->toast, &tuple, cid, mode, policy, false, &buffer, failure);
		ReleaseBuffer(buffer);
		if (result != TM_Updated)
			return result;
		if (!read_mark_at(store, stripe, stripe_row_of_ctid(stripe, ctid), &failure->ctid, failure->xmax, &mark))
			mark.kind = MARK_DELETED;
	}
	else
	{
		failure->xmax = InvalidTransactionId;
		failure->cmax = InvalidCommandId;
		failure->traversed = false;
		mark.kind = MARK_DELETED;	/* it was gone for this snapshot */
	}
	if (mark.kind == MARK_UPDATED)
	{
		failure->ctid = mark.next;
		return TM_Updated;
	}
	failure->ctid = *ctid;
	return TM_Deleted;
}

bool
row_mark_is_own_lock(StripeStore *store, const StripeInfo *stripe, uint32 row)
{
	HeapTupleData tuple;
	MarkRecord	mark;
	Buffer		buffer;
	bool		own;

	if (!find_mark(store, stripe, row, &mark, &tuple.t_self) || mark.kind != MARK_HEAD ||
		!heap_fetch(store->toast, SnapshotAny, &tuple, &buffer, false))
		return false;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	own = (tuple.t_data->t_infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) == 0 &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmax(tuple.t_data));
	UnlockReleaseBuffer(buffer);
	return own;
}

void
row_mark_gone(StripeStore *store, const StripeInfo *stripe, uint32 row, ItemPointer head, ItemPointer next,
			  CommandId cid)
{
	MarkRecord	mark;

	memset(&mark, 0, sizeof(mark));
	mark.kind = next != NULL ? MARK_UPDATED : MARK_DELETED;
	if (next != NULL)
		mark.next = *next;
	else
		ItemPointerSetInvalid(&mark.next);
	mark.check = mark_check(stripe, MARK_NUMBER(row), &mark);
	stripe_store_update(store, head, stripe->record.data_id, MARK_NUMBER(row), &mark, sizeof(mark), cid);
	DEBUG_POINT("columnar-mark");
}

bool
row_mark_next_version(StripeStore *store, const StripeInfo *stripe, uint32 row, Snapshot snapshot, ItemPointer next)
{
	StoreScan  *scan = stripe_store_scan(store, stripe->record.data_id, MARK_NUMBER(row), MARK_NUMBER(row), false,
										 snapshot);
	StoredRecord record;
	MarkRecord	mark;
	bool		found = false;

	while (!found && stripe_store_scan_next(scan, &record))
	{
		read_mark_record(store, stripe, &record, &mark);
		found = mark.kind == MARK_UPDATED;
		if (found)
			*next = mark.next;
	}
	stripe_store_scan_end(scan);
	return found;
}
