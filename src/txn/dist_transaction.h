/*-------------------------------------------------------------------------
 *
 * dist_transaction.h
 *	  The state of this backend's transaction, as far as other nodes know it.
 *
 * There is one object, and a participant for each connection that it has used.
 * xact_callback (transaction.c) resets them, and nothing else does: when a
 * transaction has ended here and on the other nodes.  What pointers lead to,
 * and participants, live in TopTransactionContext.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_DIST_TRANSACTION_H
#define CITUS_TXN_DIST_TRANSACTION_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/hsearch.h"
#include "utils/snapshot.h"

#include "remote/connection.h"
#include "txn/commit_timestamp.h"

/* README.md shows the transitions. */
typedef enum TxnPhase
{
	TXN_LOCAL,					/* no connection has been used */
	TXN_ACTIVE,					/* statements may have run on other nodes */
	TXN_PREPARED,				/* all writers are prepared: what this node
								 * does decides */
} TxnPhase;

/*
 * Another node's part, for one connection: RemoteConn.participant.  Its fields
 * are of the remote transaction, if there is one (conn->xact), and of what was
 * prepared on the connection.
 */
#define GID_SIZE 96

typedef struct TxnParticipant
{
	int			depth;			/* savepoints up to this local nesting level
								 * are set; 1: none */
	int			release;		/* savepoints from this level on are to be
								 * released with the next statement; 0: none */
	int			began;			/* lowest local nesting level that something
								 * was done at */
	int			read_only;		/* level since which it is read-only; 0: it is
								 * not */
	bool		guarded;		/* its innermost savepoint is txn_guard's */
	bool		prepared;		/* PREPARE TRANSACTION succeeded, or may
								 * have */
	char		gid[GID_SIZE];	/* its global identifier, "" if none */
	CommitTimestamp snapshot_timestamp; /* point in time that its next tasks
										 * read as of; 0: none */
	bool		snapshot_held;	/* was asked for its clock */
} TxnParticipant;

/*
 * The connection's participant, which is made if there is none; it is kept
 * until the local transaction has ended.
 */
extern TxnParticipant *txn_participant(RemoteConn *conn);

/* The groups whose primary connections are in a remote transaction. */
extern List *txn_groups(void);

/* A group that is none, where 0 is one. */
#define NO_GROUP (-1)

typedef struct DistTransaction
{
	TxnPhase	phase;
	bool		top_read_only;	/* in a subtransaction: the top-level
								 * transaction is read-only */
	List	   *constraint_modes;	/* of ConstraintMode, in order */

	/* Its commit. */
	uint64		number;			/* shown in active.c; 0: none */
	RemoteAnswer *decided;		/* COMMIT PREPARED for the writers, unless it
								 * is prepared itself */
	int			ndecided;
	int32		last_group;		/* see txn_commit_last */
	List	   *last_relids;
	bool		in_commit_ring; /* has an entry there */
	CommitTimestamp children_clock; /* the latest of its writers', if it is to
									 * be prepared itself */
	struct PreparedSlot *preparing; /* its slot then */
	bool		parked;			/* its client prepares it, or prepares the one
								 * that this is a participant of */

	/*
	 * Its notifications (notify.c).
	 */
	List	   *notes;			/* of NotedMessage *, in order */
	HTAB	   *note_set;		/* of these; the server drops duplicates,
								 * too */
	RemoteAnswer *note_answers; /* of nodes, after notify_before_commit */
	int			nnote_answers;

	/*
	 * The point in time that it reads as of at REPEATABLE READ, as chosen here
	 * (dist_snapshot.c).
	 */
	CommitTimestamp ts;			/* 0: none yet */
	Bitmapset  *timestamp_groups;	/* other nodes that were asked */
	Snapshot	own_snapshot;	/* registered, if it isn't the transaction's
								 * own */
	List	   *taken_exports;	/* imported: of NodeExport */
	char	   *offer_path;		/* the file for who imports it, if there is
								 * one */
	bool		offer_complete;

	/*
	 * What other nodes' statements read as of here (snapshot.c).
	 */
	Snapshot	held_snapshot;	/* registered */
	List	   *kept_snapshots; /* of KeptSnapshot */
	CommitTimestamp moved_to;		/* the timestamp of the transaction's
									 * snapshot; 0: none */

	/* The nodes that it used at SERIALIZABLE (serializable.c). */
	int32		only_group;		/* the only one so far, or NO_GROUP */
	bool		over_nodes;		/* a second one has been used */
} DistTransaction;

extern DistTransaction dist_transaction;

#endif							/* CITUS_TXN_DIST_TRANSACTION_H */
