/*-------------------------------------------------------------------------
 *
 * hide_shards.h
 *	  Hides shards from pg_dump.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_HIDE_SHARDS_H
#define CITUS_PLANNER_HIDE_SHARDS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

extern void hide_shards_init(void);

/*
 * Has a query that is about to be planned not find shards in the catalogs, if
 * it is pg_dump's.
 */
extern void hide_shards(Query *query);

#endif							/* CITUS_PLANNER_HIDE_SHARDS_H */
