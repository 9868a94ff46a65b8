/*-------------------------------------------------------------------------
 *
 * hide_shards.h
 *	  Hides shards from pg_dump and from subscribers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_HIDE_SHARDS_H
#define CITUS_PLANNER_HIDE_SHARDS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Whether this session serves a subscriber; set by src/decoding. */
extern bool (*hide_shards_from_subscriber) (void);

extern void hide_shards_init(void);

/*
 * Hides shards in the catalogs from a query that is about to be planned, in
 * sessions of pg_dump and subscribers.
 */
extern void hide_shards(Query *query);

#endif							/* CITUS_PLANNER_HIDE_SHARDS_H */
