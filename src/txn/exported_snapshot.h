/*-------------------------------------------------------------------------
 *
 * exported_snapshot.h
 *	  Snapshots over all nodes that other sessions take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_EXPORTED_SNAPSHOT_H
#define CITUS_TXN_EXPORTED_SNAPSHOT_H

#include "postgres.h"

/*
 * This REPEATABLE READ transaction, whose point in time is fixed, is about to
 * export its snapshot: has the other nodes export theirs.
 */
extern void exported_snapshot_offer(void);

/*
 * This transaction has just taken the snapshot of that id on this node: takes
 * those of the other nodes that belong to it.  False if there are none.
 */
extern bool exported_snapshot_take(const char *id);

/*
 * The id of the snapshot that this transaction takes on a node; NULL: it has
 * none from another session.
 */
extern const char *exported_snapshot_of_group(int32 groupid);

/* At the end of the transaction. */
extern void exported_snapshot_end(void);

#endif							/* CITUS_TXN_EXPORTED_SNAPSHOT_H */
