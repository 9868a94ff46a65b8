/*-------------------------------------------------------------------------
 *
 * table_definition.h
 *	  The commands that make a table, from the catalogs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_TABLE_DEFINITION_H
#define CITUS_TABLE_TABLE_DEFINITION_H

#include "postgres.h"

#include "access/attnum.h"

#include "compat/foreach.h"

/*
 * Commands (List of char *, qualified names, to be run in order with
 * search_path = pg_catalog) that create on another node all that the table
 * needs (schemas, enum/domain/composite types, sequences) where it is missing,
 * and the table with dropped columns in place, columns, defaults, storage,
 * statistics, constraints, indexes, comments, owner, grants, row security,
 * replica identity; without foreign keys.
 */
extern List *table_definition_commands(Oid relid);

/*
 * Whether the table is an extension's.  CREATE EXTENSION makes it on each
 * node, with rows of its own: table_definition_commands() removes them and
 * sets privileges; its foreign keys and triggers are there.
 */
extern bool table_of_extension(Oid relid);

/* Foreign keys of the table, to be run when all tables exist. */
extern List *table_foreign_key_commands(Oid relid);

/* Those of them that the shards have as well, as each node enforces them. */
extern List *shard_foreign_key_commands(Oid relid);

/*
 * Commands that make a shard of the table, still with the table's own names:
 * what table_definition_commands gives, less all that lives in the logical
 * table only (types, sequences, defaults, identity, comments, policies).
 */
extern List *table_shard_commands(Oid relid);

/*
 * The same in two parts, for a shard that gets its rows in between: without
 * indexes, and what they are, with constraints and replica identity.  Indexes
 * of a partition come before those of its partitioned table.
 */
extern List *table_shard_bare_commands(Oid relid);
extern List *table_shard_index_commands(Oid relid);

/*
 * Of table_definition_commands, those for schemas, types and sequences, except
 * the table's own sequences.
 */
extern List *table_needs_commands(Oid relid);

/*
 * Commands that make the table's triggers on another node, to be run when its
 * rows are there.
 */
extern List *table_trigger_commands(Oid relid);

/*
 * Errors if this node lacks the function of a trigger that another node has
 * sent.
 */
extern void require_trigger_function(List *name);

/*
 * The default or generation expression of a column, with qualified names, or
 * NULL.
 */
extern char *column_default_definition(Oid relid, AttrNumber attno);

/*
 * The command that makes one constraint, index or statistics object, under
 * search_path = pg_catalog.  only: of an index of a partitioned table, without
 * those of partitions.
 */
extern char *constraint_definition(Oid constraint);
extern char *index_definition(Oid index, bool only);
extern char *statistics_create_text(Oid statistics);

#endif							/* CITUS_TABLE_TABLE_DEFINITION_H */
