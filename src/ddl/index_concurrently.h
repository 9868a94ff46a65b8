/*-------------------------------------------------------------------------
 *
 * index_concurrently.h
 *	  CREATE INDEX, DROP INDEX and REINDEX CONCURRENTLY of distributed and
 *	  reference tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_INDEX_CONCURRENTLY_H
#define CITUS_DDL_INDEX_CONCURRENTLY_H

#include "ddl/utility_call.h"

/*
 * The statement names a table, or an index of it, that is distributed or a
 * reference table.  create_logical makes the index on this node's logical
 * table, and returns its Oid, or InvalidOid if it is there already.
 */
extern void create_index_concurrently(UtilityCall *call, const DistTable *table,
									  Oid (*create_logical) (UtilityCall *call, Oid relid));
extern void drop_index_concurrently(UtilityCall *call, const DistTable *table);
extern void reindex_concurrently(UtilityCall *call, const DistTable *table);

#endif							/* CITUS_DDL_INDEX_CONCURRENTLY_H */
