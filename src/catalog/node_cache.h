/*-------------------------------------------------------------------------
 *
 * node_cache.h
 *	  Calls of the metadata cache's callbacks to the node cache.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_NODE_CACHE_H
#define CITUS_CATALOG_NODE_CACHE_H

#include "catalog/relations.h"

/*
 * A relation was invalidated (InvalidOid: any may be); catalog says which of
 * ours it is.  Raises no error.
 */
extern void node_cache_invalidated(Oid relid, DistRelation catalog);

/*
 * Keeps memory of a cache until the end of the transaction, since callers may
 * still hold pointers into it.  Raises no error.
 */
extern void metadata_let_go(MemoryContext context);

#endif							/* CITUS_CATALOG_NODE_CACHE_H */
