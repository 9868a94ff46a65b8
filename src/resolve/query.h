/*-------------------------------------------------------------------------
 *
 * query.h
 *	  A tagged query's logical tables become this node's shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_QUERY_H
#define CITUS_RESOLVE_QUERY_H

#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "resolve/tag.h"

/*
 * Replaces, in place, each table of the tag's colocation group by its local
 * shard at all levels of the query, and locks the shard as the parser locked
 * the table.  Errors with ERRCODE_SHARD_NOT_HERE if a shard is not on this
 * node.  All distributed and reference tables, also of a task for the node's
 * own copy, are checked for the right to any column; the initiator has checked
 * the user's columns.
 */
extern void resolve_query(Query *query, const TaskTag *tag, ParamListInfo params);

#endif							/* CITUS_RESOLVE_QUERY_H */
