/*-------------------------------------------------------------------------
 *
 * moved_rows.h
 *	  What stands, in the nodes' query, for rows that are moved to the nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_MOVED_ROWS_H
#define CITUS_PLANNER_MOVED_ROWS_H

#include "planner/dist_rel.h"

/* How many parameters of the nodes' query a relation's rows take. */
extern int	broadcast_nparams(const Broadcast *broadcast);

/*
 * The relation's entry: ROWS FROM (unnest(array), ..), or exchange_read(..).
 */
extern RangeTblEntry *moved_rows_entry(const Broadcast *broadcast);

/*
 * A parameter for such rows: the number-th one of the relation that varno
 * stands for; with varno 0, behind all of those.  dist_query_finish numbers
 * it.
 */
extern Param *moved_rows_param(Index varno, int number, Oid type);

/* A function of citus_internal. */
extern Oid	moved_rows_function(const char *name, int nargs, const Oid *args);

#endif							/* CITUS_PLANNER_MOVED_ROWS_H */
