/*-------------------------------------------------------------------------
 *
 * key_filter.h
 *	  The keys of a hash join's inner side, as a Bloom filter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_KEY_FILTER_H
#define CITUS_COLUMNAR_KEY_FILTER_H

#include "postgres.h"

#include "columnar/column_chunk.h"
#include "columnar/stripe_reader.h"

typedef struct KeyFilter KeyFilter;

/*
 * Whether there can be a filter for what an operator compares: it is one of
 * the server's, strict, and can be hashed.
 */
extern bool key_filter_can(Oid operator);

/*
 * Makes a filter, which is empty, in the current memory context.  The operator
 * compares values of the outer side with keys, those of the inner side, in
 * this order.
 */
extern KeyFilter *key_filter_make(Oid operator, Oid collation, Oid outer_type, Oid inner_type);

/* Forgets all keys. */
extern void key_filter_reset(KeyFilter *filter);

/* Adds a key, which isn't NULL. */
extern void key_filter_add(KeyFilter *filter, Datum key);

/* All keys were added. */
extern void key_filter_finish(KeyFilter *filter);

/* Whether all keys were added, and had room: it may be asked then. */
extern bool key_filter_is_ready(const KeyFilter *filter);

/* How many keys were added. */
extern uint64 key_filter_count(const KeyFilter *filter);

/*
 * Keeps the rows, whose values are in a column that was read, that may have
 * one of the keys; returns how many.  Uses the current memory context.
 */
extern uint32 key_filter_apply(KeyFilter *filter, StripeReader *reader, int column, uint32 *rows, uint32 count);

/* Whether a column with these bounds has none of the keys. */
extern bool key_filter_excludes(const KeyFilter *filter, const ChunkBounds *bounds);

#endif							/* CITUS_COLUMNAR_KEY_FILTER_H */
