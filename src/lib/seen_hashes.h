/*-------------------------------------------------------------------------
 *
 * seen_hashes.h
 *	  Which hashes came before, approximately.
 *
 * Says whether something is likely to come again, before anything is kept for
 * it.  A hash is forgotten when another one takes its place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SEEN_HASHES_H
#define CITUS_LIB_SEEN_HASHES_H

#include "postgres.h"

/* Zero at first; 0 is no hash. */
typedef struct SeenHashes
{
	uint64		hashes[256];
} SeenHashes;

/* Whether the hash was seen before; if not, it is from now on. */
static inline bool
seen_before(SeenHashes *seen, uint64 hash)
{
	uint64	   *place = &seen->hashes[hash % lengthof(seen->hashes)];

	if (*place == hash)
		return true;
	*place = hash;
	return false;
}

#endif							/* CITUS_LIB_SEEN_HASHES_H */
