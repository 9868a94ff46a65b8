/*-------------------------------------------------------------------------
 *
 * scan_path.h
 *	  Paths that scan columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_SCAN_PATH_H
#define CITUS_COLUMNAR_SCAN_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Adds the scans of a columnar table to the paths that the server has found,
 * and makes those by index cost what they do.  Other relations are left alone.
 * Called by the owner of set_rel_pathlist_hook.
 */
extern void columnar_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* Whether a path becomes a ColumnarScan. */
extern bool columnar_path_is_scan(const Path *path);

#endif							/* CITUS_COLUMNAR_SCAN_PATH_H */
