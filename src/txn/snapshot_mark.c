/*-------------------------------------------------------------------------
 *
 * snapshot_mark.c
 *	  Marks in the WAL, as of whose times standbys can be read.
 *
 * A standby has no commit ring: what it shows depends on how much WAL it has
 * replayed.  So that sessions can read standbys of several nodes as of one
 * time, each node that has secondaries writes a mark into its WAL for each
 * multiple of MARK_INTERVAL, the same times on all nodes.  The mark of time t
 *
 * - follows the commit records of all transactions with timestamps up to t,
 *   and
 * - lists the transactions with later timestamps whose commit records may come
 *   before it.
 *
 * When a standby replays the mark, a snapshot that takes those in the list as
 * running is one as of t.  Sessions that want it wait for it without a
 * snapshot, which would keep the standby from replaying; the startup process
 * waits for them in turn, until they have theirs (MOST_TAKING_MS).
 *
 * Rows that the listed transactions have replaced are still there: from before
 * the clock comes to t until the mark is written, its writer keeps row
 * versions that the oldest transaction of then may need, as a walsender does
 * for a standby with hot_standby_feedback.  The listed transactions ran then,
 * or came later, since their timestamps are given when the clock has passed t.
 *
 * The writer is the launcher.  A mark waits for transactions that may get an
 * earlier timestamp, in the order of the marks' times (pending_marks).  If the
 * launcher is late, it writes the marks that it has missed, too.
 *
 * A snapshot of a standby finds a transaction's subtransactions by
 * pg_subtrans, which isn't in the WAL.  So transactions with subtransactions
 * write them, after they were entered in the ring or in their slot.  A standby
 * that may have started later can't use a mark with such a transaction: each
 * mark has the clock at which it was written, so that later entries can be
 * told.
 *
 * The lightweight lock citus_snapshot_marks covers the state of replay, and is
 * never held together with another one.  The mark is written under that of the
 * ring, shared: nobody may get a timestamp in between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/follower.h"
#include "compat/proc.h"
#include "lib/shared_area.h"
#include "lib/wait_event.h"
#include "txn/commit_ring.h"
#include "txn/commit_ring_shared.h"
#include "txn/snapshot_mark.h"
#include "txn/snapshot_record.h"

/* Between the times of two marks, in microseconds. */
#define MARK_INTERVAL UINT64CONST(100000)

/*
 * How many marks wait to be written at most: older ones aren't written at all.
 */
#define MOST_PENDING 100

/*
 * Between two looks whether marks are wanted, which wakes the writer, too; and
 * at most between two whether one may be written.
 */
#define IDLE_MS 5000
#define MOST_LOOK_MS 500

/*
 * When a mark has waited for so long, in microseconds, what it waits for is
 * looked at more closely.
 */
#define LONG_WAITED UINT64CONST(1000000)

/* How long marks are written after they were wanted. */
#define WANTED_MS (60 * 1000)

/* How long replay stands still at a mark. */
#define MOST_TAKING_MS 1000

typedef struct MarkShared
{
	SharedHeader header;
	Latch	   *writer;			/* NULL: there has been none */
	ConditionVariable reached;	/* a mark was replayed */
	ConditionVariable taken;	/* a session has its snapshot */
	CommitTimestamp first;		/* the clock of the first mark that was
								 * replayed since the start of the server; 0:
								 * none */
	CommitTimestamp replayed;	/* the last one */
	CommitTimestamp stopped;	/* replay stands still at this one; 0: not */
	CommitTimestamp awaited[FLEXIBLE_ARRAY_MEMBER]; /* per backend: the mark
													 * that it waits for, or
													 * takes its snapshot at */
} MarkShared;

/* A mark that is to be written: in the writer. */
typedef struct PendingMark
{
	CommitTimestamp ts;
	TransactionId xmin;			/* the oldest transaction that ran, while the
								 * clock was before ts */
} PendingMark;

static MarkShared *mark_shared = NULL;
static bool follower_snapshots = true;
static bool records_registered = false;
static char *replayed_mark_setting;

static PendingMark pending_marks[MOST_PENDING]; /* their times grow; the
												 * last one is due next */
static int	npending_marks = 0;
static TransactionId kept_xmin = InvalidTransactionId;

static void
fill_mark_shared(void)
{
	ConditionVariableInit(&mark_shared->reached);
	ConditionVariableInit(&mark_shared->taken);
}

CommitTimestamp
snapshot_mark_after(CommitTimestamp ts)
{
	return (ts / MARK_INTERVAL + 1) * MARK_INTERVAL;
}

/*
 * Writing.
 */

void
snapshot_mark_want(void)
{
	bool		begins;

	if (!follower_snapshots || !records_registered)
		return;
	(void) commit_ring_clock(); /* loads what is prepared */
	begins = !commit_ring_is_marked();
	commit_ring->marked_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), WANTED_MS);
	if (begins && mark_shared->writer != NULL)
		SetLatch(mark_shared->writer);
}

typedef enum MarkOutcome
{
	MARK_WRITTEN,
	MARK_MUST_WAIT,				/* for a transaction that may get an earlier
								 * timestamp */
	MARK_IMPOSSIBLE				/* a timestamp isn't known */
} MarkOutcome;

/*
 * Under the ring's lock: adds the ring's transactions that are later than the
 * mark; false if that isn't known of one.
 */
static bool
list_later(MarkRecord *mark)
{
	mark->n = 0;
	for (uint64 i = commit_ring->nentered; i > 0 && commit_ring->nentered - i < commit_ring_size; i--)
	{
		RingEntry  *entry = &commit_ring->entries[(i - 1) % commit_ring_size];

		if (entry->entered <= mark->ts)
			return true;
		if (entry->ts <= mark->ts)
			continue;
		if (entry->lowest <= mark->ts)
			return false;
		mark->commits[mark->n++] = (MarkedCommit) {
			.ts = entry->ts,.mapped = entry->mapped,.xid = entry->xid,.database = entry->database,.has_children = entry->has_children
		};
	}
	return commit_ring->nentered < commit_ring_size;
}

/* Writes the mark of that time, if it may be written now. */
static MarkOutcome
try_mark(CommitTimestamp ts)
{
	static MarkRecord *mark = NULL;
	MarkOutcome outcome = MARK_MUST_WAIT;
	XLogRecPtr	place = InvalidXLogRecPtr;

	if (mark == NULL)
		mark = MemoryContextAllocZero(TopMemoryContext,
									  offsetof(MarkRecord, commits) + commit_ring_size * sizeof(MarkedCommit));
	mark->ts = ts;
	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	mark->clock = commit_ring->clock;
	if (!commit_ring_has_committing(ts, InvalidOid) && !prepared_ring_has_undecided(ts))
	{
		outcome = list_later(mark) ? MARK_WRITTEN : MARK_IMPOSSIBLE;
		if (outcome == MARK_WRITTEN)
			place = snapshot_record_mark(mark);
	}
	LWLockRelease(commit_ring->header.lock);
	if (outcome == MARK_WRITTEN)
		XLogFlush(place);
	return outcome;
}

/*
 * Keeps row versions that transactions from xmin on may need, in all
 * databases, or none if that is InvalidTransactionId.  To be called outside
 * transactions, whose end undoes it.
 */
static void
keep_versions(TransactionId xmin)
{
	if (xmin == kept_xmin)
		return;
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->xmin = kept_xmin = xmin;
	MyProc->statusFlags |= PROC_AFFECTS_ALL_HORIZONS;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

static void
drop_oldest_pending(void)
{
	memmove(pending_marks, pending_marks + 1, --npending_marks * sizeof(PendingMark));
}

static void
add_pending(CommitTimestamp ts, TransactionId xmin)
{
	if (npending_marks == MOST_PENDING)
		drop_oldest_pending();
	pending_marks[npending_marks++] = (PendingMark) {.ts = ts,.xmin = xmin};
}

/*
 * Adds the marks whose time has come since the last call, and the next one.
 * What has ended before the look at the clock has an earlier timestamp than
 * the next one's.  What is kept for the last one is enough for those that were
 * missed.
 */
static CommitTimestamp
add_due(void)
{
	TransactionId xmin = oldest_active_xid();
	CommitTimestamp now;

	if (npending_marks == 0)
		keep_versions(xmin);
	now = commit_ring_now();
	while (npending_marks > 0 && pending_marks[npending_marks - 1].ts + MARK_INTERVAL <= now)
		add_pending(pending_marks[npending_marks - 1].ts + MARK_INTERVAL, pending_marks[npending_marks - 1].xmin);
	if (npending_marks == 0 || pending_marks[npending_marks - 1].ts <= now)
		add_pending(snapshot_mark_after(now), xmin);
	return now;
}

long
snapshot_mark_write(void)
{
	CommitTimestamp now;
	CommitTimestamp first;

	mark_shared->writer = MyLatch;
	/* a transaction of this process has ended meanwhile */
	if (MyProc->xmin != kept_xmin)
	{
		npending_marks = 0;
		kept_xmin = MyProc->xmin;
	}
	if (!follower_snapshots || !commit_ring_is_marked())
	{
		npending_marks = 0;
		keep_versions(InvalidTransactionId);
		return IDLE_MS;
	}
	now = add_due();
	if (pending_marks[0].ts <= now)
		commit_ring_set(now);
	while (pending_marks[0].ts <= now && try_mark(pending_marks[0].ts) != MARK_MUST_WAIT)
		drop_oldest_pending();
	keep_versions(pending_marks[0].xmin);
	first = pending_marks[0].ts;
	if (first > now)
		return (first - now) / 1000 + 1;
	if (now - first > LONG_WAITED)
		prepared_ring_settle(first);
	return Min((now - first) / 16000, MOST_LOOK_MS) + 1;
}

/*
 * Replaying.
 */

/*
 * Whether the snapshot that a session takes at the mark can be edited: of
 * listed transactions, the subtransactions must have been replayed since the
 * server started, which is so if these were written later than the first mark.
 */
static bool
mark_is_usable(const MarkRecord *mark)
{
	for (uint32 i = 0; i < mark->n; i++)
		if (mark->commits[i].has_children && mark->commits[i].mapped <= mark_shared->first)
			return false;
	return standbyState == STANDBY_SNAPSHOT_READY;
}

/*
 * Enters the listed transactions in the ring, which is otherwise unused until
 * the server is promoted.
 */
static void
enter_listed(const MarkRecord *mark)
{
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	if (mark_shared->first == 0)
		commit_ring->forgotten = commit_ring->clock = 0;
	commit_ring->clock = Max(commit_ring->clock, mark->clock);
	for (uint32 i = mark->n; i > 0; i--)
	{
		const MarkedCommit *commit = &mark->commits[i - 1];

		commit_ring_enter(commit->xid, commit->database, commit->has_children != 0, commit->mapped, commit->ts, commit->ts);
	}
	LWLockRelease(commit_ring->header.lock);
}

/* Under the lock: how many sessions wait for a mark up to that one. */
static int
sessions_at(CommitTimestamp ts, bool dismiss)
{
	int			n = 0;

	for (int i = 0; i < MaxBackends; i++)
	{
		if (mark_shared->awaited[i] == 0 || mark_shared->awaited[i] > ts)
			continue;
		n++;
		if (dismiss)
			mark_shared->awaited[i] = 0;
	}
	return n;
}

/* Whether a session still has no snapshot. */
static bool
someone_takes(CommitTimestamp ts)
{
	bool		found;

	LWLockAcquire(mark_shared->header.lock, LW_SHARED);
	found = sessions_at(ts, false) > 0;
	LWLockRelease(mark_shared->header.lock);
	return found;
}

/* Stands still until the sessions that wait for the mark have snapshots. */
static void
let_sessions_take(CommitTimestamp ts)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), MOST_TAKING_MS);

	ConditionVariableBroadcast(&mark_shared->reached);
	ConditionVariablePrepareToSleep(&mark_shared->taken);
	while (someone_takes(ts) && GetCurrentTimestamp() < deadline)
		(void) ConditionVariableTimedSleep(&mark_shared->taken, 10, wait_event(WAIT_COMMIT_TIMESTAMP));
	ConditionVariableCancelSleep();

	LWLockAcquire(mark_shared->header.lock, LW_EXCLUSIVE);
	mark_shared->stopped = 0;
	(void) sessions_at(ts, true);
	LWLockRelease(mark_shared->header.lock);
	ConditionVariableBroadcast(&mark_shared->reached);
}

/*
 * A mark that isn't later than those before is from a primary that was
 * restarted, whose clock was ahead of its time of day before: it doesn't know
 * of what it had committed with later timestamps.
 */
static void
mark_redo(const MarkRecord *mark)
{
	bool		someone;

	enter_listed(mark);
	if (standbyState == STANDBY_DISABLED)
		return;
	LWLockAcquire(mark_shared->header.lock, LW_EXCLUSIVE);
	if (mark_shared->first == 0)
		mark_shared->first = mark->clock;
	someone = sessions_at(mark->ts, false) > 0;
	if (someone && mark->ts > mark_shared->replayed && mark_is_usable(mark))
		mark_shared->stopped = mark->ts;
	else if (someone)
		(void) sessions_at(mark->ts, true);
	mark_shared->replayed = Max(mark_shared->replayed, mark->ts);
	LWLockRelease(mark_shared->header.lock);
	if (someone)
		let_sessions_take(mark->ts);
}

/*
 * Reading.
 */

static CommitTimestamp *
my_awaited(void)
{
	return &mark_shared->awaited[MyProc - ProcGlobal->allProcs];
}

typedef enum MarkState
{
	MARK_AHEAD,
	MARK_HERE,
	MARK_PASSED
} MarkState;

static MarkState
mark_state(CommitTimestamp ts)
{
	MarkState	state = MARK_AHEAD;

	LWLockAcquire(mark_shared->header.lock, LW_SHARED);
	if (mark_shared->stopped == ts)
		state = MARK_HERE;
	else if (mark_shared->replayed >= ts || *my_awaited() == 0)
		state = MARK_PASSED;
	LWLockRelease(mark_shared->header.lock);
	return state;
}

/* Registers for the mark; false if it was passed. */
static bool
register_for(CommitTimestamp ts)
{
	bool		ahead;

	LWLockAcquire(mark_shared->header.lock, LW_EXCLUSIVE);
	ahead = mark_shared->replayed < ts;
	*my_awaited() = ahead ? ts : 0;
	LWLockRelease(mark_shared->header.lock);
	return ahead;
}

/* Waits until the mark is replayed; false if it isn't in time. */
static bool
wait_for_mark(CommitTimestamp ts)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), follower_wait_ms());
	MarkState	state;

	ConditionVariablePrepareToSleep(&mark_shared->reached);
	while ((state = mark_state(ts)) == MARK_AHEAD)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (left <= 0 || !RecoveryInProgress())
			break;
		(void) ConditionVariableTimedSleep(&mark_shared->reached, Min(left, 1000), wait_event(WAIT_COMMIT_TIMESTAMP));
	}
	ConditionVariableCancelSleep();
	return state == MARK_HERE;
}

bool
snapshot_mark_await(CommitTimestamp ts)
{
	volatile bool here = false;

	if (!register_for(ts))
		return false;
	PG_TRY();
	{
		here = wait_for_mark(ts);
	}
	PG_FINALLY();
	{
		if (!here)
			(void) snapshot_mark_taken();
	}
	PG_END_TRY();
	return here;
}

bool
snapshot_mark_taken(void)
{
	bool		still;

	LWLockAcquire(mark_shared->header.lock, LW_EXCLUSIVE);
	still = *my_awaited() != 0 && *my_awaited() == mark_shared->stopped;
	*my_awaited() = 0;
	LWLockRelease(mark_shared->header.lock);
	ConditionVariableSignal(&mark_shared->taken);
	return still;
}

static const char *
show_replayed_mark(void)
{
	static char text[32];

	LWLockAcquire(mark_shared->header.lock, LW_SHARED);
	snprintf(text, sizeof(text), UINT64_FORMAT, mark_shared->replayed);
	LWLockRelease(mark_shared->header.lock);
	return text;
}

void
snapshot_mark_init(void)
{
	static SharedArea area = {
		.name = "citus_snapshot_marks",
		.fixed = offsetof(MarkShared, awaited),
		.per_backend = sizeof(CommitTimestamp),
		.memory = (SharedHeader **) &mark_shared,
		.fill = fill_mark_shared,
	};

	DefineCustomBoolVariable("citus.follower_snapshots",
							 "Lets standbys of this node be read in one snapshot with those of other nodes.",
							 "While this node has secondaries, it writes ten marks a second into its WAL, which only servers with this library can replay. "
							 "Without them, sessions that read its standbys must set citus.distributed_snapshots to off.",
							 &follower_snapshots, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.replayed_mark",
							   "Shows the time up to which this standby was replayed, to the initiator of a statement.",
							   NULL, &replayed_mark_setting, "", PGC_INTERNAL,
							   GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL | GUC_DISALLOW_IN_FILE, NULL, NULL, show_replayed_mark);
	shared_area_add(&area);
	records_registered = snapshot_record_init(mark_redo);
}
