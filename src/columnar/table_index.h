/*-------------------------------------------------------------------------
 *
 * table_index.h
 *	  The access method's functions that build indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_INDEX_H
#define CITUS_COLUMNAR_TABLE_INDEX_H

#include "postgres.h"

#include "compat/table_am.h"

/* Fills in the members of the routine for this file's functions. */
extern void table_index_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_INDEX_H */
