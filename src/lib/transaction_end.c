/*-------------------------------------------------------------------------
 *
 * transaction_end.c
 *	  Functions to be called at the end of the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "lib/transaction_end.h"

static void
run_end(void *arg)
{
	TransactionEnd *end = arg;

	end->due = false;
	end->run();
}

void
at_transaction_end(TransactionEnd *end)
{
	if (end->due)
		return;
	if (TopTransactionContext == NULL)
	{
		end->run();
		return;
	}
	end->due = true;
	end->callback.func = run_end;
	end->callback.arg = end;
	MemoryContextRegisterResetCallback(TopTransactionContext, &end->callback);
}
