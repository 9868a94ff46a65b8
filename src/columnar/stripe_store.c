/*-------------------------------------------------------------------------
 *
 * stripe_store.c
 *	  Numbered records and streams of bytes in a table's TOAST table.
 *
 * A TOAST table is a heap with a unique index on (chunk_id, chunk_seq).  It is
 * created, truncated, rewritten, copied, vacuumed and dropped with its table,
 * and is as permanent as that.  So whatever is stored in it is logged,
 * visible, replicated and recovered as the server's own rows are, without any
 * code here.
 *
 * Streams are cut into rows that fill a page each.  A value that the server
 * has toasted has rows in the same table, with another id: ids of streams are
 * drawn in the same way.
 *
 * Logical decoding takes rows that are inserted into a TOAST table for parts
 * of the next row of the table.  It ignores rows that are inserted with
 * HEAP_INSERT_NO_LOGICAL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "columnar/stripe_store.h"
#include "compat/table_am.h"
#include "compat/varlena.h"
#include "lib/debug_point.h"

#define Anum_toast_chunk_id 1
#define Anum_toast_chunk_seq 2
#define Anum_toast_chunk_data 3

/* The bytes of a stream in a row: as many as a page has room for. */
#define STREAM_ROW_BYTES \
	(MaxHeapTupleSize - MAXALIGN(SizeofHeapTupleHeader) - 2 * sizeof(int32) - VARHDRSZ)

struct StoreScan
{
	SysScanDesc scan;
	TupleDesc	tupdesc;
	ScanDirection direction;
};

bool
stripe_store_open(StripeStore *store, Relation table, LOCKMODE lockmode)
{
	int			valid;

	if (!OidIsValid(table->rd_rel->reltoastrelid))
		return false;
	store->table = table;
	store->lockmode = lockmode;
	store->toast = table_open(table->rd_rel->reltoastrelid, lockmode);
	valid = toast_open_indexes(store->toast, lockmode, &store->indexes, &store->nindexes);
	store->valid_index = store->indexes[valid];
	return true;
}

void
stripe_store_close(StripeStore *store)
{
	toast_close_indexes(store->indexes, store->nindexes, NoLock);
	table_close(store->toast, NoLock);
}

Oid
stripe_store_new_id(StripeStore *store)
{
	return GetNewOidWithIndex(store->toast, RelationGetRelid(store->valid_index), Anum_toast_chunk_id);
}

static HeapTuple
form_store_tuple(StripeStore *store, Oid id, int32 number, const void *bytes, Size len)
{
	struct varlena *data = palloc(len + VARHDRSZ);
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	HeapTuple	tuple;

	SET_VARSIZE(data, len + VARHDRSZ);
	memcpy(VARDATA(data), bytes, len);
	values[0] = ObjectIdGetDatum(id);
	values[1] = Int32GetDatum(number);
	values[2] = PointerGetDatum(data);
	tuple = heap_form_tuple(RelationGetDescr(store->toast), values, nulls);
	pfree(data);
	return tuple;
}

static int
insert_options(StoredAs how)
{
	return HEAP_INSERT_NO_LOGICAL | (how == STORED_FOR_ALL ? HEAP_INSERT_FROZEN : 0);
}

/* Makes the entries of the indexes for a row. */
static void
insert_index_entries(StripeStore *store, HeapTuple tuple, Oid id, int32 number)
{
	Datum		values[2] = {ObjectIdGetDatum(id), Int32GetDatum(number)};
	bool		nulls[2] = {false, false};

	for (int i = 0; i < store->nindexes; i++)
	{
		if (store->indexes[i]->rd_index->indisready)
			index_insert(store->indexes[i], values, nulls, &tuple->t_self, store->toast,
						 store->indexes[i]->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
						 false, NULL);
	}
}

ItemPointerData
stripe_store_insert(StripeStore *store, Oid id, int32 number, const void *bytes, Size len, CommandId cid,
					StoredAs how)
{
	HeapTuple	tuple = form_store_tuple(store, id, number, bytes, len);
	ItemPointerData at;

	heap_insert(store->toast, tuple, cid, insert_options(how), NULL);
	insert_index_entries(store, tuple, id, number);
	at = tuple->t_self;
	heap_freetuple(tuple);
	return at;
}

void
stripe_store_overwrite(StripeStore *store, ItemPointer at, const void *bytes, Size len)
{
	Buffer		buffer = ReadBuffer(store->toast, ItemPointerGetBlockNumber(at));
	GenericXLogState *state;
	Page		page;
	ItemId		item;
	HeapTupleData tuple;
	bool		isnull;
	struct varlena *data;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(store->toast);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	item = PageGetItemId(page, ItemPointerGetOffsetNumber(at));
	if (!ItemIdIsNormal(item))
		elog(ERROR, "record of columnar table \"%s\" is missing", RelationGetRelationName(store->table));
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_self = *at;
	tuple.t_tableOid = RelationGetRelid(store->toast);
	data = (struct varlena *) DatumGetPointer(fastgetattr(&tuple, Anum_toast_chunk_data,
														  RelationGetDescr(store->toast), &isnull));
	if (isnull || VARSIZE_ANY_EXHDR(data) != len)
		elog(ERROR, "record of columnar table \"%s\" has another length", RelationGetRelationName(store->table));
	memcpy(VARDATA_ANY(data), bytes, len);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

void
stripe_store_update(StripeStore *store, ItemPointer at, Oid id, int32 number, const void *bytes, Size len,
					CommandId cid)
{
	HeapTuple	tuple = form_store_tuple(store, id, number, bytes, len);
	TM_FailureData failure;
	LockTupleMode lockmode;
	TU_UpdateIndexes update_indexes = TU_All;
	TM_Result	result = heap_update(store->toast, at, tuple, cid, 0, InvalidSnapshot, true, &failure, &lockmode,
									 &update_indexes);

	if (result != TM_Ok)
		elog(ERROR, "record of columnar table \"%s\" was changed while it was locked",
			 RelationGetRelationName(store->table));
	if (!HeapTupleIsHeapOnly(tuple))
		insert_index_entries(store, tuple, id, number);
	heap_freetuple(tuple);
}

void
stripe_store_delete(StripeStore *store, ItemPointer at, CommandId cid)
{
	TM_FailureData failure;

	if (heap_delete(store->toast, at, cid, 0, InvalidSnapshot, true, &failure) != TM_Ok)
		elog(ERROR, "record of columnar table \"%s\" was changed while it was locked",
			 RelationGetRelationName(store->table));
}

void
stripe_store_delete_stream(StripeStore *store, Oid id, CommandId cid)
{
	StoreScan  *scan = stripe_store_scan(store, id, PG_INT32_MIN, PG_INT32_MAX, false, SnapshotSelf);
	StoredRecord record;

	while (stripe_store_scan_next(scan, &record))
	{
		CHECK_FOR_INTERRUPTS();
		stripe_store_delete(store, &record.at, cid);
	}
	stripe_store_scan_end(scan);
}

StoreScan *
stripe_store_scan(StripeStore *store, Oid id, int32 least, int32 greatest, bool backward, Snapshot snapshot)
{
	StoreScan  *scan = palloc(sizeof(StoreScan));
	ScanKeyData keys[3];

	ScanKeyInit(&keys[0], Anum_toast_chunk_id, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(id));
	ScanKeyInit(&keys[1], Anum_toast_chunk_seq, BTGreaterEqualStrategyNumber, F_INT4GE, Int32GetDatum(least));
	ScanKeyInit(&keys[2], Anum_toast_chunk_seq, BTLessEqualStrategyNumber, F_INT4LE, Int32GetDatum(greatest));
	scan->tupdesc = RelationGetDescr(store->toast);
	scan->direction = backward ? BackwardScanDirection : ForwardScanDirection;
	scan->scan = systable_beginscan_ordered(store->toast, store->valid_index, snapshot, 3, keys);
	return scan;
}

bool
stripe_store_scan_next(StoreScan *scan, StoredRecord *record)
{
	HeapTuple	tuple = systable_getnext_ordered(scan->scan, scan->direction);
	bool		isnull;
	struct varlena *data;

	if (tuple == NULL)
		return false;
	record->at = tuple->t_self;
	record->number = DatumGetInt32(fastgetattr(tuple, Anum_toast_chunk_seq, scan->tupdesc, &isnull));
	record->xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	record->cmin = HeapTupleHeaderGetRawCommandId(tuple->t_data);
	record->xmin_bits = tuple->t_data->t_infomask & HEAP_XMIN_FROZEN;
	data = (struct varlena *) DatumGetPointer(fastgetattr(tuple, Anum_toast_chunk_data, scan->tupdesc, &isnull));
	record->bytes = VARDATA_ANY(data);
	record->len = VARSIZE_ANY_EXHDR(data);
	return true;
}

void
stripe_store_scan_end(StoreScan *scan)
{
	systable_endscan_ordered(scan->scan);
	pfree(scan);
}

void
stream_writer_begin(StreamWriter *writer, StripeStore *store, Oid id, CommandId cid, StoredAs how)
{
	writer->store = store;
	writer->id = id;
	writer->cid = cid;
	writer->how = how;
	writer->next_number = 0;
	writer->written = 0;
	initStringInfo(&writer->pending);
	writer->bulk = GetBulkInsertState();
}

static void
insert_stream_row(StreamWriter *writer, const char *bytes, Size len)
{
	HeapTuple	tuple;

	if (writer->next_number == PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("stripe of columnar table \"%s\" is too large", RelationGetRelationName(writer->store->table)),
				 errhint("Set columnar.stripe_row_limit to a lower value.")));
	CHECK_FOR_INTERRUPTS();
	tuple = form_store_tuple(writer->store, writer->id, writer->next_number, bytes, len);
	heap_insert(writer->store->toast, tuple, writer->cid, insert_options(writer->how), writer->bulk);
	DEBUG_POINT("columnar-stream");
	insert_index_entries(writer->store, tuple, writer->id, writer->next_number++);
	heap_freetuple(tuple);
}

void
stream_writer_put(StreamWriter *writer, const char *bytes, Size len)
{
	writer->written += len;
	while (writer->pending.len + len >= STREAM_ROW_BYTES)
	{
		Size		part = STREAM_ROW_BYTES - writer->pending.len;

		appendBinaryStringInfo(&writer->pending, bytes, (int) part);
		insert_stream_row(writer, writer->pending.data, STREAM_ROW_BYTES);
		resetStringInfo(&writer->pending);
		bytes += part;
		len -= part;
	}
	appendBinaryStringInfo(&writer->pending, bytes, (int) len);
}

void
stream_writer_end(StreamWriter *writer)
{
	if (writer->pending.len > 0)
		insert_stream_row(writer, writer->pending.data, writer->pending.len);
	pfree(writer->pending.data);
	FreeBulkInsertState(writer->bulk);
}

void
stripe_store_read(StripeStore *store, Oid id, uint64 at, Size len, char *out)
{
	StoreScan  *scan;
	StoredRecord record;
	uint64		end = at + len;
	uint64		have = at;

	if (len == 0)
		return;
	scan = stripe_store_scan(store, id, (int32) (at / STREAM_ROW_BYTES), (int32) ((end - 1) / STREAM_ROW_BYTES),
							 false, SnapshotAny);
	while (have < end && stripe_store_scan_next(scan, &record))
	{
		uint64		row_at = (uint64) record.number * STREAM_ROW_BYTES;
		Size		part;

		if (have < row_at || have - row_at >= record.len)
			break;
		part = Min(record.len - (have - row_at), end - have);
		memcpy(out + (have - at), record.bytes + (have - row_at), part);
		have += part;
	}
	stripe_store_scan_end(scan);
	if (have < end)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stripe %u of columnar table \"%s\" is damaged", id, RelationGetRelationName(store->table)),
				 errdetail("Bytes from %llu on are missing.", (unsigned long long) have)));
}
