/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  The access method's scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_SCAN_H
#define CITUS_COLUMNAR_TABLE_SCAN_H

#include "postgres.h"

#include "port/atomics.h"

#include "compat/table_am.h"

/* The shared counter of chunk groups of a parallel scan, or NULL. */
extern pg_atomic_uint64 *table_scan_shared_groups(TableScanDesc scan);

/* Fills in the members of the routine for this file's functions. */
extern void table_scan_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_SCAN_H */
