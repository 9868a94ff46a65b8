/*-------------------------------------------------------------------------
 *
 * row_texts.h
 *	  Rows as arrays of text, whose values aren't checked on the way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_ROW_TEXTS_H
#define CITUS_EXECUTOR_ROW_TEXTS_H

#include "postgres.h"

#include "access/tupdesc.h"

/*
 * An array of text with a line for each row, and a column for each of the
 * rows' columns; rows are values of the composite type that desc describes.
 */
extern Datum row_texts_make(TupleDesc desc, Datum *rows, int count);

/* The row, of type desc, in an array of one line. */
extern Datum row_texts_first(TupleDesc desc, Datum texts);

/*
 * Lets citus_internal.rows_of_texts() be called by a query, whose es_query_cxt
 * is given, until that is reset: a task's that writes.
 */
extern void row_texts_allow(MemoryContext task);

#endif							/* CITUS_EXECUTOR_ROW_TEXTS_H */
