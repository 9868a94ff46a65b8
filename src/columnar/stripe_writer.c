/*-------------------------------------------------------------------------
 *
 * stripe_writer.c
 *	  Rows on their way into stripes.
 *
 * The rows that a command inserts into a table are collected in memory, a
 * chunk group at a time, whose columns are then compressed.  The stripe is
 * stored when it is full, when the table is read, when another command or
 * subtransaction inserts into it, and before the (sub)transaction commits.
 * All rows of a stripe are inserted by one command of one (sub)transaction.
 *
 * The stripe's record is made with its first row, so that rows have ctids
 * for the indexes at once.
 *
 * A TableWriter exists for each table that the transaction inserts into, in
 * TopTransactionContext.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_index.h"
#include "catalog/toasting.h"
#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "columnar/column_chunk.h"
#include "columnar/options.h"
#include "columnar/stripe_directory.h"
#include "columnar/stripe_writer.h"
#include "compat/foreach.h"
#include "compat/table_am.h"
#include "compat/varlena.h"
#include "lib/debug_point.h"

/* A larger row is stored row-wise. */
#define MAX_STRIPE_ROW_BYTES (8 * 1024 * 1024)

/* A chunk group, or a stripe, is complete when it has as many bytes. */
#define MAX_GROUP_BYTES (64 * 1024 * 1024)
#define MAX_STRIPE_BYTES (256 * 1024 * 1024)

/* So many bytes are kept for all tables together. */
#define MAX_OPEN_BYTES (256 * 1024 * 1024)
#define OPEN_BYTES_CHECK 256	/* looked at when so many rows came */

/* A stripe that is being written. */
typedef struct OpenStripe
{
	MemoryContext context;		/* of everything here */
	MemoryContext scratch;		/* of the values of a row */
	TupleDesc	tupdesc;
	ColumnarOptions options;
	StripeInfo	info;
	uint64		nrows;
	ColumnBuffer **columns;		/* the rows of the group that is not
								 * complete */
	uint32		group_rows;
	Size		group_bytes;
	bool		completing;		/* a group: true for good after an error */
	List	   *groups;			/* arrays of EncodedChunk, one for each
								 * column */
	List	   *group_counts;	/* their rows */
	Size		stripe_bytes;
} OpenStripe;

typedef struct TableWriter
{
	Oid			relid;
	RelFileNumber storage;		/* that the stripe belongs into */
	CommandId	cid;			/* the command that inserts */
	SubTransactionId subid;
	uint64		row_wise;		/* rows that it has inserted row-wise */
	bool		only_row_wise;
	OpenStripe *stripe;			/* NULL: none */
} TableWriter;

/* In TopTransactionContext. */
static List *table_writers = NIL;

/*
 * Whether a table has a constraint whose check reads rows of transactions in
 * progress, which are not stored yet.
 */
static bool
has_exclusion_constraint(Relation table)
{
	List	   *indexes = RelationGetIndexList(table);
	bool		found = false;

	foreach_oid(indexid, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexid));

		if (HeapTupleIsValid(tuple))
		{
			found = found || ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
			ReleaseSysCache(tuple);
		}
	}
	list_free(indexes);
	return found;
}

static TableWriter *
find_table_writer(Oid relid)
{
	foreach_ptr(TableWriter, writer, table_writers)
	{
		if (writer->relid == relid)
			return writer;
	}
	return NULL;
}

/* The table's writer, for rows of a command. */
static TableWriter *
require_table_writer(Relation table, CommandId cid)
{
	TableWriter *writer = find_table_writer(RelationGetRelid(table));
	SubTransactionId subid = GetCurrentSubTransactionId();

	if (writer != NULL && writer->cid == cid && writer->subid == subid &&
		writer->storage == table->rd_rel->relfilenode)
		return writer;
	if (writer == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		writer = palloc0(sizeof(TableWriter));
		writer->relid = RelationGetRelid(table);
		table_writers = lappend(table_writers, writer);
		MemoryContextSwitchTo(old);
	}
	else
		stripe_writer_flush(table);
	writer->storage = table->rd_rel->relfilenode;
	writer->cid = cid;
	writer->subid = subid;
	writer->row_wise = 0;
	writer->only_row_wise = has_exclusion_constraint(table);
	return writer;
}

bool
columnar_is_published(Relation table)
{
	PublicationDesc desc;

	if (!RelationIsLogicallyLogged(table) || table->rd_rel->relrewrite != InvalidOid)
		return false;

	/*
	 * A publication whose creation isn't seen here is created when this
	 * transaction has an id, so a slot that is made for it waits for this
	 * transaction.
	 */
	(void) GetCurrentTransactionId();
	AcceptInvalidationMessages();
	RelationBuildPublicationDesc(table, &desc);
	return desc.pubactions.pubinsert || desc.pubactions.pubupdate || desc.pubactions.pubdelete;
}

bool
stripe_writer_prepare(Relation table)
{
	if (OidIsValid(table->rd_rel->reltoastrelid))
		return true;
	if (!OidIsValid(table->rd_rel->relrewrite))
		return false;
	NewHeapCreateToastTable(RelationGetRelid(table), (Datum) 0, AccessExclusiveLock, InvalidOid);
	CommandCounterIncrement();
	return true;
}

bool
stripe_writer_wants(Relation table, CommandId cid, bool bulk, int nrows)
{
	TableWriter *writer;

	if (!stripe_writer_prepare(table))
		return false;
	writer = require_table_writer(table, cid);
	if (writer->stripe != NULL)
		return true;
	if (!writer->only_row_wise && (bulk || nrows >= columnar_row_wise_limit || writer->row_wise >= columnar_row_wise_limit) &&
		!columnar_is_published(table))
		return true;
	writer->row_wise += nrows;
	return false;
}

bool
stripe_writer_may(Relation table)
{
	return !has_exclusion_constraint(table) && !columnar_is_published(table);
}

static void
begin_open_stripe(TableWriter *writer, Relation table)
{
	MemoryContext context = AllocSetContextCreate(TopTransactionContext, "columnar stripe", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	OpenStripe *stripe = palloc0(sizeof(OpenStripe));
	StripeStore store;

	stripe->context = context;
	stripe->scratch = AllocSetContextCreate(context, "columnar row", ALLOCSET_DEFAULT_SIZES);
	stripe->tupdesc = CreateTupleDescCopy(RelationGetDescr(table));
	columnar_options_of(RelationGetRelid(table), &stripe->options);
	stripe->columns = palloc(stripe->tupdesc->natts * sizeof(ColumnBuffer *));
	for (int i = 0; i < stripe->tupdesc->natts; i++)
		stripe->columns[i] = column_buffer_make(TupleDescAttr(stripe->tupdesc, i));
	MemoryContextSwitchTo(old);

	CheckForSerializableConflictIn(table, NULL, InvalidBlockNumber);
	if (!stripe_store_open(&store, table, RowExclusiveLock))
		elog(ERROR, "columnar table \"%s\" has no TOAST table", RelationGetRelationName(table));
	stripe_directory_reserve(&store, (stripe->options.stripe_rows + STRIPE_BLOCK_ROWS - 1) / STRIPE_BLOCK_ROWS,
							 writer->cid, &stripe->info);
	stripe_store_close(&store);
	writer->stripe = stripe;
}

/* Compresses the rows that were collected. */
static void
complete_group(OpenStripe *stripe)
{
	MemoryContext old;
	EncodedChunk *chunks;

	if (stripe->completing)
		ereport(ERROR,
				(errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
				 errmsg("rows of a columnar table could not be stored because of an earlier error"),
				 errhint("Roll back the transaction that has inserted them.")));
	if (stripe->group_rows == 0)
		return;
	stripe->completing = true;
	old = MemoryContextSwitchTo(stripe->context);
	chunks = palloc(stripe->tupdesc->natts * sizeof(EncodedChunk));
	for (int i = 0; i < stripe->tupdesc->natts; i++)
	{
		column_buffer_encode(stripe->columns[i], stripe->options.compression, stripe->options.level, &chunks[i]);
		stripe->stripe_bytes += chunks[i].meta.len;
	}
	stripe->groups = lappend(stripe->groups, chunks);
	stripe->group_counts = lappend_int(stripe->group_counts, (int) stripe->group_rows);
	MemoryContextSwitchTo(old);
	stripe->group_rows = 0;
	stripe->group_bytes = 0;
	stripe->completing = false;
}

/* Appends a value to the footer's bounds, and returns where. */
static uint32
append_bound(StringInfo bounds, Form_pg_attribute att, Datum value)
{
	uint32		at;

	while (bounds->len % MAXIMUM_ALIGNOF != 0)
		appendStringInfoChar(bounds, 0);
	at = bounds->len;
	if (att->attbyval)
		appendBinaryStringInfo(bounds, (char *) &value, sizeof(Datum));
	else
		appendBinaryStringInfo(bounds, DatumGetPointer(value), (int) datumGetSize(value, false, att->attlen));
	return at;
}

/* Writes all chunks, and makes the footer of them. */
static void
write_chunks(OpenStripe *stripe, StreamWriter *stream, StringInfo footer)
{
	StringInfoData chunks;
	StringInfoData bounds;
	uint32		ngroups = list_length(stripe->groups);

	initStringInfo(&chunks);
	initStringInfo(&bounds);
	for (int i = 0; i < stripe->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(stripe->tupdesc, i);

		foreach_ptr(EncodedChunk, group, stripe->groups)
		{
			EncodedChunk *chunk = &group[i];

			chunk->meta.at = stream->written;
			stream_writer_put(stream, chunk->data, chunk->meta.len);
			chunk->meta.min_at = chunk->bounded ? append_bound(&bounds, att, chunk->min) : CHUNK_NO_BOUND;
			chunk->meta.max_at = chunk->bounded ? append_bound(&bounds, att, chunk->max) : CHUNK_NO_BOUND;
			appendBinaryStringInfo(&chunks, (char *) &chunk->meta, sizeof(ChunkMeta));
		}
	}
	foreach_int(count, stripe->group_counts)
		appendBinaryStringInfo(footer, (char *) &count, sizeof(uint32));
	if (ngroups % 2 != 0)
		appendBinaryStringInfo(footer, "\0\0\0", sizeof(uint32));
	appendBinaryStringInfo(footer, chunks.data, chunks.len);
	appendBinaryStringInfo(footer, bounds.data, bounds.len);
}

/*
 * Stores the stripe, whose writer then has none.  In a subtransaction of the
 * one that has inserted the rows, which may fail alone, the chunks are stored
 * so that they stay; then they stay even if the record doesn't.
 *
 * An error leaves the rows in memory.  If it ends only a subtransaction of the
 * one that has inserted them, they are stored again later.
 */
static void
store_open_stripe(TableWriter *writer, Relation table)
{
	OpenStripe *stripe = writer->stripe;
	StripeRecord *record = &stripe->info.record;
	MemoryContext old = MemoryContextSwitchTo(stripe->context);
	StripeStore store;
	StreamWriter stream;
	StringInfoData footer;
	pg_crc32c	crc;

	complete_group(stripe);
	if (!stripe_store_open(&store, table, RowExclusiveLock))
		elog(ERROR, "columnar table \"%s\" has no TOAST table", RelationGetRelationName(table));
	record->data_id = stripe_store_new_id(&store);
	record->nrows = stripe->nrows;
	record->ngroups = list_length(stripe->groups);
	record->natts = stripe->tupdesc->natts;
	initStringInfo(&footer);
	stream_writer_begin(&stream, &store, record->data_id, writer->cid,
						writer->subid == GetCurrentSubTransactionId() ? STORED_BY_TRANSACTION : STORED_FOR_ALL);
	write_chunks(stripe, &stream, &footer);
	record->footer_at = stream.written;
	record->footer_len = footer.len;
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, footer.data, footer.len);
	FIN_CRC32C(crc);
	record->footer_crc = crc;
	stream_writer_put(&stream, footer.data, footer.len);
	stream_writer_end(&stream);
	DEBUG_POINT("columnar-store");
	stripe_directory_complete(&store, &stripe->info);
	stripe_store_close(&store);
	pgstat_count_heap_insert(table, (PgStat_Counter) stripe->nrows);
	writer->stripe = NULL;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(stripe->context);
}

/* The bytes of a row, expanded; about. */
static Size
expanded_row_bytes(TupleTableSlot *slot)
{
	TupleDesc	tupdesc = slot->tts_tupleDescriptor;
	Size		bytes = 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attlen == -1 && !slot->tts_isnull[i])
			bytes += toast_raw_datum_size(slot->tts_values[i]);
	}
	return bytes;
}

bool
stripe_writer_takes(TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	return expanded_row_bytes(slot) <= MAX_STRIPE_ROW_BYTES;
}

/* A value as it is stored: not toasted, compressed or expanded. */
static Datum
plain_value(Datum value, Form_pg_attribute att)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);

	if (att->attlen == -1 && (VARATT_IS_EXTERNAL(pointer) || VARATT_IS_COMPRESSED(pointer)))
		return PointerGetDatum(detoast_attr(pointer));
	return value;
}

/* What the stripes of all tables have in memory; about. */
static Size
open_stripe_bytes(void)
{
	Size		bytes = 0;

	foreach_ptr(TableWriter, writer, table_writers)
	{
		if (writer->stripe != NULL)
			bytes += writer->stripe->stripe_bytes + writer->stripe->group_bytes;
	}
	return bytes;
}

bool
stripe_writer_add(Relation table, TupleTableSlot *slot, CommandId cid)
{
	TableWriter *writer = require_table_writer(table, cid);
	OpenStripe *stripe;
	MemoryContext old;

	if (!stripe_writer_takes(slot))
		return false;
	if (writer->stripe == NULL)
		begin_open_stripe(writer, table);
	stripe = writer->stripe;
	old = MemoryContextSwitchTo(stripe->scratch);
	for (int i = 0; i < stripe->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(stripe->tupdesc, i);
		bool		isnull = slot->tts_isnull[i];
		Datum		value = isnull || att->attisdropped ? 0 : plain_value(slot->tts_values[i], att);

		MemoryContextSwitchTo(stripe->context);
		stripe->group_bytes += column_buffer_add(stripe->columns[i], value, isnull);
		MemoryContextSwitchTo(stripe->scratch);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(stripe->scratch);
	stripe_ctid_of_row(stripe->info.first_block, (uint32) stripe->nrows, &slot->tts_tid);
	slot->tts_tableOid = RelationGetRelid(table);
	stripe->nrows++;
	stripe->group_rows++;
	if (stripe->group_rows >= stripe->options.group_rows || stripe->group_bytes > MAX_GROUP_BYTES)
		complete_group(stripe);
	if (stripe->nrows >= stripe->options.stripe_rows || stripe->stripe_bytes > MAX_STRIPE_BYTES)
		store_open_stripe(writer, table);
	else if (stripe->nrows % OPEN_BYTES_CHECK == 0 && open_stripe_bytes() > MAX_OPEN_BYTES)
		stripe_writer_flush_all();
	return true;
}

void
stripe_writer_flush(Relation table)
{
	TableWriter *writer;

	if (table_writers == NIL)
		return;
	writer = find_table_writer(RelationGetRelid(table));
	if (writer == NULL)
		return;
	writer->row_wise = 0;
	if (writer->stripe != NULL)
		store_open_stripe(writer, table);
}

void
stripe_writer_flush_row(Relation table, ItemPointer ctid)
{
	TableWriter *writer;

	if (table_writers == NIL)
		return;
	writer = find_table_writer(RelationGetRelid(table));
	if (writer != NULL && writer->stripe != NULL &&
		ItemPointerGetBlockNumberNoCheck(ctid) - writer->stripe->info.first_block < writer->stripe->info.record.nblocks)
		stripe_writer_flush(table);
}

static void
discard_open_stripe(TableWriter *writer)
{
	if (writer->stripe != NULL)
		MemoryContextDelete(writer->stripe->context);
	writer->stripe = NULL;
}

void
stripe_writer_discard(Relation table)
{
	TableWriter *writer = find_table_writer(RelationGetRelid(table));

	if (writer != NULL)
		discard_open_stripe(writer);
}

/*
 * Stores what a (sub)transaction has inserted (invalid: any).  A table that it
 * has dropped or emptied since needs nothing more.
 */
static void
store_open_stripes(SubTransactionId subid)
{
	foreach_ptr(TableWriter, writer, table_writers)
	{
		Relation	table;

		if (writer->stripe == NULL || (subid != InvalidSubTransactionId && writer->subid != subid))
			continue;
		table = try_table_open(writer->relid, NoLock);
		if (table != NULL && table->rd_rel->relfilenode == writer->storage)
			store_open_stripe(writer, table);
		else
			discard_open_stripe(writer);
		if (table != NULL)
			table_close(table, NoLock);
	}
}

void
stripe_writer_flush_all(void)
{
	if (table_writers != NIL)
		store_open_stripes(InvalidSubTransactionId);
}

static void
end_table_writers(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			store_open_stripes(InvalidSubTransactionId);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			table_writers = NIL;
			break;
		default:
			break;
	}
}

static void
end_subtransaction_writers(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		store_open_stripes(mine);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		foreach_ptr(TableWriter, writer, table_writers)
		{
			if (writer->subid == mine)
				discard_open_stripe(writer);
		}
	}
}

void
stripe_writer_init(void)
{
	RegisterXactCallback(end_table_writers, NULL);
	RegisterSubXactCallback(end_subtransaction_writers, NULL);
}
