/*-------------------------------------------------------------------------
 *
 * chunk_lookup.c
 *	  Single values of a chunk.
 *
 * The chunk stays as compression has left it: a value is found by its number,
 * and nothing is made of the others.  Of values that follow each other without
 * a fixed length, the start of every LOOKUP_STEP-th is noted; of a dictionary,
 * of each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"

#include "columnar/bit_pack.h"
#include "columnar/chunk_lookup.h"
#include "columnar/column_chunk.h"
#include "compat/varlena.h"

#define LOOKUP_STEP 16

/* The value's start at or after a place; false if that is beyond the end. */
static inline bool
align_start(const ChunkLookup *chunk, Form_pg_attribute att, uint32 end, uint64 *at)
{
	const char *in = chunk->raw + chunk->values_at;

	if (*at >= end)
		return false;
	*at = att_align_pointer(*at, att->attalign, att->attlen, in + *at);
	return *at < end;
}

/*
 * Notes the start of every step-th of count values; *at is behind the last
 * one.  False if they don't fit.
 */
static bool
note_starts(ChunkLookup *chunk, Form_pg_attribute att, uint32 count, uint32 step, uint64 *at)
{
	uint32		end = chunk->raw_len - chunk->values_at;
	const char *in = chunk->raw + chunk->values_at;

	*at = 0;
	for (uint32 i = 0; i < count; i++)
	{
		if (!align_start(chunk, att, end, at))
			return false;
		if (i % step == 0)
			chunk->starts[i / step] = (uint32) *at;
		*at = att_addlength_pointer(*at, att->attlen, in + *at);
	}
	return *at <= end;
}

/* Whether what was expanded is such a chunk; notes starts. */
static bool
prepare_lookup(ChunkLookup *chunk, Form_pg_attribute att)
{
	const ChunkMeta *meta = &chunk->meta;
	uint32		count = chunk->nvalues;
	uint32		len = chunk->raw_len - chunk->values_at;
	uint64		end;

	switch (meta->encoding)
	{
		case CHUNK_INTEGERS:
			return att->attbyval && column_integers_fill(meta, count, len);
		case CHUNK_SCALED:
			return att->atttypid == NUMERICOID && meta->scale <= SCALED_MAX_SCALE && column_integers_fill(meta, count, len);
		case CHUNK_DATUMS:
			return !att->attbyval && note_starts(chunk, att, count, LOOKUP_STEP, &end);
		case CHUNK_DICTIONARY:
			if (att->attbyval || !note_starts(chunk, att, meta->ndistinct, 1, &end) || MAXALIGN(end) > len)
				return false;
			chunk->codes_at = chunk->values_at + (uint32) MAXALIGN(end);
			len = chunk->raw_len - chunk->codes_at;
			return meta->bits == 0 ? len == count : meta->bits <= 8 && bit_pack_bytes(count, meta->bits) == len;
		default:
			return false;
	}
}

ChunkLookup *
chunk_lookup_make(const ChunkMeta *meta, Form_pg_attribute att, const char *stored, uint32 nrows,
				  MemoryContext context, Size *size, const char **problem)
{
	uint32		nstarts = meta->encoding == CHUNK_DICTIONARY ? meta->ndistinct :
		meta->encoding == CHUNK_DATUMS ? nrows / LOOKUP_STEP + 1 : 0;
	Size		raw_at = MAXALIGN(offsetof(ChunkLookup, starts) + nstarts * sizeof(uint32));
	ChunkLookup *chunk;

	*problem = column_chunk_check(meta, stored, nrows);
	if (*problem != NULL)
		return NULL;
	*size = raw_at + (Size) meta->raw_len + BIT_PACK_READ_BEYOND;
	chunk = MemoryContextAllocHuge(context, *size);
	chunk->meta = *meta;
	chunk->raw = (char *) chunk + raw_at;
	chunk->raw_len = meta->raw_len;
	chunk->nvalues = nrows - meta->nnulls;
	chunk->values_at = column_null_bitmap_bytes(meta, nrows);
	if (!column_chunk_is_compressed(meta))
		memcpy(chunk->raw, stored, meta->raw_len);
	else if (!columnar_decompress(meta->compression, stored, meta->len, chunk->raw, meta->raw_len))
		*problem = "it cannot be expanded";
	if (*problem == NULL && !prepare_lookup(chunk, att))
		*problem = "its values are invalid";
	if (*problem == NULL)
		return chunk;
	pfree(chunk);
	return NULL;
}

/* How many of the rows before one are not NULL. */
static uint32
number_of_value(const ChunkLookup *chunk, uint32 row)
{
	uint8		last = (uint8) chunk->raw[row / 8] & ((1 << (row % 8)) - 1);

	return (uint32) (pg_popcount(chunk->raw, (int) (row / 8)) + pg_number_of_ones[last]);
}

static uint64
integer_at(const ChunkLookup *chunk, uint32 number)
{
	const char *in = chunk->raw + chunk->values_at;
	uint64		base = (uint64) chunk->meta.base;
	uint64		step;

	if (chunk->meta.bits > 0)
	{
		memcpy(&step, in, sizeof(step));
		return base + step * bit_packed_number(in + sizeof(step), chunk->meta.bits, number);
	}
	switch (chunk->meta.width)
	{
		case 1:
			return base + ((const uint8 *) in)[number];
		case 2:
			return base + ((const uint16 *) in)[number];
		case 4:
			return base + ((const uint32 *) in)[number];
		case 8:
			return base + ((const uint64 *) in)[number];
		default:
			return base;
	}
}

/* A value that is stored as a heap's tuple has it. */
static Datum
datum_at(const ChunkLookup *chunk, Form_pg_attribute att, uint32 number)
{
	const char *in = chunk->raw + chunk->values_at;
	uint64		at = chunk->starts[number / LOOKUP_STEP];

	for (uint32 i = number % LOOKUP_STEP; i > 0; i--)
	{
		at = att_addlength_pointer(at, att->attlen, in + at);
		at = att_align_pointer(at, att->attalign, att->attlen, in + at);
	}
	return PointerGetDatum(in + at);
}

static uint32
code_at(const ChunkLookup *chunk, uint32 number)
{
	const char *in = chunk->raw + chunk->codes_at;

	return chunk->meta.bits > 0 ? (uint32) bit_packed_number(in, chunk->meta.bits, number) : ((const uint8 *) in)[number];
}

bool
chunk_lookup_value(const ChunkLookup *chunk, Form_pg_attribute att, uint32 row, char *scratch,
				   Datum *value, bool *isnull)
{
	uint32		number = row;
	uint32		code;
	int64		integer;

	*value = 0;
	*isnull = chunk->meta.nnulls > 0 && (chunk->raw[row / 8] & (1 << (row % 8))) == 0;
	if (*isnull)
		return true;
	if (chunk->meta.nnulls > 0)
		number = number_of_value(chunk, row);
	if (number >= chunk->nvalues)
		return false;
	switch (chunk->meta.encoding)
	{
		case CHUNK_INTEGERS:
			*value = integer_to_datum((int64) integer_at(chunk, number), att->attlen);
			return true;
		case CHUNK_SCALED:
			integer = (int64) integer_at(chunk, number);
			if (integer >= SCALED_LIMIT || integer <= -SCALED_LIMIT)
				return false;
			(void) scaled_to_numeric(integer, chunk->meta.scale, scratch);
			*value = PointerGetDatum(scratch);
			return true;
		case CHUNK_DATUMS:
			*value = datum_at(chunk, att, number);
			return true;
		default:
			code = code_at(chunk, number);
			if (code >= chunk->meta.ndistinct)
				return false;
			*value = PointerGetDatum(chunk->raw + chunk->values_at + chunk->starts[code]);
			return true;
	}
}
