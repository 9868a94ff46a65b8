/*-------------------------------------------------------------------------
 *
 * unpublished.h
 *	  Writes that are no changes of a table, and so not published.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_UNPUBLISHED_H
#define CITUS_TXN_UNPUBLISHED_H

#include "postgres.h"

#include "replication/origin.h"

/* Whether what this session writes now is not published. */
extern bool unpublished(void);

/*
 * What is written between the two is not published.  The second is called with
 * the first one's result, also after an error.
 */
extern RepOriginId unpublished_begin(void);
extern void unpublished_end(RepOriginId before);

/* What this transaction writes from now on is not published. */
extern void unpublished_transaction(void);

#endif							/* CITUS_TXN_UNPUBLISHED_H */
