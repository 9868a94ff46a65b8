/*-------------------------------------------------------------------------
 *
 * table_vacuum.h
 *	  VACUUM of columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_VACUUM_H
#define CITUS_COLUMNAR_TABLE_VACUUM_H

#include "postgres.h"

#include "compat/table_am.h"

/*
 * Removes index entries of stripes' rows that no snapshot sees, if there are
 * new ones.  The caller has locked the table as VACUUM does.
 */
extern void table_vacuum_index_entries(Relation table);

/* Fills in the members of the routine for this file's functions. */
extern void table_vacuum_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_VACUUM_H */
