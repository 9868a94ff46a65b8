/*-------------------------------------------------------------------------
 *
 * default_action.h
 *	  Foreign keys of shards that set columns to their defaults.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_DEFAULT_ACTION_H
#define CITUS_RESOLVE_DEFAULT_ACTION_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Gives an UPDATE of a shard the defaults of the logical table's columns; to
 * be called between analysis and rewriting.  Other statements are not changed.
 */
extern void default_action_fill(Query *query);

/*
 * Invalidates such plans in the sessions of this node, since the table's
 * defaults have changed.
 */
extern void default_action_forget(List *shard_relids);

#endif							/* CITUS_RESOLVE_DEFAULT_ACTION_H */
