/*-------------------------------------------------------------------------
 *
 * transaction_end.h
 *	  What is to be forgotten when the transaction is over.
 *
 * Unlike a transaction callback, which each transaction of each session calls,
 * it costs nothing where there is nothing to forget.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_TRANSACTION_END_H
#define CITUS_LIB_TRANSACTION_END_H

#include "postgres.h"

typedef struct TransactionEnd
{
	void		(*run) (void);	/* raises no error, reads no catalog */
	bool		due;
	MemoryContextCallback callback;
} TransactionEnd;

/*
 * Has end->run called, once, when the memory of the running transaction goes:
 * after COMMIT, ROLLBACK or PREPARE TRANSACTION, for a failed block with its
 * ROLLBACK.  At once if there is no transaction.  end must live on.
 */
extern void at_transaction_end(TransactionEnd *end);

#endif							/* CITUS_LIB_TRANSACTION_END_H */
