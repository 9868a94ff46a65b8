/*-------------------------------------------------------------------------
 *
 * chunk_cache.h
 *	  Footers and chunks of stripes that single rows were fetched from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_CHUNK_CACHE_H
#define CITUS_COLUMNAR_CHUNK_CACHE_H

#include "postgres.h"

#include "columnar/chunk_lookup.h"
#include "columnar/stripe_reader.h"

/*
 * A reader of a written stripe, for its footer; no group was loaded.  It stays
 * until chunk_cache_trim().
 */
extern StripeReader *chunk_cache_reader(StripeStore *store, const StripeInfo *stripe, TupleDesc tupdesc);

/*
 * A chunk of the reader's stripe, of a column that isn't dropped and that the
 * stripe has.  It stays until chunk_cache_trim().
 */
extern ChunkLookup *chunk_cache_chunk(StripeStore *store, StripeReader *reader, int column, int group);

/*
 * Called when a row was fetched: forgets what was used longest ago, down to
 * columnar.chunk_cache_size, but for what this row has used.
 */
extern void chunk_cache_trim(void);

/* How many bytes are kept for later fetches. */
extern Size chunk_cache_room(void);

extern void chunk_cache_init(void);

#endif							/* CITUS_COLUMNAR_CHUNK_CACHE_H */
