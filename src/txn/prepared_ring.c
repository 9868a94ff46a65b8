/*-------------------------------------------------------------------------
 *
 * prepared_ring.c
 *	  Prepared transactions, for reads as of a timestamp.
 *
 * A distributed transaction that is prepared here gets its timestamp from its
 * initiator, later than our clock stood at PREPARE, which we report with the
 * answer.  Until COMMIT PREPARED brings the timestamp, a reader as of a later
 * time than PREPARE must wait.
 *
 * If a client prepares a transaction that has written on several nodes, it may
 * stay so for long, and readers don't wait for it (it is *parked*).  When it
 * is committed, it gets a timestamp of this node that is later than all
 * earlier reads, since these haven't seen it.
 *
 * COMMIT PREPARED without a timestamp is from recovery.  Others may have
 * committed the transaction earlier; so a reader as of a time after PREPARE,
 * and before now, is refused.
 *
 * Each prepared transaction has a slot in shared memory, which it gets before
 * it is prepared.  After a restart, the slots are filled when they are first
 * needed.  Half of the slots are reserved for commits on several nodes:
 * transactions that clients prepare, here or with this node as a participant,
 * can't use them.
 *
 * A distributed transaction is *left* if the session that has prepared it has
 * ended, or the server has restarted since.  Its initiator may have told its
 * client of the commit, and recovery brings it here later.  Until then, also
 * statements that read as of no point in time wait for it, if they use a table
 * that it has written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "lib/run_as.h"
#include "lib/spi_query.h"
#include "txn/commit_ring.h"
#include "txn/commit_ring_shared.h"
#include "txn/dist_transaction.h"
#include "txn/private.h"
#include "txn/snapshot_record.h"

int			snapshot_timeout = 30 * 1000;

/* The PREPARE TRANSACTION that was asked for. */
static struct
{
	char		gid[GIDSIZE];
	bool		from_node;
}			noted;

/* The COMMIT PREPARED or ROLLBACK PREPARED in progress. */
static struct
{
	PreparedSlot *slot;			/* NULL: none */
	uint64		entry;			/* its number in the ring, from 1; 0: none */
	CommitTimestamp was;		/* the slot's timestamp before */
	CommitTimestamp timestamp;	/* 0: not known */
}			ending;

/* Under the lock: the slot of a prepared transaction, or NULL. */
static PreparedSlot *
find_slot(const char *gid)
{
	for (int i = 0; i < commit_ring->prepared_limit; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (TransactionIdIsValid(slot->xid) && strcmp(slot->gid, gid) == 0)
			return slot;
	}
	return NULL;
}

/*
 * Whether readers of a database, or of any (InvalidOid), wait for a prepared
 * transaction.
 */
static bool
is_awaited(const PreparedSlot *slot, Oid database)
{
	return TransactionIdIsValid(slot->xid) && slot->distributed && !slot->parked &&
		(!OidIsValid(database) || slot->database == database);
}

/* Whether recovery has to end a prepared transaction. */
static bool
is_left(const PreparedSlot *slot)
{
	return slot->owner == 0 && is_awaited(slot, InvalidOid);
}

/* Under the lock: whether clients' prepared transactions may become more. */
static bool
has_slot_for_client(void)
{
	int			count = 0;

	for (int i = 0; i < commit_ring->prepared_limit; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (TransactionIdIsValid(slot->xid) && (slot->parked || !slot->distributed))
			count++;
	}
	return count < (max_prepared_xacts + 1) / 2;
}

/* Under the lock, exclusively: makes a slot; NULL if there are no more. */
static PreparedSlot *
make_slot(TransactionId xid, Oid database, const char *gid, bool distributed, bool has_children, CommitTimestamp after,
		  bool parked, int owner)
{
	for (int i = 0; i < max_prepared_xacts; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (TransactionIdIsValid(slot->xid))
			continue;
		commit_ring->prepared_limit = Max(commit_ring->prepared_limit, i + 1);
		slot->xid = xid;
		slot->database = database;
		slot->has_children = has_children;
		slot->mapped = false;
		slot->distributed = distributed;
		slot->parked = parked;
		slot->after = after;
		slot->ts = 0;
		slot->owner = owner;
		strlcpy(slot->gid, gid, sizeof(slot->gid));
		if (is_left(slot))
			pg_atomic_fetch_add_u32(&commit_ring->nleft, 1);
		return slot;
	}
	return NULL;
}

/* Under the lock, exclusively. */
static void
clear_slot(PreparedSlot *slot)
{
	if (is_left(slot))
		pg_atomic_fetch_sub_u32(&commit_ring->nleft, 1);
	slot->xid = InvalidTransactionId;
	while (commit_ring->prepared_limit > 0 &&
		   !TransactionIdIsValid(commit_ring->prepared[commit_ring->prepared_limit - 1].xid))
		commit_ring->prepared_limit--;
}

/* before_shmem_exit: what this process has prepared is left for recovery. */
static void
leave_prepared(int code, Datum arg)
{
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	for (int i = 0; i < commit_ring->prepared_limit; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (!TransactionIdIsValid(slot->xid) || slot->owner != MyProcPid)
			continue;
		slot->owner = 0;
		if (is_left(slot))
			pg_atomic_fetch_add_u32(&commit_ring->nleft, 1);
	}
	LWLockRelease(commit_ring->header.lock);
}

/* Has this process leave what it prepares when it ends. */
static void
leave_at_exit(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(leave_prepared, (Datum) 0);
	registered = true;
}

bool
prepared_ring_parks(void)
{
	return dist_transaction.parked;
}

void
prepared_ring_before_prepare(void)
{
	TransactionId *children;
	TransactionId xid;
	int			nchildren;
	bool		logs;

	if (noted.from_node)
	{
		gid_mark_prepared(dist_transaction.parked);
		leave_at_exit();
	}
	xid = GetTopTransactionIdIfAny();
	if (!TransactionIdIsValid(xid))
		return;
	nchildren = xactGetCommittedChildren(&children);
	logs = nchildren > 0 && commit_ring_is_marked();
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	if (!dist_transaction.parked || has_slot_for_client())
		dist_transaction.preparing = make_slot(xid, MyDatabaseId, noted.gid, noted.from_node, nchildren > 0,
							  commit_ring_next(dist_transaction.children_clock), dist_transaction.parked, MyProcPid);
	if (dist_transaction.preparing != NULL)
		dist_transaction.preparing->mapped = logs;
	LWLockRelease(commit_ring->header.lock);
	if (logs)
		snapshot_record_children(xid, nchildren, children);
	if (noted.from_node)
		commit_waits_for_standbys();
	if (dist_transaction.preparing == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("maximum number of prepared transactions reached"),
				 dist_transaction.parked ? errdetail("Half of them are kept for transactions on several nodes.") : 0,
				 errhint("Increase max_prepared_transactions (currently %d).", max_prepared_xacts)));
}

/* Reports the clock to the initiator (remote_reported_clock). */
static void
report_clock(CommitTimestamp ts)
{
	StringInfoData message;
	char		text[32];

	if (whereToSendOutput != DestRemote)
		return;
	snprintf(text, sizeof(text), UINT64_FORMAT, ts);
	pq_beginmessage(&message, 'S');
	pq_sendstring(&message, "citus.clock");
	pq_sendstring(&message, text);
	pq_endmessage(&message);
}

static void
free_slot(PreparedSlot *slot)
{
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	clear_slot(slot);
	LWLockRelease(commit_ring->header.lock);
}

/* It has ended, or failed to. */
static void
finish_end(bool success)
{
	if (ending.slot == NULL)
		return;
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	if (success)
		clear_slot(ending.slot);
	else if (ending.entry != 0)
	{
		ending.slot->ts = ending.was;
		commit_ring_cancel(ending.entry);
	}
	LWLockRelease(commit_ring->header.lock);
	ending.slot = NULL;
}

void
prepared_ring_after_prepare(void)
{
	if (dist_transaction.preparing != NULL && dist_transaction.preparing->distributed)
		report_clock(dist_transaction.preparing->after);
}

void
prepared_ring_after_abort(void)
{
	if (dist_transaction.preparing != NULL)
		free_slot(dist_transaction.preparing);
	if (ending.slot != NULL)
		finish_end(!TransactionIdIsInProgress(ending.slot->xid));
}

/*
 * A prepared transaction is about to end; ts is 0 if it comes without
 * one.
 */
static void
begin_end(const char *gid, bool commit, CommitTimestamp ts)
{
	PreparedSlot *slot;

	if (ts != 0)
		commit_ring_check(ts);
	prepared_ring_load();

	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	ending.slot = slot = find_slot(gid);
	ending.entry = 0;
	ending.timestamp = 0;
	if (slot != NULL)
		ending.was = slot->ts;
	if (slot != NULL && commit)
	{
		bool		given = ts != 0;
		bool		known = given || slot->parked || !slot->distributed;
		CommitTimestamp lowest;

		if (ts == 0 || slot->parked)
			ts = Max(ts, commit_ring_next(0));
		lowest = known ? ts : slot->after;
		ending.timestamp = given || !slot->distributed ? ts : 0;
		commit_ring_enter(slot->xid, slot->database, slot->has_children, slot->mapped ? slot->after : 0, lowest, ts);
		ending.entry = commit_ring->nentered;
		slot->ts = ts;
	}
	LWLockRelease(commit_ring->header.lock);
}

/*
 * The server refuses to prepare such a transaction, but says nothing of what
 * its user can do.
 */
static void
refuse_temporary_objects(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("transaction over several nodes has used temporary objects on one of them"),
			 errdetail("What has used temporary objects can't be prepared for a two-phase commit."),
			 errhint("Use arrays in triggers and functions that run on the nodes of the rows. If it was the script of an extension, "
					 "run SELECT * FROM run_command_on_all_nodes("
					 "'SET citus.enable_ddl_propagation = off; CREATE EXTENSION ...').")));
}

void
prepared_ring_before(const TransactionStmt *stmt, const char *query)
{
	CommitTimestamp ts = 0;
	unsigned long long number;

	switch (stmt->kind)
	{
		case TRANS_STMT_PREPARE:
			noted.from_node = gid_check(stmt->gid, query);
			if (noted.from_node && IsTransactionState() && (MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE) != 0)
				refuse_temporary_objects();
			strlcpy(noted.gid, stmt->gid, sizeof(noted.gid));
			/* in a failed block it is a ROLLBACK, and no callback follows */
			dist_transaction.parked = IsTransactionState() &&
				(!noted.from_node || strncmp(query, PARKED_TAG, strlen(PARKED_TAG)) == 0);
			if (dist_transaction.parked)
				prepared_ring_load();
			break;
		case TRANS_STMT_COMMIT_PREPARED:
			if (sscanf(query, "/*citus:stamp %llu*/", &number) == 1)
				ts = number;
			if (ts != 0 && !txn_statement_from_node(query))
				commit_ring_check_stranger(ts);
			begin_end(stmt->gid, true, ts);
			break;
		case TRANS_STMT_ROLLBACK_PREPARED:
			begin_end(stmt->gid, false, 0);
			break;
		default:
			break;
	}
}

CommitTimestamp
prepared_ring_after(void)
{
	finish_end(true);
	return ending.timestamp;
}

static void
load_prepared(void)
{
	RunAs		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);	/* others may lack rights */
	int			ncolumns;
	List	   *rows = spi_rows("SELECT transaction, dbid, gid, " PREPARED_FOR_NODE ", " PREPARED_PARKED
								" FROM pg_catalog.pg_prepared_xact() x", &ncolumns);

	run_as_end(caller);
	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	foreach_ptr(SpiText, values, commit_ring->loaded ? NIL : rows)
	{
		if (find_slot(values[2]) == NULL)
			(void) make_slot(strtoul(values[0], NULL, 10), strtoul(values[1], NULL, 10), values[2],
							 values[3][0] == 't', true, 0, values[4][0] == 't', 0);
	}
	/* of what a promoted standby replayed last, timestamps aren't known */
	if (!commit_ring->loaded)
		commit_ring->forgotten = commit_ring_next(0);
	commit_ring->loaded = true;
	LWLockRelease(commit_ring->header.lock);
}

void
prepared_ring_load(void)
{
	if (!commit_ring->loaded && !RecoveryInProgress())
		load_prepared();
}

/* A prepared transaction that we wait for. */
typedef struct Awaited
{
	PreparedSlot *slot;
	TransactionId xid;
	char		gid[GIDSIZE];
} Awaited;

bool
prepared_ring_has_later(CommitTimestamp ts)
{
	bool		found = false;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	for (int i = 0; i < commit_ring->prepared_limit && !found; i++)
		found = is_awaited(&commit_ring->prepared[i], MyDatabaseId) && commit_ring->prepared[i].after > ts;
	LWLockRelease(commit_ring->header.lock);
	return found;
}

bool
prepared_ring_has_undecided(CommitTimestamp ts)
{
	for (int i = 0; i < commit_ring->prepared_limit; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		/* one that a client has prepared is listed in the ring when it ends */
		if (TransactionIdIsValid(slot->xid) &&
			(slot->ts != 0 ? slot->ts <= ts : is_awaited(slot, InvalidOid) && slot->after <= ts))
			return true;
	}
	return false;
}

/*
 * The transactions of a database, or of any (InvalidOid), that may get a
 * timestamp up to the given one.
 */
static List *
find_awaited(CommitTimestamp ts, Oid database)
{
	List	   *found = NIL;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	for (int i = 0; i < commit_ring->prepared_limit; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (is_awaited(slot, database) && (slot->ts != 0 ? slot->ts : slot->after) <= ts)
		{
			Awaited    *awaited = palloc(sizeof(Awaited));

			awaited->slot = slot;
			awaited->xid = slot->xid;
			strlcpy(awaited->gid, slot->gid, sizeof(awaited->gid));
			found = lappend(found, awaited);
		}
	}
	LWLockRelease(commit_ring->header.lock);
	return found;
}

static void
error_context(void *arg)
{
	errcontext("while waiting for prepared transaction \"%s\" to end", ((Awaited *) arg)->gid);
}

/* Waits, as for any transaction's lock, so that deadlocks are found. */
static void
wait_for(Awaited *awaited)
{
	int			timeout = LockTimeout;
	ErrorContextCallback callback = {error_context_stack, error_context, awaited};

	error_context_stack = &callback;
	if (snapshot_timeout > 0 && (timeout == 0 || timeout > snapshot_timeout))
		LockTimeout = snapshot_timeout;
	PG_TRY();
	{
		XactLockTableWait(awaited->xid, NULL, NULL, XLTW_None);
	}
	PG_FINALLY();
	{
		LockTimeout = timeout;
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
}

/*
 * Frees a slot whose transaction has ended, which is possible only if it ended
 * while slots were being filled.
 */
static void
settle_slot(Awaited *awaited)
{
	bool		committed = TransactionIdDidCommit(awaited->xid);
	PreparedSlot *slot = awaited->slot;

	LWLockAcquire(commit_ring->header.lock, LW_EXCLUSIVE);
	if (slot->xid == awaited->xid && slot->ts == 0)
	{
		if (committed)
			commit_ring_enter(slot->xid, slot->database, true, 0, slot->after, commit_ring_next(0));
		clear_slot(slot);
	}
	LWLockRelease(commit_ring->header.lock);
}

bool
prepared_ring_await(CommitTimestamp ts)
{
	bool		waited = false;
	List	   *found = find_awaited(ts, MyDatabaseId);

	foreach_ptr(Awaited, awaited, found)
	{
		if (TransactionIdIsInProgress(awaited->xid))
		{
			wait_for(awaited);
			waited = true;
		}
		else if (awaited->slot->ts == 0)
			settle_slot(awaited);
	}
	list_free_deep(found);
	return waited;
}

bool
prepared_ring_has_left(void)
{
	return pg_atomic_read_u32(&commit_ring->nleft) > 0 || (!commit_ring->loaded && !RecoveryInProgress());
}

/* Whether a transaction is left; sets *awaited then. */
static bool
find_left(TransactionId xid, Awaited *awaited)
{
	bool		found = false;

	LWLockAcquire(commit_ring->header.lock, LW_SHARED);
	for (int i = 0; i < commit_ring->prepared_limit && !found; i++)
	{
		PreparedSlot *slot = &commit_ring->prepared[i];

		if (slot->xid != xid || !is_left(slot))
			continue;
		awaited->slot = slot;
		awaited->xid = xid;
		strlcpy(awaited->gid, slot->gid, sizeof(awaited->gid));
		found = true;
	}
	LWLockRelease(commit_ring->header.lock);
	return found;
}

/* The prepared transaction that holds a lock, or InvalidTransactionId. */
static TransactionId
prepared_holder(VirtualTransactionId holder)
{
	bool		more;

	return VirtualTransactionIdIsRecoveredPreparedXact(holder) ? holder.localTransactionId :
		TwoPhaseGetXidByVirtualXID(holder, &more);
}

bool
prepared_ring_await_left(Oid relid)
{
	VirtualTransactionId *holders;
	bool		waited = false;
	LOCKTAG		tag;
	int			count;

	prepared_ring_load();
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	holders = GetLockConflicts(&tag, ShareLock, &count);
	for (int i = 0; i < count; i++)
	{
		Awaited		awaited;

		if (!find_left(prepared_holder(holders[i]), &awaited))
			continue;
		wait_for(&awaited);
		waited = true;
	}
	pfree(holders);
	return waited;
}

void
prepared_ring_settle(CommitTimestamp ts)
{
	List	   *found = find_awaited(ts, InvalidOid);

	foreach_ptr(Awaited, awaited, found)
		if (awaited->slot->ts == 0 && !TransactionIdIsInProgress(awaited->xid))
			settle_slot(awaited);
	list_free_deep(found);
}

void
prepared_ring_init(void)
{
	DefineCustomIntVariable("citus.snapshot_timeout",
							"Sets how long a read waits for a transaction, prepared or committing, that decides what it sees.",
							"0 means for ever. lock_timeout counts if it is shorter.",
							&snapshot_timeout, 30 * 1000, 0, INT_MAX, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}
