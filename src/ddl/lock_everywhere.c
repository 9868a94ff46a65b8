/*-------------------------------------------------------------------------
 *
 * lock_everywhere.c
 *	  Locks a table on all nodes before DDL changes it there.
 *
 * A write that starts on node A locks the logical table on A, then on the
 * node B where its shard is.  DDL locks the table on all nodes; if it gets B
 * and waits on A for a write that waits on B, both wait for ever, and no order
 * of nodes prevents it, as writes start anywhere.  So the locks are taken in a
 * subtransaction with a short timeout on the other nodes: when that passes,
 * all are given back, which lets such a write go on, and taken again a
 * moment later.
 *
 * Locks that the transaction had before stay.  If they are what others wait
 * for, giving way doesn't help; so in a transaction block the attempts soon end, and
 * it is left to the search for deadlocks across nodes (txn/deadlock.c) to end the wait.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "ddl/definition.h"
#include "ddl/lock_everywhere.h"
#include "ddl/run_commands.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "txn/deadlock.h"

/* Timeouts of the attempts, in ms: doubled each time, and less than what the search for deadlocks waits. */
#define FIRST_TIMEOUT 100
#define LAST_TIMEOUT 5000

/* In a transaction block; and if nobody looks for deadlocks, about half a minute. */
#define ATTEMPTS_IN_BLOCK 2
#define ATTEMPTS_IN_BLOCK_ALONE 11

static const char *const mode_names[] = {
	[ShareLock] = "SHARE",
	[ShareRowExclusiveLock] = "SHARE ROW EXCLUSIVE",
	[ExclusiveLock] = "EXCLUSIVE",
	[AccessExclusiveLock] = "ACCESS EXCLUSIVE",
};

/* LOCK TABLE for the other nodes. */
static char *
lock_text(List *relids, LOCKMODE mode)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%sLOCK TABLE ", TASK_TAG_DDL);
	foreach(cell, relids)
		appendStringInfo(&buf, "%s%s", foreach_current_index(cell) == 0 ? "" : ", ",
						 relation_qualified_name(lfirst_oid(cell)));
	appendStringInfo(&buf, " IN %s MODE", mode_names[mode]);
	return buf.data;
}

/*
 * Errors if a table that is locked now has another name than text, made before
 * the wait, gives it: the statement, which other nodes get as it was written,
 * would reach whatever has the name now.
 */
static void
check_names(List *relids, LOCKMODE mode, const char *text)
{
	ListCell   *cell;
	bool		same = true;

	foreach(cell, relids)
		same = same && get_rel_name(lfirst_oid(cell)) != NULL;
	if (!same || strcmp(text, lock_text(relids, mode)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table does not exist under this name any more"),
				 errdetail("Another session has dropped or renamed it while this one waited for a lock on it.")));
}

/* Takes the locks on one node. */
static void
take_locks_on(int32 group, List *relids, LOCKMODE mode, const char *text)
{
	ListCell   *cell;

	if (group != metadata_local_group())
	{
		remote_exec(group, text);
		return;
	}
	foreach(cell, relids)
		LockRelationOid(lfirst_oid(cell), mode);
}

/*
 * Takes the locks on the coordinator, where sessions that want the same queue
 * up holding nothing yet; then on the other nodes, with a timeout, unless that is 0.
 */
static void
take_locks(List *relids, LOCKMODE mode, const char *text, int timeout)
{
	int			level = quiet_begin();
	ListCell   *cell;

	take_locks_on(0, relids, mode, text);
	if (metadata_local_group() == 0)
		check_names(relids, mode, text);
	if (timeout > 0 && (LockTimeout == 0 || LockTimeout > timeout))
		(void) set_config_option("lock_timeout", psprintf("%dms", timeout), PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	foreach(cell, node_active_primaries())
	{
		const ClusterNode *node = lfirst(cell);

		if (node->groupid != 0)
			take_locks_on(node->groupid, relids, mode, text);
	}
	AtEOXact_GUC(true, level);
	check_names(relids, mode, text);
}

/* One attempt, in a subtransaction; false if a lock was not to be had in time. Other errors, and the last one, are raised. */
static bool
try_locks(List *relids, LOCKMODE mode, const char *text, int timeout, bool last)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool success = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		take_locks(relids, mode, text, timeout);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (last || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ReThrowError(error);
		success = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return success;
}

/* Waits a random moment, up to 50 ms. */
static void
pause_briefly(void)
{
	long		ms = 1 + (long) (pg_prng_double(&pg_global_prng_state) * 50);

	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* The longest timeout of an attempt: one that gives way is not to be taken for a deadlock before it does. */
static int
longest_timeout(void)
{
	int			grace = deadlock_grace();

	return grace == 0 ? LAST_TIMEOUT : Min(LAST_TIMEOUT, Max(grace / 2, 1));
}

void
lock_everywhere(List *relids, LOCKMODE mode)
{
	char	   *text;
	int			timeout = Min(FIRST_TIMEOUT, longest_timeout());

	if (mode < ShareLock || relids == NIL || node_active_primaries_remote() == NIL)
		return;
	text = lock_text(relids, mode);
	for (int attempt = 1;; attempt++)
	{
		bool		last = LockTimeout > 0 && LockTimeout <= timeout;

		if (IsTransactionBlock() && deadlock_interval() > 0 && attempt > ATTEMPTS_IN_BLOCK)
		{
			last = true;
			timeout = 0;
		}
		else if (IsTransactionBlock() && attempt >= ATTEMPTS_IN_BLOCK_ALONE)
			last = true;
		if (try_locks(relids, mode, text, timeout, last))
			return;
		timeout = Min(timeout * 2, longest_timeout());
		pause_briefly();
	}
}
