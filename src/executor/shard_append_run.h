/*-------------------------------------------------------------------------
 *
 * shard_append_run.h
 *	  The executor node of a ShardAppend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SHARD_APPEND_RUN_H
#define CITUS_EXECUTOR_SHARD_APPEND_RUN_H

extern void shard_append_init(void);

#endif							/* CITUS_EXECUTOR_SHARD_APPEND_RUN_H */
