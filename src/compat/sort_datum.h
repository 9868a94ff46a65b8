/*-------------------------------------------------------------------------
 *
 * sort_datum.h
 *	  Since version 16 a caller says whether it wants a copy of a sorted value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SORT_DATUM_H
#define CITUS_COMPAT_SORT_DATUM_H

#include "postgres.h"

#include "utils/tuplesort.h"

/* The next of sorted values that are passed by value; false at the end. */
static inline bool
compat_sort_next_datum(Tuplesortstate *sort, Datum *value, bool *isnull)
{
#if PG_VERSION_NUM >= 160000
	return tuplesort_getdatum(sort, true, false, value, isnull, NULL);
#else
	return tuplesort_getdatum(sort, true, value, isnull, NULL);
#endif
}

#endif							/* CITUS_COMPAT_SORT_DATUM_H */
