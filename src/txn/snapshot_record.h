/*-------------------------------------------------------------------------
 *
 * snapshot_record.h
 *	  Our records in the WAL: marks, and subtransactions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_SNAPSHOT_RECORD_H
#define CITUS_TXN_SNAPSHOT_RECORD_H

#include "postgres.h"

#include "access/xlogdefs.h"

#include "txn/commit_timestamp.h"

/* A transaction that a mark lists (snapshot_mark.c). */
typedef struct MarkedCommit
{
	CommitTimestamp ts;
	CommitTimestamp mapped;		/* as in RingEntry */
	TransactionId xid;
	Oid			database;
	uint32		has_children;
	uint32		unused;
} MarkedCommit;

typedef struct MarkRecord
{
	CommitTimestamp ts;			/* its time */
	CommitTimestamp clock;			/* when it was written */
	uint32		n;
	uint32		unused;
	MarkedCommit commits[FLEXIBLE_ARRAY_MEMBER];
} MarkRecord;

/* Replays a mark; in the startup process. */
typedef void (*MarkRedo) (const MarkRecord *mark);

/*
 * While shared_preload_libraries are loaded: makes the records known to the
 * server.  False if another library has their id.
 */
extern bool snapshot_record_init(MarkRedo redo);

/* Inserts a mark into the WAL; returns its end. */
extern XLogRecPtr snapshot_record_mark(const MarkRecord *mark);

/* Inserts the subtransactions of a transaction. */
extern void snapshot_record_children(TransactionId xid, int n, const TransactionId *children);

#endif							/* CITUS_TXN_SNAPSHOT_RECORD_H */
