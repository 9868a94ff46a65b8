/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  Snapshots of one node as of a commit timestamp.
 *
 * The visibility of a row depends on whether its transaction is in the
 * snapshot's list of running ones.  So a snapshot taken now becomes one of an
 * earlier moment if the transactions that committed since (commit_ring.c) are
 * added to that list.  Besides:
 *
 * - Their old row versions must still be there.  The initiator asks each node
 *   for its clock first.  The backend that answers holds a snapshot (held),
 *   taken before it looks at the clock.  All transactions with later
 *   timestamps were running then, so the held snapshot's xmin protects the
 *   rows that they replace, until the edited snapshot takes its place.  A
 *   backend that joins later borrows the xmin of another one.
 *
 * - The new snapshot must show all transactions committed up to the timestamp.
 *   So it is taken after waiting for those that are about to commit with such
 *   a timestamp.
 *
 * At READ COMMITTED a statement on another node sends its timestamp as a
 * setting, citus.snapshot, before its tasks, whose tags request that snapshot.
 * So tasks of different statements can alternate on a connection, and other
 * tasks aren't affected.  At REPEATABLE READ the transaction's own snapshot is
 * edited, once.
 *
 * Snapshots belong to the transaction (TopTransactionResourceOwner), and are
 * released before it commits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "txn/dist_transaction.h"
#include "txn/snapshot.h"
#include "txn/snapshot_mark.h"

bool		distributed_snapshots = true;

/* A snapshot that a statement on another node asked for. */
typedef struct KeptSnapshot
{
	CommitTimestamp ts;
	Snapshot	snapshot;		/* registered */
	bool		outdated;		/* a subtransaction of this transaction, which
								 * it sees as running, was rolled back since */
} KeptSnapshot;

/*
 * The setting: "<timestamp of the statement> <timestamp of the oldest running
 * statement>", and " offered" if this node was not asked for its clock.
 */
static char *snapshot_setting = NULL;

void
snapshot_refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not read all nodes as of one point in time"),
			 errdetail_internal("%s", detail),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Makes this backend advertise an older xmin, which another backend of the
 * database advertises too.  False if there is none.
 */
static bool
borrow_xmin(TransactionId xmin)
{
	int			count;
	VirtualTransactionId *others = GetCurrentVirtualXIDs(xmin, true, false, PROC_IN_VACUUM, &count);

	for (int i = 0; i < count; i++)
	{
		if (ProcArrayInstallImportedXmin(xmin, &others[i]))
		{
			pfree(others);
			return true;
		}
	}
	return false;
}

/* A copy of a snapshot's running transactions, with room for more. */
static void
copy_running(Snapshot edited, Snapshot now, int more)
{
	edited->xip = palloc(sizeof(TransactionId) * (now->xcnt + more));
	memcpy(edited->xip, now->xip, sizeof(TransactionId) * now->xcnt);
	edited->subxip = palloc(sizeof(TransactionId) * (now->subxcnt + more));
	if (now->subxcnt > 0)
		memcpy(edited->subxip, now->subxip, sizeof(TransactionId) * now->subxcnt);
}

/*
 * Adds one transaction to those that were running.  One without
 * subtransactions may go to the list of subtransactions, which is longer, as
 * long as that is complete; a standby's snapshot has only that one.  False if
 * there is no room.
 */
static bool
add_running(Snapshot edited, const LaterCommit *later)
{
	if (!edited->takenDuringRecovery && edited->xcnt < GetMaxSnapshotXidCount())
		edited->xip[edited->xcnt++] = later->xid;
	else if ((edited->takenDuringRecovery || !edited->suboverflowed) && edited->subxcnt < GetMaxSnapshotSubxidCount())
		edited->subxip[edited->subxcnt++] = later->xid;
	else
		return false;
	if (TransactionIdPrecedes(later->xid, edited->xmin))
		edited->xmin = later->xid;
	return true;
}

/*
 * On a standby that stands still at the time of an edited snapshot: makes this
 * backend advertise its xmin.
 */
static bool
lower_xmin(TransactionId xmin)
{
	MyProc->xmin = TransactionXmin = xmin;
	return true;
}

/*
 * The latest snapshot, edited, when all that is earlier than the timestamp is
 * in it; as for try_as_of.  still: on a standby, which stands still at that
 * time; else old versions that it has there aren't protected.
 */
static Snapshot
edit_latest(CommitTimestamp ts, bool still, CommandId curcid, bool offered, const char **reason)
{
	Snapshot	now = GetLatestSnapshot();
	Snapshot	edited = palloc(sizeof(SnapshotData));
	LaterCommit *later;
	int			count;

	*reason = "What has committed since is not known.";
	if (!commit_ring_later(ts, now, &later, &count))
		return NULL;
	*reason = "Something has been committed later than the time that was offered.";
	if (offered && (count > 0 || prepared_ring_has_later(ts)))
		return NULL;
	*reason = "This standby has replayed more meanwhile.";
	if (now->takenDuringRecovery && !still && count > 0)
		return NULL;

	*edited = *now;
	edited->copied = false;
	edited->active_count = edited->regd_count = 0;
	edited->curcid = curcid;
	copy_running(edited, now, count);

	/*
	 * then subtransactions are looked up, and all transactions must be in the
	 * main list
	 */
	for (int i = 0; i < count; i++)
		edited->suboverflowed = edited->suboverflowed || later[i].has_children;
	*reason = "Too many transactions have committed since.";
	for (int i = 0; i < count; i++)
		if (!add_running(edited, &later[i]))
			return NULL;
	*reason = "Old row versions may have been removed since.";
	if (TransactionIdPrecedes(edited->xmin, MyProc->xmin) &&
		!(still ? lower_xmin(edited->xmin) : borrow_xmin(edited->xmin)))
		return NULL;
	pfree(later);
	return edited;
}

/*
 * As snapshot_try_as_of; offered: this node was not asked for its clock, so
 * nothing later than the timestamp may be committed so far.
 */
static Snapshot
try_as_of(CommitTimestamp ts, Snapshot like, bool offered, const char **reason)
{
	commit_ring_await(ts);
	return edit_latest(ts, false, like->curcid, offered, reason);
}

/*
 * On a standby: waits for the mark of that time, and takes a snapshot there.
 * NULL if that is not possible.
 */
static Snapshot
replayed_as_of(CommitTimestamp ts)
{
	Snapshot	edited;
	const char *reason;

	if (IsolationUsesXactSnapshot() && FirstSnapshotSet)
		return NULL;
	InvalidateCatalogSnapshot();
	if (!snapshot_mark_await(ts))
		return NULL;
	edited = edit_latest(ts, true, FirstCommandId, false, &reason);
	return snapshot_mark_taken() ? edited : NULL;
}

Snapshot
snapshot_try_as_of(CommitTimestamp ts, Snapshot like, const char **reason)
{
	return try_as_of(ts, like, false, reason);
}

Snapshot
snapshot_as_of(CommitTimestamp ts, Snapshot like)
{
	const char *reason;
	Snapshot	snapshot = snapshot_try_as_of(ts, like, &reason);

	if (snapshot == NULL)
		snapshot_refuse(reason);
	return snapshot;
}

/* A copy in TopTransactionContext. */
static TransactionId *
keep_xids(const TransactionId *xids, int count)
{
	TransactionId *copy = MemoryContextAlloc(TopTransactionContext, sizeof(TransactionId) * Max(count, 1));

	memcpy(copy, xids, sizeof(TransactionId) * count);
	return copy;
}

/*
 * Has a snapshot show what another one shows.  Its xmin stays: it is in a heap
 * that is ordered by that, and an older one does no harm.
 */
static void
show_same(Snapshot own, Snapshot other)
{
	own->xmax = other->xmax;
	own->xip = keep_xids(other->xip, other->xcnt);
	own->xcnt = other->xcnt;
	own->subxip = keep_xids(other->subxip, other->subxcnt);
	own->subxcnt = other->subxcnt;
	own->suboverflowed = other->suboverflowed;
}

void
snapshot_await_left(Oid relid)
{
	if (unlikely(prepared_ring_has_left()) && distributed_snapshots && !IsolationUsesXactSnapshot() &&
		prepared_ring_await_left(relid))
		show_same(GetActiveSnapshot(), GetTransactionSnapshot());
}

/*
 * Gives the transaction's snapshot what an edited one shows.  Each user of it
 * copies it, so a change affects later statements only.  On a standby its xmin
 * is made older, when there is no other snapshot in the heap.
 */
static void
move_to(CommitTimestamp ts, Snapshot edited)
{
	Snapshot	own = GetTransactionSnapshot();

	if (edited->takenDuringRecovery)
		own->xmin = edited->xmin;
	if (TransactionIdPrecedes(edited->xmin, own->xmin))
		snapshot_refuse("The transaction's own snapshot is newer.");
	show_same(own, edited);
	dist_transaction.moved_to = ts;
}

void
snapshot_move_transaction(CommitTimestamp ts)
{
	Assert(IsolationUsesXactSnapshot());
	if (dist_transaction.moved_to == ts)
		return;
	if (RecoveryInProgress())
		snapshot_refuse("A standby's snapshot can't be changed.");
	move_to(ts, snapshot_as_of(ts, GetTransactionSnapshot()));
}

CommitTimestamp
snapshot_moved_to(void)
{
	return dist_transaction.moved_to;
}

/* The setting's two numbers, and whether the timestamp is an offer. */
static bool
parse_setting(CommitTimestamp *ts, CommitTimestamp *oldest)
{
	unsigned long long a = 0;
	unsigned long long b = 0;
	char		offered = '\0';

	if (snapshot_setting != NULL)
		(void) sscanf(snapshot_setting, "%llu %llu %c", &a, &b, &offered);
	*ts = a;
	*oldest = b;
	return offered != '\0';
}

static void
give_up_held(void)
{
	if (dist_transaction.held_snapshot != NULL)
		UnregisterSnapshotFromOwner(dist_transaction.held_snapshot, TopTransactionResourceOwner);
	dist_transaction.held_snapshot = NULL;
}

/* Releases the snapshots of statements before the oldest running one. */
static void
give_up_kept(CommitTimestamp oldest)
{
	ListCell   *cell;

	foreach(cell, dist_transaction.kept_snapshots)
	{
		KeptSnapshot *snapshot = lfirst(cell);

		if (snapshot->ts >= oldest)
			continue;
		UnregisterSnapshotFromOwner(snapshot->snapshot, TopTransactionResourceOwner);
		dist_transaction.kept_snapshots = foreach_delete_current(dist_transaction.kept_snapshots, cell);
		pfree(snapshot);
	}
}

/* Keeps a snapshot, in CurrentMemoryContext; returns it registered. */
static Snapshot
add_kept(CommitTimestamp ts, Snapshot taken)
{
	KeptSnapshot *snapshot = palloc0(sizeof(KeptSnapshot));

	snapshot->ts = ts;
	snapshot->snapshot = RegisterSnapshotOnOwner(taken, TopTransactionResourceOwner);
	dist_transaction.kept_snapshots = lappend(dist_transaction.kept_snapshots, snapshot);
	return snapshot->snapshot;
}

/*
 * The snapshot that the current statement of the initiator requested; NULL,
 * and why, if it can't be taken.
 */
static Snapshot
keep_snapshot(const char **reason)
{
	MemoryContext old_context;
	KeptSnapshot *snapshot = NULL;
	Snapshot	taken;
	CommitTimestamp ts;
	CommitTimestamp oldest;
	bool		offered = parse_setting(&ts, &oldest);

	foreach_ptr(KeptSnapshot, other, dist_transaction.kept_snapshots)
	{
		if (other->ts == ts && !other->outdated)
			return other->snapshot;
		if (other->ts == ts)
			snapshot = other;
	}

	commit_ring_check(ts);
	*reason = "A standby didn't have a snapshot of that time.";
	if (RecoveryInProgress())
		return NULL;
	*reason = "The transaction on this node has a snapshot already.";
	if (offered && IsolationUsesXactSnapshot())
		return NULL;
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	taken = try_as_of(ts, GetActiveSnapshot(), offered, reason);
	if (snapshot != NULL)
	{
		/* the outdated one shows the same rows */
		if (taken != NULL)
		{
			UnregisterSnapshotFromOwner(snapshot->snapshot, TopTransactionResourceOwner);
			snapshot->snapshot = RegisterSnapshotOnOwner(taken, TopTransactionResourceOwner);
			snapshot->outdated = false;
		}
		taken = snapshot->snapshot;
	}
	else if (taken != NULL)
	{
		taken = add_kept(ts, taken);
		give_up_held();
		give_up_kept(oldest);
	}
	MemoryContextSwitchTo(old_context);
	return taken;
}

/* On a standby: keeps a snapshot, or makes it the transaction's own. */
static void
take_on_standby(CommitTimestamp ts, CommitTimestamp oldest)
{
	MemoryContext old_context;
	Snapshot	taken;

	foreach_ptr(KeptSnapshot, other, dist_transaction.kept_snapshots)
		if (other->ts == ts)
			return;
	give_up_kept(oldest);
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	taken = replayed_as_of(ts);
	if (taken != NULL && IsolationUsesXactSnapshot())
		move_to(ts, taken);
	else if (taken != NULL)
		(void) add_kept(ts, taken);
	MemoryContextSwitchTo(old_context);
}

/*
 * It may wait for the standby, so it must have no snapshot meanwhile, and
 * begins with a command that needs none.
 */
void
snapshot_setting_changed(void)
{
	CommitTimestamp ts;
	CommitTimestamp oldest;

	if (!RecoveryInProgress() || !node_session())
		return;
	(void) parse_setting(&ts, &oldest);
	if (ts == 0)
		return;
	commit_ring_check(ts);
	take_on_standby(ts, oldest);
}

bool
snapshot_is_offered(void)
{
	CommitTimestamp ts;
	CommitTimestamp oldest;

	return parse_setting(&ts, &oldest);
}

Snapshot
snapshot_for_task(void)
{
	const char *reason;
	Snapshot	snapshot = keep_snapshot(&reason);

	if (snapshot == NULL)
		snapshot_refuse(reason);
	return snapshot;
}

void
snapshot_subtransaction_aborted(void)
{
	foreach_ptr(KeptSnapshot, snapshot, dist_transaction.kept_snapshots)
		snapshot->outdated = true;
}

void
snapshot_before_end(void)
{
	give_up_held();
	give_up_kept(PG_UINT64_MAX);
}

/*
 * citus_internal.snapshot_begin() returns bigint: this node's clock, for an
 * initiator that is about to choose a point in time.  The caller's snapshot is
 * held until it has.
 */
SQL_FUNCTION(citus_internal_snapshot_begin);
Datum
citus_internal_snapshot_begin(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	if (!IsolationUsesXactSnapshot() && dist_transaction.held_snapshot == NULL)
		dist_transaction.held_snapshot = RegisterSnapshotOnOwner(GetActiveSnapshot(), TopTransactionResourceOwner);
	PG_RETURN_INT64((int64) commit_ring_clock());
}

/*
 * citus_internal.snapshot_take() returns bigint: takes the snapshot that
 * citus.snapshot names, for tasks that come later.  1, or 0 if it can't be
 * taken any more; then nothing has changed.
 */
SQL_FUNCTION(citus_internal_snapshot_take);
Datum
citus_internal_snapshot_take(PG_FUNCTION_ARGS)
{
	const char *reason;

	node_function_check(fcinfo);
	PG_RETURN_INT64(keep_snapshot(&reason) != NULL);
}

/*
 * citus_internal.snapshot_set(bigint): the REPEATABLE READ transaction reads
 * as of that point in time.
 */
SQL_FUNCTION(citus_internal_snapshot_set);
Datum
citus_internal_snapshot_set(PG_FUNCTION_ARGS)
{
	CommitTimestamp ts = (CommitTimestamp) PG_GETARG_INT64(0);

	node_function_check(fcinfo);
	if (!IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("the transaction's isolation level must be REPEATABLE READ or SERIALIZABLE")));
	commit_ring_check(ts);
	snapshot_move_transaction(ts);
	PG_RETURN_VOID();
}

static const char *
show_snapshot_mark(void)
{
	static char text[32];

	snprintf(text, sizeof(text), UINT64_FORMAT, dist_transaction.moved_to);
	return text;
}

void
snapshot_init(void)
{
	static char *snapshot_mark = NULL;


	DefineCustomBoolVariable("citus.distributed_snapshots",
							 "Reads all nodes as of one point in time.",
							 "Statements that read several shards, and transactions at REPEATABLE READ, see each "
							 "transaction on all nodes or on none.",
							 &distributed_snapshots, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.snapshot",
							   "Names the point in time of tasks that follow; set by the initiator of a statement.",
							   NULL, &snapshot_setting, "", PGC_USERSET,
							   GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.snapshot_mark",
							   "Shows as of which time the transaction reads a standby, to its initiator; 0: none.",
							   NULL, &snapshot_mark, "", PGC_INTERNAL,
							   GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL | GUC_DISALLOW_IN_FILE, NULL, NULL, show_snapshot_mark);
}
