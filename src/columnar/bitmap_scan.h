/*-------------------------------------------------------------------------
 *
 * bitmap_scan.h
 *	  The node that reads the rows of a columnar table that a bitmap names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_BITMAP_SCAN_H
#define CITUS_COLUMNAR_BITMAP_SCAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Rows of stripes that a run looks up by the session's cache of chunks, before
 * it expands chunk groups.
 */
#define BITMAP_SCAN_LOOKUPS 32

/* Such a scan in the place of a BitmapHeapPath, at some more cost. */
extern Path *bitmap_scan_make_path(Path *bitmap, double cost);

extern void bitmap_scan_init(void);

#endif							/* CITUS_COLUMNAR_BITMAP_SCAN_H */
