/*-------------------------------------------------------------------------
 *
 * vector_top.h
 *	  Which groups can't be among the first ones in the order of a Sort.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_TOP_H
#define CITUS_VECTOR_VECTOR_TOP_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct VectorTop VectorTop;

/*
 * For the limit first groups in the order of columns, descending ones if their
 * element of the other list is 1.  It is made in the current memory context.
 */
extern VectorTop *vector_top_make(int64 limit, const List *columns, const List *descending);

/* The columns that decide, from 0. */
extern const List *vector_top_columns(const VectorTop *top);

/*
 * Whether a group, whose values of these columns are given, may be among the
 * first ones.  Columns are ordered as integers.
 */
extern bool vector_top_wants(VectorTop *top, const int64 *values);

/* Takes note of a group that is returned. */
extern void vector_top_add(VectorTop *top, const int64 *values);

/* Forgets all groups. */
extern void vector_top_reset(VectorTop *top);

#endif							/* CITUS_VECTOR_VECTOR_TOP_H */
