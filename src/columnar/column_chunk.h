/*-------------------------------------------------------------------------
 *
 * column_chunk.h
 *	  Values of a column to bytes and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_COLUMN_CHUNK_H
#define CITUS_COLUMNAR_COLUMN_CHUNK_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"

#include "columnar/compression.h"
#include "columnar/stripe_format.h"
#include "lib/arena.h"

typedef struct ColumnBuffer ColumnBuffer;

/* A chunk ready to be stored. */
typedef struct EncodedChunk
{
	ChunkMeta	meta;			/* at, min_at and max_at are not set */
	char	   *data;
	bool		bounded;		/* min and max are known */
	Datum		min;
	Datum		max;
} EncodedChunk;

/*
 * A buffer for the values of one column, in the current memory context, where
 * it also keeps what it needs later.
 */
extern ColumnBuffer *column_buffer_make(Form_pg_attribute att);

/*
 * Adds a value, which is copied.  It must not be toasted.  Returns the bytes
 * that it takes.
 */
extern Size column_buffer_add(ColumnBuffer *buffer, Datum value, bool isnull);

/*
 * The chunk of all values of the buffer, which is empty afterwards.  The
 * result is palloc'd in the current memory context.
 */
extern void column_buffer_encode(ColumnBuffer *buffer, ColumnarCompression method, int level,
								 EncodedChunk *chunk);

/* A chunk's values, expanded.  All arrays are by row. */
typedef struct ColumnVector
{
	Datum	   *values;
	bool	   *nulls;			/* NULL: the column was not read */
	bool		has_nulls;
	const uint8 *codes;			/* of a chunk without NULLs that has a
								 * dictionary, otherwise NULL */
	int			ndistinct;		/* codes are below it */
	const int64 *integers;		/* numerics as integers (scaled_numeric.h),
								 * or NULL; values has those that were asked
								 * for */
	int			scale;
} ColumnVector;

/* Makes the value of a row of a vector of integers. */
extern void column_vector_make_numeric(ColumnVector *vector, uint32 row, uint32 nrows, Arena *arena);

/* The value of a row of a vector with nrows, which isn't NULL. */
static inline Datum
column_vector_value(ColumnVector *vector, uint32 row, uint32 nrows, Arena *arena)
{
	if (vector->integers != NULL)
		column_vector_make_numeric(vector, row, nrows, arena);
	return vector->values[row];
}

/*
 * Expands a chunk, checking it: stored is its bytes, in the arena, with room
 * for BIT_PACK_READ_BEYOND more.  The vector's arrays
 * values, which may become that of integers, and nulls have room for nrows.
 * Memory that values passed by reference point into, and the codes, is
 * in the arena.  Returns what is wrong with the chunk, or NULL.
 */
extern const char *column_chunk_decode(const ChunkMeta *meta, Form_pg_attribute att, const char *stored,
									   uint32 nrows, Arena *arena, ColumnVector *vector);

/* Whether a value of this type is ordered as the integer that it is. */
extern bool column_is_ordered_as_integer(Oid type);

/* The integer that a value of such a type is. */
static inline int64
integer_of_datum(Datum value, Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return DatumGetBool(value);
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

#endif							/* CITUS_COLUMNAR_COLUMN_CHUNK_H */
