/*-------------------------------------------------------------------------
 *
 * chunk_lookup.h
 *	  Single values of a chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_CHUNK_LOOKUP_H
#define CITUS_COLUMNAR_CHUNK_LOOKUP_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "columnar/scaled_numeric.h"
#include "columnar/stripe_format.h"

/* A chunk's bytes, expanded, and where some of its values begin in them. */
typedef struct ChunkLookup
{
	ChunkMeta	meta;
	uint32		nvalues;		/* that are not NULL */
	uint32		values_at;		/* behind the bitmap of NULLs */
	uint32		codes_at;		/* CHUNK_DICTIONARY */
	uint32		raw_len;
	char	   *raw;
	uint32		starts[FLEXIBLE_ARRAY_MEMBER];
} ChunkLookup;

/*
 * Expands a chunk of nrows, whose stored bytes are given, in the context.  The
 * result is one allocation of *size bytes; NULL: the chunk is damaged, and
 * *problem says how.
 */
extern ChunkLookup *chunk_lookup_make(const ChunkMeta *meta, Form_pg_attribute att, const char *stored, uint32 nrows,
									  MemoryContext context, Size *size, const char **problem);

/*
 * The value of a row, which may point into the chunk, or into scratch, which
 * has room for SCALED_NUMERIC_BYTES.  False if it is damaged.
 */
extern bool chunk_lookup_value(const ChunkLookup *chunk, Form_pg_attribute att, uint32 row, char *scratch,
							   Datum *value, bool *isnull);

#endif							/* CITUS_COLUMNAR_CHUNK_LOOKUP_H */
