/*-------------------------------------------------------------------------
 *
 * exported_snapshot.h
 *	  Snapshots over all nodes that other sessions import.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_EXPORTED_SNAPSHOT_H
#define CITUS_TXN_EXPORTED_SNAPSHOT_H

#include "postgres.h"

/*
 * This REPEATABLE READ transaction, whose point in time is fixed, is about to
 * export its snapshot: makes the other nodes export theirs.
 */
extern void exported_snapshot_offer(void);

/*
 * This transaction has just imported the snapshot with that id on this node:
 * imports the corresponding ones of the other nodes.  False if there are none.
 */
extern bool exported_snapshot_take(const char *id);

/*
 * The id of the snapshot that this transaction imports on a node; NULL: it has
 * imported none.
 */
extern const char *exported_snapshot_of_group(int32 groupid);

/* At the end of the transaction. */
extern void exported_snapshot_end(void);

#endif							/* CITUS_TXN_EXPORTED_SNAPSHOT_H */
