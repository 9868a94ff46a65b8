/*-------------------------------------------------------------------------
 *
 * chunk_cache.c
 *	  Footers and chunks of stripes that single rows were fetched from.
 *
 * A session's cache.  A stripe never changes, so what was read of it stays
 * right; whoever looks has found the stripe's record by a snapshot.  Entries
 * are known by storage and ctids.  Both may be given out again, the latter if
 * no row ever had them: the record, with its footer's checksum, is compared,
 * and if it differs, everything is forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "columnar/bit_pack.h"
#include "columnar/chunk_cache.h"
#include "compat/table_am.h"

/* A key's column if it is the footer's. */
#define FOOTER (-1)

#define NO_FETCH PG_UINT64_MAX

typedef struct ChunkCacheKey
{
	RelFileLocator storage;
	BlockNumber first_block;
	int32		column;			/* from 0, or FOOTER */
	int32		group;
} ChunkCacheKey;

typedef struct ChunkCacheEntry
{
	ChunkCacheKey key;			/* must be first */
	dlist_node	node;			/* the one used last comes first */
	uint64		used_by;		/* the fetch that has used it last */
	Size		size;
	StripeReader *reader;		/* of a footer's entry */
	ChunkLookup *chunk;			/* of a chunk's */
} ChunkCacheEntry;

static int	chunk_cache_kilobytes;

static struct
{
	MemoryContext context;		/* NULL: nothing was ever cached */
	HTAB	   *entries;
	dlist_head	recent;
	Size		size;
	uint64		fetch;			/* the current one */
} chunk_cache;

static void
make_chunk_cache(void)
{
	HASHCTL		control = {.keysize = sizeof(ChunkCacheKey),.entrysize = sizeof(ChunkCacheEntry)};

	if (chunk_cache.context != NULL)
		return;
	control.hcxt = AllocSetContextCreate(TopMemoryContext, "columnar chunk cache", ALLOCSET_DEFAULT_SIZES);
	chunk_cache.entries = hash_create("columnar chunk cache", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	dlist_init(&chunk_cache.recent);
	chunk_cache.context = control.hcxt;
}

static void
forget_cached(ChunkCacheEntry *entry)
{
	dlist_delete(&entry->node);
	chunk_cache.size -= entry->size;
	if (entry->reader != NULL)
		stripe_reader_close(entry->reader);
	if (entry->chunk != NULL)
		pfree(entry->chunk);
	(void) hash_search(chunk_cache.entries, &entry->key, HASH_REMOVE, NULL);
}

/* Forgets the least recent entries, but for those that a fetch has used. */
static void
shrink_chunk_cache(Size limit, uint64 fetch)
{
	while (chunk_cache.context != NULL && chunk_cache.size > limit && !dlist_is_empty(&chunk_cache.recent))
	{
		ChunkCacheEntry *entry = dlist_tail_element(ChunkCacheEntry, node, &chunk_cache.recent);

		if (entry->used_by == fetch)
			break;
		forget_cached(entry);
	}
}

static ChunkCacheEntry *
find_cached(const ChunkCacheKey *key)
{
	ChunkCacheEntry *entry = hash_search(chunk_cache.entries, key, HASH_FIND, NULL);

	if (entry != NULL)
	{
		dlist_move_head(&chunk_cache.recent, &entry->node);
		entry->used_by = chunk_cache.fetch;
	}
	return entry;
}

/* An entry that wasn't there; the caller sets its content. */
static ChunkCacheEntry *
add_cached(const ChunkCacheKey *key, Size size)
{
	ChunkCacheEntry *entry = hash_search(chunk_cache.entries, key, HASH_ENTER, NULL);

	entry->used_by = chunk_cache.fetch;
	entry->size = size;
	entry->reader = NULL;
	entry->chunk = NULL;
	dlist_push_head(&chunk_cache.recent, &entry->node);
	chunk_cache.size += size;
	return entry;
}

static void
set_key(ChunkCacheKey *key, Relation table, BlockNumber first_block, int column, int group)
{
	memset(key, 0, sizeof(ChunkCacheKey));
	key->storage = table->rd_locator;
	key->first_block = first_block;
	key->column = column;
	key->group = group;
}

StripeReader *
chunk_cache_reader(StripeStore *store, const StripeInfo *stripe, TupleDesc tupdesc)
{
	ChunkCacheKey key;
	ChunkCacheEntry *entry;
	StripeReader *reader;

	make_chunk_cache();
	set_key(&key, store->table, stripe->first_block, FOOTER, 0);
	entry = find_cached(&key);
	if (entry != NULL && memcmp(&entry->reader->stripe.record, &stripe->record, sizeof(StripeRecord)) != 0)
	{
		shrink_chunk_cache(0, NO_FETCH);
		entry = NULL;
	}
	if (entry == NULL)
	{
		reader = stripe_reader_open(store, stripe, tupdesc, NULL);
		entry = add_cached(&key, MemoryContextMemAllocated(reader->context, true));
		MemoryContextSetParent(reader->context, chunk_cache.context);
		entry->reader = reader;
	}
	reader = entry->reader;
	reader->table = store->table;
	reader->tupdesc = tupdesc;
	reader->stripe = *stripe;
	return reader;
}

ChunkLookup *
chunk_cache_chunk(StripeStore *store, StripeReader *reader, int column, int group)
{
	const ChunkMeta *meta = footer_chunk(&reader->footer, column, group);
	ChunkCacheKey key;
	ChunkCacheEntry *entry;
	ChunkLookup *chunk;
	const char *problem;
	char	   *stored;
	Size		size;

	set_key(&key, store->table, reader->stripe.first_block, column, group);
	entry = find_cached(&key);
	if (entry != NULL)
		return entry->chunk;
	stored = MemoryContextAllocHuge(CurrentMemoryContext, (Size) meta->len + BIT_PACK_READ_BEYOND);
	stripe_store_read(store, reader->stripe.record.data_id, meta->at, meta->len, stored);
	chunk = chunk_lookup_make(meta, TupleDescAttr(reader->tupdesc, column), stored, reader->footer.group_rows[group],
							  chunk_cache.context, &size, &problem);
	pfree(stored);
	if (chunk == NULL)
		stripe_reader_report(reader, column, group, problem);
	add_cached(&key, size)->chunk = chunk;
	return chunk;
}

void
chunk_cache_trim(void)
{
	shrink_chunk_cache((Size) chunk_cache_kilobytes * 1024, chunk_cache.fetch++);
}

/*
 * What the last row needs may exceed the limit; it goes with the transaction.
 */
static void
trim_after_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
		shrink_chunk_cache((Size) chunk_cache_kilobytes * 1024, NO_FETCH);
}

Size
chunk_cache_room(void)
{
	return (Size) chunk_cache_kilobytes * 1024;
}

void
chunk_cache_init(void)
{
	DefineCustomIntVariable("columnar.chunk_cache_size",
							"Memory of a session for chunks that it fetches single rows from.",
							"Chunks are kept, without compression, for later fetches by an index.",
							&chunk_cache_kilobytes, 32768, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	RegisterXactCallback(trim_after_transaction, NULL);
}
