/*-------------------------------------------------------------------------
 *
 * unpublished.h
 *	  Writes that logical decoding ignores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_UNPUBLISHED_H
#define CITUS_TXN_UNPUBLISHED_H

#include "postgres.h"

#include "compat/replication_origin.h"

/* Whether what this session writes now is not published. */
extern bool unpublished(void);

/*
 * Writes between the two calls are not published.  The second is called with
 * the first one's result, also after an error.
 */
extern ReplOriginId unpublished_begin(void);
extern void unpublished_end(ReplOriginId before);

/*
 * Nothing that this transaction writes on this node is published: its commit
 * is marked, too.  For transactions that only copy: moves, splits,
 * create_distributed_table_concurrently() and the filling of a new node, of
 * which none runs in a transaction block of a client that has written here.
 */
extern void unpublished_transaction(void);

#endif							/* CITUS_TXN_UNPUBLISHED_H */
