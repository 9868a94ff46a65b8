/*-------------------------------------------------------------------------
 *
 * shard_sink.h
 *	  Collects encoded rows per shard and sends them to the nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_SHARD_SINK_H
#define CITUS_COPY_SHARD_SINK_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"

typedef struct ShardSink ShardSink;

extern void shard_sink_init(void);

/*
 * A sink for rows of rel with the columns attnums (integer List), encoded as
 * COPY's options (text, what stands in WITH (...)) say.  remote_only: this
 * node's copy of a reference table gets nothing.  Lives in
 * CurrentMemoryContext.
 */
extern ShardSink *shard_sink_begin(Relation rel, const DistTable *table, List *attnums, const char *options,
								   bool remote_only);

/*
 * Sets the memory (bytes) of an empty sink, in the place of
 * citus.copy_buffer_size.
 */
extern void shard_sink_set_memory(ShardSink *sink, Size memory);

/*
 * Opens a row of a shard (position in the table; 0 if the table is no hash
 * table): the caller appends its bytes, then calls shard_sink_end_row.
 */
extern StringInfo shard_sink_begin_row(ShardSink *sink, int shard_index);
extern void shard_sink_end_row(ShardSink *sink, int shard_index, uint64 line);

/*
 * To be called after a row of the shard: sends or stores buffers so that the
 * sink stays within its memory.
 */
extern void shard_sink_flush_full(ShardSink *sink, int shard_index);

/*
 * Sends or stores all that is in the sink; false if there was nothing.  Data
 * that were sent arrive before any other command on the node's connection.
 */
extern bool shard_sink_flush_all(ShardSink *sink);

/*
 * Puts rows into the sink until its only buffer is full (returns true) or
 * there are no more rows (false).
 */
typedef bool (*ShardSinkPump) (void *arg);

/*
 * Whether all rows that this node stores go into one relation, so that one run
 * of the server's COPY can store them: then shard_sink_pull is to be used.
 */
extern bool shard_sink_can_pull(const ShardSink *sink);

/*
 * Runs the local COPY with pump as its source (which must not call
 * shard_sink_flush_full).
 */
extern void shard_sink_pull(ShardSink *sink, ShardSinkPump pump, void *arg);

/* Whether the buffer of a shard has reached the size of a frame. */
extern bool shard_sink_is_full(const ShardSink *sink, int shard_index);

/*
 * Flushes everything and waits for all nodes; the number of rows stored (of a
 * reference table: once).
 */
extern uint64 shard_sink_end(ShardSink *sink);

#endif							/* CITUS_COPY_SHARD_SINK_H */
