/*-------------------------------------------------------------------------
 *
 * stripe_directory.h
 *	  Which stripes a columnar table has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_DIRECTORY_H
#define CITUS_COLUMNAR_STRIPE_DIRECTORY_H

#include "postgres.h"

#include "columnar/stripe_format.h"
#include "columnar/stripe_store.h"

/* A stripe as a snapshot sees it. */
typedef struct StripeInfo
{
	BlockNumber first_block;	/* of its rows' ctids */
	ItemPointerData at;			/* its record */
	StripeRecord record;
	TransactionId xmin;			/* who has written it: system columns of its
								 * rows */
	CommandId	cmin;
	uint16		xmin_bits;
} StripeInfo;

/*
 * Takes ctids for nblocks blocks of rows, and writes a record of the stripe to
 * be, which conflicts with other sessions' unique keys as its rows will.
 */
extern void stripe_directory_reserve(StripeStore *store, uint32 nblocks, CommandId cid, StripeInfo *stripe);

/*
 * Replaces the record by what was written.  Gives the ctids back that the
 * stripe does not need, unless others were taken since.
 */
extern void stripe_directory_complete(StripeStore *store, StripeInfo *stripe);

/*
 * The written stripes that a snapshot sees, in the order of their ctids;
 * palloc'd.  Fails with 40001 if the table was rewritten after an MVCC
 * snapshot was taken.
 */
extern StripeInfo *stripe_directory_read(StripeStore *store, Snapshot snapshot, int *count);

/*
 * All stripes that some snapshot may see, also those that are not written yet.
 * *end: the block from which on ctids may have been given out since.
 */
extern StripeInfo *stripe_directory_read_all(StripeStore *store, int *count, BlockNumber *end);

/* The first block that was not given out yet. */
extern BlockNumber stripe_directory_end(StripeStore *store);

/*
 * Of how many dead rows of stripes, since the table is stored here, VACUUM has
 * removed the index entries.  Only VACUUM calls these.
 */
extern uint64 stripe_directory_cleaned_rows(StripeStore *store);
extern void stripe_directory_set_cleaned_rows(StripeStore *store, uint64 rows);

/*
 * About how many rows of stripes that aren't there any more VACUUM has yet to
 * remove the index entries.  Those that are there are given.
 */
extern uint64 stripe_directory_uncleaned_rows(StripeStore *store, const StripeInfo *stripes, int nstripes);

/*
 * Finds the stripe of a ctid, which the snapshot must see and which must have
 * such a row.  If the snapshot is a dirty one and the stripe another
 * transaction's in progress, snapshot->xmin is that.
 */
extern bool stripe_directory_find(StripeStore *store, ItemPointer ctid, Snapshot snapshot, StripeInfo *stripe);

/*
 * Locks the stripe whose rows' ctids begin at a block, until the transaction
 * ends: RowShareLock to lock or mark rows of it, ExclusiveLock to move all of
 * them.  False if the lock isn't to be waited for, and can't be had.
 */
extern bool stripe_directory_lock(Relation table, BlockNumber first_block, LOCKMODE mode, bool wait);

/* Notes that all rows were rewritten by this transaction. */
extern void stripe_directory_set_rewritten(StripeStore *store);

/* The number of a ctid's row in its stripe. */
static inline uint32
stripe_row_of_ctid(const StripeInfo *stripe, ItemPointer ctid)
{
	return (ItemPointerGetBlockNumberNoCheck(ctid) - stripe->first_block) * STRIPE_BLOCK_ROWS +
		ItemPointerGetOffsetNumberNoCheck(ctid) - 1;
}

static inline void
stripe_ctid_of_row(BlockNumber first_block, uint32 row, ItemPointer ctid)
{
	ItemPointerSet(ctid, first_block + row / STRIPE_BLOCK_ROWS, row % STRIPE_BLOCK_ROWS + 1);
}

#endif							/* CITUS_COLUMNAR_STRIPE_DIRECTORY_H */
