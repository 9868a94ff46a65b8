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

#include "columnar/stripe_scan.h"
#include "compat/table_am.h"

/* The shared counter of chunk groups of a parallel scan, or NULL. */
extern pg_atomic_uint64 *table_scan_shared_groups(TableScanDesc scan);

/*
 * A scan of some columns only, into slots for values: what a scan node asks
 * for, after table_beginscan() or table_beginscan_parallel().
 */
typedef struct ColumnarProjection
{
	Bitmapset  *columns;		/* from 0 */
	ChunkGroupTest test;		/* which chunk groups may have wanted rows */
	void	   *test_arg;
	ChunkRowsFilter filter;		/* which rows of stripes are wanted; NULL:
								 * all */
	void	   *filter_arg;
} ColumnarProjection;

/*
 * Sets it; it stays the caller's.  No row was asked for yet, or since a
 * rescan.
 */
extern void table_scan_project(TableScanDesc scan, const ColumnarProjection *projection);

/*
 * The next row, forward: the values of the columns in the slot, all others
 * NULL.  They are valid until the next call.  *filtered: the projection's
 * filter wants the row; it isn't asked about rows of the row-wise part.
 */
extern bool table_scan_next_values(TableScanDesc scan, TupleTableSlot *slot, bool *filtered);

/*
 * The next chunk group, with the rows that the filter wants selected, of a
 * scan into this slot.  NULL if there is none: table_scan_next_values()
 * returns the rows of the row-wise part then.
 */
extern StripeScan *table_scan_next_group(TableScanDesc scan, TupleTableSlot *slot);

/* How many chunk groups the scan has read, and how many it has skipped. */
extern void table_scan_count_groups(TableScanDesc scan, uint64 *read, uint64 *skipped);

/* Fills in the members of the routine for this file's functions. */
extern void table_scan_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_SCAN_H */
