/*-------------------------------------------------------------------------
 *
 * row_sort.h
 *	  Rows in the order of a table's option columnar.sort_by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_ROW_SORT_H
#define CITUS_COLUMNAR_ROW_SORT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

#include "columnar/stripe_reader.h"

typedef struct RowSort RowSort;

/*
 * Begins to sort rows of a table, in the current memory context; NULL if it
 * has no option, or none of the columns that it names.
 */
extern RowSort *row_sort_begin(Relation table);

/* Adds a row, with its ctid. */
extern void row_sort_put(RowSort *sort, TupleTableSlot *slot, ItemPointer ctid);

/* All rows were added. */
extern void row_sort_perform(RowSort *sort);

/*
 * The next row, which is valid until the next call, with its ctid; NULL at the
 * end.
 */
extern TupleTableSlot *row_sort_next(RowSort *sort, ItemPointer ctid);

/* Frees it. */
extern void row_sort_end(RowSort *sort);

/*
 * Whether the chunk groups of a stripe have values of the first column that
 * rows are sorted by in this order.
 */
extern bool row_sort_has_sorted(const RowSort *sort, const StripeReader *reader);

#endif							/* CITUS_COLUMNAR_ROW_SORT_H */
