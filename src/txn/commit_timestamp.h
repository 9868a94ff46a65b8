/*-------------------------------------------------------------------------
 *
 * commit_timestamp.h
 *	  Points in the order in which transactions of all nodes commit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_COMMIT_TIMESTAMP_H
#define CITUS_TXN_COMMIT_TIMESTAMP_H

#include "postgres.h"

typedef uint64 CommitTimestamp;		/* 0: none */

/*
 * A transaction that a snapshot taken now may show, but one as of an earlier
 * timestamp must not.
 */
typedef struct LaterCommit
{
	TransactionId xid;
	bool		has_children;	/* has committed subtransactions */
} LaterCommit;

#endif							/* CITUS_TXN_COMMIT_TIMESTAMP_H */
