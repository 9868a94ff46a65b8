/*-------------------------------------------------------------------------
 *
 * dist_snapshot.c
 *	  One snapshot over all nodes: the initiator's part.
 *
 * A point in time is chosen by asking: each node that will be read opens a
 * transaction, holds a snapshot, and returns its clock (a commit timestamp);
 * the latest answer is the point.  A commit that was acknowledged before the
 * statement began has advanced the clock of each node that it wrote on, so its
 * timestamp is not later than the point.
 *
 * READ COMMITTED: per statement, and only nodes that the statement reads.
 * Outside a transaction block, the node's transaction is for this statement
 * only (REMOTE_XACT_LONE): it may be cancelled, and has a savepoint from which
 * a task is retried.  REPEATABLE READ: once per transaction, all nodes, since
 * any may be read later.
 *
 * A connection that is opened later joins: it imports the xmin of the one that
 * was asked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/follower.h"
#include "catalog/node.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/trace.h"
#include "remote/node_call.h"
#include "txn/dist_transaction.h"
#include "txn/exported_snapshot.h"
#include "txn/private.h"
#include "txn/snapshot.h"
#include "txn/snapshot_mark.h"

#define BEGIN_COMMAND "SELECT citus_internal.snapshot_begin()"
#define TAKE_COMMAND "SELECT citus_internal.snapshot_take()"

/*
 * The same for standbys, which must not hold a snapshot yet: the mark that
 * they have replayed (snapshot_mark.c).
 */
#define STANDBY_BEGIN_COMMAND "SHOW citus.replayed_mark"

/* The mark that the transaction's snapshot was taken at, or 0. */
#define STANDBY_TAKEN_COMMAND "SHOW citus.snapshot_mark"

#define STANDBY_REASON "A standby has not replayed it within citus.follower_wait_timeout, or is no longer at it."

/*
 * How long it may take to ask standbys to wait for a mark, in microseconds:
 * twice as long after each time that it took longer.
 */
#define LEAST_MARK_AHEAD 15000
#define MOST_MARK_AHEAD 1000000

/*
 * How often another point in time is chosen because nodes could not read as of
 * the last one.
 */
#define MAX_CHOICES 10

/*
 * If the nodes took longer than this to answer (ms), the rings of some may
 * have overflowed.
 */
#define LONG_ASKED_MS 100

/*
 * After a refusal, the next statement asks; after each further refusal in a
 * row, about twice as many do, up to this number.
 */
#define MAX_WITHOUT_OFFER 1023

static int	mark_ahead = LEAST_MARK_AHEAD;

static int	without_offer = 0;	/* after the last refusal; 0: accepted */
static int	offer_after = 0;	/* the number of further statements that ask */

/*
 * Snapshots of statements that have not ended, which may be later than the
 * transaction's end.
 */
static dlist_head live_snapshots = DLIST_STATIC_INIT(live_snapshots);

/*
 * Never asked to yield: its connections are released before anyone else runs.
 */
static void
no_yield(RemoteOwner *owner, RemoteConn *conn)
{
	elog(ERROR, "connection to node %s:%d is being asked for its clock", conn->nodename, conn->nodeport);
}

static RemoteOwner timestamp_asker = {no_yield};

/* Opens the node's transaction if it isn't open. */
static void
begin_on(RemoteConn *conn)
{
	bool		opened;

	if (conn->xact == REMOTE_XACT_LONE && remote_xact_failed(conn))
	{
		remote_send_rollback(conn);
		conn->xact = REMOTE_XACT_NONE;
	}
	opened = conn->xact == REMOTE_XACT_NONE;
	/* they would take the snapshot of a standby's transaction too early */
	if (opened && conn->standby && IsolationUsesXactSnapshot())
		remote_send_settings(conn);
	txn_begin_remote(conn);
	if (opened && !conn->primary)
		conn->xact = REMOTE_XACT_LONE;
}

/* The only value of a statement that returns one bigint; waits. */
static CommitTimestamp
read_timestamp(RemoteConn *conn)
{
	CommitTimestamp ts = 0;

	while (remote_next(conn))
	{
		if (conn->row.values[0].data != NULL)
			ts = strtou64(conn->row.values[0].data, NULL, 10);
	}
	return ts;
}

/*
 * Sends BEGIN_COMMAND to all; reads their answers, and returns the latest
 * timestamp of them.
 */
static CommitTimestamp
ask_for_timestamps(List *conns)
{
	CommitTimestamp latest = 0;
	ListCell   *cell;

	foreach_ptr(RemoteConn, conn, conns)
	{
		if (conn->standby)
			remote_send(conn, STANDBY_BEGIN_COMMAND, NULL, SEND_IN_XACT | SEND_AS_SESSION);
		else
			remote_send_task(conn, "", BEGIN_COMMAND, NULL, InvalidOid, SEND_IN_XACT);
	}
	foreach(cell, conns)
	{
		CommitTimestamp ts = read_timestamp(lfirst(cell));

		latest = Max(latest, ts);
	}
	return latest;
}

static bool
any_standby(List *conns)
{
	foreach_ptr(RemoteConn, conn, conns)
		if (conn->standby)
			return true;
	return false;
}

/*
 * The point in time that the nodes are read as of, given their answers:
 * standbys, as of marks that they haven't replayed yet.  Such a mark is ahead
 * of our time.  So that clocks, and thereby other readers, don't follow, this
 * node and primaries read as of it only when standbys have come to it.
 */
static CommitTimestamp
point_after(CommitTimestamp ts, CommitTimestamp theirs, List *conns)
{
	ts = Max(ts, theirs);
	if (!any_standby(conns))
		return ts;
	ts = snapshot_mark_after(Max(ts, commit_ring_now()) + mark_ahead);
	mark_ahead = Min(mark_ahead * 2, MOST_MARK_AHEAD);
	DEBUG_POINT("mark-chosen");
	return ts;
}

/* All nodes could be read as of it. */
static void
point_was_reached(void)
{
	mark_ahead = Max(mark_ahead * 7 / 16, LEAST_MARK_AHEAD);
}

/* Adds a connection to the node, with its transaction opened, to conns. */
static void
acquire_for_snapshot(int32 groupid, List **conns)
{
	RemoteConn *conn = remote_acquire(groupid, &timestamp_asker, false);

	*conns = lappend(*conns, conn);
	begin_on(conn);
	conn->participant->snapshot_held = true;
}

static void
release_snapshots(List *conns)
{
	ListCell   *cell;

	foreach(cell, conns)
		remote_release(lfirst(cell), &timestamp_asker);
	list_free(conns);
}

static void
forget_snapshot(void *arg)
{
	dlist_delete(&((DistSnapshot *) arg)->link);
}

/*
 * Asks the nodes for their clocks; *conns has the connections, owned by the
 * asker, also after an error.
 */
static CommitTimestamp
ask_groups(Bitmapset *groups, List **conns)
{
	int			groupid = -1;

	while ((groupid = bms_next_member(groups, groupid)) >= 0)
		acquire_for_snapshot(groupid, conns);
	return ask_for_timestamps(*conns);
}

/*
 * After an error: whether only connections without earlier work were lost.  If
 * so, outstanding answers of the others are read, and all are released.
 */
static bool
only_lost(List *conns)
{
	bool		lost = false;

	foreach_ptr(RemoteConn, conn, conns)
	{
		if (conn->primary)
			return false;
		lost = lost || conn->state == REMOTE_DEAD;
	}
	if (lost)
		release_snapshots(conns);
	return lost;
}

/*
 * As ask_groups; false, without connections, if only connections without
 * earlier work were lost.
 */
static bool
try_ask(Bitmapset *groups, bool last, List **asked, CommitTimestamp *latest)
{
	const CatchPoint point = catch_point();
	List	   *volatile conns = NIL;
	volatile bool done = true;

	PG_TRY();
	{
		*latest = ask_groups(groups, (List **) &conns);
	}
	PG_CATCH();
	{
		if (last || !only_lost(conns))
			PG_RE_THROW();
		catch_end(&point);
		done = false;
	}
	PG_END_TRY();
	*asked = done ? conns : NIL;
	return done;
}

/*
 * As ask_groups, but retries if a cached connection is broken, which may be
 * noticed only when it is used, and for one node at a time.
 */
static CommitTimestamp
ask_patiently(Bitmapset *groups, List **asked)
{
	CommitTimestamp latest = 0;
	int			tries = bms_num_members(groups);

	while (!try_ask(groups, tries == 0, asked, &latest))
		tries--;
	return latest;
}

/*
 * Makes those that are standbys, or those that aren't, take their snapshots;
 * false if one can't.
 */
static bool
take_there(DistSnapshot *snapshot, List *conns, bool standby)
{
	bool		all = true;

	foreach_ptr(RemoteConn, conn, conns)
	{
		if (conn->standby != standby)
			continue;
		dist_snapshot_queue(snapshot, conn);
		remote_send_task(conn, "", TAKE_COMMAND, NULL, InvalidOid, SEND_IN_XACT);
	}
	foreach_ptr(RemoteConn, conn, conns)
		all = (conn->standby != standby || read_timestamp(conn) != 0) && all;
	return all;
}

/*
 * Takes the snapshot as of its point in time: here, on standbys, and, if tasks
 * come late, on the other nodes.  NULL, or why one can't.
 */
static const char *
take_everywhere(DistSnapshot *snapshot, List *conns, Snapshot like, bool late)
{
	const char *reason = NULL;

	if (!take_there(snapshot, conns, true))
		return STANDBY_REASON;
	snapshot->snapshot = snapshot_try_as_of(snapshot->ts, like, &reason);
	if (snapshot->snapshot == NULL)
		return reason;
	return !late || take_there(snapshot, conns, false) ? NULL : "A node does not know what has committed since.";
}

/*
 * Chooses the point in time of a snapshot, and a later one if a node can't
 * read as of it.  No part of the statement has run yet, so any point is right.
 */
static void
choose_snapshot(DistSnapshot *snapshot, Snapshot like, bool late)
{
	TimestampTz began = GetCurrentTimestamp();
	CommitTimestamp ts = commit_ring_clock();
	List	   *conns;
	CommitTimestamp theirs = ask_patiently(snapshot->groups, &conns);
	bool		standbys = any_standby(conns);

	late = late || standbys || TimestampDifferenceExceeds(began, GetCurrentTimestamp(), LONG_ASKED_MS);
	for (int i = 1;; i++)
	{
		const char *reason;

		snapshot->ts = point_after(ts, theirs, conns);
		reason = take_everywhere(snapshot, conns, like, late);
		if (reason == NULL)
			break;
		if (standbys ? TimestampDifferenceExceeds(began, GetCurrentTimestamp(), follower_wait_ms()) : i == MAX_CHOICES)
			snapshot_refuse(reason);
		late = true;
		ts = commit_ring_clock();
		theirs = ask_for_timestamps(conns);
	}
	point_was_reached();
	release_snapshots(conns);
}

/* Adds the snapshot to the list of live ones, as long as the context lives. */
static void
remember_snapshot(DistSnapshot *snapshot, MemoryContext context)
{
	snapshot->callback.func = forget_snapshot;
	snapshot->callback.arg = snapshot;
	dlist_push_tail(&live_snapshots, &snapshot->link);
	MemoryContextRegisterResetCallback(context, &snapshot->callback);
}

DistSnapshot *
dist_snapshot_take(Bitmapset *groups, Snapshot like, bool late, MemoryContext context)
{
	DistSnapshot *snapshot = MemoryContextAllocZero(context, sizeof(DistSnapshot));
	TraceSpan	span = trace_begin();

	snapshot->groups = groups;
	choose_snapshot(snapshot, like, late);
	trace_end(&span, TRACE_SNAPSHOT, TRACE_NO_NODE, bms_num_members(groups), NULL);
	DEBUG_POINT("snapshot-chosen");
	remember_snapshot(snapshot, context);
	return snapshot;
}

DistSnapshot *
dist_snapshot_offer(Bitmapset *groups, Snapshot like, MemoryContext context)
{
	CommitTimestamp ts;
	Snapshot	own;
	const char *reason;
	DistSnapshot *snapshot;

	if (follower_reads())
		return NULL;
	if (offer_after > 0)
	{
		offer_after--;
		return NULL;
	}
	ts = commit_ring_now();
	own = snapshot_try_as_of(ts, like, &reason);
	if (own == NULL)
		return NULL;
	snapshot = MemoryContextAllocZero(context, sizeof(DistSnapshot));
	snapshot->groups = groups;
	snapshot->ts = ts;
	snapshot->snapshot = own;
	snapshot->offered = true;
	remember_snapshot(snapshot, context);
	return snapshot;
}

void
dist_snapshot_accepted(DistSnapshot *snapshot)
{
	snapshot->offered = false;
	without_offer = 0;
}

void
dist_snapshot_offer_refused(void)
{
	offer_after = without_offer = Min(2 * without_offer + 1, MAX_WITHOUT_OFFER);
}

void
dist_snapshot_settle(DistSnapshot *snapshot, Bitmapset *groups, Snapshot like)
{
	snapshot->groups = groups;
	choose_snapshot(snapshot, like, false);
	snapshot->offered = false;
}

DistSnapshot *
dist_snapshot_find(Snapshot registered)
{
	dlist_iter	iter;

	dlist_foreach(iter, &live_snapshots)
	{
		DistSnapshot *snapshot = dlist_container(DistSnapshot, link, iter.cur);

		if (snapshot->snapshot == registered)
			return snapshot;
	}
	return NULL;
}

/* The timestamp of the oldest running statement. */
static CommitTimestamp
oldest_live(void)
{
	CommitTimestamp oldest = PG_UINT64_MAX;
	dlist_iter	iter;

	dlist_foreach(iter, &live_snapshots)
		oldest = Min(oldest, dlist_container(DistSnapshot, link, iter.cur)->ts);
	return oldest;
}

void
dist_snapshot_end(void)
{
	if (!dlist_is_empty(&live_snapshots))
		return;
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->xact == REMOTE_XACT_LONE)
			remote_end_lone(conn);
}

static void
not_asked(RemoteConn *conn)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not read all nodes as of one point in time"),
			 errdetail("Node %s:%d was not needed, or could not be reached, when that was chosen.",
					   conn->nodename, conn->nodeport),
			 errhint("The transaction might succeed if retried.")));
}

void
dist_snapshot_queue(DistSnapshot *snapshot, RemoteConn *conn)
{
	char		command[100];

	Assert(!snapshot->offered);
	if (conn->xact != REMOTE_XACT_NONE && conn->participant->snapshot_timestamp == snapshot->ts)
	{
		/*
		 * an earlier task of the statement was cancelled, since its rows
		 * weren't needed
		 */
		if (remote_xact_failed(conn))
			(void) dist_snapshot_restart(conn);
		return;
	}
	if (!bms_is_member(conn->groupid, snapshot->groups))
		not_asked(conn);
	begin_on(conn);
	snprintf(command, sizeof(command), "SET citus.snapshot TO '" UINT64_FORMAT " " UINT64_FORMAT "'",
			 snapshot->ts, Min(snapshot->ts, oldest_live()));
	remote_queue_command(conn, command);
	/*
	 * without a barrier, which would cost another packet per node: only a read
	 * can be lost
	 */
	if (conn->xact == REMOTE_XACT_LONE)
		remote_queue_command(conn, "SAVEPOINT citus_task");
	conn->participant->snapshot_timestamp = snapshot->ts;
}

void
dist_snapshot_queue_offer(DistSnapshot *snapshot, RemoteConn *conn)
{
	char		command[100];

	Assert(snapshot->offered && conn->xact == REMOTE_XACT_NONE);
	snprintf(command, sizeof(command), "SET citus.snapshot TO '" UINT64_FORMAT " " UINT64_FORMAT " offered'",
			 snapshot->ts, Min(snapshot->ts, oldest_live()));
	remote_queue_command(conn, command);
}

bool
dist_snapshot_restart(RemoteConn *conn)
{
	if (conn->xact != REMOTE_XACT_LONE || conn->participant->snapshot_timestamp == 0 || conn->state != REMOTE_IDLE)
		return false;
	remote_settings_rolled_back(conn);
	remote_send_silent(conn, "ROLLBACK TO SAVEPOINT citus_task");
	return true;
}

bool
dist_snapshot_is_closed(int32 groupid)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->groupid == groupid && conn->standby && dist_snapshot_held(conn))
			return true;
	return false;
}

bool
dist_snapshot_held(const RemoteConn *conn)
{
	return conn->xact != REMOTE_XACT_NONE && conn->participant->snapshot_held;
}

bool
dist_snapshot_refused(RemoteConn *conn, const ErrorData *error)
{
	return conn->xact == REMOTE_XACT_LONE && !conn->participant->snapshot_held &&
		error->sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE;
}

/* Releases the asker's lost connections. */
static List *
release_lost(List *conns)
{
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
	{
		if (conn->owner != &timestamp_asker || conn->state != REMOTE_DEAD)
			continue;
		conns = list_delete_ptr(conns, conn);
		remote_release(conn, &timestamp_asker);
	}
	return conns;
}

/*
 * Adds a connection to the node to those that we have.  A node that can't be
 * reached can't be used in this transaction.
 */
static List *
acquire_if_reachable(List *acquired, int groupid)
{
	List	   *volatile conns = acquired;
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		acquire_for_snapshot(groupid, (List **) &conns);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		if (error->sqlerrcode != ERRCODE_CONNECTION_FAILURE)
			PG_RE_THROW();
		catch_end(&point);
		FreeErrorData(error);
		conns = release_lost(conns);
	}
	PG_END_TRY();
	return conns;
}

/* Connections to all other nodes that can be reached. */
static List *
acquire_all(void)
{
	List	   *conns = NIL;

	foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
		if (node->has_metadata)
			conns = acquire_if_reachable(conns, node->groupid);
	return conns;
}

/*
 * Standbys' transactions at REPEATABLE READ take their snapshots; false if one
 * can't.
 */
static bool
set_on_standbys(CommitTimestamp ts, List *conns)
{
	bool		all = true;

	foreach_ptr(RemoteConn, conn, conns)
	{
		if (!conn->standby)
			continue;
		remote_queue_command(conn, psprintf("SET citus.snapshot TO '" UINT64_FORMAT " " UINT64_FORMAT "'", ts, ts));
		remote_send(conn, STANDBY_TAKEN_COMMAND, NULL, SEND_IN_XACT | SEND_AS_SESSION);
	}
	foreach_ptr(RemoteConn, conn, conns)
		all = (!conn->standby || read_timestamp(conn) == ts) && all;
	return all;
}

/* Has standbys begin again, where some have taken snapshots. */
static void
begin_on_standbys_again(List *conns)
{
	foreach_ptr(RemoteConn, conn, conns)
	{
		if (!conn->standby)
			continue;
		remote_send_rollback(conn);
		conn->xact = REMOTE_XACT_NONE;
		begin_on(conn);
		conn->participant->snapshot_held = true;
	}
}

/*
 * Chooses the point in time of this transaction, and a later one if a standby
 * can't read as of it.
 */
static CommitTimestamp
choose_for_transaction(List *conns)
{
	TimestampTz began = GetCurrentTimestamp();

	for (;;)
	{
		CommitTimestamp ts = commit_ring_clock();

		ts = point_after(ts, ask_for_timestamps(conns), conns);
		if (set_on_standbys(ts, conns))
		{
			point_was_reached();
			return ts;
		}
		if (TimestampDifferenceExceeds(began, GetCurrentTimestamp(), follower_wait_ms()))
			snapshot_refuse(STANDBY_REASON);
		begin_on_standbys_again(conns);
	}
}

/* Fixes the point in time of this transaction, on all nodes. */
static void
begin_transaction(bool fresh)
{
	List	   *conns = acquire_all();
	CommitTimestamp ts = choose_for_transaction(conns);
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

	foreach_ptr(RemoteConn, conn, conns)
		dist_transaction.timestamp_groups = bms_add_member(dist_transaction.timestamp_groups, conn->groupid);
	MemoryContextSwitchTo(old_context);
	foreach_ptr(RemoteConn, conn, conns)
		if (!conn->standby)
			remote_send(conn, node_call(NODE_snapshot_set, node_bigint(ts)), NULL, SEND_IN_XACT);
	if (fresh)
		snapshot_move_transaction(ts);
	else
		dist_transaction.own_snapshot = RegisterSnapshotOnOwner(snapshot_as_of(ts, GetTransactionSnapshot()),
													   TopTransactionResourceOwner);
	foreach_ptr(RemoteConn, conn, conns)
		if (!conn->standby)
			(void) read_timestamp(conn);
	release_snapshots(conns);
	dist_transaction.ts = ts;
}

Snapshot
dist_snapshot_of_transaction(bool fresh)
{
	if (dist_transaction.ts == 0 && snapshot_moved_to() == 0)
		begin_transaction(fresh);
	return dist_transaction.own_snapshot != NULL ? dist_transaction.own_snapshot : GetTransactionSnapshot();
}

CommitTimestamp
dist_snapshot_fixed(const Bitmapset **groups)
{
	*groups = dist_transaction.timestamp_groups;
	return dist_transaction.ts;
}

void
dist_snapshot_adopt(CommitTimestamp ts, Bitmapset *groups)
{
	List	   *conns = NIL;

	dist_transaction.ts = ts;
	dist_transaction.timestamp_groups = groups;
	(void) ask_groups(groups, &conns);
	release_snapshots(conns);
}

void
dist_snapshot_join(RemoteConn *conn)
{
	CommitTimestamp ts = dist_transaction.ts != 0 ? dist_transaction.ts : snapshot_moved_to();

	if (ts == 0)
		return;
	if (conn->standby || (dist_transaction.ts != 0 && !bms_is_member(conn->groupid, dist_transaction.timestamp_groups)))
		not_asked(conn);
	if (exported_snapshot_of_group(conn->groupid) != NULL)
	{
		remote_queue_command(conn, psprintf("SET TRANSACTION SNAPSHOT %s",
											quote_literal_cstr(exported_snapshot_of_group(conn->groupid))));
		return;
	}
	remote_queue_command(conn, node_call(NODE_snapshot_set, node_bigint(ts)));
}

void
dist_snapshot_before_end(void)
{
	if (dist_transaction.own_snapshot != NULL)
		UnregisterSnapshotFromOwner(dist_transaction.own_snapshot, TopTransactionResourceOwner);
	dist_transaction.own_snapshot = NULL;
}
