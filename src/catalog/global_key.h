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

#include "access/attnum.h"
#include "access/htup.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/*
 * Whether a constraint (its row in pg_constraint, or its Oid) is a foreign key
 * between two tables in the metadata that the shards don't have, and
 * src/global_index enforces: its rows may be on different nodes, or it was
 * made so because of its action.
 */
extern bool foreign_key_is_global(HeapTuple constraint);
extern bool constraint_is_global(Oid constraint);

/*
 * The same, or whether the shards must not have it because the server would
 * change, by its action, rows of a shard that others have to hear of: keys of
 * global indexes and foreign keys, distribution values, and triggers of users.
 * For DDL, whose last step makes such keys global.
 */
extern bool foreign_key_becomes_global(HeapTuple constraint);
extern bool constraint_becomes_global(Oid constraint);

/*
 * A foreign key to a partitioned table has parts: the server makes one for
 * each of its partitions, with its action triggers there.  Returns the key
 * that one is a part of, or the key itself.
 */
extern Oid	foreign_key_whole(Oid constraint);

/* Whether a constraint is a foreign key between tables in the metadata. */
extern bool foreign_key_is_distributed(HeapTuple constraint);

/*
 * Whether the rows that a foreign key between two tables in the metadata
 * relates are on the same node.
 */
extern bool foreign_key_keeps_rows_together(HeapTuple constraint);

/*
 * The COMMAND_BITs of what a foreign key's actions do to the rows that
 * reference; *updated gets the columns, too, that they may change.
 */
extern int	foreign_key_commands(HeapTuple constraint, Bitmapset **updated);

/* The foreign keys of, and to, a table that are enforced: Oids. */
extern List *foreign_keys_around(Oid relid);

/* The global index whose entries a table has; InvalidOid if it has none. */
extern Oid	index_of_entries(Oid relid);

#endif							/* CITUS_CATALOG_GLOBAL_KEY_H */
