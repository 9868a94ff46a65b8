/*-------------------------------------------------------------------------
 *
 * own_shard.h
 *	  Statements of one shard that is on this node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_OWN_SHARD_H
#define CITUS_EXECUTOR_OWN_SHARD_H

#include "executor/executor.h"

/*
 * Starts a statement with its shard's plan, by start; false if that isn't
 * possible, and nothing done.
 */
extern bool own_shard_start(QueryDesc *query_desc, int eflags, ExecutorStart_hook_type start);

#endif							/* CITUS_EXECUTOR_OWN_SHARD_H */
