/*-------------------------------------------------------------------------
 *
 * index_columns.h
 *	  The columns that an index is about.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_INDEX_COLUMNS_H
#define CITUS_LIB_INDEX_COLUMNS_H

#include "postgres.h"

#include "nodes/bitmapset.h"

/*
 * The attribute numbers of an index's columns, and of those that its
 * expressions, its condition and generated ones of them use; NULL if there is
 * no such index.
 */
extern Bitmapset *index_columns(Oid index);

/* Whether the condition of an index calls citus_global_index(). */
extern bool index_is_marked_global(Oid index);

#endif							/* CITUS_LIB_INDEX_COLUMNS_H */
