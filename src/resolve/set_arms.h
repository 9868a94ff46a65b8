/*-------------------------------------------------------------------------
 *
 * set_arms.h
 *	  Long ORs in a task for several shards: each shard evaluates those arms
 *	  that can hold for its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_SET_ARMS_H
#define CITUS_RESOLVE_SET_ARMS_H

#include "nodes/params.h"
#include "nodes/parsenodes.h"

/*
 * Rewrites the long ORs in a query's WHERE for a table that is about to become
 * a set of shards (ShardPart *, locked), by tests of one more column of it,
 * whose number is natts + 1: the place of a row's shard in the list, an int4.
 * params may be NULL.  False, with nothing done, if there are none; the set
 * needs no such column then.
 */
extern bool set_arms_assign(Query *query, RangeTblEntry *rte, List *parts, ParamListInfo params);

#endif							/* CITUS_RESOLVE_SET_ARMS_H */
