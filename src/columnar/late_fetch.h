/*-------------------------------------------------------------------------
 *
 * late_fetch.h
 *	  The node ColumnarFetch: columns of the few rows that a Limit has left.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_LATE_FETCH_H
#define CITUS_COLUMNAR_LATE_FETCH_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * What takes the place of a Limit in a finished plan, or that itself.  If it
 * takes few rows of a sorted ColumnarScan, the scan reads only what it needs
 * to sort and to filter, and a node above the Limit fetches the rows.
 */
extern Plan *late_fetch_plan(Limit *limit);

/* How many rows a Limit reads; -1: not known, or it isn't that simple. */
extern int64 late_fetch_rows_of_limit(const Limit *limit);

extern void late_fetch_init(void);

#endif							/* CITUS_COLUMNAR_LATE_FETCH_H */
