/*-------------------------------------------------------------------------
 *
 * schema_dump.h
 *	  The statements that make a node's objects, as pg_dump writes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_SCHEMA_DUMP_H
#define CITUS_CLUSTER_SCHEMA_DUMP_H

#include "postgres.h"

#include "catalog/objectaddress.h"

#include "compat/foreach.h"

/* A dump of a server's schema, in a temporary file. */
typedef struct SchemaDump SchemaDump;

/*
 * Whether an entry of the dump is wanted; object is InvalidOid in both parts
 * for entries that belong to others (comments, privileges).
 */
typedef bool (*DumpFilter) (const char *kind, const ObjectAddress *object);

/*
 * Dumps the committed schema of this database as the server at an address has
 * it.
 */
extern SchemaDump *schema_dump_make(const char *host, int32 port);

/*
 * The statements (List of char *) that make the wanted entries, in the order
 * in which they can be run; NULL: all.
 */
extern List *schema_dump_statements(SchemaDump *dump, DumpFilter wanted);

/* Closes the dump's file. */
extern void schema_dump_close(SchemaDump *dump);

#endif							/* CITUS_CLUSTER_SCHEMA_DUMP_H */
