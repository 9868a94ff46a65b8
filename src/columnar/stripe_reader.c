/*-------------------------------------------------------------------------
 *
 * stripe_reader.c
 *	  Reading a stripe's footer and chunks.
 *
 * Everything that is read is checked: a damaged stripe is an error that names
 * it, never a wrong row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "port/pg_crc32c.h"
#include "utils/memutils.h"

#include "columnar/bit_pack.h"
#include "columnar/stripe_reader.h"

static void
report_damaged_stripe(Relation table, const StripeInfo *stripe, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stripe %u of columnar table \"%s\" is damaged", stripe->record.data_id,
					RelationGetRelationName(table)),
			 errdetail_internal("%s", detail)));
}

void
stripe_reader_report(const StripeReader *reader, int column, int group, const char *problem)
{
	report_damaged_stripe(reader->table, &reader->stripe,
						  psprintf("Chunk %d of column \"%s\": %s.", group,
								   NameStr(TupleDescAttr(reader->tupdesc, column)->attname), problem));
	pg_unreachable();
}

/* Finds the parts of a footer; false if they don't fit. */
static bool
parse_stripe_footer(const StripeInfo *stripe, char *bytes, StripeFooter *footer)
{
	uint64		nrows = 0;
	uint64		counts_len = MAXALIGN((uint64) stripe->record.ngroups * sizeof(uint32));
	uint64		chunks_len = (uint64) stripe->record.ngroups * stripe->record.natts * sizeof(ChunkMeta);

	if (counts_len + chunks_len > stripe->record.footer_len || stripe->record.natts > MaxHeapAttributeNumber)
		return false;
	footer->ngroups = stripe->record.ngroups;
	footer->natts = stripe->record.natts;
	footer->group_rows = (uint32 *) bytes;
	footer->chunks = (ChunkMeta *) (bytes + counts_len);
	footer->bounds = bytes + counts_len + chunks_len;
	footer->bounds_len = (uint32) (stripe->record.footer_len - counts_len - chunks_len);
	for (uint32 i = 0; i < footer->ngroups; i++)
		nrows += footer->group_rows[i];
	return nrows == stripe->record.nrows;
}

StripeReader *
stripe_reader_open(StripeStore *store, const StripeInfo *stripe, TupleDesc tupdesc, Arena *arena)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "columnar reader", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	StripeReader *reader = palloc0(sizeof(StripeReader));
	int			natts = tupdesc->natts;
	char	   *footer;
	pg_crc32c	crc;

	reader->table = store->table;
	reader->tupdesc = tupdesc;
	reader->stripe = *stripe;
	reader->context = context;
	reader->arena = arena != NULL ? arena : arena_make();
	reader->group = -1;
	reader->vectors = palloc0(natts * sizeof(ColumnVector));
	footer = MemoryContextAllocHuge(context, Max(stripe->record.footer_len, 1));
	stripe_store_read(store, stripe->record.data_id, stripe->record.footer_at, stripe->record.footer_len, footer);
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, footer, stripe->record.footer_len);
	FIN_CRC32C(crc);
	if (crc != stripe->record.footer_crc || !parse_stripe_footer(stripe, footer, &reader->footer))
		report_damaged_stripe(store->table, stripe, "Its footer is invalid.");
	MemoryContextSwitchTo(old);
	return reader;
}

void
stripe_reader_close(StripeReader *reader)
{
	MemoryContextDelete(reader->context);
}

/* A column that was added after the stripe was written. */
static void
load_missing_column(StripeReader *reader, int column)
{
	ColumnVector *vector = &reader->vectors[column];
	bool		isnull;
	Datum		value = getmissingattr(reader->tupdesc, column + 1, &isnull);

	vector->has_nulls = isnull;
	for (uint32 i = 0; i < reader->group_rows; i++)
	{
		vector->values[i] = value;
		vector->nulls[i] = isnull;
	}
}

static void
load_column(StripeReader *reader, StripeStore *store, int column)
{
	Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
	ColumnVector *vector = &reader->vectors[column];
	const ChunkMeta *chunk;
	const char *problem;
	char	   *stored;

	vector->values = arena_alloc(reader->arena, reader->group_rows * sizeof(Datum));
	vector->nulls = arena_alloc(reader->arena, reader->group_rows * sizeof(bool));
	if (att->attisdropped)
	{
		memset(vector->values, 0, reader->group_rows * sizeof(Datum));
		memset(vector->nulls, true, reader->group_rows * sizeof(bool));
		vector->has_nulls = true;
		return;
	}
	if (column >= reader->footer.natts)
	{
		load_missing_column(reader, column);
		return;
	}
	chunk = footer_chunk(&reader->footer, column, reader->group);
	stored = arena_alloc(reader->arena, (Size) chunk->len + BIT_PACK_READ_BEYOND);
	stripe_store_read(store, reader->stripe.record.data_id, chunk->at, chunk->len, stored);
	problem = column_chunk_decode(chunk, att, stored, reader->group_rows, reader->arena, vector);
	if (problem != NULL)
		stripe_reader_report(reader, column, reader->group, problem);
}

void
stripe_reader_goto(StripeReader *reader, int group)
{
	arena_reset(reader->arena);
	memset(reader->vectors, 0, reader->tupdesc->natts * sizeof(ColumnVector));
	if (reader->group < 0 || group < reader->group)
	{
		reader->group = 0;
		reader->group_start = 0;
	}
	for (; reader->group < group; reader->group++)
		reader->group_start += reader->footer.group_rows[reader->group];
	reader->group_rows = reader->footer.group_rows[group];
}

void
stripe_reader_need(StripeReader *reader, StripeStore *store, int column)
{
	if (reader->vectors[column].nulls == NULL)
		load_column(reader, store, column);
}

void
stripe_reader_load(StripeReader *reader, StripeStore *store, int group, const Bitmapset *columns)
{
	int			column = -1;

	stripe_reader_goto(reader, group);
	while ((column = bms_next_member(columns, column)) >= 0)
		stripe_reader_need(reader, store, column);
}

Bitmapset *
stripe_reader_all_columns(TupleDesc tupdesc)
{
	return bms_add_range(NULL, 0, tupdesc->natts - 1);
}

int
stripe_reader_group_of(const StripeReader *reader, uint32 row, uint32 *start)
{
	int			group = 0;

	*start = 0;
	while (group + 1 < reader->footer.ngroups && row - *start >= reader->footer.group_rows[group])
		*start += reader->footer.group_rows[group++];
	return group;
}

static Datum
stored_bound(const StripeReader *reader, Form_pg_attribute att, uint32 at)
{
	const char *pointer = reader->footer.bounds + at;

	return att->attbyval ? *(const Datum *) pointer : PointerGetDatum(pointer);
}

void
stripe_reader_bounds(const StripeReader *reader, int column, int group, ChunkBounds *bounds)
{
	Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
	const ChunkMeta *chunk;

	if (column >= reader->footer.natts)
	{
		bool		isnull;

		bounds->min = getmissingattr(reader->tupdesc, column + 1, &isnull);
		bounds->max = bounds->min;
		bounds->known = !isnull;
		bounds->has_values = !isnull;
		bounds->has_nulls = isnull;
		return;
	}
	chunk = footer_chunk(&reader->footer, column, group);
	bounds->has_nulls = chunk->nnulls > 0;
	bounds->has_values = chunk->nnulls < reader->footer.group_rows[group];
	bounds->known = chunk->min_at < reader->footer.bounds_len && chunk->max_at < reader->footer.bounds_len &&
		chunk->type == att->atttypid && chunk->collation == att->attcollation;
	if (bounds->known)
	{
		bounds->min = stored_bound(reader, att, chunk->min_at);
		bounds->max = stored_bound(reader, att, chunk->max_at);
	}
}

/* Stores a column of a row of the group. */
static inline void
store_value(const StripeReader *reader, int column, uint32 row, TupleTableSlot *slot)
{
	ColumnVector *vector = &reader->vectors[column];

	slot->tts_isnull[column] = vector->nulls[row];
	slot->tts_values[column] = vector->nulls[row] ? 0 : column_vector_value(vector, row, reader->group_rows, reader->arena);
}

void
stripe_reader_store_values(const StripeReader *reader, const Bitmapset *columns, uint32 row, TupleTableSlot *slot)
{
	int			column = -1;

	ExecClearTuple(slot);
	while ((column = bms_next_member(columns, column)) >= 0)
		store_value(reader, column, row, slot);
	ExecStoreVirtualTuple(slot);
}

void
stripe_reader_store_tuple(const StripeReader *reader, uint32 row, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (int i = 0; i < reader->tupdesc->natts; i++)
		store_value(reader, i, row - reader->group_start, slot);
	stripe_reader_form_tuple(reader, row, slot);
}

void
stripe_reader_form_tuple(const StripeReader *reader, uint32 row, TupleTableSlot *slot)
{
	BufferHeapTupleTableSlot *buffered = (BufferHeapTupleTableSlot *) slot;
	MemoryContext old;
	HeapTuple	tuple;

	Assert(TTS_IS_BUFFERTUPLE(slot));
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	tuple = heap_form_tuple(reader->tupdesc, slot->tts_values, slot->tts_isnull);
	MemoryContextSwitchTo(old);
	stripe_ctid_of_row(reader->stripe.first_block, row, &tuple->t_self);
	tuple->t_tableOid = RelationGetRelid(reader->table);
	HeapTupleHeaderSetXmin(tuple->t_data, reader->stripe.xmin);
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetCmin(tuple->t_data, reader->stripe.cmin);
	tuple->t_data->t_infomask |= HEAP_XMAX_INVALID | reader->stripe.xmin_bits;
	tuple->t_data->t_ctid = tuple->t_self;

	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_flags |= TTS_FLAG_SHOULDFREE;
	slot->tts_nvalid = 0;
	slot->tts_tid = tuple->t_self;
	slot->tts_tableOid = tuple->t_tableOid;
	buffered->base.tuple = tuple;
	buffered->base.off = 0;
	buffered->buffer = InvalidBuffer;
}
