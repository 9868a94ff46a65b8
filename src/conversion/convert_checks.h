/*-------------------------------------------------------------------------
 *
 * convert_checks.h
 *	  Checks that a table can be a distributed or reference table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_CONVERT_CHECKS_H
#define CITUS_CONVERSION_CONVERT_CHECKS_H

#include "catalog/metadata.h"
#include "utils/rel.h"

/*
 * Errors unless the current user may distribute the relation, and it is of a
 * kind that can be; a partition only as_partition of a table that is
 * distributed.
 */
extern void check_convertible(Relation rel, bool as_partition);

/*
 * Errors if an altered composite type has distributed typed tables, since
 * their shards aren't typed tables.
 */
extern void check_no_typed_tables(Oid typerel);

/* Errors if the table is an extension's, which can't have shards. */
extern void check_no_extension(Oid relid);

/*
 * Number of the column to distribute by; errors if there is none of that name,
 * or it can't be hashed.
 */
extern AttrNumber check_distribution_column(Relation rel, const char *name);

/*
 * Errors if shards can't enforce a unique index.  Nothing to do without a
 * distribution column.
 */
extern void check_unique_indexes(Relation rel, AttrNumber dist_attno);

/*
 * Errors if a check constraint or generated column would mean something else
 * in shards than in their table.
 */
extern void check_no_tableoid(Relation rel);

/*
 * Errors if shards can't enforce a foreign key from or to the table; its
 * metadata must be written.
 */
extern void check_foreign_keys(Oid relid);

/*
 * The foreign keys from or to the table that are between rows of different
 * nodes (Oids); and, after its metadata has changed, an error if these are
 * others than before.
 */
extern List *global_keys_of(Oid relid);
extern void check_keys_stay(Oid relid, const List *global);

/*
 * Sends notices about local tables whose rows reference a table that gets
 * shards now: these keys aren't enforced for a while.
 */
extern void notice_local_foreign_keys(Oid relid);

/*
 * The same as check_foreign_keys, of the keys of a local table that ALTER
 * TABLE has added: those that aren't known (Oids of constraints).  A table
 * without rows, which may be distributed as the next step, can reference a
 * distributed one: it gets none before that.
 */
extern void check_added_foreign_keys(Oid relid, List *known);

/*
 * After CREATE TRIGGER: errors (0A000) if it needs a foreign key to be
 * enforced between nodes that citus.global_indexes doesn't let be.
 */
extern void check_keys_of_trigger(Oid relid, const char *trigger);

/* Whether the table has, or is referenced by, a foreign key. */
extern bool has_foreign_keys(Oid relid);

/*
 * The distributed and reference tables (Oids) that foreign keys of a table
 * reference: all of them, or only that key of a name (if not NULL), or those
 * with a column (if not 0).
 */
extern List *referenced_tables(Oid relid, const char *constraint, AttrNumber attno);

/*
 * A table, and those that are connected with it by foreign keys, directly or
 * over others (Oids): local tables if it is local, else distributed and
 * reference tables.  Partitions are left out; tables come after those that
 * they reference.
 */
extern List *tables_connected_by_keys(Oid relid);

/*
 * The tables (Oids), each after those that it references, except for cycles;
 * modifies the given list.
 */
extern List *order_by_keys(List *tables);

/*
 * Errors if a table that is, or is going to be, distributed has triggers that
 * would not fire as on a single server.
 */
extern void check_triggers(Oid relid);

/*
 * Whether no row is visible in the relation, and its partitions, on this node.
 */
extern bool relation_is_empty(Oid relid);

/*
 * Opens a relation that a function was given, and locks it; errors (42P01) if
 * it is gone then.
 */
extern Relation open_table_by_oid(Oid relid, LOCKMODE mode);

#endif							/* CITUS_CONVERSION_CONVERT_CHECKS_H */
