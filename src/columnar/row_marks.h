/*-------------------------------------------------------------------------
 *
 * row_marks.h
 *	  Locks on rows of stripes, and marks of those that are gone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_ROW_MARKS_H
#define CITUS_COLUMNAR_ROW_MARKS_H

#include "postgres.h"

#include "access/tableam.h"

#include "columnar/stripe_directory.h"

/* The rows of a stripe that a snapshot does not see. */
typedef struct RowMarks
{
	uint8	   *bits;			/* NULL: none */
	uint32		count;
} RowMarks;

static inline bool
row_is_marked(const RowMarks *marks, uint32 row)
{
	return marks->bits != NULL && (marks->bits[row / 8] & (1 << (row % 8))) != 0;
}

/* The marks of a stripe that a snapshot sees; the bits are palloc'd. */
extern void row_marks_read(StripeStore *store, const StripeInfo *stripe, Snapshot snapshot, RowMarks *marks);

/*
 * The same for marks that transactions before one have made: of rows that no
 * snapshot sees any more, if the horizon is that.
 */
extern void row_marks_read_old(StripeStore *store, const StripeInfo *stripe, TransactionId horizon, RowMarks *marks);

/* Whether no mark has the number of a row that the stripe hasn't. */
extern bool row_marks_are_of_rows(StripeStore *store, const StripeInfo *stripe);

/*
 * Whether a row, of a stripe that the snapshot sees, is there for the
 * snapshot.  Of a dirty snapshot, xmax becomes the transaction in progress
 * that changes or deletes the row, or invalid; xmin is left as it is.
 */
extern bool row_is_visible(StripeStore *store, const StripeInfo *stripe, uint32 row, Snapshot snapshot);

/*
 * Locks a row for this transaction, after waiting for others as the policy
 * says.  TM_Ok: it is locked, and there.  TM_Updated, TM_Deleted: it is gone;
 * if updated, failure->ctid is that of its next version in the row-wise part.
 * The other results are those of heap_lock_tuple().  *head is the place that
 * row_mark_gone() wants.
 */
extern TM_Result row_mark_lock(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, CommandId cid,
							   LockTupleMode mode, LockWaitPolicy policy, ItemPointer head,
							   TM_FailureData *failure);

/*
 * Whether this transaction alone has locked a row before, which isn't gone.
 */
extern bool row_mark_is_own_lock(StripeStore *store, const StripeInfo *stripe, uint32 row);

/*
 * Marks a row that this transaction has locked exclusively as deleted, or as
 * updated to the one at next (NULL: deleted).
 */
extern void row_mark_gone(StripeStore *store, const StripeInfo *stripe, uint32 row, ItemPointer head, ItemPointer next,
						  CommandId cid);

/* The next version of a row that was updated, if any version of it is left. */
extern bool row_mark_next_version(StripeStore *store, const StripeInfo *stripe, uint32 row, Snapshot snapshot,
								  ItemPointer next);

#endif							/* CITUS_COLUMNAR_ROW_MARKS_H */
