/*-------------------------------------------------------------------------
 *
 * one_statement.c
 *	  Transactions that consist of one statement.
 *
 * A write of one shard that is its client's whole transaction needs no
 * transaction around it on the node: the node commits it with its answer, which
 * saves the round trip of COMMIT.  That is only right if nothing can come
 * after it in this transaction, and nothing came before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/portal.h"

#include "compat/client_protocol.h"
#include "txn/private.h"

/*
 * Whether the client's next message, if it is here already, is Sync.  If it isn't
 * here, the client may go on in the same transaction.
 */
static bool
sync_follows(void)
{
	bool		follows;

	if (pq_is_reading_msg() || !pq_buffer_has_data())
		return false;
	pq_startmsgread();
	follows = pq_peekbyte() == 'S';
	pq_endmsgread();
	return follows;
}

/*
 * Whether a portal runs the client's own statement, and the transaction ends with
 * it.  Portals of the simple protocol are those that pg_cursors doesn't show; there, several
 * statements in one message make a transaction block.
 */
static bool
ends_transaction(Portal portal)
{
	if (portal->name[0] != '\0')
		return false;
	return !portal->visible || sync_follows();
}

bool
txn_is_one_statement(const PlannedStmt *statement)
{
	Portal		portal = ActivePortal;

	return portal != NULL && list_length(portal->stmts) == 1 &&
		linitial(portal->stmts) == statement &&
		whereToSendOutput == DestRemote &&
		!IsTransactionBlock() && GetCurrentTransactionNestLevel() == 1 &&
		(MyXactFlags & XACT_FLAGS_PIPELINING) == 0 &&
		XactIsoLevel == XACT_READ_COMMITTED &&
		!TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		!txn_in_use() && ends_transaction(portal);
}
