/*-------------------------------------------------------------------------
 *
 * dependents.h
 *	  Creates dependent objects of a table on all nodes when the table is
 *	  distributed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_OBJECTS_DEPENDENTS_H
#define CITUS_OBJECTS_DEPENDENTS_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Commands (List of char *, for search_path = pg_catalog) that make on another
 * node the objects that depend on tables, and on no other local one.  The
 * tables' metadata has just been written.  Warns of objects that the current
 * user can't make there.
 */
extern List *table_dependents_commands(List *relids);

/*
 * The materialized views (Oids) among these, which the commands make without
 * rows.
 */
extern List *table_dependent_views(List *relids);

/*
 * Commands that drop there what DROP TABLE .. CASCADE leaves of such objects,
 * for tables that become local.
 */
extern List *table_dependents_drop_commands(List *relids);

#endif							/* CITUS_OBJECTS_DEPENDENTS_H */
