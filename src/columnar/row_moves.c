/*-------------------------------------------------------------------------
 *
 * row_moves.c
 *	  Where compaction has moved rows.
 *
 * A session whose snapshot is older than the compaction still sees a row at
 * its former ctid.  If the session then locks or changes the row, it needs the
 * new ctid, as after an UPDATE.  So a compaction writes the pairs of ctids as
 * a stream, and a record of it, into the table's store.  They are visible as
 * the moved rows are, and are deleted by a later compaction when no snapshot
 * is older than they are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "port/pg_crc32c.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/compression.h"
#include "columnar/row_moves.h"
#include "columnar/stripe_format.h"

/* As the directory's: less than any id of a toasted value. */
#define MOVES_ID ((Oid) 2)

#define MOVES_LEVEL 1			/* of the compression */

/* Numbered by the first block that rows were moved to. */
typedef struct MovesRecord
{
	Oid			data_id;		/* of the stream */
	uint32		count;			/* of RowMoves */
	uint32		len;			/* of the stream */
	uint32		compression;	/* a ColumnarCompression */
	uint32		stream_crc;		/* CRC-32C of the stream, and of the fields
								 * above: earlier versions have none */
	uint32		crc;
} MovesRecord;

#define MOVES_RECORD_OLD_LEN offsetof(MovesRecord, stream_crc)

static pg_crc32c
crc_of_bytes(const void *bytes, Size len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, bytes, len);
	FIN_CRC32C(crc);
	return crc;
}

void
row_moves_write(StripeStore *store, const RowMove *moves, uint32 count, CommandId cid)
{
	uint32		raw_len = count * sizeof(RowMove);
	char	   *bytes = columnar_compress(COLUMNAR_COMPRESSION_ZSTD, MOVES_LEVEL, (const char *) moves, raw_len, &raw_len);
	MovesRecord record = {
		.data_id = stripe_store_new_id(store),
		.count = count,
		.len = raw_len,
		.compression = bytes != NULL ? COLUMNAR_COMPRESSION_ZSTD : COLUMNAR_COMPRESSION_NONE
	};
	StreamWriter stream;

	record.stream_crc = crc_of_bytes(bytes != NULL ? bytes : (const char *) moves, record.len);
	record.crc = crc_of_bytes(&record, offsetof(MovesRecord, crc));
	stream_writer_begin(&stream, store, record.data_id, cid, STORED_BY_TRANSACTION);
	stream_writer_put(&stream, bytes != NULL ? bytes : (const char *) moves, record.len);
	stream_writer_end(&stream);
	(void) stripe_store_insert(store, MOVES_ID,
							   (int32) (ItemPointerGetBlockNumberNoCheck(&moves[0].to) - STRIPE_FIRST_BLOCK),
							   &record, sizeof(record), cid, STORED_BY_TRANSACTION);
	if (bytes != NULL)
		pfree(bytes);
}

static void
report_damaged_moves(StripeStore *store)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("moves of rows of columnar table \"%s\" are damaged", RelationGetRelationName(store->table))));
}

static void
read_moves_record(StripeStore *store, const StoredRecord *stored, MovesRecord *record)
{
	memset(record, 0, sizeof(MovesRecord));
	memcpy(record, stored->bytes, Min(stored->len, sizeof(MovesRecord)));
	if (stored->len == sizeof(MovesRecord) ? record->crc != crc_of_bytes(record, offsetof(MovesRecord, crc)) :
		stored->len != MOVES_RECORD_OLD_LEN)
		report_damaged_moves(store);
}

static RowMove *
read_moves(StripeStore *store, const MovesRecord *record)
{
	Size		raw_len = record->count * sizeof(RowMove);
	char	   *bytes = MemoryContextAllocHuge(CurrentMemoryContext, record->len);
	RowMove    *moves;

	stripe_store_read(store, record->data_id, 0, record->len, bytes);
	if (record->crc != 0 && record->stream_crc != crc_of_bytes(bytes, record->len))
		report_damaged_moves(store);
	if (record->compression == COLUMNAR_COMPRESSION_NONE)
		return (RowMove *) bytes;
	moves = MemoryContextAllocHuge(CurrentMemoryContext, raw_len);
	if (!columnar_decompress(record->compression, bytes, record->len, (char *) moves, (uint32) raw_len))
		report_damaged_moves(store);
	pfree(bytes);
	return moves;
}

/* Looks for a ctid among the moves of a record. */
static bool
find_move(StripeStore *store, const MovesRecord *record, ItemPointer from, ItemPointer to)
{
	RowMove    *moves = read_moves(store, record);
	bool		found = false;

	for (uint32 i = 0; i < record->count && !found; i++)
	{
		found = ItemPointerEquals(&moves[i].from, from);
		if (found)
			*to = moves[i].to;
	}
	pfree(moves);
	return found;
}

void
row_moves_check(StripeStore *store)
{
	StoreScan  *scan = stripe_store_scan(store, MOVES_ID, 0, PG_INT32_MAX, false, SnapshotSelf);
	StoredRecord stored;
	MovesRecord record;

	while (stripe_store_scan_next(scan, &stored))
	{
		read_moves_record(store, &stored, &record);
		pfree(read_moves(store, &record));
	}
	stripe_store_scan_end(scan);
}

bool
row_moves_find(StripeStore *store, ItemPointer from, TransactionId xid, ItemPointer to)
{
	StoreScan  *scan = stripe_store_scan(store, MOVES_ID, 0, PG_INT32_MAX, true, SnapshotSelf);
	StoredRecord stored;
	MovesRecord record;
	bool		found = false;

	while (!found && stripe_store_scan_next(scan, &stored))
	{
		if (TransactionIdIsValid(xid) && !TransactionIdEquals(stored.xmin, xid))
			continue;
		read_moves_record(store, &stored, &record);
		found = find_move(store, &record, from, to);
	}
	stripe_store_scan_end(scan);
	return found;
}

void
row_moves_forget(StripeStore *store, CommandId cid)
{
	TransactionId horizon = GetOldestNonRemovableTransactionId(store->table);
	StoreScan  *scan = stripe_store_scan(store, MOVES_ID, 0, PG_INT32_MAX, false, SnapshotSelf);
	StoredRecord stored;
	MovesRecord record;

	while (stripe_store_scan_next(scan, &stored))
	{
		if (stored.xmin_bits != HEAP_XMIN_FROZEN && !TransactionIdPrecedes(stored.xmin, horizon))
			continue;
		read_moves_record(store, &stored, &record);
		stripe_store_delete_stream(store, record.data_id, cid);
		stripe_store_delete(store, &stored.at, cid);
	}
	stripe_store_scan_end(scan);
}
