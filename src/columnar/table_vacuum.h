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

/* Fills in the member of the routine for this file's function. */
extern void table_vacuum_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_VACUUM_H */
