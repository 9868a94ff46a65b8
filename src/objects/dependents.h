/*-------------------------------------------------------------------------
 *
 * dependents.h
 *	  Objects that a table's distribution brings to all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_OBJECTS_DEPENDENTS_H
#define CITUS_OBJECTS_DEPENDENTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Commands (List of char *, for search_path = pg_catalog) that make on another node the objects
 * that depend on a table, and on no other local one.  The table's metadata has just been
 * written.  Warns of objects that the current user can't make there.
 */
extern List *table_dependents_commands(Oid relid);

/* Commands that drop there what DROP TABLE .. CASCADE leaves of such objects, for a table that becomes local. */
extern List *table_dependents_drop_commands(Oid relid);

#endif							/* CITUS_OBJECTS_DEPENDENTS_H */
