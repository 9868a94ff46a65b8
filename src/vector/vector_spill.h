/*-------------------------------------------------------------------------
 *
 * vector_spill.h
 *	  Rows whose groups have no memory yet, in temporary files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_SPILL_H
#define CITUS_VECTOR_VECTOR_SPILL_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "columnar/stripe_reader.h"

/* What is kept of the rows of one of the scans: all columns in a set. */
typedef struct SpilledColumns
{
	uint32		number;			/* of the scan */
	int			count;
	int		   *columns;		/* from 0, ascending */
	StripeReader *reader;		/* has rows that are read again */
} SpilledColumns;

/* Rows on their way to files, by the hash values of their keys. */
typedef struct VectorSpill VectorSpill;

/* The rows of one file. */
typedef struct SpilledRows SpilledRows;

/* Prepares for the rows of a scan, in the current memory context. */
extern void vector_spill_prepare(SpilledColumns *columns, uint32 number, TupleDesc tupdesc, const Bitmapset *set);

/*
 * Begins to keep rows, in the current memory context: those of a scan if the
 * parent is NULL, or those of a file, which are cut by other bits of their
 * hash values.
 */
extern VectorSpill *vector_spill_begin(const SpilledRows *parent);

/* Keeps a row of the chunk group that a reader is at; or one in a slot. */
extern void vector_spill_put(VectorSpill *spill, const SpilledColumns *columns, uint64 hash,
							 const StripeReader *reader, uint32 row);
extern void vector_spill_put_slot(VectorSpill *spill, const SpilledColumns *columns, uint64 hash, TupleTableSlot *slot);

/* Ends it: the files that have rows, of type SpilledRows. */
extern List *vector_spill_finish(VectorSpill *spill);

/*
 * Reads the next rows of a file, all of one scan, as a chunk group of that
 * scan's reader: its number, or -1 at the end.
 */
extern int	vector_spill_read(SpilledRows *rows, SpilledColumns *columns);

/* Removes a file. */
extern void vector_spill_remove(SpilledRows *rows);

#endif							/* CITUS_VECTOR_VECTOR_SPILL_H */
