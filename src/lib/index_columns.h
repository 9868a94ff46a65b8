/*-------------------------------------------------------------------------
 *
 * index_columns.h
 *	  The columns that an index is about, and whether it is a global one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_INDEX_COLUMNS_H
#define CITUS_LIB_INDEX_COLUMNS_H

#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_index.h"
#include "nodes/bitmapset.h"

/*
 * The attribute numbers of an index's columns, and of those that its
 * expressions, its condition and generated ones of them use; NULL if there is
 * no such index.
 */
extern Bitmapset *index_columns(Oid index);

/* Whether the condition of an index calls citus_global_index(). */
extern bool index_is_marked_global(Oid index);

/*
 * Whether an index of a distributed table has to be a global one: it lacks the
 * distribution column (0: there is none), and is unique, or was asked to be.
 */
extern bool index_is_global(Form_pg_index index, AttrNumber dist_attno);

/*
 * The columns of a table by the names of another one's columns: of a partition
 * and its table.
 */
extern Bitmapset *columns_by_name(Oid relid, Oid other, const Bitmapset *columns);

#endif							/* CITUS_LIB_INDEX_COLUMNS_H */
