/*-------------------------------------------------------------------------
 *
 * row_image.h
 *	  What tells the rows of a reference table apart on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_ROW_IMAGE_H
#define CITUS_EXECUTOR_ROW_IMAGE_H

#include "postgres.h"

#include "access/tupdesc.h"

typedef struct RowImage RowImage;

/*
 * Prepares for rows with these columns, in CurrentMemoryContext; desc must
 * outlive the result.
 */
extern RowImage *row_image_begin(TupleDesc desc);

/*
 * The image of a row: a bytea of fixed length, palloc'd.  Rows have the same
 * image if and only if all their columns have the same stored value, which is
 * more than to be equal: 1.0 and 1.00, 0 and -0, and texts that a collation
 * doesn't distinguish differ, and nulls don't.  It is the same on all nodes,
 * and under all settings.
 */
extern Datum row_image_make(RowImage *image, Datum *values, bool *nulls);

/* Lets row_places read a table until the context is reset: a task's. */
extern void row_places_allow(Oid relid, MemoryContext task);

#endif							/* CITUS_EXECUTOR_ROW_IMAGE_H */
