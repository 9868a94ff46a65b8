/*-------------------------------------------------------------------------
 *
 * array_stats.h
 *	  Statistics of the columns of unnest(), from the arrays themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_ARRAY_STATS_H
#define CITUS_RESOLVE_ARRAY_STATS_H

#include "nodes/parsenodes.h"
#include "utils/selfuncs.h"

/*
 * For get_relation_stats_hook: sets the statistics of a column of a function
 * in FROM that is unnest() of a known array; false if it is none.
 */
extern bool array_stats_get(RangeTblEntry *rte, AttrNumber attnum, VariableStatData *vardata);

#endif							/* CITUS_RESOLVE_ARRAY_STATS_H */
