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
 * Who has waited may find that the table has gone, or has another name, or is
 * distributed now, or no longer: then what it has found out before the wait
 * means something else, and it has to look the name up again.
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
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "ddl/definition.h"
#include "ddl/lock_everywhere.h"
#include "ddl/run_commands.h"
#include "lib/catch_error.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "txn/commit_ring.h"
#include "txn/deadlock.h"

/* Timeouts of the attempts, in ms: doubled each time, and less than what the search for deadlocks waits. */
#define FIRST_TIMEOUT 100
#define LAST_TIMEOUT 5000

/* In a transaction block; and if nobody looks for deadlocks, about half a minute. */
#define ATTEMPTS_IN_BLOCK 2
#define ATTEMPTS_IN_BLOCK_ALONE 11

static const char *const mode_names[] = {
	[AccessShareLock] = "ACCESS SHARE",
	[RowShareLock] = "ROW SHARE",
	[RowExclusiveLock] = "ROW EXCLUSIVE",
	[ShareUpdateExclusiveLock] = "SHARE UPDATE EXCLUSIVE",
	[ShareLock] = "SHARE",
	[ShareRowExclusiveLock] = "SHARE ROW EXCLUSIVE",
	[ExclusiveLock] = "EXCLUSIVE",
	[AccessExclusiveLock] = "ACCESS EXCLUSIVE",
};

typedef struct LockRequest
{
	List	   *relids;
	LOCKMODE	mode;
	char	   *description;	/* of the tables before the wait */
	char	   *text;			/* LOCK TABLE for the other nodes; NULL: only on this node */
} LockRequest;

const char *
lock_mode_name(LOCKMODE mode)
{
	return mode_names[mode];
}

/* LOCK TABLE for the other nodes, of those tables that they have; NULL if there are none. */
static char *
lock_text(List *relids, LOCKMODE mode)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	foreach(cell, relids)
	{
		if (metadata_find(lfirst_oid(cell)) != NULL)
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", relation_qualified_name(lfirst_oid(cell)));
	}
	return buf.len == 0 ? NULL : psprintf("%sLOCK TABLE %s IN %s MODE", TASK_TAG_DDL, buf.data, mode_names[mode]);
}

/* The tables' names, and which of them are distributed; NULL if one is gone. */
static char *
describe(List *relids)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	foreach(cell, relids)
	{
		if (get_rel_name(lfirst_oid(cell)) == NULL)
			return NULL;
		appendStringInfo(&buf, "%s %d,", relation_qualified_name(lfirst_oid(cell)),
						 metadata_find(lfirst_oid(cell)) != NULL);
	}
	return buf.data;
}

/* Whether the tables, locked now, are what they were before the wait. */
static bool
are_unchanged(const LockRequest *request)
{
	const char *now = describe(request->relids);

	return now != NULL && strcmp(now, request->description) == 0;
}

/* Whether a table that another node doesn't have is also not here any more, once what is committing has committed. */
static bool
is_going(const LockRequest *request)
{
	commit_ring_await(commit_ring_clock());
	AcceptInvalidationMessages();
	return !are_unchanged(request);
}

/* Takes the locks on one node. */
static void
take_locks_on(int32 group, const LockRequest *request)
{
	ListCell   *cell;

	if (group != metadata_local_group())
	{
		remote_exec(group, request->text);
		return;
	}
	foreach(cell, request->relids)
		LockRelationOid(lfirst_oid(cell), request->mode);
}

/*
 * Takes the locks on the coordinator, where sessions that want the same queue
 * up holding nothing yet; then on the other nodes, with a timeout, unless that
 * is 0.  False if a table has changed meanwhile.
 */
static bool
take_locks(const LockRequest *request, int timeout)
{
	int			level;
	ListCell   *cell;

	if (request->text == NULL)
	{
		take_locks_on(metadata_local_group(), request);
		return are_unchanged(request);
	}
	level = quiet_begin(WARNING);
	take_locks_on(0, request);
	if (metadata_local_group() == 0 && !are_unchanged(request))
		return false;
	if (request->mode < ShareLock)
	{
		take_locks_on(metadata_local_group(), request);
		AtEOXact_GUC(true, level);
		return are_unchanged(request);
	}
	if (timeout > 0 && (LockTimeout == 0 || LockTimeout > timeout))
		(void) set_config_option("lock_timeout", psprintf("%dms", timeout), PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	foreach(cell, node_active_primaries())
	{
		const ClusterNode *node = lfirst(cell);

		if (node->groupid != 0)
			take_locks_on(node->groupid, request);
	}
	AtEOXact_GUC(true, level);
	return are_unchanged(request);
}

typedef enum Attempt
{
	ATTEMPT_DONE,
	ATTEMPT_BUSY,				/* a lock was not to be had in time */
	ATTEMPT_CHANGED,			/* a table is not what it was */
} Attempt;

/* One attempt, in a subtransaction; locks are kept only if it is done. Other errors, and the last one, are raised. */
static Attempt
try_locks(const LockRequest *request, int timeout, bool last)
{
	const CatchPoint point = catch_point();
	ResourceOwner owner = CurrentResourceOwner;
	volatile Attempt attempt = ATTEMPT_DONE;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(point.context);
	PG_TRY();
	{
		if (take_locks(request, timeout))
			ReleaseCurrentSubTransaction();
		else
		{
			attempt = ATTEMPT_CHANGED;
			RollbackAndReleaseCurrentSubTransaction();
		}
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(point.context);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode == ERRCODE_UNDEFINED_TABLE && is_going(request))
			attempt = ATTEMPT_CHANGED;
		else if (last || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			catch_rethrow(error);
		else
			attempt = ATTEMPT_BUSY;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(point.context);
	CurrentResourceOwner = owner;
	return attempt;
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

bool
lock_everywhere(List *relids, LOCKMODE mode)
{
	LockRequest request = {relids, mode};
	int			timeout = Min(FIRST_TIMEOUT, longest_timeout());

	if (relids == NIL)
		return true;
	request.description = describe(relids);
	if (request.description == NULL)
		return false;
	if (node_active_primaries_remote() != NIL && (mode >= ShareLock || metadata_local_group() != 0))
		request.text = lock_text(relids, mode);
	for (int attempt = 1;; attempt++)
	{
		bool		last = request.text == NULL || (LockTimeout > 0 && LockTimeout <= timeout);
		Attempt		result;

		if (IsTransactionBlock() && deadlock_interval() > 0 && attempt > ATTEMPTS_IN_BLOCK)
		{
			last = true;
			timeout = 0;
		}
		else if (IsTransactionBlock() && attempt >= ATTEMPTS_IN_BLOCK_ALONE)
			last = true;
		result = try_locks(&request, timeout, last);
		if (result != ATTEMPT_BUSY)
			return result == ATTEMPT_DONE;
		timeout = Min(timeout * 2, longest_timeout());
		pause_briefly();
	}
}
