/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *	  What this library's processes wait for, as pg_stat_activity shows it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "compat/wait_event.h"
#include "lib/trace.h"
#include "lib/wait_event.h"

static const char *const wait_event_names[] = {
	[WAIT_DAEMON] = "CitusDaemonMain",
	[WAIT_GATEWAY_MAIN] = "CitusGatewayMain",
	[WAIT_GATEWAY_ORDER] = "CitusGatewayOrder",
	[WAIT_NODE_ANSWER] = "CitusNodeAnswer",
	[WAIT_NODE_CONNECTION] = "CitusNodeConnection",
	[WAIT_CHANGES_BLOCK] = "CitusChangesBlock",
	[WAIT_COMMIT_TIMESTAMP] = "CitusCommitTimestamp",
	[WAIT_LOCK_RETRY] = "CitusLockRetry",
	[WAIT_NODE_USERS] = "CitusNodeUsers",
	[WAIT_SHARD_MOVE] = "CitusShardMove",
	[WAIT_SHARD_RETRY] = "CitusShardRetry",
	[WAIT_TENANT_LIMIT] = "CitusTenantLimit",
};

uint32
wait_event(WaitReason reason)
{
	static uint32 events[lengthof(wait_event_names)];

	if (events[reason] == 0)
		events[reason] = WaitEventExtensionNew(wait_event_names[reason]);
	return events[reason];
}

void
wait_pause(long ms, WaitReason reason)
{
	TraceSpan	span = trace_begin();

	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, wait_event(reason));
	ResetLatch(MyLatch);
	trace_end_wait(&span, TRACE_WAIT, TRACE_NO_NODE, wait_event_names[reason]);
	CHECK_FOR_INTERRUPTS();
}
