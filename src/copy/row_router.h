/*-------------------------------------------------------------------------
 *
 * row_router.h
 *	  Sends rows of a distributed or reference table to where they are stored.
 *
 * Rows are hashed by the distribution column and collected per shard; full
 * buffers leave as frames on one COPY stream per node, or are stored by this
 * backend where the shard is local.  Memory is bounded
 * (citus.copy_buffer_size).  All happens in the distributed transaction; the
 * shards' triggers, constraints and generated columns act as they do for COPY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_ROW_ROUTER_H
#define CITUS_COPY_ROW_ROUTER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "copy/shard_sink.h"

typedef struct RowRouter RowRouter;

/*
 * Rows of a reference table go to the other nodes only: this node's copy has
 * them.
 */
#define ROW_ROUTER_REMOTE_ONLY 0x01

/*
 * The rows are those of an INSERT: errors are an INSERT's, and name no line.
 */
#define ROW_ROUTER_INSERT 0x02

/*
 * Starts sending rows of rel, which the caller holds open and locked
 * (RowExclusiveLock) until row_router_end.  attnums (integer List) are the
 * columns that travel; NIL is all but dropped and generated ones.  A column
 * that doesn't travel gets its default from the node that stores the row if
 * that is immutable (frame_local_default), else null.  The router lives in
 * CurrentMemoryContext.  Checks no permissions.
 */
extern RowRouter *row_router_begin(Relation rel, List *attnums, int flags);

/*
 * Takes a row (in the attribute numbers of rel); copies what it needs.  May
 * flush, and so report an error about an earlier row.
 */
extern void row_router_put(RowRouter *router, TupleTableSlot *slot);

/*
 * The parts of row_router_put, for a caller that flushes
 * (shard_sink_flush_full) at another moment: row_router_add returns the row's
 * shard.  line goes into the context of errors about the row; 0: the count of
 * rows so far, or none if they are an INSERT's.
 */
extern int	row_router_add(RowRouter *router, TupleTableSlot *slot, uint64 line);
extern ShardSink *row_router_sink(RowRouter *router);

/*
 * Flushes everything, waits for all nodes, frees the router; returns the
 * number of rows stored.
 */
extern uint64 row_router_end(RowRouter *router);

/* Has large INSERTs use routers (executor/modify.h). */
extern void row_router_init(void);

#endif							/* CITUS_COPY_ROW_ROUTER_H */
