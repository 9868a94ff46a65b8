/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *	  What this library's processes wait for, as pg_stat_activity shows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_WAIT_EVENT_H
#define CITUS_LIB_WAIT_EVENT_H

#include "postgres.h"

/* docs/monitoring.md describes them. */
typedef enum WaitReason
{
	WAIT_DAEMON,
	WAIT_GATEWAY_MAIN,
	WAIT_GATEWAY_ORDER,
	WAIT_NODE_ANSWER,
	WAIT_NODE_CONNECTION,
	WAIT_COMMIT_TIMESTAMP,
	WAIT_CHANGES_BLOCK,
	WAIT_LOCK_RETRY,
	WAIT_NODE_USERS,
	WAIT_SHARD_MOVE,
	WAIT_SHARD_RETRY,
	WAIT_TENANT_LIMIT,
} WaitReason;

/* For the server's functions that wait; versions before 17 show no names. */
extern uint32 wait_event(WaitReason reason);

/*
 * Waits until the process's latch is set, or ms milliseconds have passed, and
 * then processes interrupts.
 */
extern void wait_pause(long ms, WaitReason reason);

#endif							/* CITUS_LIB_WAIT_EVENT_H */
