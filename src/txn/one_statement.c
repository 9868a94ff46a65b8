/*-------------------------------------------------------------------------
 *
 * one_statement.c
 *	  Transactions that consist of one statement.
 *
 * A write of one shard that is its client's whole transaction needs no
 * transaction block on the node: the node commits it before it answers, which
 * saves the round trip of COMMIT.  That requires that nothing came before it
 * in this transaction and nothing can follow.  What follows includes sending
 * the answer and, at the end of the transaction, notifications and cursors
 * WITH HOLD of functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

#include "compat/client_protocol.h"
#include "remote/wire_type.h"
#include "txn/dist_transaction.h"
#include "txn/private.h"
#include "txn/transaction.h"

/* Start of the last transaction that has declared a cursor. */
static TimestampTz cursor_transaction = 0;

void
txn_note_cursor(void)
{
	cursor_transaction = GetCurrentTransactionStartTimestamp();
}

/*
 * Whether the client's next message has arrived and is Sync.  Otherwise the
 * client may continue the same transaction.
 */
static bool
sync_follows(void)
{
	bool		follows;

	if (pq_is_reading_msg() || pq_buffer_remaining_data() == 0)
		return false;
	pq_startmsgread();
	follows = pq_peekbyte() == 'S';
	pq_endmsgread();
	return follows;
}

/*
 * Whether a portal runs the client's own statement, and the transaction ends
 * with it.  Portals of the simple protocol are those that pg_cursors doesn't
 * show; there, several statements in one message make a transaction block.
 */
static bool
ends_transaction(Portal portal)
{
	if (portal->name[0] != '\0')
		return false;
	return !portal->visible || sync_follows();
}

/*
 * Whether sending rows of these columns to the client can't fail, so that the
 * statement can't fail after the node has committed.  That holds for built-in
 * types, unless text is converted to an encoding that may lack a character.
 */
static bool
answer_is_sure(TupleDesc answer)
{
	if (answer == NULL || answer->natts == 0)
		return true;
	if (pg_get_client_encoding() != GetDatabaseEncoding())
		return false;
	for (int i = 0; i < answer->natts; i++)
	{
		Oid			type = TupleDescAttr(answer, i)->atttypid;

		if (type >= FirstGenbkiObjectId || !wire_type(type).binary)
			return false;
	}
	return true;
}

bool
txn_is_one_statement(const PlannedStmt *statement, TupleDesc answer)
{
	Portal		portal = ActivePortal;

	return portal != NULL && list_length(portal->stmts) == 1 &&
		linitial(portal->stmts) == statement &&
		whereToSendOutput == DestRemote &&
		!IsTransactionBlock() && GetCurrentTransactionNestLevel() == 1 &&
		(MyXactFlags & XACT_FLAGS_PIPELINING) == 0 &&
		XactIsoLevel == XACT_READ_COMMITTED &&
		dist_transaction.phase == TXN_LOCAL && answer_is_sure(answer) && ends_transaction(portal) &&
		!commit_can_fail_here() && cursor_transaction != GetCurrentTransactionStartTimestamp();
}
