/*-------------------------------------------------------------------------
 *
 * row_router.c
 *	  Sends rows of a distributed or reference table to where they are stored.
 *
 * A router is an encoder (row_encoder.c) in front of a sink (shard_sink.c),
 * and the hash of the distribution column between them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/copy.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "copy/row_encoder.h"
#include "copy/row_router.h"
#include "copy/shard_sink.h"
#include "sharding/hash.h"

struct RowRouter
{
	const DistTable *table;
	RowEncoder *encoder;
	ShardSink  *sink;
	MemoryContext row_context;	/* reset for each row */
	uint64		rows;			/* put so far */
};

RowRouter *
row_router_begin(Relation rel, List *attnums, int flags)
{
	RowRouter  *router = palloc0(sizeof(RowRouter));

	if (attnums == NIL)
		attnums = CopyGetAttnums(RelationGetDescr(rel), rel, NIL);
	router->table = metadata_require(RelationGetRelid(rel));
	router->encoder = row_encoder_create(RelationGetDescr(rel), attnums);
	router->sink = shard_sink_begin(rel, router->table, attnums, row_encoder_options(router->encoder),
									(flags & ROW_ROUTER_REMOTE_ONLY) != 0);
	router->row_context = AllocSetContextCreate(CurrentMemoryContext, "row router", ALLOCSET_DEFAULT_SIZES);
	return router;
}

int
row_router_add(RowRouter *router, TupleTableSlot *slot, uint64 line)
{
	const DistTable *table = router->table;
	MemoryContext caller_context;
	int			shard_index = 0;

	MemoryContextReset(router->row_context);
	caller_context = MemoryContextSwitchTo(router->row_context);
	if (table->kind == DIST_HASH)
	{
		slot_getsomeattrs(slot, table->dist_attno);
		shard_index = shard_index_of_stored(table, slot->tts_values[table->dist_attno - 1],
											slot->tts_isnull[table->dist_attno - 1], CMD_UTILITY);
	}
	row_encoder_append(router->encoder, slot, shard_sink_begin_row(router->sink, shard_index));
	MemoryContextSwitchTo(caller_context);
	router->rows++;
	shard_sink_end_row(router->sink, shard_index, line == 0 ? router->rows : line);
	return shard_index;
}

ShardSink *
row_router_sink(RowRouter *router)
{
	return router->sink;
}

void
row_router_put(RowRouter *router, TupleTableSlot *slot, uint64 line)
{
	int			shard_index = row_router_add(router, slot, line);

	shard_sink_flush_full(router->sink, shard_index);
}

uint64
row_router_end(RowRouter *router)
{
	uint64		rows = shard_sink_end(router->sink);

	MemoryContextDelete(router->row_context);
	pfree(router);
	return rows;
}
