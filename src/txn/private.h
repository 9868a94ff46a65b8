/*-------------------------------------------------------------------------
 *
 * private.h
 *	  What the files of src/txn share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_PRIVATE_H
#define CITUS_TXN_PRIVATE_H

#include "postgres.h"

#include "access/xact.h"
#include "nodes/pg_list.h"
#include "utils/hsearch.h"

#include "txn/transaction.h"

/* commit.c: the parts of the end of a transaction. */
extern void commit_remote(bool require_2pc);	/* before the local commit */
extern void commit_prepared(void);	/* after it */
extern void abort_remote(void);

/* transaction.c: whether the transaction has used connections. */
extern bool txn_in_use(void);

/* active.c: the transactions of this node that are committing in two phases. */
extern void active_init(void);

/* Gives this backend's transaction a number that no other one of the node ever had, and shows it to recovery. */
extern uint64 active_begin(void);
extern void active_end(void);

/* Counts transactions that this node began and left for recovery to finish. */
extern void active_left_unfinished(void);
extern uint64 active_unfinished_count(void);

/* A hash table of the numbers of all that are active in this database, in CurrentMemoryContext. */
extern HTAB *active_numbers(void);

/* commit_record.c: rows of pg_dist_transaction. */
extern void commit_record_insert(int32 groupid, const char *gid);

/* Global ids (List of char *) of the committed records of a group, in CurrentMemoryContext. */
extern List *commit_record_list(int32 groupid);
extern void commit_record_delete(int32 groupid, List *gids);

/* gid.c */
extern void gid_make(char *gid, Size size, int32 group, uint64 number, int connection);

/* The transaction number in a gid that group began, or false. */
extern bool gid_parse(const char *gid, int32 group, uint64 *number);

#endif							/* CITUS_TXN_PRIVATE_H */
