/*-------------------------------------------------------------------------
 *
 * commit_ring.c
 *	  The node's clock, and the stamps of the transactions that committed last.
 *
 * A reader that must see the transactions stamped up to ts, and no others,
 * sets the clock to at least ts, so that transactions that commit from then on
 * get a later stamp; waits for those with an earlier stamp that are still
 * committing; takes a snapshot; and hides the transactions in it that are
 * later according to the ring.
 *
 * A backend gets its stamp at the end of the pre-commit callbacks, and enters
 * itself in the ring and in its slot in one step; the slot is cleared when
 * other backends see the commit, or when it failed after all.  So every
 * transaction that a snapshot shows was entered before the snapshot was taken.
 *
 * The clock follows the time of day, and never goes back while the server
 * runs.  It needn't survive a restart: a reader asks for the clock before it
 * has us take a snapshot, and does so again after a restart.  A standby's
 * clock doesn't advance until it is promoted; then it is set to the time of
 * day before another node can read it, so that earlier commits are older.
 *
 * One lightweight lock covers all; it is held for a moment.  A backend clears
 * its own slot without it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/twophase.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "lib/wait_event.h"
#include "txn/commit_ring.h"
#include "txn/commit_ring_shared.h"
#include "txn/dist_transaction.h"

/*
 * How far the stamp of a session that may not be a node's may be ahead of our
 * time, in microseconds.
 */
#define MAX_AHEAD_OF_STRANGER ((int64) 10 * USECS_PER_SEC)

/*
 * How far a node's stamp may be ahead of our time: an hour, in microseconds.
 */
#define MAX_AHEAD (UINT64CONST(3600) * 1000000)

/*
 * A waiter checks again after this many milliseconds even if it wasn't woken.
 */
#define LOOK_AGAIN_MS 1000

CommitRing *commit_ring = NULL;

static int	commit_ring_size = 16384;
static int	clock_offset = 0;	/* ms */

static Size
ring_size(void)
{
	return MAXALIGN(add_size(offsetof(CommitRing, entries),
							 mul_size(commit_ring_size, sizeof(RingEntry))));
}

static Size
committing_size(void)
{
	return MAXALIGN(mul_size(MaxBackends, sizeof(CommittingSlot)));
}

static Size
commit_ring_shared_size(void)
{
	return add_size(add_size(ring_size(), committing_size()),
					mul_size(max_prepared_xacts, sizeof(PreparedSlot)));
}

/* The time of day as a stamp; tests can shift it. */
static CommitStamp
time_of_day(void)
{
	return (CommitStamp) (GetCurrentTimestamp() + (int64) clock_offset * 1000);
}

static void
fill_commit_ring(void)
{
	ConditionVariableInit(&commit_ring->done);
	pg_atomic_init_u32(&commit_ring->ncommitting, 0);
	commit_ring->clock = commit_ring->forgotten = time_of_day();
	commit_ring->committing = (CommittingSlot *) ((char *) commit_ring + ring_size());
	commit_ring->prepared = (PreparedSlot *) ((char *) commit_ring->committing + committing_size());
}

CommitStamp
commit_ring_next(CommitStamp later_than)
{
	CommitStamp next = Max(commit_ring->clock, later_than) + 1;

	commit_ring->clock = Max(next, time_of_day());
	return commit_ring->clock;
}

void
commit_ring_enter(TransactionId xid, Oid database, bool has_children, CommitStamp lowest,
				  CommitStamp stamp)
{
	RingEntry  *entry = &commit_ring->entries[commit_ring->nentered % commit_ring_size];

	if (commit_ring->nentered >= commit_ring_size)
		commit_ring->forgotten = entry->entered;
	commit_ring->clock = Max(commit_ring->clock, stamp);
	entry->xid = xid;
	entry->database = database;
	entry->has_children = has_children;
	entry->lowest = lowest;
	entry->stamp = stamp;
	entry->entered = commit_ring->clock;
	commit_ring->nentered++;
}

void
commit_ring_cancel(uint64 number)
{
	if (commit_ring->nentered - number < commit_ring_size)
		commit_ring->entries[(number - 1) % commit_ring_size].stamp = 0;
}

CommitStamp
commit_ring_clock(void)
{
	CommitStamp clock;

	prepared_ring_load();
	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	clock = commit_ring->clock;
	LWLockRelease(commit_ring->header.lock);
	return clock;
}

CommitStamp
commit_ring_now(void)
{
	return Max(commit_ring_clock(), time_of_day());
}

CommitStamp
commit_ring_advance(CommitStamp later_than)
{
	CommitStamp stamp;

	prepared_ring_load();
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	stamp = commit_ring_next(later_than);
	LWLockRelease(commit_ring->header.lock);
	return stamp;
}

void
commit_ring_check(CommitStamp stamp)
{
	if (stamp == 0 || stamp > Max(commit_ring_clock(), time_of_day()) + MAX_AHEAD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("commit stamp " UINT64_FORMAT " is out of range", stamp),
				 errdetail("The clock of this node stands at " UINT64_FORMAT ".", commit_ring_clock()),
				 errhint("Set the clocks of all nodes to the same time.")));
}

void
commit_ring_check_stranger(CommitStamp stamp)
{
	if (stamp > time_of_day() + MAX_AHEAD_OF_STRANGER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the stamp of the commit is too far ahead of this node's time"),
				 errhint("Check that the clocks of all nodes agree.")));
}

static CommittingSlot *
my_committing_slot(void)
{
	return &commit_ring->committing[MyProc - ProcGlobal->allProcs];
}

CommitStamp
commit_ring_decide(CommitStamp later_than)
{
	TransactionId xid = GetTopTransactionId();
	TransactionId *children;
	bool		has_children = xactGetCommittedChildren(&children) > 0;
	CommittingSlot *slot = my_committing_slot();
	CommitStamp stamp;

	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	stamp = commit_ring_next(later_than);
	commit_ring_enter(xid, MyDatabaseId, has_children, stamp, stamp);
	slot->database = MyDatabaseId;
	slot->stamp = stamp;
	slot->xid = xid;
	pg_atomic_fetch_add_u32(&commit_ring->ncommitting, 1);
	LWLockRelease(commit_ring->header.lock);
	dist_transaction.stamped = true;
	return stamp;
}

/*
 * Snapshots don't count VACUUM's transaction among those that run, so no
 * reader looks for its commit.
 */
static bool
snapshots_ignore_me(void)
{
	return (MyProc->statusFlags & PROC_IN_VACUUM) != 0;
}

void
commit_ring_before_commit(void)
{
	if (!dist_transaction.stamped && TransactionIdIsValid(GetTopTransactionIdIfAny()) && !snapshots_ignore_me())
		(void) commit_ring_decide(0);
}

void
commit_ring_after_end(void)
{
	if (!dist_transaction.stamped)
		return;
	dist_transaction.stamped = false;
	pg_write_barrier();
	my_committing_slot()->xid = InvalidTransactionId;
	pg_atomic_fetch_sub_u32(&commit_ring->ncommitting, 1);
	ConditionVariableBroadcast(&commit_ring->done);
}

/* Whether a backend is committing with a stamp up to the given one. */
static bool
someone_commits(CommitStamp stamp)
{
	bool		found = false;
	int			nslots;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	nslots = pg_atomic_read_u32(&commit_ring->ncommitting) > 0 ? MaxBackends : 0;
	for (int i = 0; i < nslots && !found; i++)
	{
		CommittingSlot *slot = &commit_ring->committing[i];

		found = TransactionIdIsValid(slot->xid) && slot->database == MyDatabaseId && slot->stamp <= stamp;
	}
	LWLockRelease(commit_ring->header.lock);
	return found;
}

/*
 * Waits for backends that are committing; for a synchronous standby they may
 * do so for long.
 */
static void
await_committing(CommitStamp stamp)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), snapshot_timeout);

	ConditionVariablePrepareToSleep(&commit_ring->done);
	while (someone_commits(stamp))
	{
		long		left = snapshot_timeout == 0 ? LOOK_AGAIN_MS :
			TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not read all nodes as of one point in time"),
					 errdetail("A transaction has been committing for longer than citus.snapshot_timeout."),
					 errhint("It may be waiting for a synchronous standby.")));
		(void) ConditionVariableTimedSleep(&commit_ring->done, Min(left, LOOK_AGAIN_MS), wait_event(WAIT_COMMIT_STAMP));
	}
	ConditionVariableCancelSleep();
}

void
commit_ring_await(CommitStamp stamp)
{
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	commit_ring->clock = Max(commit_ring->clock, stamp);
	LWLockRelease(commit_ring->header.lock);

	prepared_ring_load();
	while (prepared_ring_await(stamp))
		;
	if (someone_commits(stamp))
		await_committing(stamp);
}

CommitStamp
commit_ring_stamp_of(TransactionId xid)
{
	CommitStamp stamp = 0;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	for (uint64 i = commit_ring->nentered; i > 0 && commit_ring->nentered - i < commit_ring_size; i--)
	{
		RingEntry  *entry = &commit_ring->entries[(i - 1) % commit_ring_size];

		if (entry->xid != xid || entry->database != MyDatabaseId)
			continue;
		if (entry->lowest == entry->stamp)
			stamp = entry->stamp;
		break;
	}
	LWLockRelease(commit_ring->header.lock);
	return stamp;
}

bool
commit_ring_later(CommitStamp stamp, Snapshot snapshot, LaterCommit **later, int *count)
{
	RingEntry  *entries = palloc(sizeof(RingEntry) * 64);
	uint64		allocated = 64;
	uint64		n = 0;
	bool		known;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	known = stamp >= commit_ring->forgotten;
	for (uint64 i = commit_ring->nentered;
		 known && i > 0 && commit_ring->nentered - i < commit_ring_size; i--)
	{
		RingEntry  *entry = &commit_ring->entries[(i - 1) % commit_ring_size];

		if (entry->entered <= stamp)
			break;
		if (entry->database != MyDatabaseId || entry->stamp <= stamp)
			continue;
		if (n == allocated)
			entries = repalloc(entries, sizeof(RingEntry) * (allocated *= 2));
		entries[n++] = *entry;
	}
	LWLockRelease(commit_ring->header.lock);

	*later = palloc(sizeof(LaterCommit) * Max(n, 1));
	*count = 0;
	for (uint64 i = 0; i < n; i++)
	{
		if (XidInMVCCSnapshot(entries[i].xid, snapshot))
			continue;
		if (entries[i].lowest <= stamp)
			known = false;
		(*later)[*count].xid = entries[i].xid;
		(*later)[(*count)++].has_children = entries[i].has_children;
	}
	pfree(entries);
	return known;
}

void
commit_ring_init(void)
{
	static SharedArea area = {
		.name = "citus_commit_ring",
		.more = commit_ring_shared_size,
		.memory = (SharedHeader **) &commit_ring,
		.fill = fill_commit_ring,
	};

	DefineCustomIntVariable("citus.commit_ring_size",
							"Sets how many commits a node remembers, for reads as of one point in time on all nodes.",
							"A read that finds more commits since it began is refused, or uses fewer connections.",
							&commit_ring_size, 16384, 16, 1024 * 1024, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.clock_offset",
							"Sets this node's clock apart from the time of day, for tests.",
							NULL, &clock_offset, 0, -1800 * 1000, 1800 * 1000, PGC_SIGHUP,
							GUC_UNIT_MS | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	shared_area_add(&area);
	prepared_ring_init();
}
