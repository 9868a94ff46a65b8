/*-------------------------------------------------------------------------
 *
 * commit_ring_shared.h
 *	  The shared memory of commit_ring.c and prepared_ring.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_COMMIT_RING_SHARED_H
#define CITUS_TXN_COMMIT_RING_SHARED_H

#include "postgres.h"

#include "access/xact.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "lib/shared_area.h"
#include "txn/commit_timestamp.h"

/* A transaction that got its timestamp; it may have been aborted since. */
typedef struct RingEntry
{
	TransactionId xid;
	Oid			database;
	bool		has_children;
	CommitTimestamp ts;
	CommitTimestamp lowest;			/* the true timestamp is not known, and in
									 * lowest .. ts; else the same as ts */
	CommitTimestamp entered;		/* the clock when it was entered; grows
									 * along the ring */
	CommitTimestamp mapped;			/* its subtransactions were written into
									 * the WAL later than this; 0: not */
} RingEntry;

/* The transaction that a backend is committing. */
typedef struct CommittingSlot
{
	TransactionId xid;			/* InvalidTransactionId: nothing */
	Oid			database;
	CommitTimestamp ts;
} CommittingSlot;

/* A prepared transaction, from before it is prepared until after its end. */
typedef struct PreparedSlot
{
	TransactionId xid;			/* InvalidTransactionId: slot is free */
	Oid			database;
	bool		has_children;
	bool		mapped;			/* its subtransactions were written into the
								 * WAL later than after */
	bool		distributed;	/* on more nodes than this one */
	bool		parked;			/* a client decides, at an unknown time */
	CommitTimestamp after;			/* its timestamp is later than this */
	CommitTimestamp ts;			/* 0: not decided, as far as we know */
	int			owner;			/* the process that prepared it; 0: it has
								 * ended, so that recovery has to end the
								 * transaction */
	char		gid[GIDSIZE];
} PreparedSlot;

typedef struct CommitRing
{
	SharedHeader header;		/* its lock: of all but slots that their owner
								 * clears */
	ConditionVariable done;		/* a slot was cleared */
	CommitTimestamp clock;
	CommitTimestamp forgotten;		/* entered of the last entry that was
								 * overwritten */
	uint64		nentered;		/* entries ever entered */
	TimestampTz marked_until;	/* marks are written into the WAL until then */
	bool		loaded;			/* prepared transactions that survived a
								 * restart are in their slots */
	pg_atomic_uint32 ncommitting;	/* slots of committing that are in use;
									 * grows under the lock */
	CommittingSlot *committing; /* one per backend */
	PreparedSlot *prepared;		/* max_prepared_xacts */
	int			prepared_limit; /* no slot from here on is in use */
	pg_atomic_uint32 nleft;		/* slots that are left for recovery; changes
									 * under the lock */
	RingEntry	entries[FLEXIBLE_ARRAY_MEMBER];
} CommitRing;

extern CommitRing *commit_ring;

/* Setting citus.commit_ring_size. */
extern int	commit_ring_size;

/* Setting citus.snapshot_timeout: milliseconds, 0: no limit. */
extern int	snapshot_timeout;

/*
 * Under the lock, exclusively: the next timestamp, later than later_than; and
 * the entry of a commit.
 */
extern CommitTimestamp commit_ring_next(CommitTimestamp later_than);
extern void commit_ring_enter(TransactionId xid, Oid database, bool has_children, CommitTimestamp mapped,
							  CommitTimestamp lowest, CommitTimestamp ts);

/*
 * Under the lock: whether a backend is committing with a timestamp up to the
 * given one, in a database, or in any (InvalidOid).
 */
extern bool commit_ring_has_committing(CommitTimestamp ts, Oid database);

/*
 * Whether marks are written (snapshot_mark.c), so that transactions with
 * subtransactions must write these, after they were entered.
 */
extern bool commit_ring_is_marked(void);

/* Sets the clock to at least ts. */
extern void commit_ring_set(CommitTimestamp ts);

/*
 * Under the lock, exclusively: the commit of the entry with that number, from
 * 1, has failed.
 */
extern void commit_ring_cancel(uint64 number);

/*
 * Waits for a prepared transaction that may get a timestamp up to the given
 * one; false if there is none.
 */
extern bool prepared_ring_await(CommitTimestamp ts);

/*
 * Under the lock: whether a prepared transaction, of any database, may get a
 * timestamp up to the given one, or is being committed with one.
 */
extern bool prepared_ring_has_undecided(CommitTimestamp ts);

/*
 * Forgets those of them that have ended already, as prepared_ring_await does.
 */
extern void prepared_ring_settle(CommitTimestamp ts);

/*
 * Notes what was prepared before the server was started or promoted, and sets
 * the clock, unless that was done.
 */
extern void prepared_ring_load(void);

#endif							/* CITUS_TXN_COMMIT_RING_SHARED_H */
