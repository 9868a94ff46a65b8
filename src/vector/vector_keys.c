/*-------------------------------------------------------------------------
 *
 * vector_keys.c
 *	  The keys of rows that are grouped: their hash values, and whether they
 *	  are equal.
 *
 * Integers and times are equal if they are the same Datum, text of a
 * deterministic collation if its bytes are the same.  A numeric has a word:
 * its shortest form as an integer (scaled_numeric.h) and the scale of that, so
 * that 1.0 and 1.00 have the same one; for those without such a form, which
 * none with one equals, the word is made of the server's hash value.  All
 * other types are hashed and compared by their own functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "columnar/column_chunk.h"
#include "columnar/scaled_numeric.h"
#include "compat/varlena.h"
#include "vector/vector_keys.h"

/* Of a word's lowest bits: that of a numeric without a shortest form. */
#define SCALE_BITS 4
#define SCALE_NONE SCALED_MAX_SCALE

#define HASH_FACTOR UINT64CONST(0x9E3779B97F4A7C15)
#define HASH_OF_NULL 0x5bd1e995

static KeyKind
kind_of_key(Oid type, Oid operator, Oid equal, Oid collation)
{
	if (column_is_ordered_as_integer(type) && lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == operator)
		return KEY_WORD;
	if (equal == F_TEXTEQ && OidIsValid(collation) && get_collation_isdeterministic(collation))
		return KEY_BYTES;
	return equal == F_NUMERIC_EQ ? KEY_NUMERIC : KEY_CALLS;
}

VectorKey *
vector_keys_make(TupleDesc tupdesc, const List *operators, const List *collations)
{
	int			nkeys = list_length(operators);
	VectorKey  *keys = palloc0(nkeys * sizeof(VectorKey));
	Oid		   *numbers = palloc(nkeys * sizeof(Oid));
	Oid		   *equal;
	FmgrInfo   *hash;

	for (int i = 0; i < nkeys; i++)
		numbers[i] = list_nth_oid(operators, i);
	execTuplesHashPrepare(nkeys, numbers, &equal, &hash);
	for (int i = 0; i < nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		VectorKey  *key = &keys[i];

		key->type = att->atttypid;
		key->len = att->attlen;
		key->byval = att->attbyval;
		key->collation = list_nth_oid(collations, i);
		key->kind = kind_of_key(key->type, numbers[i], equal[i], key->collation);
		key->hash = hash[i];
		fmgr_info(equal[i], &key->equal);
	}
	pfree(numbers);
	return keys;
}

/* The word of an integer with so many digits after the point. */
static uint64
word_of_scaled(int64 integer, int scale)
{
	while (scale > 0 && integer % 10 == 0)
	{
		integer /= 10;
		scale--;
	}
	return (uint64) integer << SCALE_BITS | (uint64) scale;
}

static uint64
word_of_numeric(Datum value)
{
	int			scale;
	int64		integer;
	Datum		trimmed;

	if (numeric_to_scaled(value, &scale, &integer))
		return word_of_scaled(integer, scale);
	trimmed = DirectFunctionCall1(numeric_trim_scale, value);
	if (numeric_to_scaled(trimmed, &scale, &integer))
		return word_of_scaled(integer, scale);
	return (uint64) DatumGetUInt32(DirectFunctionCall1(hash_numeric, value)) << SCALE_BITS | SCALE_NONE;
}

static uint64
hash_of_bytes(Datum value)
{
	return hash_bytes_extended((unsigned char *) VARDATA_ANY(DatumGetPointer(value)),
							   (int) VARSIZE_ANY_EXHDR(DatumGetPointer(value)), 0);
}

static uint64
hash_by_call(VectorKey *key, Datum value)
{
	return DatumGetUInt32(FunctionCall1Coll(&key->hash, key->collation, value));
}

/* Makes a hash value part of those of the keys before. */
static inline uint64
mix_hash(uint64 hash, uint64 next)
{
	hash = (hash ^ next) * HASH_FACTOR;
	return hash ^ hash >> 32;
}

#define MIX_EACH_ROW(value) \
	for (uint32 i = 0; i < count; i++) \
	{ \
		uint32		row = rows[i]; \
\
		hashes[i] = mix_hash(hashes[i], nulls != NULL && nulls[row] ? HASH_OF_NULL : (value)); \
	}

/* Text of a dictionary: each value is hashed once. */
static void
mix_hashes_of_codes(const KeyVector *vector, const uint32 *rows, uint32 count, uint64 *hashes)
{
	const bool *nulls = NULL;	/* a chunk with codes has none */
	uint64		of_code[PG_UINT8_MAX + 1];
	bool		known[PG_UINT8_MAX + 1] = {false};

	for (uint32 i = 0; i < count; i++)
	{
		uint8		code = vector->codes[rows[i]];

		if (!known[code])
			of_code[code] = hash_of_bytes(vector->values[rows[i]]);
		known[code] = true;
	}
	MIX_EACH_ROW(of_code[vector->codes[row]]);
}

static void
mix_hashes_of_numerics(KeyVector *vector, const uint32 *rows, uint32 count, uint32 nrows, Arena *arena, uint64 *hashes)
{
	const bool *nulls = vector->nulls;

	vector->words = arena_alloc(arena, nrows * sizeof(uint64));
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];

		if (nulls != NULL && nulls[row])
			continue;
		vector->words[row] = vector->integers != NULL ? word_of_scaled(vector->integers[row], vector->scale) :
			word_of_numeric(vector->values[row]);
	}
	MIX_EACH_ROW(vector->words[row]);
}

void
vector_keys_hash(const VectorKey *keys, KeyVector *vectors, int nkeys, const uint32 *rows, uint32 count, uint32 nrows,
				 Arena *arena, uint64 *hashes)
{
	memset(hashes, 0, count * sizeof(uint64));
	for (int k = 0; k < nkeys; k++)
	{
		VectorKey  *key = unconstify(VectorKey *, &keys[k]);
		KeyVector  *vector = &vectors[k];
		const Datum *values = vector->values;
		const bool *nulls = vector->nulls;

		if (key->kind == KEY_WORD)
			MIX_EACH_ROW(values[row])
		else if (key->kind == KEY_NUMERIC)
			mix_hashes_of_numerics(vector, rows, count, nrows, arena, hashes);
		else if (key->kind == KEY_CALLS)
			MIX_EACH_ROW(hash_by_call(key, values[row]))
		else if (vector->codes != NULL)
			mix_hashes_of_codes(vector, rows, count, hashes);
		else
			MIX_EACH_ROW(hash_of_bytes(values[row]))
	}
}

bool
vector_key_equals(const VectorKey *key, const KeyVector *vector, uint32 row, Datum other, uint64 word)
{
	Datum		value;
	Size		len;

	switch (key->kind)
	{
		case KEY_WORD:
			return vector->values[row] == other;
		case KEY_BYTES:
			value = vector->values[row];
			len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
			return VARSIZE_ANY_EXHDR(DatumGetPointer(other)) == len &&
				memcmp(VARDATA_ANY(DatumGetPointer(value)), VARDATA_ANY(DatumGetPointer(other)), len) == 0;
		case KEY_NUMERIC:
			if (vector->words[row] != word || (word & SCALE_NONE) != SCALE_NONE)
				return vector->words[row] == word;
			break;
		default:
			break;
	}
	return DatumGetBool(FunctionCall2Coll(unconstify(FmgrInfo *, &key->equal), key->collation, other,
										  vector_key_value(vector, row)));
}

Datum
vector_key_value(const KeyVector *vector, uint32 row)
{
	char	   *numeric;

	if (vector->values != NULL)
		return vector->values[row];
	numeric = palloc(SCALED_NUMERIC_BYTES);
	(void) scaled_to_numeric(vector->integers[row], vector->scale, numeric);
	return PointerGetDatum(numeric);
}

Datum
vector_key_plain(const VectorKey *key, Datum value)
{
	if (key->kind == KEY_WORD)
		return (Datum) integer_of_datum(value, key->type);
	return key->len == -1 ? PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)) : value;
}
