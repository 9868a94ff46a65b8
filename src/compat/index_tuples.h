/*-------------------------------------------------------------------------
 *
 * index_tuples.h
 *	  ExecInsertIndexTuples can leave out other than summarizing indexes since
 *	  version 16, and takes flags since 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_INDEX_TUPLES_H
#define CITUS_COMPAT_INDEX_TUPLES_H

#include "postgres.h"

#include "executor/executor.h"

/* Adds the entries of a new row to all indexes of its table. */
static inline void
compat_insert_index_tuples(ResultRelInfo *result, TupleTableSlot *row, EState *estate)
{
#if PG_VERSION_NUM >= 190000
	list_free(ExecInsertIndexTuples(result, estate, 0, row, NIL, NULL));
#elif PG_VERSION_NUM >= 160000
	list_free(ExecInsertIndexTuples(result, row, estate, false, false, NULL, NIL, false));
#else
	list_free(ExecInsertIndexTuples(result, row, estate, false, false, NULL, NIL));
#endif
}

#endif							/* CITUS_COMPAT_INDEX_TUPLES_H */
