/*-------------------------------------------------------------------------
 *
 * stripe_writer.h
 *	  Rows on their way into stripes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_WRITER_H
#define CITUS_COLUMNAR_STRIPE_WRITER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

/*
 * Whether a table has the TOAST table that stripes are stored in.  Makes it if
 * the table is the new version of one that is rewritten: a heap may have none.
 */
extern bool stripe_writer_prepare(Relation table);

/*
 * Whether the next rows of a command, nrows of them at least, belong into a
 * stripe: the command inserts many, and nothing speaks against it.
 */
extern bool stripe_writer_wants(Relation table, CommandId cid, bool bulk, int nrows);

/* Whether a table's rows may be stored in stripes at all. */
extern bool stripe_writer_may(Relation table);

/* Whether a row is small enough for a stripe. */
extern bool stripe_writer_takes(TupleTableSlot *slot);

/*
 * Adds a row, whose ctid it sets; false if the row is too large.  The row is
 * stored when the stripe is full, or by one of the functions below.
 */
extern bool stripe_writer_add(Relation table, TupleTableSlot *slot, CommandId cid);

/* Stores the rows of a table that are not stored yet. */
extern void stripe_writer_flush(Relation table);

/* The same if the row with this ctid is one of them. */
extern void stripe_writer_flush_row(Relation table, ItemPointer ctid);

/*
 * Stores those of all tables.  Parallel workers see only what is stored, so
 * this is called before a plan with workers starts.
 */
extern void stripe_writer_flush_all(void);

/* Forgets the rows of a table that are not stored yet. */
extern void stripe_writer_discard(Relation table);

/*
 * Whether changes of a table are published, which may be written by a slot
 * that doesn't wait for this transaction: subscribers get those of the
 * row-wise part only.  Gives the transaction an id.
 */
extern bool columnar_is_published(Relation table);

extern void stripe_writer_init(void);

#endif							/* CITUS_COLUMNAR_STRIPE_WRITER_H */
