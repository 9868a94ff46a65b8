/*-------------------------------------------------------------------------
 *
 * row_filter.h
 *	  Conditions evaluated on the rows of a chunk group together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_ROW_FILTER_H
#define CITUS_COLUMNAR_ROW_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "columnar/stripe_reader.h"

typedef struct RowFilter RowFilter;

/*
 * Makes a filter of a scan's conditions (a plan's qual), in the current memory
 * context, which has to last as the plan's state.  NULL if none of them can be
 * evaluated so.
 */
extern RowFilter *row_filter_make(List *quals, Index varno, ScanState *scan);

/* Whether the filter evaluates all of the conditions that it was made of. */
extern bool row_filter_is_complete(const RowFilter *filter);

/* Doesn't count the rows that it removes for EXPLAIN. */
extern void row_filter_counts_nothing(RowFilter *filter);

/* Parameters have other values from now on. */
extern void row_filter_reset(RowFilter *filter);

/*
 * A ChunkRowsFilter, whose argument is the filter.  It uses the scan's slot
 * and its memory for a row, and counts the rows that it removes for EXPLAIN.
 */
extern uint32 row_filter_apply(void *filter, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count);

#endif							/* CITUS_COLUMNAR_ROW_FILTER_H */
