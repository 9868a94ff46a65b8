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
#include "executor/modify.h"
#include "sharding/hash.h"

struct RowRouter
{
	const DistTable *table;
	RowEncoder *encoder;
	ShardSink  *sink;
	CmdType		command;		/* CMD_INSERT, or CMD_UTILITY: COPY */
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
	router->command = flags & ROW_ROUTER_INSERT ? CMD_INSERT : CMD_UTILITY;
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
											slot->tts_isnull[table->dist_attno - 1]);
	}
	row_encoder_append(router->encoder, slot, shard_sink_begin_row(router->sink, shard_index));
	MemoryContextSwitchTo(caller_context);
	router->rows++;
	if (line == 0 && router->command != CMD_INSERT)
		line = router->rows;
	shard_sink_end_row(router->sink, shard_index, line);
	return shard_index;
}

ShardSink *
row_router_sink(RowRouter *router)
{
	return router->sink;
}

void
row_router_put(RowRouter *router, TupleTableSlot *slot)
{
	int			shard_index = row_router_add(router, slot, 0);

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

/* InsertStreamMethods. */
static void *
begin_insert_stream(Relation relation, Size memory)
{
	RowRouter  *router = row_router_begin(relation, NIL, ROW_ROUTER_INSERT);

	shard_sink_set_memory(router->sink, memory);
	return router;
}

static void
put_insert_stream(void *stream, TupleTableSlot *row)
{
	row_router_put(stream, row);
}

static uint64
end_insert_stream(void *stream)
{
	return row_router_end(stream);
}

static const InsertStreamMethods router_stream_methods = {
	.begin = begin_insert_stream,
	.put = put_insert_stream,
	.end = end_insert_stream,
};

void
row_router_init(void)
{
	insert_stream_methods = &router_stream_methods;
}
