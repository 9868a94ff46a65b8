/*-------------------------------------------------------------------------
 *
 * stripe_fetch.c
 *	  Fetching single rows of stripes by their ctids.
 *
 * To fetch a row, its whole chunk group must be expanded.  The last one is
 * kept until the transaction ends, since the next row is often of the same:
 * an index scan in the order of insertion, triggers after a COPY, an UPDATE,
 * which fetches each row again that its scan has found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "columnar/row_marks.h"
#include "columnar/stripe_fetch.h"
#include "columnar/stripe_reader.h"
#include "columnar/stripe_writer.h"
#include "compat/table_am.h"

/*
 * The stripe that was read last, by what is never the same for two: storage
 * and ctids.
 */
typedef struct FetchedStripe
{
	RelFileLocator storage;
	BlockNumber first_block;
	int			natts;
	StripeReader *reader;		/* NULL: none */
} FetchedStripe;

static FetchedStripe fetched_stripe;

static void
forget_fetched_stripe(void)
{
	if (fetched_stripe.reader != NULL)
		stripe_reader_close(fetched_stripe.reader);
	fetched_stripe.reader = NULL;
}

static StripeReader *
reader_for_fetch(StripeStore *store, const StripeInfo *stripe, TupleDesc tupdesc)
{
	Relation	table = store->table;
	MemoryContext old;

	if (fetched_stripe.reader != NULL && RelFileLocatorEquals(fetched_stripe.storage, table->rd_locator) &&
		fetched_stripe.first_block == stripe->first_block &&
		fetched_stripe.natts == tupdesc->natts)
	{
		fetched_stripe.reader->table = table;
		fetched_stripe.reader->tupdesc = tupdesc;
		return fetched_stripe.reader;
	}
	forget_fetched_stripe();
	old = MemoryContextSwitchTo(TopMemoryContext);
	fetched_stripe.reader = stripe_reader_open(store, stripe, tupdesc, NULL);
	MemoryContextSwitchTo(old);
	fetched_stripe.storage = table->rd_locator;
	fetched_stripe.first_block = stripe->first_block;
	fetched_stripe.natts = tupdesc->natts;
	return fetched_stripe.reader;
}

void
stripe_fetch_row(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, TupleTableSlot *slot)
{
	StripeReader *reader = reader_for_fetch(store, stripe, slot->tts_tupleDescriptor);
	uint32		row = stripe_row_of_ctid(stripe, ctid);
	int			group = stripe_reader_group_of(reader, row);

	if (reader->group != group)
	{
		/* An error while it is read leaves nothing that looks complete. */
		reader->group = -1;
		stripe_reader_load(reader, store, group, stripe_reader_all_columns(slot->tts_tupleDescriptor));
	}
	stripe_reader_store_tuple(reader, row, slot);
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
stripe_fetch_visible(Relation table, ItemPointer ctid, Snapshot snapshot, TupleTableSlot *slot)
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
		stripe_fetch_row(&store, &stripe, ctid, slot);
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

static void
end_fetched_stripe(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
		forget_fetched_stripe();
}

static void
end_fetched_stripe_of_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_fetched_stripe();
}

void
stripe_fetch_init(void)
{
	RegisterXactCallback(end_fetched_stripe, NULL);
	RegisterSubXactCallback(end_fetched_stripe_of_subtransaction, NULL);
}
