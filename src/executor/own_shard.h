/*-------------------------------------------------------------------------
 *
 * own_shard.h
 *	  Statements of one shard that is on this node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_OWN_SHARD_H
#define CITUS_EXECUTOR_OWN_SHARD_H

extern void own_shard_init(void);

#endif							/* CITUS_EXECUTOR_OWN_SHARD_H */
