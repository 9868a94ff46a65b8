/*-------------------------------------------------------------------------
 *
 * columnar.h
 *	  The table access method "columnar".
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_COLUMNAR_H
#define CITUS_COLUMNAR_COLUMNAR_H

#include "postgres.h"

#include "access/relscan.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

/* Whether a table's access method is columnar. */
extern bool columnar_is_columnar(Relation table);

/*
 * Sets the columns, from 1, that an index scan fetches of rows of stripes; the
 * set stays.  Others are NULL in its slots.
 */
extern void columnar_index_fetch_columns(IndexFetchTableData *fetch, const Bitmapset *columns);

extern void columnar_init(void);

#endif							/* CITUS_COLUMNAR_COLUMNAR_H */
