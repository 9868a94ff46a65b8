/*-------------------------------------------------------------------------
 *
 * key_filter.c
 *	  The keys of a hash join's inner side, as a Bloom filter.
 *
 * Hash values of keys are kept until all are known, so that the filter gets
 * the size that it needs: at least 16 bits for a key, of which each sets four
 * in one word.  About one in two hundred other values passes.
 *
 * Integers, dates and times are hashed as numbers here, and their least and
 * greatest one is known; so an int4 equals an int8.  Other values are hashed
 * by the functions of the join's operator, which exist for each of its sides.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"

#include "columnar/key_filter.h"

#define BITS_OF_KEY 16
#define BITS_OF_WORD 64
#define FIRST_ROOM 256
#define HASH_FACTOR UINT64CONST(0x9E3779B97F4A7C15)

typedef enum KeyFilterPhase
{
	KEYS_ARE_ADDED,
	KEYS_HAVE_NO_ROOM,			/* more of them than work_mem holds */
	KEYS_ARE_READY
} KeyFilterPhase;

struct KeyFilter
{
	KeyFilterPhase phase;
	bool		integers;
	Oid			outer_type;
	Oid			inner_type;
	Oid			collation;
	FmgrInfo	outer_hash;		/* unless it is one of integers */
	FmgrInfo	inner_hash;
	MemoryContext context;
	uint64	   *hashes;			/* of the keys that were added */
	uint64		count;
	uint64		room;
	int64		least;			/* of integers */
	int64		greatest;
	uint64	   *words;			/* when it is ready; their number is a power
								 * of two */
	uint64		mask;
};

static bool
is_whole_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

bool
key_filter_can(Oid operator)
{
	Oid			outer;
	Oid			inner;

	return operator < FirstNormalObjectId && op_strict(operator) && get_op_hash_functions(operator, &outer, &inner);
}

KeyFilter *
key_filter_make(Oid operator, Oid collation, Oid outer_type, Oid inner_type)
{
	KeyFilter  *filter = palloc0(sizeof(KeyFilter));
	Oid			outer;
	Oid			inner;

	if (!get_op_hash_functions(operator, &outer, &inner))
		elog(ERROR, "could not find hash functions of operator %u", operator);
	filter->context = CurrentMemoryContext;
	filter->collation = collation;
	filter->outer_type = outer_type;
	filter->inner_type = inner_type;
	filter->integers = column_is_ordered_as_integer(outer_type) &&
		(outer_type == inner_type || (is_whole_number(outer_type) && is_whole_number(inner_type)));
	fmgr_info(outer, &filter->outer_hash);
	fmgr_info(inner, &filter->inner_hash);
	key_filter_reset(filter);
	return filter;
}

void
key_filter_reset(KeyFilter *filter)
{
	if (filter->hashes != NULL)
		pfree(filter->hashes);
	if (filter->words != NULL)
		pfree(filter->words);
	filter->hashes = filter->words = NULL;
	filter->count = filter->room = 0;
	filter->least = PG_INT64_MAX;
	filter->greatest = PG_INT64_MIN;
	filter->phase = KEYS_ARE_ADDED;
}

static inline uint64
mix_key(uint64 value)
{
	value = (value ^ value >> 32) * HASH_FACTOR;
	value = (value ^ value >> 29) * HASH_FACTOR;
	return value ^ value >> 32;
}

/* Makes room for one more; false if there is none. */
static bool
make_room_for_key(KeyFilter *filter)
{
	if (filter->count < filter->room)
		return true;
	if (filter->room * 2 * sizeof(uint64) > work_mem * UINT64CONST(1024))
		return false;
	if (filter->hashes == NULL)
		filter->hashes = MemoryContextAlloc(filter->context, FIRST_ROOM * sizeof(uint64));
	else
		filter->hashes = repalloc_huge(filter->hashes, filter->room * 2 * sizeof(uint64));
	filter->room = filter->room == 0 ? FIRST_ROOM : filter->room * 2;
	return true;
}

void
key_filter_add(KeyFilter *filter, Datum key)
{
	uint64		value;

	if (filter->phase != KEYS_ARE_ADDED)
		return;
	if (!make_room_for_key(filter))
	{
		key_filter_reset(filter);
		filter->phase = KEYS_HAVE_NO_ROOM;
		return;
	}
	if (filter->integers)
	{
		int64		integer = integer_of_datum(key, filter->inner_type);

		filter->least = Min(filter->least, integer);
		filter->greatest = Max(filter->greatest, integer);
		value = (uint64) integer;
	}
	else
		value = DatumGetUInt32(FunctionCall1Coll(&filter->inner_hash, filter->collation, key));
	filter->hashes[filter->count++] = mix_key(value);
}

/* The bits of a hash value in its word. */
static inline uint64
bits_of_key(uint64 hash)
{
	return UINT64CONST(1) << (hash & 63) | UINT64CONST(1) << (hash >> 6 & 63) |
		UINT64CONST(1) << (hash >> 12 & 63) | UINT64CONST(1) << (hash >> 18 & 63);
}

static inline uint64 *
word_of_key(const KeyFilter *filter, uint64 hash)
{
	return &filter->words[hash >> 24 & filter->mask];
}

void
key_filter_finish(KeyFilter *filter)
{
	uint64		nwords = pg_nextpower2_64(filter->count * BITS_OF_KEY / BITS_OF_WORD + 1);

	if (filter->phase != KEYS_ARE_ADDED)
		return;
	filter->words = MemoryContextAllocExtended(filter->context, nwords * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	filter->mask = nwords - 1;
	for (uint64 i = 0; i < filter->count; i++)
		*word_of_key(filter, filter->hashes[i]) |= bits_of_key(filter->hashes[i]);
	if (filter->hashes != NULL)
		pfree(filter->hashes);
	filter->hashes = NULL;
	filter->phase = KEYS_ARE_READY;
}

bool
key_filter_is_ready(const KeyFilter *filter)
{
	return filter->phase == KEYS_ARE_READY;
}

uint64
key_filter_count(const KeyFilter *filter)
{
	return filter->count;
}

static inline bool
may_be_key(const KeyFilter *filter, uint64 value)
{
	uint64		hash = mix_key(value);
	uint64		bits = bits_of_key(hash);

	return (*word_of_key(filter, hash) & bits) == bits;
}

static uint32
keep_integers(const KeyFilter *filter, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	uint32		kept = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];
		int64		value = values[row];

		rows[kept] = row;
		kept += !vector->nulls[row] & (value >= filter->least) & (value <= filter->greatest) &&
			may_be_key(filter, (uint64) value);
	}
	return kept;
}

/* Values of a dictionary are looked up once. */
static uint32
keep_hashed(KeyFilter *filter, StripeReader *reader, ColumnVector *vector, uint32 *rows, uint32 count)
{
	int8		of_code[PG_UINT8_MAX + 1];	/* -1: not known */
	uint32		kept = 0;

	memset(of_code, -1, sizeof(of_code));
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];
		int8	   *known = vector->codes != NULL ? &of_code[vector->codes[row]] : NULL;
		int8		passes = known != NULL ? *known : -1;

		if (vector->nulls[row])
			continue;
		if (passes < 0)
			passes = may_be_key(filter, DatumGetUInt32(FunctionCall1Coll(&filter->outer_hash, filter->collation,
																		 column_vector_value(vector, row, reader->group_rows, reader->arena))));
		if (known != NULL)
			*known = passes;
		rows[kept] = row;
		kept += passes;
	}
	return kept;
}

uint32
key_filter_apply(KeyFilter *filter, StripeReader *reader, int column, uint32 *rows, uint32 count)
{
	ColumnVector *vector = &reader->vectors[column];

	return filter->integers ? keep_integers(filter, vector, rows, count) :
		keep_hashed(filter, reader, vector, rows, count);
}

bool
key_filter_excludes(const KeyFilter *filter, const ChunkBounds *bounds)
{
	if (!bounds->has_values || filter->count == 0)
		return true;
	return filter->integers && bounds->known &&
		(integer_of_datum(bounds->max, filter->outer_type) < filter->least ||
		 integer_of_datum(bounds->min, filter->outer_type) > filter->greatest);
}
