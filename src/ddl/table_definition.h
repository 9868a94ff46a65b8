/*-------------------------------------------------------------------------
 *
 * table_definition.h
 *	  The commands that make a table, from the catalogs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_TABLE_DEFINITION_H
#define CITUS_DDL_TABLE_DEFINITION_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Commands (List of char *, qualified names, to be run in order with
 * search_path = pg_catalog) that create on another node all that the table needs (schemas, enum/domain/composite types,
 * sequences) where it is missing, and the table with dropped columns in place, columns, defaults, storage,
 * statistics, constraints, indexes, comments, owner, grants, row security, replica identity; without foreign keys.
 */
extern List *table_definition_commands(Oid relid);

/* Foreign keys of the table, to be run when all tables exist. */
extern List *table_foreign_key_commands(Oid relid);

#endif							/* CITUS_DDL_TABLE_DEFINITION_H */
