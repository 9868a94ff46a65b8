/*-------------------------------------------------------------------------
 *
 * table_sample.h
 *	  The access method's scans of some rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_SAMPLE_H
#define CITUS_COLUMNAR_TABLE_SAMPLE_H

#include "postgres.h"

#include "compat/table_am.h"

/* Fills in the members of the routine for this file's functions. */
extern void table_sample_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_SAMPLE_H */
