/*-------------------------------------------------------------------------
 *
 * vector_batch.h
 *	  The rows of a chunk group that are aggregated together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_BATCH_H
#define CITUS_VECTOR_VECTOR_BATCH_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "columnar/stripe_scan.h"
#include "lib/arena.h"

typedef struct VectorBatch
{
	ScanState  *scan;			/* the ColumnarScan */
	StripeReader *reader;		/* is at the chunk group */
	StripeStore *store;
	const uint32 *rows;			/* in the group, ascending */
	uint32		count;
	struct Vector *gathered;	/* by column: its values for the rows, if that
								 * was asked for */
	Arena	   *arena;			/* reset after the batch */
} VectorBatch;

/* Zeroed memory of the batch. */
static inline void *
vector_batch_alloc_zeroed(const VectorBatch *batch, Size size)
{
	void	   *memory = arena_alloc(batch->arena, size);

	memset(memory, 0, size);
	return memory;
}

/* The columns of a scan's table, from 0, that an expression is over. */
extern Bitmapset *vector_batch_columns(Node *expr, ScanState *scan);

/*
 * Stores columns of a row in the scan's slot, which is its expression
 * context's scan tuple then.
 */
static inline void
vector_batch_load_row(const VectorBatch *batch, const Bitmapset *columns, uint32 row)
{
	stripe_reader_store_values(batch->reader, columns, row, batch->scan->ss_ScanTupleSlot);
	batch->scan->ps.ps_ExprContext->ecxt_scantuple = batch->scan->ss_ScanTupleSlot;
}

#endif							/* CITUS_VECTOR_VECTOR_BATCH_H */
