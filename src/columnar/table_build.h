/*-------------------------------------------------------------------------
 *
 * table_build.h
 *	  The access method's functions for whole tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_BUILD_H
#define CITUS_COLUMNAR_TABLE_BUILD_H

#include "postgres.h"

#include "compat/table_am.h"

/* Fills in the members of the routine for this file's functions. */
extern void table_build_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_BUILD_H */
