/*-------------------------------------------------------------------------
 *
 * unpublished.c
 *	  Writes that logical decoding ignores.
 *
 * Rows that a move, split or conversion copies don't change the table.  They
 * are written to the WAL with a special replication origin, and the decoder
 * (decoding/decoder.c) ignores them.  No other code of the server, or of ours,
 * uses this origin.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat/replication_origin.h"
#include "lib/transaction_end.h"
#include "txn/unpublished.h"

bool
unpublished(void)
{
	return SESSION_ORIGIN == DoNotReplicateId;
}

ReplOriginId
unpublished_begin(void)
{
	ReplOriginId before = SESSION_ORIGIN;

	SESSION_ORIGIN = DoNotReplicateId;
	return before;
}

void
unpublished_end(ReplOriginId before)
{
	SESSION_ORIGIN = before;
}

static void
end_unpublished_transaction(void)
{
	SESSION_ORIGIN = InvalidReplOriginId;
}

void
unpublished_transaction(void)
{
	static TransactionEnd end = {.run = end_unpublished_transaction};

	if (SESSION_ORIGIN != InvalidReplOriginId)
		return;
	SESSION_ORIGIN = DoNotReplicateId;
	at_transaction_end(&end);
}
