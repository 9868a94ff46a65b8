/*-------------------------------------------------------------------------
 *
 * lone_write.c
 *	  Writes that commit by themselves on their node.
 *
 * The answer to such a write shows whether it was committed.  If we were
 * interrupted before, we would report a committed write as failed.  So
 * interrupts are held from sending the write until the end of the local
 * transaction, which has no other work.  A request to cancel or terminate is
 * passed on to the node, and obeyed when the node reports that it has stopped.
 * If the node doesn't answer in time, the connection is given up.
 *
 * An error releases interrupts, as all errors do.  A handler that has the
 * write sent again calls remote_release_failed_write.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "remote/private.h"

static bool interrupts_held = false;
static TimestampTz unwanted_since;	/* when a cancel request came; 0: none
									 * has */

void
remote_hold_interrupts(void)
{
	interrupts_held = true;
	HOLD_INTERRUPTS();
}

void
lone_write_begin(RemoteConn *conn)
{
	conn->priv->commits = true;
	unwanted_since = 0;
	remote_hold_interrupts();
}

/* Whether the statement should be cancelled on its node. */
bool
lone_write_unwanted(RemoteConn *conn)
{
	if (!conn->priv->commits || (!QueryCancelPending && !ProcDiePending))
		return false;
	if (unwanted_since == 0)
		unwanted_since = GetCurrentTimestamp();
	return true;
}

/*
 * Whether the node has not answered the cancel request in time: then the
 * outcome is unknown.
 */
bool
lone_write_given_up(void)
{
	return TimestampDifferenceExceeds(unwanted_since, GetCurrentTimestamp(), remote_undo_timeout());
}

/*
 * A write that commits by itself has failed: raises the error if the outcome
 * is unknown; otherwise returns, and the caller raises the error as usual.
 */
void
lone_write_failed(RemoteConn *conn, RemoteError *error)
{
	conn->priv->commits = false;
	if (remote_error_sqlstate(error) == ERRCODE_QUERY_CANCELED && (QueryCancelPending || ProcDiePending))
	{
		remote_error_free(error);
		remote_release_failed_write();
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceling statement due to user request")));
	}
	if (conn->state == REMOTE_DEAD && remote_error_sqlstate(error) == 0)
	{
		remote_error_free(error);
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("connection to node %s:%d was lost while it committed", conn->nodename, conn->nodeport),
				 errdetail("Whether the transaction was committed is not known."),
				 errhint("When the node answers again, look at the rows that the transaction would have changed.")));
	}
}

void
remote_release_failed_write(void)
{
	if (!interrupts_held)
		return;
	interrupts_held = false;
	RESUME_INTERRUPTS();
}

void
remote_release_interrupts(bool commit)
{
	if (!interrupts_held)
		return;
	interrupts_held = false;
	if (!commit)
		return;

	/* the request was too late: the statement is complete */
	QueryCancelPending = false;
	RESUME_INTERRUPTS();
}
