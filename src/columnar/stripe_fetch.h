/*-------------------------------------------------------------------------
 *
 * stripe_fetch.h
 *	  Fetching single rows of stripes by their ctids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_FETCH_H
#define CITUS_COLUMNAR_STRIPE_FETCH_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/snapshot.h"

#include "columnar/stripe_directory.h"

/*
 * Fetches columns of a row into a slot, if the snapshot sees it: their
 * numbers, from 1; NULL: all.  The others are NULL in the slot.  Of a row that
 * another transaction is about to store, the slot gets NULLs only: a dirty
 * snapshot says which transaction to wait for.
 */
extern bool stripe_fetch_visible(Relation table, ItemPointer ctid, Snapshot snapshot, const Bitmapset *columns,
								 TupleTableSlot *slot);

/* Whether the snapshot sees a row. */
extern bool stripe_row_is_visible(Relation table, ItemPointer ctid, Snapshot snapshot);

/* Fetches columns of a row of a stripe, whoever sees it. */
extern void stripe_fetch_row(StripeStore *store, const StripeInfo *stripe, ItemPointer ctid, const Bitmapset *columns,
							 TupleTableSlot *slot);

#endif							/* CITUS_COLUMNAR_STRIPE_FETCH_H */
