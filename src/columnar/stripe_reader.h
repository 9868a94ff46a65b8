/*-------------------------------------------------------------------------
 *
 * stripe_reader.h
 *	  Reading a stripe's footer and chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_READER_H
#define CITUS_COLUMNAR_STRIPE_READER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "columnar/column_chunk.h"
#include "columnar/stripe_directory.h"
#include "compat/noreturn.h"
#include "lib/arena.h"

/* A stripe, and the values of one of its chunk groups. */
typedef struct StripeReader
{
	Relation	table;
	TupleDesc	tupdesc;
	StripeInfo	stripe;
	StripeFooter footer;
	int			group;			/* -1: none was read */
	uint32		group_start;	/* the group's first row, in the stripe */
	uint32		group_rows;
	ColumnVector *vectors;		/* by column */
	MemoryContext context;		/* of the reader */
	Arena	   *arena;			/* of the values */
} StripeReader;

/*
 * Reads the footer of a written stripe.  The reader is made in the current
 * memory context.  The columns are those of tupdesc, which stays: while ALTER
 * TABLE rewrites a table, the relation has other ones already.  Values are in
 * the arena, which one reader uses at a time; NULL: in one of the reader's.
 */
extern StripeReader *stripe_reader_open(StripeStore *store, const StripeInfo *stripe, TupleDesc tupdesc, Arena *arena);
extern void stripe_reader_close(StripeReader *reader);

/*
 * Reads the columns in the set, which count from 0, of a chunk group.  What
 * was read of the group before is forgotten.
 */
extern void stripe_reader_load(StripeReader *reader, StripeStore *store, int group, const Bitmapset *columns);

/*
 * The same in two steps: goes to a group; reads a column unless it was read.
 */
extern void stripe_reader_goto(StripeReader *reader, int group);
extern void stripe_reader_need(StripeReader *reader, StripeStore *store, int column);

/* The set of all columns. */
extern Bitmapset *stripe_reader_all_columns(TupleDesc tupdesc);

/* The chunk group of a row of the stripe; *start: the group's first row. */
extern int	stripe_reader_group_of(const StripeReader *reader, uint32 row, uint32 *start);

/*
 * The least and greatest value of a column in a chunk group, if known; and
 * whether it has values and NULLs.  Columns count from 0.
 */
typedef struct ChunkBounds
{
	bool		known;
	Datum		min;
	Datum		max;
	bool		has_values;
	bool		has_nulls;
} ChunkBounds;

/* *bounds: what the stripe says of a column's values in a chunk group. */
extern void stripe_reader_bounds(const StripeReader *reader, int column, int group, ChunkBounds *bounds);

/*
 * Stores columns of a row of the group, which counts from its first one, in a
 * slot of values; they were read.  Others stay as they are.
 */
extern void stripe_reader_store_values(const StripeReader *reader, const Bitmapset *columns, uint32 row,
									   TupleTableSlot *slot);

/*
 * Makes a row of the group, whose columns were all loaded, the slot's tuple:
 * as a heap's, in the slot's memory.  The slot is for buffered heap tuples.
 */
extern void stripe_reader_store_tuple(const StripeReader *reader, uint32 row, TupleTableSlot *slot);

/* The same for a row of the stripe whose values and NULLs are in the slot. */
extern void stripe_reader_form_tuple(const StripeReader *reader, uint32 row, TupleTableSlot *slot);

/* Reports that a chunk of the reader's stripe is damaged. */
pg_noreturn extern void stripe_reader_report(const StripeReader *reader, int column, int group, const char *problem);

#endif							/* CITUS_COLUMNAR_STRIPE_READER_H */
