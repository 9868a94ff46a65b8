/*-------------------------------------------------------------------------
 *
 * left_shard.h
 *	  Foreign keys of shards that have left this node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_LEFT_SHARD_H
#define CITUS_EXECUTOR_LEFT_SHARD_H

#include "postgres.h"

#include "executor/execdesc.h"

/*
 * A statement has been started.  One of the server for a foreign key
 * (checks_key) is run next: if its first table is a shard that has left this
 * node, it is to read and write nothing.
 */
extern void left_shard_start(const QueryDesc *query_desc, bool checks_key);

#endif							/* CITUS_EXECUTOR_LEFT_SHARD_H */
