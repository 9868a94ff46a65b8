/*-------------------------------------------------------------------------
 *
 * finish.c
 *	  Stopping what runs, and the commands that end transactions.
 *
 * What is here is called while a transaction commits or aborts, so it raises no
 * error of a node, allocates from libpq's memory only, and waits for a bounded time.
 * A connection that can't be brought to rest is REMOTE_DEAD, and closed with the
 * transaction; the node then rolls back what isn't prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "remote/private.h"

/* A cancel request that comes before the statement has no effect, so it is repeated. */
#define CANCEL_REPEAT_MS 500

/* A statement with more results to come than this is cancelled rather than read to its end. */
#define MAX_RESULTS_AT_ONCE 100

void
remote_cancel(RemoteConn *conn)
{
	PGcancel   *cancel;
	char		message[256];

	if (conn->pg == NULL || PQstatus(conn->pg) != CONNECTION_OK)
		return;
	cancel = PQgetCancel(conn->pg);
	if (cancel == NULL)
		return;
	if (!PQcancel(cancel, message, sizeof(message)))
		conn->state = REMOTE_DEAD;	/* what can't be reached won't answer */
	PQfreeCancel(cancel);
}

/*
 * Takes in some of what has arrived, without waiting; whether nothing is
 * outstanding then.  A node can send faster than we throw away, so there's a limit.
 */
static bool
at_rest(RemoteConn *conn)
{
	bool		done = false;

	for (int i = 0; i < MAX_RESULTS_AT_ONCE && !done; i++)
	{
		PGresult   *res = pipeline_next(conn, &done);

		if (res == NULL)
			break;
		PQclear(res);
	}
	return done;
}

/* Reads what is outstanding until the deadline, cancelling again and again. */
static void
drain_cancelled(RemoteConn *conn, TimestampTz deadline)
{
	while (conn->state == REMOTE_BUSY)
	{
		TimestampTz next = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCEL_REPEAT_MS);

		if (pipeline_drain(conn, Min(next, deadline)))
			break;
		if (wait_remaining(deadline) <= 0)
			conn->state = REMOTE_DEAD;
		else
			remote_cancel(conn);
	}
	pipeline_ignore_outstanding(conn);
}

static void
drain_copy(RemoteConn *conn, TimestampTz deadline)
{
	bool		drained = copy_drain(conn, deadline);

	if (conn->priv->error != NULL)
	{
		PQclear(conn->priv->error);
		conn->priv->error = NULL;
	}
	if (!drained)
		conn->state = REMOTE_DEAD;
	pipeline_enter(conn);
}

/* Tells the node to stop; what it then says is read by drain. */
static void
stop(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONNECTING)
		conn->state = REMOTE_DEAD;
	if (conn->state == REMOTE_DEAD)
		return;
	if (conn->priv->plain)
	{
		if (conn->state == REMOTE_BUSY)
			remote_cancel(conn);
		conn->state = REMOTE_DEAD;
		return;
	}
	if (conn->state == REMOTE_COPY_IN)
	{
		conn->state = REMOTE_BUSY;
		if (PQputCopyEnd(conn->pg, "transaction aborted") < 0)
			conn->state = REMOTE_DEAD;
		return;
	}
	if (PQpipelineStatus(conn->pg) == PQ_PIPELINE_OFF)
	{
		if (conn->state == REMOTE_BUSY && PQisBusy(conn->pg))
			remote_cancel(conn);
		return;
	}
	pipeline_ignore_outstanding(conn);
	if (conn->state == REMOTE_BUSY && !at_rest(conn))
		remote_cancel(conn);
}

static void
drain(RemoteConn *conn, TimestampTz deadline)
{
	if (conn->state == REMOTE_DEAD)
		return;
	if (PQpipelineStatus(conn->pg) == PQ_PIPELINE_OFF)
		drain_copy(conn, deadline);
	else
		drain_cancelled(conn, deadline);
}

void
remote_settle(RemoteConn *conn, long timeout_ms)
{
	stop(conn);
	drain(conn, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms));
}

void
remote_settle_all(long timeout_ms)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		stop(conn);
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		drain(conn, deadline);
}

/* Sends one command of a broadcast. */
static void
broadcast_send(RemoteAnswer *answer)
{
	RemoteConn *conn = answer->conn;

	answer->tag[0] = '\0';
	answer->error = NULL;
	if (conn->state != REMOTE_IDLE)
		return;
	conn->priv->tag[0] = '\0';
	conn->state = REMOTE_BUSY;
	if (!PQsendQueryParams(conn->pg, answer->sql, 0, NULL, NULL, NULL, NULL, 0))
	{
		pipeline_lost(conn, NULL);
		return;
	}
	pipeline_sent(conn, ITEM_STATEMENT);
	conn->priv->statement = pipeline_next_statement();
	if (!PQpipelineSync(conn->pg))
	{
		pipeline_lost(conn, NULL);
		return;
	}
	pipeline_sent(conn, ITEM_SYNC);
	if (!pipeline_flush(conn))
		pipeline_lost(conn, NULL);
}

void
remote_broadcast(RemoteAnswer *answers, int n, long timeout_ms)
{
	TimestampTz deadline = timeout_ms < 0 ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	for (int i = 0; i < n; i++)
		broadcast_send(&answers[i]);

	for (int i = 0; i < n; i++)
	{
		RemoteConn *conn = answers[i].conn;

		if (conn->state == REMOTE_BUSY && !pipeline_drain(conn, deadline))
			conn->state = REMOTE_DEAD;
		answers[i].error = conn->priv->error;
		conn->priv->error = NULL;
		if (answers[i].error == NULL && conn->state == REMOTE_IDLE)
			strlcpy(answers[i].tag, conn->priv->tag, sizeof(answers[i].tag));
	}
}
