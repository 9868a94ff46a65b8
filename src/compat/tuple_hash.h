/*-------------------------------------------------------------------------
 *
 * tuple_hash.h
 *	  Hash tables of rows, in the spelling of version 18.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_TUPLE_HASH_H
#define CITUS_COMPAT_TUPLE_HASH_H

#include "postgres.h"

#include "executor/executor.h"

#if PG_VERSION_NUM < 180000
#define BuildTupleHashTable(parent, desc, ops, ncolumns, columns, equal, hash, collations, nbuckets, additional, meta, \
							table, temp, vary) \
	BuildTupleHashTableExt(parent, desc, ncolumns, columns, equal, hash, collations, nbuckets, additional, meta, table, \
						   temp, vary)

/* The memory beside an entry, which the caller allocates here. */
static inline void **
tuple_hash_additional(TupleHashTable table, TupleHashEntry entry)
{
	return &entry->additional;
}
#else
static inline void **
tuple_hash_additional(TupleHashTable table, TupleHashEntry entry)
{
	return (void **) TupleHashEntryGetAdditional(table, entry);
}
#endif

#endif							/* CITUS_COMPAT_TUPLE_HASH_H */
