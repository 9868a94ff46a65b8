/*-------------------------------------------------------------------------
 *
 * transaction_end.h
 *	  Functions to be called at the end of the transaction.
 *
 * Unlike a transaction callback, which every transaction calls, this costs
 * nothing in other transactions.
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
 * Calls end->run, once, when the memory of the current transaction is
 * released: after COMMIT, ROLLBACK or PREPARE TRANSACTION, for a failed block
 * at its ROLLBACK.  At once if there is no transaction.  end must stay
 * allocated.
 */
extern void at_transaction_end(TransactionEnd *end);

#endif							/* CITUS_LIB_TRANSACTION_END_H */
