/*-------------------------------------------------------------------------
 *
 * stripe_directory.c
 *	  Which stripes a columnar table has.
 *
 * The directory consists of records in the table's store with an id that no
 * toasted value has.  A stripe's record is numbered by the first block of its
 * rows' ctids, so that an index scan finds the stripe of a ctid.  Its xmin is
 * that of all rows of the stripe.
 *
 * One more record, the counter, says which ctids were given out.  It is
 * visible to all, and changed in place: a ctid is never given out again, even
 * if its transaction fails, since indexes may still have entries for it.
 *
 * Lock: COUNTER_LOCK, held while the counter is read and changed; nothing else
 * is waited for meanwhile but locks of the heap's own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/snapmgr.h"

#include "columnar/stripe_directory.h"
#include "lib/debug_point.h"

/* Less than any id that the server gives to a toasted value. */
#define DIRECTORY_ID ((Oid) 1)

#define COUNTER_NUMBER (-1)
#define CLEANED_NUMBER (-2)

/* The number of a block in the directory. */
#define BLOCK_TO_NUMBER(block) ((int32) ((block) - STRIPE_FIRST_BLOCK))

/* No snapshot is older than this number of transactions. */
#define MAX_SNAPSHOT_AGE (PG_INT32_MAX / 2)

typedef struct DirectoryCounter
{
	uint32		version;
	uint32		next;			/* the first block not given out, as a
								 * number */
	uint64		rewritten_by;	/* the full id of the transaction that has
								 * rewritten the table; 0: it never was */
	uint32		crc;			/* CRC-32C of the fields above; earlier
								 * versions end before it */
	uint32		unused;
} DirectoryCounter;

#define COUNTER_OLD_LEN offsetof(DirectoryCounter, crc)

/* No tuple has this ctid. */
static ItemPointerData
counter_lock_ctid(void)
{
	ItemPointerData ctid;

	ItemPointerSet(&ctid, MaxBlockNumber, 1);
	return ctid;
}

static pg_crc32c
crc_of_counter(const DirectoryCounter *counter)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, counter, COUNTER_OLD_LEN);
	FIN_CRC32C(crc);
	return crc;
}

static bool
read_directory_counter(StripeStore *store, DirectoryCounter *counter, ItemPointer at)
{
	StoreScan  *scan = stripe_store_scan(store, DIRECTORY_ID, COUNTER_NUMBER, COUNTER_NUMBER, false, SnapshotAny);
	StoredRecord record;
	bool		found = stripe_store_scan_next(scan, &record);

	if (found)
	{
		memset(counter, 0, sizeof(DirectoryCounter));
		memcpy(counter, record.bytes, Min(record.len, sizeof(DirectoryCounter)));
		if (record.len == sizeof(DirectoryCounter) ? counter->crc != crc_of_counter(counter) :
			record.len != COUNTER_OLD_LEN)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("directory of columnar table \"%s\" is damaged", RelationGetRelationName(store->table)),
					 errdetail("The counter of ctids is invalid.")));
		*at = record.at;
	}
	stripe_store_scan_end(scan);
	return found;
}

/*
 * Gives the table's own storage a page, if it has none: ANALYZE reads no rows
 * of a table without pages, and stripe_directory_read() finds nothing.
 */
static void
ensure_first_page(Relation table)
{
	Buffer		buffer;

	if (RelationGetNumberOfBlocks(table) > 0)
		return;
	LockRelationForExtension(table, ExclusiveLock);
	if (RelationGetNumberOfBlocks(table) == 0)
	{
		buffer = ReadBufferExtended(table, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
		START_CRIT_SECTION();
		PageInit(BufferGetPage(buffer), BufferGetPageSize(buffer), 0);
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(table))
			log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buffer);
	}
	UnlockRelationForExtension(table, ExclusiveLock);
}

static void
insert_directory_counter(StripeStore *store, DirectoryCounter *counter, ItemPointer at)
{
	memset(counter, 0, sizeof(DirectoryCounter));
	counter->version = STRIPE_FORMAT_VERSION;
	counter->crc = crc_of_counter(counter);
	*at = stripe_store_insert(store, DIRECTORY_ID, COUNTER_NUMBER, counter, sizeof(DirectoryCounter),
							  GetCurrentCommandId(true), STORED_FOR_ALL);
}

/* Replaces it by what was changed. */
static void
write_directory_counter(StripeStore *store, DirectoryCounter *counter, ItemPointer at)
{
	bool		checked = counter->version >= STRIPE_VERSION_CHECKED_NUMBERS;

	counter->crc = crc_of_counter(counter);
	stripe_store_overwrite(store, at, counter, checked ? sizeof(DirectoryCounter) : COUNTER_OLD_LEN);
}

static pg_crc32c
crc_of_record(const StripeRecord *record, int32 number)
{
	StripeRecord copy = *record;
	pg_crc32c	crc;

	copy.crc = 0;
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &copy, sizeof(copy));
	if (record->version >= STRIPE_VERSION_CHECKED_NUMBERS)
		COMP_CRC32C(crc, &number, sizeof(number));
	FIN_CRC32C(crc);
	return crc;
}

void
stripe_directory_reserve(StripeStore *store, uint32 nblocks, CommandId cid, StripeInfo *stripe)
{
	ItemPointerData lock = counter_lock_ctid();
	ItemPointerData at;
	DirectoryCounter counter;

	(void) GetCurrentTransactionId();
	ensure_first_page(store->table);
	LockTuple(store->toast, &lock, ExclusiveLock);
	if (!read_directory_counter(store, &counter, &at))
		insert_directory_counter(store, &counter, &at);
	if (nblocks > STRIPE_MAX_BLOCKS - counter.next)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("columnar table \"%s\" has no more room for stripes", RelationGetRelationName(store->table)),
				 errhint("VACUUM FULL makes room.")));
	memset(stripe, 0, sizeof(StripeInfo));
	stripe->first_block = STRIPE_FIRST_BLOCK + counter.next;
	counter.next += nblocks;
	write_directory_counter(store, &counter, &at);
	stripe->record.version = STRIPE_FORMAT_VERSION;
	stripe->record.state = STRIPE_RESERVED;
	stripe->record.nblocks = nblocks;
	stripe->record.crc = crc_of_record(&stripe->record, BLOCK_TO_NUMBER(stripe->first_block));
	stripe->at = stripe_store_insert(store, DIRECTORY_ID, BLOCK_TO_NUMBER(stripe->first_block), &stripe->record,
									 sizeof(StripeRecord), cid, STORED_BY_TRANSACTION);
	DEBUG_POINT("columnar-reserve");
	UnlockTuple(store->toast, &lock, ExclusiveLock);
}

void
stripe_directory_complete(StripeStore *store, StripeInfo *stripe)
{
	ItemPointerData lock = counter_lock_ctid();
	ItemPointerData at;
	DirectoryCounter counter;
	uint32		needed = (stripe->record.nrows + STRIPE_BLOCK_ROWS - 1) / STRIPE_BLOCK_ROWS;
	uint32		end = BLOCK_TO_NUMBER(stripe->first_block) + stripe->record.nblocks;

	if (needed < stripe->record.nblocks)
	{
		LockTuple(store->toast, &lock, ExclusiveLock);
		if (read_directory_counter(store, &counter, &at) && counter.next == end)
		{
			counter.next = BLOCK_TO_NUMBER(stripe->first_block) + needed;
			write_directory_counter(store, &counter, &at);
		}
		UnlockTuple(store->toast, &lock, ExclusiveLock);
	}
	stripe->record.nblocks = needed;
	stripe->record.state = STRIPE_WRITTEN;
	stripe->record.crc = crc_of_record(&stripe->record, BLOCK_TO_NUMBER(stripe->first_block));
	stripe_store_overwrite(store, &stripe->at, &stripe->record, sizeof(StripeRecord));
	DEBUG_POINT("columnar-complete");
}

static void
set_stripe_info(StripeStore *store, const StoredRecord *record, StripeInfo *stripe)
{
	stripe->first_block = STRIPE_FIRST_BLOCK + record->number;
	stripe->at = record->at;
	stripe->xmin = record->xmin;
	stripe->cmin = record->cmin;
	stripe->xmin_bits = record->xmin_bits;
	memset(&stripe->record, 0, sizeof(StripeRecord));
	memcpy(&stripe->record, record->bytes, Min(record->len, sizeof(StripeRecord)));
	if (record->len == sizeof(StripeRecord) ? stripe->record.crc != crc_of_record(&stripe->record, record->number) :
		record->len != STRIPE_RECORD_OLD_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("directory of columnar table \"%s\" is damaged", RelationGetRelationName(store->table)),
				 errdetail("The record of stripe %d is invalid.", record->number)));
	if (stripe->record.version > STRIPE_FORMAT_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("columnar table \"%s\" has a stripe of an unknown format", RelationGetRelationName(store->table)),
				 errdetail("The format is %u, and this library knows %u.", stripe->record.version,
						   STRIPE_FORMAT_VERSION)));
}

/*
 * The rewritten table has no rows that only older snapshots see, and rows
 * that these don't see.
 */
static void
check_not_rewritten_since(StripeStore *store, Snapshot snapshot)
{
	DirectoryCounter counter;
	ItemPointerData at;
	TransactionId xid;

	if (!IsMVCCSnapshot(snapshot) || !read_directory_counter(store, &counter, &at) || counter.rewritten_by == 0 ||
		U64FromFullTransactionId(ReadNextFullTransactionId()) - counter.rewritten_by > MAX_SNAPSHOT_AGE)
		return;
	xid = XidFromFullTransactionId(FullTransactionIdFromU64(counter.rewritten_by));
	if (TransactionIdIsCurrentTransactionId(xid) || TransactionIdPrecedes(xid, snapshot->xmin) ||
		!XidInMVCCSnapshot(xid, snapshot))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access because columnar table \"%s\" was rewritten",
					RelationGetRelationName(store->table)),
			 errdetail("VACUUM FULL has rewritten the table after this transaction's snapshot was taken."),
			 errhint("The transaction might succeed if retried.")));
}

/* The stripes in a state, or later, that a snapshot sees; palloc'd. */
static StripeInfo *
read_stripe_records(StripeStore *store, StripeState state, Snapshot snapshot, int *count)
{
	int			room = 16;
	StripeInfo *stripes = palloc(room * sizeof(StripeInfo));
	StoreScan  *scan = stripe_store_scan(store, DIRECTORY_ID, 0, PG_INT32_MAX, false, snapshot);
	StoredRecord record;

	*count = 0;
	while (stripe_store_scan_next(scan, &record))
	{
		if (*count == room)
		{
			room *= 2;
			stripes = repalloc_huge(stripes, room * sizeof(StripeInfo));
		}
		set_stripe_info(store, &record, &stripes[*count]);
		if (stripes[*count].record.state >= state)
			(*count)++;
	}
	stripe_store_scan_end(scan);
	return stripes;
}

StripeInfo *
stripe_directory_read(StripeStore *store, Snapshot snapshot, int *count)
{
	/*
	 * While TRUNCATE makes the indexes anew, the TOAST table may still have
	 * stripes, or no index; but the table has no page.
	 */
	*count = 0;
	if (RelationGetNumberOfBlocks(store->table) == 0)
		return palloc(sizeof(StripeInfo));
	check_not_rewritten_since(store, snapshot);
	return read_stripe_records(store, STRIPE_WRITTEN, snapshot, count);
}

BlockNumber
stripe_directory_end(StripeStore *store)
{
	ItemPointerData at;
	DirectoryCounter counter;

	return STRIPE_FIRST_BLOCK + (read_directory_counter(store, &counter, &at) ? counter.next : 0);
}

StripeInfo *
stripe_directory_read_all(StripeStore *store, int *count, BlockNumber *end)
{
	ItemPointerData lock = counter_lock_ctid();
	SnapshotData not_dead;
	StripeInfo *stripes;

	InitNonVacuumableSnapshot(not_dead, GlobalVisTestFor(store->toast));
	LockTuple(store->toast, &lock, ShareLock);
	*end = stripe_directory_end(store);
	stripes = read_stripe_records(store, STRIPE_RESERVED, &not_dead, count);
	UnlockTuple(store->toast, &lock, ShareLock);
	return stripes;
}

uint64
stripe_directory_cleaned_rows(StripeStore *store)
{
	StoreScan  *scan = stripe_store_scan(store, DIRECTORY_ID, CLEANED_NUMBER, CLEANED_NUMBER, false, SnapshotSelf);
	StoredRecord record;
	uint64		rows = 0;

	if (stripe_store_scan_next(scan, &record) && record.len == sizeof(rows))
		memcpy(&rows, record.bytes, sizeof(rows));
	stripe_store_scan_end(scan);
	return rows;
}

void
stripe_directory_set_cleaned_rows(StripeStore *store, uint64 rows)
{
	StoreScan  *scan = stripe_store_scan(store, DIRECTORY_ID, CLEANED_NUMBER, CLEANED_NUMBER, false, SnapshotSelf);
	StoredRecord record;
	bool		found = stripe_store_scan_next(scan, &record);

	stripe_store_scan_end(scan);
	if (found)
		stripe_store_overwrite(store, &record.at, &rows, sizeof(rows));
	else
		(void) stripe_store_insert(store, DIRECTORY_ID, CLEANED_NUMBER, &rows, sizeof(rows), GetCurrentCommandId(true),
								   STORED_FOR_ALL);
}

uint64
stripe_directory_uncleaned_rows(StripeStore *store, const StripeInfo *stripes, int nstripes)
{
	uint64		cleaned = stripe_directory_cleaned_rows(store);
	ItemPointerData at;
	DirectoryCounter counter;
	uint64		gone;

	if (!read_directory_counter(store, &counter, &at))
		return 0;
	gone = counter.next;
	for (int i = 0; i < nstripes; i++)
		gone -= Min(gone, stripes[i].record.nblocks);
	gone *= STRIPE_BLOCK_ROWS;
	return gone > cleaned ? gone - cleaned : 0;
}

bool
stripe_directory_find(StripeStore *store, ItemPointer ctid, Snapshot snapshot, StripeInfo *stripe)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	StoreScan  *scan;
	StoredRecord record;
	bool		found;
	bool		in_progress;

	check_not_rewritten_since(store, snapshot);
	scan = stripe_store_scan(store, DIRECTORY_ID, 0, BLOCK_TO_NUMBER(block), true, snapshot);
	found = stripe_store_scan_next(scan, &record);
	if (found)
		set_stripe_info(store, &record, stripe);
	stripe_store_scan_end(scan);
	if (!found || block - stripe->first_block >= stripe->record.nblocks)
		return false;

	/* Of another transaction's stripe, only the number of ctids is certain. */
	in_progress = snapshot->snapshot_type == SNAPSHOT_DIRTY && TransactionIdIsValid(snapshot->xmin);
	if (in_progress || stripe->record.state == STRIPE_RESERVED)
	{
		stripe->record.state = STRIPE_RESERVED;
		return true;
	}
	return stripe_row_of_ctid(stripe, ctid) < stripe->record.nrows;
}

bool
stripe_directory_lock(Relation table, BlockNumber first_block, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag;

	/* No row has this ctid. */
	SET_LOCKTAG_TUPLE(tag, table->rd_lockInfo.lockRelId.dbId, table->rd_lockInfo.lockRelId.relId, first_block,
					  STRIPE_BLOCK_ROWS + 1);
	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

void
stripe_directory_set_rewritten(StripeStore *store)
{
	ItemPointerData at;
	DirectoryCounter counter;

	if (!read_directory_counter(store, &counter, &at))
		insert_directory_counter(store, &counter, &at);
	counter.rewritten_by = U64FromFullTransactionId(GetCurrentFullTransactionId());
	write_directory_counter(store, &counter, &at);
}
