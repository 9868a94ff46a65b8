/*-------------------------------------------------------------------------
 *
 * global_key.h
 *	  Foreign keys between rows of different nodes, and tables of entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_GLOBAL_KEY_H
#define CITUS_CATALOG_GLOBAL_KEY_H

#include "postgres.h"

#include "access/htup.h"

/*
 * Whether a constraint (its row in pg_constraint, or its Oid) is a foreign key
 * between two tables in the metadata whose rows may be on different nodes: all
 * but those to reference tables, and those that keep rows together.  The
 * shards don't have it; src/global_index enforces it.
 */
extern bool foreign_key_is_global(HeapTuple constraint);
extern bool constraint_is_global(Oid constraint);

/* The global index whose entries a table has; InvalidOid if it has none. */
extern Oid	index_of_entries(Oid relid);

#endif							/* CITUS_CATALOG_GLOBAL_KEY_H */
