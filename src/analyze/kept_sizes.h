/*-------------------------------------------------------------------------
 *
 * kept_sizes.h
 *	  Sizes of logical tables, kept over statements that build indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_ANALYZE_KEPT_SIZES_H
#define CITUS_ANALYZE_KEPT_SIZES_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Before a utility statement: the sizes of distributed tables that it may
 * build indexes of, in CurrentMemoryContext; NIL if there are none.
 */
extern List *kept_sizes_note(const Node *stmt);

/* Afterwards: gives them back to those tables that have lost them. */
extern void kept_sizes_restore(const List *sizes);

#endif							/* CITUS_ANALYZE_KEPT_SIZES_H */
