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

typedef enum ColumnarScanPart
{
	SCAN_STRIPES,
	SCAN_ROW_WISE
} ColumnarScanPart;

/*
 * What ANALYZE gets next.  With the first block it gets the rows of the
 * stripes, too: BEGIN, FIRST_BLOCK, STRIPES, BETWEEN_BLOCKS; then OTHER_BLOCK
 * and BETWEEN_BLOCKS in turn.
 */
typedef enum AnalyzePhase
{
	ANALYZE_BEGIN,
	ANALYZE_FIRST_BLOCK,
	ANALYZE_STRIPES,
	ANALYZE_BETWEEN_BLOCKS,
	ANALYZE_OTHER_BLOCK
} AnalyzePhase;

/* A scan of a columnar table, begun by the access method. */
typedef struct ColumnarScan
{
	TableScanDescData base;		/* must be first */
	TableScanDesc heap;			/* the scan of the row-wise part */
	MemoryContext context;		/* the scan's own */
	StripeScan *stripes;		/* NULL: not begun */
	SnapshotData not_dead;		/* of a scan of all versions: what may still
								 * be seen of the stripes */
	ColumnarScanPart part;
	const ColumnarProjection *projection;	/* NULL: all columns */
	TupleTableSlot *heap_slot;	/* with a projection: a row of the heap */
	int		   *column_numbers; /* the projection's, from 0 */
	int			ncolumns;
	int64		selected_at;	/* the current one of the rows that the
								 * stripes' scan selected */

	bool		ranged;			/* a scan of ctids from one to another */
	bool		range_begun;
	ItemPointerData range_min;
	ItemPointerData range_max;

	AnalyzePhase analyze_phase;
	int			analyze_group;	/* the next one */
	int			analyze_group_step;
	uint32		analyze_row_step;
	double		analyze_left;	/* rows not counted yet */

	BlockNumber *sample_first;	/* TABLESAMPLE: the number of each stripe's
								 * first block, and of the end */
	int			sample_stripe;	/* of the block; -1: the heap's */
	BlockNumber sample_block;	/* in the stripe */
	BlockNumber sample_next;	/* for methods that don't choose blocks */
} ColumnarScan;

/* The shared counter of chunk groups of a parallel scan, or NULL. */
extern pg_atomic_uint64 *table_scan_shared_groups(TableScanDesc scan);

/*
 * Sets it; it stays the caller's.  No row was asked for yet, or since a
 * rescan.
 */
extern void table_scan_project(TableScanDesc scan, const ColumnarProjection *projection);

/*
 * The next row: the values of the columns in the slot, all others NULL.  They
 * are valid until the next call.  *filtered: the projection's
 * filter wants the row; it isn't asked about rows of the row-wise part.
 */
extern bool table_scan_next_values(TableScanDesc scan, ScanDirection direction, TupleTableSlot *slot, bool *filtered);

/*
 * The next chunk group, with the rows that the filter wants selected, of a
 * scan into this slot.  NULL if there is none: table_scan_next_values()
 * returns the rows of the row-wise part then.
 */
extern StripeScan *table_scan_next_group(TableScanDesc scan, TupleTableSlot *slot);

/* How many chunk groups the scan has read, and how many it has skipped. */
extern void table_scan_count_groups(TableScanDesc scan, uint64 *read, uint64 *skipped);

/*
 * Begins the scan of the stripes, unless it has begun: rows get the columns of
 * tupdesc.
 */
extern void table_scan_begin_stripes(ColumnarScan *scan, TupleDesc tupdesc);

/* Fills in the members of the routine for this file's functions. */
extern void table_scan_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_SCAN_H */
