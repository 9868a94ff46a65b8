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

#include "lib/transaction_end.h"
#include "txn/unpublished.h"

bool
unpublished(void)
{
	return replorigin_session_origin == DoNotReplicateId;
}

RepOriginId
unpublished_begin(void)
{
	RepOriginId before = replorigin_session_origin;

	replorigin_session_origin = DoNotReplicateId;
	return before;
}

void
unpublished_end(RepOriginId before)
{
	replorigin_session_origin = before;
}

static void
end_unpublished_transaction(void)
{
	replorigin_session_origin = InvalidRepOriginId;
}

void
unpublished_transaction(void)
{
	static TransactionEnd end = {.run = end_unpublished_transaction};

	if (replorigin_session_origin != InvalidRepOriginId)
		return;
	replorigin_session_origin = DoNotReplicateId;
	at_transaction_end(&end);
}
