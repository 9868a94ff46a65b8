/*-------------------------------------------------------------------------
 *
 * row_moves.h
 *	  Where compaction has moved rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_ROW_MOVES_H
#define CITUS_COLUMNAR_ROW_MOVES_H

#include "postgres.h"

#include "columnar/stripe_store.h"

typedef struct RowMove
{
	ItemPointerData from;
	ItemPointerData to;			/* in a stripe */
} RowMove;

/* Notes moves that this transaction has made; at least one. */
extern void row_moves_write(StripeStore *store, const RowMove *moves, uint32 count, CommandId cid);

/* Reads all that are stored: an error if any is damaged. */
extern void row_moves_check(StripeStore *store);

/*
 * Where a row was moved from a ctid, if it was, by a transaction that has
 * committed or is this one.  Ctids of the row-wise part are used again, so the
 * caller says which transaction has removed the row; InvalidTransactionId:
 * any.
 */
extern bool row_moves_find(StripeStore *store, ItemPointer from, TransactionId xid, ItemPointer to);

/* Forgets moves whose rows all snapshots see where they are now. */
extern void row_moves_forget(StripeStore *store, CommandId cid);

#endif							/* CITUS_COLUMNAR_ROW_MOVES_H */
