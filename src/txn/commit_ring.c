/*-------------------------------------------------------------------------
 *
 * commit_ring.c
 *	  The node's clock, and the timestamps of the transactions that committed last.
 *
 * A reader that must see the transactions committed up to ts, and no others,
 * sets the clock to at least ts, so that transactions that commit from then on
 * get a later timestamp; waits for those with an earlier timestamp that are
 * still committing; takes a snapshot; and hides the transactions in it that
 * are later according to the ring.
 *
 * A backend gets its timestamp at the end of the pre-commit callbacks, and
 * enters itself in the ring and in its slot in one step; the slot is cleared
 * when other backends see the commit, or when it failed after all.  So every
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

#include "lib/trace.h"
#include "lib/wait_event.h"
#include "txn/commit_ring.h"
#include "txn/commit_ring_shared.h"
#include "txn/dist_transaction.h"
#include "txn/snapshot_record.h"

/*
 * How far the timestamp of a session that may not be a node's may be ahead of
 * our time, in microseconds.
 */
#define MAX_AHEAD_OF_STRANGER ((int64) 10 * USECS_PER_SEC)

/*
 * How far a node's timestamp may be ahead of our time: an hour, in
 * microseconds.
 */
#define MAX_AHEAD (UINT64CONST(3600) * 1000000)

/*
 * A waiter checks again after this many milliseconds even if it wasn't woken.
 */
#define LOOK_AGAIN_MS 1000

CommitRing *commit_ring = NULL;

int			commit_ring_size = 16384;
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

/* The time of day as a timestamp; tests can shift it. */
static CommitTimestamp
time_of_day(void)
{
	return (CommitTimestamp) (GetCurrentTimestamp() + (int64) clock_offset * 1000);
}

static void
fill_commit_ring(void)
{
	ConditionVariableInit(&commit_ring->done);
	pg_atomic_init_u32(&commit_ring->ncommitting, 0);
	pg_atomic_init_u32(&commit_ring->nleft, 0);
	commit_ring->clock = commit_ring->forgotten = time_of_day();
	commit_ring->committing = (CommittingSlot *) ((char *) commit_ring + ring_size());
	commit_ring->prepared = (PreparedSlot *) ((char *) commit_ring->committing + committing_size());
}

CommitTimestamp
commit_ring_next(CommitTimestamp later_than)
{
	CommitTimestamp next = Max(commit_ring->clock, later_than) + 1;

	commit_ring->clock = Max(next, time_of_day());
	return commit_ring->clock;
}

void
commit_ring_enter(TransactionId xid, Oid database, bool has_children, CommitTimestamp mapped,
				  CommitTimestamp lowest, CommitTimestamp ts)
{
	RingEntry  *entry = &commit_ring->entries[commit_ring->nentered % commit_ring_size];

	if (commit_ring->nentered >= commit_ring_size)
		commit_ring->forgotten = entry->entered;
	commit_ring->clock = Max(commit_ring->clock, ts);
	entry->xid = xid;
	entry->database = database;
	entry->has_children = has_children;
	entry->mapped = mapped;
	entry->lowest = lowest;
	entry->ts = ts;
	entry->entered = commit_ring->clock;
	commit_ring->nentered++;
}

void
commit_ring_cancel(uint64 number)
{
	if (commit_ring->nentered - number < commit_ring_size)
		commit_ring->entries[(number - 1) % commit_ring_size].ts = 0;
}

CommitTimestamp
commit_ring_clock(void)
{
	CommitTimestamp clock;

	prepared_ring_load();
	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	clock = commit_ring->clock;
	LWLockRelease(commit_ring->header.lock);
	return clock;
}

CommitTimestamp
commit_ring_now(void)
{
	return Max(commit_ring_clock(), time_of_day());
}

CommitTimestamp
commit_ring_advance(CommitTimestamp later_than)
{
	CommitTimestamp ts;

	prepared_ring_load();
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	ts = commit_ring_next(later_than);
	LWLockRelease(commit_ring->header.lock);
	return ts;
}

void
commit_ring_check(CommitTimestamp ts)
{
	if (ts == 0 || ts > Max(commit_ring_clock(), time_of_day()) + MAX_AHEAD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("commit timestamp " UINT64_FORMAT " is out of range", ts),
				 errdetail("The clock of this node stands at " UINT64_FORMAT ".", commit_ring_clock()),
				 errhint("Set the clocks of all nodes to the same time.")));
}

void
commit_ring_check_stranger(CommitTimestamp ts)
{
	if (ts > time_of_day() + MAX_AHEAD_OF_STRANGER)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the timestamp of the commit is too far ahead of this node's time"),
				 errhint("Check that the clocks of all nodes agree.")));
}

static CommittingSlot *
my_committing_slot(void)
{
	return &commit_ring->committing[MyProc - ProcGlobal->allProcs];
}

CommitTimestamp
commit_ring_decide(CommitTimestamp later_than)
{
	TransactionId xid = GetTopTransactionId();
	TransactionId *children;
	int			nchildren = xactGetCommittedChildren(&children);
	bool		logs = nchildren > 0 && commit_ring_is_marked();
	CommittingSlot *slot = my_committing_slot();
	CommitTimestamp ts;

	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	ts = commit_ring_next(later_than);
	commit_ring_enter(xid, MyDatabaseId, nchildren > 0, logs ? ts : 0, ts, ts);
	slot->database = MyDatabaseId;
	slot->ts = ts;
	slot->xid = xid;
	pg_atomic_fetch_add_u32(&commit_ring->ncommitting, 1);
	LWLockRelease(commit_ring->header.lock);
	dist_transaction.in_commit_ring = true;
	if (logs)
		snapshot_record_children(xid, nchildren, children);
	return ts;
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
	if (!dist_transaction.in_commit_ring && TransactionIdIsValid(GetTopTransactionIdIfAny()) && !snapshots_ignore_me())
		(void) commit_ring_decide(0);
}

void
commit_ring_after_end(void)
{
	if (!dist_transaction.in_commit_ring)
		return;
	dist_transaction.in_commit_ring = false;
	pg_write_barrier();
	my_committing_slot()->xid = InvalidTransactionId;
	pg_atomic_fetch_sub_u32(&commit_ring->ncommitting, 1);
	ConditionVariableBroadcast(&commit_ring->done);
}

bool
commit_ring_has_committing(CommitTimestamp ts, Oid database)
{
	int			nslots = pg_atomic_read_u32(&commit_ring->ncommitting) > 0 ? MaxBackends : 0;

	for (int i = 0; i < nslots; i++)
	{
		CommittingSlot *slot = &commit_ring->committing[i];

		if (TransactionIdIsValid(slot->xid) && slot->ts <= ts && (!OidIsValid(database) || slot->database == database))
			return true;
	}
	return false;
}

/* Whether a backend of this database is committing with one of these. */
static bool
someone_commits(CommitTimestamp ts)
{
	bool		found;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	found = commit_ring_has_committing(ts, MyDatabaseId);
	LWLockRelease(commit_ring->header.lock);
	return found;
}

/*
 * Waits for backends that are committing; for a synchronous standby they may
 * do so for long.
 */
static void
await_committing(CommitTimestamp ts)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), snapshot_timeout);
	TraceSpan	span;

	span = trace_begin();
	ConditionVariablePrepareToSleep(&commit_ring->done);
	while (someone_commits(ts))
	{
		long		left = snapshot_timeout == 0 ? LOOK_AGAIN_MS :
			TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not read all nodes as of one point in time"),
					 errdetail("A transaction has been committing for longer than citus.snapshot_timeout."),
					 errhint("It may be waiting for a synchronous standby.")));
		(void) ConditionVariableTimedSleep(&commit_ring->done, Min(left, LOOK_AGAIN_MS), wait_event(WAIT_COMMIT_TIMESTAMP));
	}
	ConditionVariableCancelSleep();
	trace_end_wait(&span, TRACE_WAIT, TRACE_NO_NODE, "CitusCommitTimestamp");
}

bool
commit_ring_is_marked(void)
{
	return commit_ring->marked_until != 0 && commit_ring->loaded && GetCurrentTimestamp() < commit_ring->marked_until;
}

void
commit_ring_set(CommitTimestamp ts)
{
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	commit_ring->clock = Max(commit_ring->clock, ts);
	LWLockRelease(commit_ring->header.lock);
}

void
commit_ring_await(CommitTimestamp ts)
{
	commit_ring_set(ts);
	prepared_ring_load();
	while (prepared_ring_await(ts))
		;
	if (someone_commits(ts))
		await_committing(ts);
}

CommitTimestamp
commit_ring_timestamp_of(TransactionId xid)
{
	CommitTimestamp ts = 0;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	for (uint64 i = commit_ring->nentered; i > 0 && commit_ring->nentered - i < commit_ring_size; i--)
	{
		RingEntry  *entry = &commit_ring->entries[(i - 1) % commit_ring_size];

		if (entry->xid != xid || entry->database != MyDatabaseId)
			continue;
		if (entry->lowest == entry->ts)
			ts = entry->ts;
		break;
	}
	LWLockRelease(commit_ring->header.lock);
	return ts;
}

bool
commit_ring_later(CommitTimestamp ts, Snapshot snapshot, LaterCommit **later, int *count)
{
	RingEntry  *entries = palloc(sizeof(RingEntry) * 64);
	uint64		allocated = 64;
	uint64		n = 0;
	bool		known;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	known = ts >= commit_ring->forgotten;
	for (uint64 i = commit_ring->nentered;
		 known && i > 0 && commit_ring->nentered - i < commit_ring_size; i--)
	{
		RingEntry  *entry = &commit_ring->entries[(i - 1) % commit_ring_size];

		if (entry->entered <= ts)
			break;
		if (entry->database != MyDatabaseId || entry->ts <= ts)
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
		if (entries[i].lowest <= ts)
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
