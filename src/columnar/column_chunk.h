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

/*
 * Whether the stored bytes are those that were written, and have room for the
 * bitmap of NULLs: what is wrong with them, or NULL.
 */
extern const char *column_chunk_check(const ChunkMeta *meta, const char *stored, uint32 nrows);

/* Whether len bytes are those of a chunk of count integers. */
extern bool column_integers_fill(const ChunkMeta *meta, uint32 count, uint32 len);

static inline bool
column_chunk_is_compressed(const ChunkMeta *meta)
{
	return meta->compression != COLUMNAR_COMPRESSION_NONE || meta->len != meta->raw_len;
}

static inline uint32
column_null_bitmap_bytes(const ChunkMeta *meta, uint32 nrows)
{
	return meta->nnulls > 0 ? MAXALIGN((nrows + 7) / 8) : 0;
}

/* The value of so many bytes that an integer stands for. */
static inline Datum
integer_to_datum(int64 value, int16 attlen)
{
	switch (attlen)
	{
		case 1:
			return CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 4:
			return Int32GetDatum((int32) value);
		default:
			return Int64GetDatum(value);
	}
}

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
