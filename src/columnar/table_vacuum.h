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
 * Makes room again of what moved and deleted rows have left: in the row-wise
 * part, the TOAST table, unless another VACUUM is at it, and indexes.  Only of
 * what no snapshot sees, the transaction's own included.  The caller has
 * locked the table as VACUUM does.
 */
extern void table_vacuum_leftovers(Relation table);

/* Fills in the members of the routine for this file's functions. */
extern void table_vacuum_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_VACUUM_H */
