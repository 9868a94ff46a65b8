/*-------------------------------------------------------------------------
 *
 * global_key.h
 *	  Foreign keys between rows of different nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_GLOBAL_KEY_H
#define CITUS_CATALOG_GLOBAL_KEY_H

#include "postgres.h"

#include "access/htup.h"

/*
 * Whether a constraint (its row in pg_constraint, or its Oid) is a foreign key
 * between two tables with distribution columns whose rows may be on different
 * nodes.  The shards don't have it; src/global_index enforces it.
 */
extern bool foreign_key_is_global(HeapTuple constraint);
extern bool constraint_is_global(Oid constraint);

#endif							/* CITUS_CATALOG_GLOBAL_KEY_H */
