/*-------------------------------------------------------------------------
 *
 * column_chunk.c
 *	  Values of a column to bytes and back.
 *
 * Types that are passed by value are stored as integers: what each exceeds
 * the least one by, in as few bytes as the range needs.  All others are stored
 * as in a heap's tuple, with the alignment of their type and short headers, so
 * that after expansion values are used where they are.  If a chunk has few
 * different ones, each is stored once.  Numerics of one scale are stored as
 * integers, and expanded to integers; single values become numerics when they
 * are asked for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "port/pg_bitutils.h"
#include "port/pg_crc32c.h"
#include "utils/datum.h"
#include "utils/typcache.h"

#include "columnar/bit_pack.h"
#include "columnar/column_chunk.h"
#include "columnar/scaled_numeric.h"
#include "compat/varlena.h"

/* A dictionary's codes are bytes. */
#define MAX_DISTINCT 256
#define DISTINCT_SLOTS 1024

/* A longer value is no bound: it would make the footer long. */
#define MAX_BOUND_BYTES 64

struct ColumnBuffer
{
	Oid			type;
	int16		attlen;
	bool		attbyval;
	char		attalign;
	char		attstorage;
	bool		dropped;
	FmgrInfo   *compare;		/* NULL: the type isn't ordered */
	Oid			collation;
	bool		integer_order;
	uint32		nrows;
	uint32		nvalues;		/* that are not NULL */
	uint32		capacity;
	bool	   *nulls;
	int64	   *integers;		/* attbyval */
	uint32	   *starts;			/* otherwise: where each value is in bytes */
	StringInfoData bytes;
};

/* The different values of a chunk, while there are few. */
typedef struct DistinctValues
{
	int			count;
	uint32		first[MAX_DISTINCT];	/* a value's number in the buffer */
	int16		slots[DISTINCT_SLOTS];	/* -1: free */
} DistinctValues;

bool
column_is_ordered_as_integer(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return false;
	}
}

ColumnBuffer *
column_buffer_make(Form_pg_attribute att)
{
	ColumnBuffer *buffer = palloc0(sizeof(ColumnBuffer));

	buffer->type = att->atttypid;
	buffer->attlen = att->attlen;
	buffer->attbyval = att->attbyval;
	buffer->attalign = att->attalign;
	buffer->attstorage = att->attstorage;
	buffer->dropped = att->attisdropped;
	buffer->collation = att->attcollation;
	buffer->capacity = 1024;
	if (att->attisdropped)
		return buffer;
	buffer->integer_order = column_is_ordered_as_integer(att->atttypid);
	if (!buffer->integer_order)
	{
		TypeCacheEntry *entry = lookup_type_cache(att->atttypid, TYPECACHE_CMP_PROC_FINFO);

		if (OidIsValid(entry->cmp_proc_finfo.fn_oid))
		{
			buffer->compare = palloc(sizeof(FmgrInfo));
			fmgr_info_copy(buffer->compare, &entry->cmp_proc_finfo, CurrentMemoryContext);
		}
	}
	buffer->nulls = palloc(buffer->capacity * sizeof(bool));
	if (att->attbyval)
		buffer->integers = palloc(buffer->capacity * sizeof(int64));
	else
	{
		buffer->starts = palloc(buffer->capacity * sizeof(uint32));
		initStringInfo(&buffer->bytes);
	}
	return buffer;
}

static void
grow_column_buffer(ColumnBuffer *buffer)
{
	buffer->capacity *= 2;
	buffer->nulls = repalloc(buffer->nulls, buffer->capacity * sizeof(bool));
	if (buffer->attbyval)
		buffer->integers = repalloc(buffer->integers, buffer->capacity * sizeof(int64));
	else
		buffer->starts = repalloc(buffer->starts, buffer->capacity * sizeof(uint32));
}

static int64
datum_to_integer(Datum value, int16 attlen)
{
	switch (attlen)
	{
		case 1:
			return (int8) DatumGetChar(value);
		case 2:
			return DatumGetInt16(value);
		case 4:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/*
 * Appends a value that is passed by reference as a heap's tuple has it, and
 * returns where it starts.
 */
static uint32
append_datum(StringInfo bytes, const ColumnBuffer *buffer, Datum value)
{
	const char *pointer = DatumGetPointer(value);
	uint32		start;

	if (buffer->attlen == -1 && buffer->attstorage != TYPSTORAGE_PLAIN &&
		(VARATT_IS_SHORT(pointer) || VARATT_CAN_MAKE_SHORT(pointer)))
	{
		Size		len = VARSIZE_ANY_EXHDR(pointer);

		start = bytes->len;
		appendStringInfoChar(bytes, 0);
		SET_VARSIZE_SHORT(bytes->data + start, len + VARHDRSZ_SHORT);
		appendBinaryStringInfo(bytes, VARDATA_ANY(pointer), (int) len);
		return start;
	}
	while (att_align_nominal(bytes->len, buffer->attalign) != bytes->len)
		appendStringInfoChar(bytes, 0);
	start = bytes->len;
	appendBinaryStringInfo(bytes, pointer, (int) att_addlength_pointer(0, buffer->attlen, pointer));
	return start;
}

Size
column_buffer_add(ColumnBuffer *buffer, Datum value, bool isnull)
{
	Size		before;

	if (buffer->dropped)
		return 0;
	if (buffer->nrows == buffer->capacity)
		grow_column_buffer(buffer);
	buffer->nulls[buffer->nrows++] = isnull;
	if (isnull)
		return 1;
	if (buffer->attbyval)
	{
		buffer->integers[buffer->nvalues++] = datum_to_integer(value, buffer->attlen);
		return sizeof(int64);
	}
	before = buffer->bytes.len;
	buffer->starts[buffer->nvalues++] = append_datum(&buffer->bytes, buffer, value);
	return buffer->bytes.len - before;
}

/* The bitmap of NULLs, if there are any, and padding. */
static void
append_null_bitmap(ColumnBuffer *buffer, StringInfo raw)
{
	int			len = (buffer->nrows + 7) / 8;

	if (buffer->nvalues == buffer->nrows)
		return;
	enlargeStringInfo(raw, MAXALIGN(len));
	memset(raw->data, 0, MAXALIGN(len));
	raw->len = MAXALIGN(len);
	for (uint32 i = 0; i < buffer->nrows; i++)
	{
		if (!buffer->nulls[i])
			raw->data[i / 8] |= 1 << (i % 8);
	}
}

/* How many bytes a number up to range needs. */
static int
integer_width(uint64 range)
{
	if (range == 0)
		return 0;
	if (range <= PG_UINT8_MAX)
		return 1;
	if (range <= PG_UINT16_MAX)
		return 2;
	return range <= PG_UINT32_MAX ? 4 : 8;
}

/* Integers, and what the least and the greatest are. */
static void
encode_integers(const int64 *values, uint32 count, StringInfo raw, EncodedChunk *chunk, int64 *least, int64 *greatest)
{
	int64		min = count > 0 ? values[0] : 0;
	int64		max = min;
	int			width;
	char	   *out;

	for (uint32 i = 1; i < count; i++)
	{
		min = Min(min, values[i]);
		max = Max(max, values[i]);
	}
	*least = min;
	*greatest = max;
	width = integer_width((uint64) max - (uint64) min);
	chunk->meta.base = min;
	chunk->meta.width = width;
	enlargeStringInfo(raw, (int) (count * width));
	out = raw->data + raw->len;
	for (uint32 i = 0; i < count; i++)
	{
		uint64		above = (uint64) values[i] - (uint64) min;

		switch (width)
		{
			case 1:
				((uint8 *) out)[i] = (uint8) above;
				break;
			case 2:
				((uint16 *) out)[i] = (uint16) above;
				break;
			case 4:
				((uint32 *) out)[i] = (uint32) above;
				break;
			case 8:
				((uint64 *) out)[i] = above;
				break;
		}
	}
	raw->len += count * width;
}

/* Values that are passed by value. */
static void
encode_by_value(ColumnBuffer *buffer, StringInfo raw, EncodedChunk *chunk)
{
	int64		min;
	int64		max;

	chunk->meta.encoding = CHUNK_INTEGERS;
	encode_integers(buffer->integers, buffer->nvalues, raw, chunk, &min, &max);
	if (!buffer->integer_order || buffer->nvalues == 0)
		return;
	chunk->bounded = true;
	chunk->min = integer_to_datum(min, buffer->attlen);
	chunk->max = integer_to_datum(max, buffer->attlen);
}

static Datum
make_numeric(int64 integer, int scale)
{
	char	   *numeric = palloc(SCALED_NUMERIC_BYTES);

	(void) scaled_to_numeric(integer, scale, numeric);
	return PointerGetDatum(numeric);
}

/*
 * Numerics, if all are integers divided by the same power of ten; false if
 * they aren't.
 */
static bool
encode_numerics(ColumnBuffer *buffer, StringInfo raw, EncodedChunk *chunk)
{
	int64	   *integers;
	int			scale = 0;
	int			first_scale = 0;
	int64		min;
	int64		max;

	if (buffer->type != NUMERICOID || buffer->nvalues == 0)
		return false;
	integers = palloc_extended(buffer->nvalues * sizeof(int64), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < buffer->nvalues; i++)
	{
		if (!numeric_to_scaled(PointerGetDatum(buffer->bytes.data + buffer->starts[i]), &scale, &integers[i]) ||
			(i > 0 && scale != first_scale))
		{
			pfree(integers);
			return false;
		}
		first_scale = scale;
	}
	chunk->meta.encoding = CHUNK_SCALED;
	chunk->meta.scale = (uint8) scale;
	encode_integers(integers, buffer->nvalues, raw, chunk, &min, &max);
	chunk->bounded = true;
	chunk->min = make_numeric(min, scale);
	chunk->max = make_numeric(max, scale);
	pfree(integers);
	return true;
}

static uint32
value_length(const ColumnBuffer *buffer, uint32 number)
{
	const char *at = buffer->bytes.data + buffer->starts[number];

	return (uint32) att_addlength_pointer(0, buffer->attlen, at);
}

/*
 * The code of a value, which may be a new one; -1 if there is no room for
 * one.
 */
static int
distinct_value_code(const ColumnBuffer *buffer, DistinctValues *distinct, uint32 number)
{
	const char *at = buffer->bytes.data + buffer->starts[number];
	uint32		len = value_length(buffer, number);
	uint32		slot = hash_bytes((const unsigned char *) at, (int) len) % DISTINCT_SLOTS;

	for (;;)
	{
		int16		code = distinct->slots[slot];

		if (code < 0)
			break;
		if (value_length(buffer, distinct->first[code]) == len &&
			memcmp(buffer->bytes.data + buffer->starts[distinct->first[code]], at, len) == 0)
			return code;
		slot = (slot + 1) % DISTINCT_SLOTS;
	}
	if (distinct->count == MAX_DISTINCT)
		return -1;
	distinct->slots[slot] = distinct->count;
	distinct->first[distinct->count] = number;
	return distinct->count++;
}

/* Codes of all values, or NULL if there are too many different ones. */
static uint8 *
find_distinct_values(const ColumnBuffer *buffer, DistinctValues *distinct)
{
	uint8	   *codes;

	if (buffer->nvalues < 2)
		return NULL;
	codes = palloc(buffer->nvalues);
	distinct->count = 0;
	memset(distinct->slots, -1, sizeof(distinct->slots));
	for (uint32 i = 0; i < buffer->nvalues; i++)
	{
		int			code = distinct_value_code(buffer, distinct, i);

		if (code < 0 || (i > 1024 && distinct->count > i / 4))
		{
			pfree(codes);
			return NULL;
		}
		codes[i] = (uint8) code;
	}
	return codes;
}

/*
 * Finds the least and the greatest of the given values (numbers in the
 * buffer; NULL: all), unless one of these is too long.
 */
static void
find_bounds(ColumnBuffer *buffer, const uint32 *numbers, uint32 count, EncodedChunk *chunk)
{
	Datum		min = 0;
	Datum		max = 0;

	if (buffer->compare == NULL || count == 0)
		return;
	for (uint32 i = 0; i < count; i++)
	{
		uint32		number = numbers != NULL ? numbers[i] : i;
		Datum		value = buffer->attbyval ? integer_to_datum(buffer->integers[number], buffer->attlen) :
			PointerGetDatum(buffer->bytes.data + buffer->starts[number]);

		if (i == 0 || DatumGetInt32(FunctionCall2Coll(buffer->compare, buffer->collation, value, min)) < 0)
			min = value;
		if (i == 0 || DatumGetInt32(FunctionCall2Coll(buffer->compare, buffer->collation, value, max)) > 0)
			max = value;
	}
	if (!buffer->attbyval && (datumGetSize(min, false, buffer->attlen) > MAX_BOUND_BYTES ||
							  datumGetSize(max, false, buffer->attlen) > MAX_BOUND_BYTES))
		return;
	chunk->bounded = true;
	chunk->min = datumCopy(min, buffer->attbyval, buffer->attlen);
	chunk->max = datumCopy(max, buffer->attbyval, buffer->attlen);
}

static void
encode_datums(ColumnBuffer *buffer, StringInfo raw, EncodedChunk *chunk)
{
	DistinctValues *distinct = palloc(sizeof(DistinctValues));
	uint8	   *codes = find_distinct_values(buffer, distinct);

	if (codes == NULL)
	{
		chunk->meta.encoding = CHUNK_DATUMS;
		appendBinaryStringInfo(raw, buffer->bytes.data, buffer->bytes.len);
		find_bounds(buffer, NULL, buffer->nvalues, chunk);
	}
	else
	{
		StringInfoData values;

		initStringInfo(&values);
		for (int i = 0; i < distinct->count; i++)
			append_datum(&values, buffer,
						 PointerGetDatum(buffer->bytes.data + buffer->starts[distinct->first[i]]));
		while (values.len % MAXIMUM_ALIGNOF != 0)
			appendStringInfoChar(&values, 0);
		chunk->meta.encoding = CHUNK_DICTIONARY;
		chunk->meta.ndistinct = distinct->count;
		appendBinaryStringInfo(raw, values.data, values.len);
		appendBinaryStringInfo(raw, (char *) codes, (int) buffer->nvalues);
		find_bounds(buffer, distinct->first, distinct->count, chunk);
		pfree(values.data);
		pfree(codes);
	}
	pfree(distinct);
}

/*
 * Packs the numbers that raw ends with, count integers or codes, if that takes
 * about as few bytes as compression does, or fewer: packed ones are read much
 * faster.  Returns whether it has.
 */
static bool
pack_numbers(StringInfo raw, uint32 count, uint32 compressed_len, ChunkMeta *meta)
{
	int			width = meta->encoding == CHUNK_DICTIONARY ? 1 : meta->width;
	Size		head_len = raw->len - (Size) count * width;
	char	   *numbers = raw->data + head_len;
	Size		step_len = meta->encoding == CHUNK_DICTIONARY ? 0 : sizeof(uint64);
	uint64		step = 1;
	uint64		len;
	char	   *packed;
	int			bits;

	if (meta->encoding == CHUNK_DATUMS || width == 0 || count == 0)
		return false;
	if (meta->encoding == CHUNK_DICTIONARY)
		bits = meta->ndistinct > 1 ? pg_leftmost_one_pos32(meta->ndistinct - 1) + 1 : 1;
	else
		step = bit_pack_step(numbers, width, count, &bits);
	len = head_len + step_len + bit_pack_bytes(count, bits);
	if (bits == 0 || bits > BIT_PACK_MAX_BITS || len >= raw->len || len > compressed_len + compressed_len / 8)
		return false;
	packed = palloc0(bit_pack_bytes(count, bits));
	bit_pack(numbers, width, count, step, bits, packed);
	raw->len = (int) head_len;
	if (step_len > 0)
		appendBinaryStringInfo(raw, (char *) &step, sizeof(step));
	appendBinaryStringInfo(raw, packed, (int) bit_pack_bytes(count, bits));
	pfree(packed);
	meta->bits = (uint8) bits;
	return true;
}

void
column_buffer_encode(ColumnBuffer *buffer, ColumnarCompression method, int level, EncodedChunk *chunk)
{
	StringInfoData raw;
	char	   *compressed;
	uint32		len;
	pg_crc32c	crc;

	memset(chunk, 0, sizeof(EncodedChunk));
	if (buffer->dropped)
		return;
	initStringInfo(&raw);
	append_null_bitmap(buffer, &raw);
	if (buffer->attbyval)
	{
		encode_by_value(buffer, &raw, chunk);
		find_bounds(buffer, NULL, buffer->nvalues, chunk);
	}
	else if (!encode_numerics(buffer, &raw, chunk))
		encode_datums(buffer, &raw, chunk);
	chunk->meta.type = buffer->type;
	chunk->meta.collation = buffer->collation;
	chunk->meta.nnulls = buffer->nrows - buffer->nvalues;
	compressed = columnar_compress(method, level, raw.data, raw.len, &len);
	if (pack_numbers(&raw, buffer->nvalues, compressed != NULL ? len : raw.len, &chunk->meta) && compressed != NULL)
	{
		pfree(compressed);
		compressed = NULL;
	}
	chunk->meta.raw_len = raw.len;
	if (compressed != NULL)
	{
		chunk->meta.compression = method;
		chunk->meta.len = len;
		chunk->data = repalloc(compressed, len);
		pfree(raw.data);
	}
	else
	{
		chunk->meta.compression = COLUMNAR_COMPRESSION_NONE;
		chunk->meta.len = raw.len;
		chunk->data = repalloc(raw.data, Max(raw.len, 1));
	}
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, chunk->data, chunk->meta.len);
	FIN_CRC32C(crc);
	chunk->meta.crc = crc;

	buffer->nrows = 0;
	buffer->nvalues = 0;
	if (!buffer->attbyval)
		resetStringInfo(&buffer->bytes);
}

/*
 * Loops over values of one stored width.  A Datum of a type passed by value is
 * its integer, extended by its sign; of one byte, only where char is signed.
 */
#define DECODE_WIDTH(type) \
	for (uint32 i = 0; i < count; i++) \
		values[i] = (Datum) (base + ((const type *) in)[i])

/* Integers of one width to the count first values. */
static void
decode_integers(const ChunkMeta *meta, int16 attlen, const char *in, uint32 count, Datum *values)
{
	uint64		base = (uint64) meta->base;

	if (meta->bits > 0)
	{
		uint64		step;

		memcpy(&step, in, sizeof(step));
		bit_unpack(in + sizeof(step), meta->bits, count, base, step, (uint64 *) values);
	}
	else switch (meta->width)
	{
		case 1:
			DECODE_WIDTH(uint8);
			break;
		case 2:
			DECODE_WIDTH(uint16);
			break;
		case 4:
			DECODE_WIDTH(uint32);
			break;
		case 8:
			DECODE_WIDTH(uint64);
			break;
		default:
			for (uint32 i = 0; i < count; i++)
				values[i] = (Datum) base;
			break;
	}
	if (attlen == 1)
	{
		for (uint32 i = 0; i < count; i++)
			values[i] = integer_to_datum((int64) values[i], attlen);
	}
}

/*
 * Finds count values in in; *end is behind the last one.  Returns false if
 * they go beyond len bytes.
 */
static bool
find_datums(Form_pg_attribute att, const char *in, uint32 len, uint32 count, Datum *values, uint32 *end)
{
	uint64		at = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (at >= len)
			return false;
		at = att_align_pointer(at, att->attalign, att->attlen, in + at);
		if (at >= len)
			return false;
		values[i] = PointerGetDatum(in + at);
		at = att_addlength_pointer(at, att->attlen, in + at);
	}
	*end = (uint32) at;
	return at <= len;
}

bool
column_integers_fill(const ChunkMeta *meta, uint32 count, uint32 len)
{
	if (meta->bits > 0)
		return meta->bits <= BIT_PACK_MAX_BITS && sizeof(uint64) + bit_pack_bytes(count, meta->bits) == len;
	return (uint64) count * meta->width == len;
}

/* Codes where they are, or unpacked; NULL if there aren't as many. */
static const uint8 *
find_codes(const ChunkMeta *meta, const char *in, uint32 len, uint32 count, Arena *arena)
{
	uint8	   *codes;

	if (meta->bits == 0)
		return len == count ? (const uint8 *) in : NULL;
	if (meta->bits > 8 || bit_pack_bytes(count, meta->bits) != len)
		return NULL;
	codes = arena_alloc(arena, count);
	bit_unpack_bytes(in, meta->bits, count, codes);
	return codes;
}

/* Whether integers can be expanded to numerics. */
static bool
scaled_values_are_valid(const Datum *values, uint32 count)
{
	bool		valid = true;

	for (uint32 i = 0; i < count; i++)
		valid &= (int64) values[i] < SCALED_LIMIT && (int64) values[i] > -SCALED_LIMIT;
	return valid;
}

/* The values that are not NULL, as if no row were NULL. */
static bool
decode_values(const ChunkMeta *meta, Form_pg_attribute att, const char *in, uint32 len, uint32 count,
			  Arena *arena, ColumnVector *vector)
{
	Datum	   *values = vector->values;
	const uint8 *codes = NULL;
	Datum	   *distinct;
	uint32		end;
	bool		valid;

	switch (meta->encoding)
	{
		case CHUNK_INTEGERS:
			if (!att->attbyval || !column_integers_fill(meta, count, len))
				return false;
			decode_integers(meta, att->attlen, in, count, values);
			return true;
		case CHUNK_SCALED:
			if (att->atttypid != NUMERICOID || !column_integers_fill(meta, count, len) || meta->scale > SCALED_MAX_SCALE)
				return false;
			decode_integers(meta, sizeof(int64), in, count, values);
			return scaled_values_are_valid(values, count);
		case CHUNK_DATUMS:
			return !att->attbyval && find_datums(att, in, len, count, values, &end);
		case CHUNK_DICTIONARY:
			distinct = palloc(Max(meta->ndistinct, 1) * sizeof(Datum));
			if (att->attbyval || !find_datums(att, in, len, meta->ndistinct, distinct, &end))
				return false;
			valid = MAXALIGN((Size) end) <= len &&
				(codes = find_codes(meta, in + MAXALIGN((Size) end), len - MAXALIGN((Size) end), count, arena)) != NULL;
			for (uint32 i = 0; i < count && valid; i++)
			{
				valid = codes[i] < meta->ndistinct;
				if (valid)
					values[i] = distinct[codes[i]];
			}
			pfree(distinct);
			if (meta->nnulls == 0)
				vector->codes = codes;
			vector->ndistinct = meta->ndistinct;
			return valid;
		default:
			return false;
	}
}

/* Moves the values to their rows, from the last one on. */
static bool
spread_values(const char *bitmap, uint32 nrows, uint32 count, Datum *values, bool *nulls)
{
	for (uint32 row = nrows; row-- > 0;)
	{
		nulls[row] = (bitmap[row / 8] & (1 << (row % 8))) == 0;
		if (nulls[row])
			values[row] = 0;
		else if (count == 0)
			return false;
		else
			values[row] = values[--count];
	}
	return count == 0;
}

void
column_vector_make_numeric(ColumnVector *vector, uint32 row, uint32 nrows, Arena *arena)
{
	char	   *out;

	if (vector->values == NULL)
	{
		/* behind the values is room for what they point to */
		vector->values = arena_alloc(arena, nrows * (sizeof(Datum) + SCALED_NUMERIC_BYTES));
		memset(vector->values, 0, nrows * sizeof(Datum));
	}
	if (vector->values[row] != 0)
		return;
	out = (char *) (vector->values + nrows) + row * SCALED_NUMERIC_BYTES;
	(void) scaled_to_numeric(vector->integers[row], vector->scale, out);
	vector->values[row] = PointerGetDatum(out);
}

const char *
column_chunk_check(const ChunkMeta *meta, const char *stored, uint32 nrows)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, stored, meta->len);
	FIN_CRC32C(crc);
	if (crc != meta->crc)
		return "its checksum is wrong";
	if (meta->nnulls > nrows || column_null_bitmap_bytes(meta, nrows) > meta->raw_len)
		return "its length is wrong";
	return NULL;
}

const char *
column_chunk_decode(const ChunkMeta *meta, Form_pg_attribute att, const char *stored, uint32 nrows, Arena *arena,
					ColumnVector *vector)
{
	uint32		bitmap_len = column_null_bitmap_bytes(meta, nrows);
	uint32		count = nrows - meta->nnulls;
	const char *problem = column_chunk_check(meta, stored, nrows);
	const char *raw;

	if (problem != NULL)
		return problem;
	if (!column_chunk_is_compressed(meta))
		raw = stored;
	else
	{
		char	   *expanded = arena_alloc(arena, (Size) meta->raw_len + BIT_PACK_READ_BEYOND);

		if (!columnar_decompress(meta->compression, stored, meta->len, expanded, meta->raw_len))
			return "it cannot be expanded";
		raw = expanded;
	}
	if (!decode_values(meta, att, raw + bitmap_len, meta->raw_len - bitmap_len, count, arena, vector))
		return "its values are invalid";
	vector->has_nulls = meta->nnulls > 0;
	if (meta->nnulls == 0)
		memset(vector->nulls, false, nrows * sizeof(bool));
	else if (!spread_values(raw, nrows, count, vector->values, vector->nulls))
		return "its values are invalid";
	if (meta->encoding == CHUNK_SCALED)
	{
		vector->integers = (int64 *) vector->values;
		vector->values = NULL;
		vector->scale = meta->scale;
	}
	return NULL;
}
