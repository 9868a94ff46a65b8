/*-------------------------------------------------------------------------
 *
 * vector_keys.h
 *	  The keys of rows that are grouped: their hash values, and whether they
 *	  are equal.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_KEYS_H
#define CITUS_VECTOR_VECTOR_KEYS_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "lib/arena.h"

typedef enum KeyKind
{
	KEY_WORD,					/* equal if it is the same Datum */
	KEY_BYTES,					/* text: equal if its bytes are */
	KEY_NUMERIC,				/* has a word, see vector_keys.c */
	KEY_CALLS					/* compared by the type's functions */
} KeyKind;

/* What a key is. */
typedef struct VectorKey
{
	KeyKind		kind;
	Oid			type;
	int16		len;
	bool		byval;
	FmgrInfo	hash;			/* KEY_CALLS */
	FmgrInfo	equal;
	Oid			collation;
} VectorKey;

/* A key's values, by row of a chunk group. */
typedef struct KeyVector
{
	const Datum *values;		/* NULL: only integers are there */
	const int64 *integers;		/* KEY_NUMERIC, or NULL */
	int			scale;			/* of them */
	const bool *nulls;			/* NULL: none is */
	const uint8 *codes;			/* of a dictionary, or NULL */
	int			ndistinct;
	uint64	   *words;			/* KEY_NUMERIC; made by vector_keys_hash() */
} KeyVector;

/*
 * The keys that operators of equality compare, with collations, of columns of
 * a descriptor from the first on.  The result is palloc'd.
 */
extern VectorKey *vector_keys_make(TupleDesc tupdesc, const List *operators, const List *collations);

/*
 * Computes the hash values of the keys of rows, and the words of numerics,
 * which are in the arena, by row.
 */
extern void vector_keys_hash(const VectorKey *keys, KeyVector *vectors, int nkeys, const uint32 *rows, uint32 count,
							 uint32 nrows, Arena *arena, uint64 *hashes);

/*
 * Whether the value of a row, which isn't NULL, equals another one, whose word
 * is given if the key has words.
 */
extern bool vector_key_equals(const VectorKey *key, const KeyVector *vector, uint32 row, Datum other, uint64 word);

/* The value of a row, which isn't NULL, in the current memory context. */
extern Datum vector_key_value(const KeyVector *vector, uint32 row);

/* The value as rows of stripes have it: not toasted. */
extern Datum vector_key_plain(const VectorKey *key, Datum value);

#endif							/* CITUS_VECTOR_VECTOR_KEYS_H */
