/*-------------------------------------------------------------------------
 *
 * stripe_fetch.c
 *	  Fetching single rows of stripes by their ctids.
 *
 * To fetch a row, the chunks of its group must be expanded, of the columns
 * that are needed.  They are kept (chunk_cache.c), since the next row is often
 * of the same ones: an index scan in the order of insertion, triggers after a
 * COPY, an UPDATE, which fetches each row again that its scan has found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"

#include "columnar/chunk_cache.h"
#include "columnar/row_marks.h"
#include "columnar/stripe_fetch.h"
#include "columnar/stripe_writer.h"

/*
 * Sets a column of the slot to the value of a row, which counts from the
 * group's first.
 */
static void
fetch_column(StripeStore *store, StripeReader *reader, int column, int group, uint32 row, char *scratch,
			 TupleTableSlot *slot)
{
	Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
	const ChunkLookup *chunk;

	if (column >= reader->footer.natts)
	{
		slot->tts_values[column] = getmissingattr(reader->tupdesc, column + 1, &slot->tts_isnull[column]);
		return;
	}
	chunk = chunk_cache_chunk(store, reader, column, group);
	if (!chunk_lookup_value(chunk, att, row, scratch, &slot->tts_values[column], &slot->tts_isnull[column]))
		stripe_reader_report(reader, column, group, "its values are invalid");
}

void
stripe_fetch_row(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, const Bitmapset *columns,
				 TupleTableSlot *slot)
{
	TupleDesc	tupdesc = slot->tts_tupleDescriptor;
	uint32		row = stripe_row_of_ctid(stripe, ctid);
	StripeReader *reader = chunk_cache_reader(store, stripe, tupdesc);
	uint32		start;
	int			group = stripe_reader_group_of(reader, row, &start);
	char	   *scratch = palloc(tupdesc->natts * SCALED_NUMERIC_BYTES);

	ExecClearTuple(slot);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		slot->tts_values[i] = 0;
		slot->tts_isnull[i] = true;
		if (!TupleDescAttr(tupdesc, i)->attisdropped && (columns == NULL || bms_is_member(i + 1, columns)))
			fetch_column(store, reader, i, group, row - start, scratch + i * SCALED_NUMERIC_BYTES, slot);
	}
	stripe_reader_form_tuple(reader, row, slot);
	pfree(scratch);
	chunk_cache_trim();
}

/*
 * Whether a snapshot sees a row; *stripe is its stripe then.  The store is
 * open.
 */
static bool
find_visible_row(StripeStore *store, ItemPointer ctid, Snapshot snapshot, StripeInfo *stripe)
{
	return stripe_directory_find(store, ctid, snapshot, stripe) &&
		row_is_visible(store, stripe, stripe_row_of_ctid(stripe, ctid), snapshot);
}

/* A dirty snapshot has no transactions to wait for yet. */
static void
reset_dirty_snapshot(Snapshot snapshot)
{
	if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
	{
		snapshot->xmin = InvalidTransactionId;
		snapshot->xmax = InvalidTransactionId;
		snapshot->speculativeToken = 0;
	}
}

bool
stripe_fetch_visible(Relation table, ItemPointer ctid, Snapshot snapshot, const Bitmapset *columns,
					 TupleTableSlot *slot)
{
	StripeStore store;
	StripeInfo	stripe;
	bool		found;

	ExecClearTuple(slot);
	reset_dirty_snapshot(snapshot);
	if (snapshot->snapshot_type != SNAPSHOT_DIRTY && snapshot->snapshot_type != SNAPSHOT_SELF)
		stripe_writer_flush_row(table, ctid);
	if (!stripe_store_open(&store, table, AccessShareLock))
		return false;
	found = find_visible_row(&store, ctid, snapshot, &stripe);
	if (found && stripe.record.state == STRIPE_WRITTEN)
		stripe_fetch_row(&store, &stripe, ctid, columns, slot);
	else if (found)
	{
		ExecStoreAllNullTuple(slot);
		slot->tts_tid = *ctid;
		slot->tts_tableOid = RelationGetRelid(table);
	}
	stripe_store_close(&store);
	return found;
}

bool
stripe_row_is_visible(Relation table, ItemPointer ctid, Snapshot snapshot)
{
	StripeStore store;
	StripeInfo	stripe;
	bool		found;

	reset_dirty_snapshot(snapshot);
	if (!stripe_store_open(&store, table, AccessShareLock))
		return false;
	found = find_visible_row(&store, ctid, snapshot, &stripe);
	stripe_store_close(&store);
	return found;
}
