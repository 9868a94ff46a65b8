/*-------------------------------------------------------------------------
 *
 * finish.c
 *	  Stopping statements, and the commands that end transactions.
 *
 * These functions are called while a transaction commits or aborts, so they
 * raise no errors of nodes, allocate only libpq's memory, and wait for a
 * bounded time.  A connection whose outstanding answers can't be read in time
 * becomes REMOTE_DEAD, and is closed at the end of the transaction; the node
 * then rolls back what isn't prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "lib/debug_point.h"
#include "remote/cancel.h"
#include "remote/private.h"

/*
 * A statement with more results to come than this is cancelled rather than
 * read to its end.
 */
#define MAX_RESULTS_AT_ONCE 100

/* How long a backend that ends waits for nodes to take its cancel requests. */
#define EXIT_TIMEOUT_MS 5000

/* Asks the node to cancel the connection's statement, without waiting. */
static void
ask_to_cancel(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (priv->cancel_fd >= 0 || !channel_ok(&priv->channel))
		return;
	priv->cancel_fd = cancel_start(&priv->channel);
	if (priv->cancel_fd < 0)
		conn->state = REMOTE_DEAD;
}

/*
 * Waits until the request, if there is one, has had its effect: it must not
 * hit a later statement.  If it can't be completed, the connection is
 * unusable.
 */
static void
finish_cancelling(RemoteConn *conn, TimestampTz deadline)
{
	RemoteConnPrivate *priv = conn->priv;
	int			fd = priv->cancel_fd;

	TimestampTz patience = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCEL_TIMEOUT_MS);

	if (fd < 0)
		return;
	priv->cancel_fd = -1;
	if (!cancel_finish(fd, Min(deadline, patience)))
		conn->state = REMOTE_DEAD;
}

void
finish_ask_again(RemoteConn *conn)
{
	finish_cancelling(conn, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), node_connection_timeout));
	ask_to_cancel(conn);
}

/*
 * Reads some of the data that have arrived, without waiting; returns whether
 * nothing is outstanding then.  There is a limit, since a node may send faster
 * than we discard.
 */
static bool
at_rest(RemoteConn *conn)
{
	RemotePoll	found = REMOTE_ROW;

	for (int i = 0; i < MAX_RESULTS_AT_ONCE && found == REMOTE_ROW; i++)
		found = pipeline_next(conn);
	return found == REMOTE_DONE;
}

/*
 * Reads outstanding answers until the deadline, repeating the cancel request.
 */
static void
drain_cancelled(RemoteConn *conn, TimestampTz deadline)
{
	while (conn->state == REMOTE_BUSY)
	{
		TimestampTz next = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCEL_REPEAT_MS);

		if (pipeline_drain(conn, Min(next, deadline)))
			break;
		finish_cancelling(conn, deadline);
		if (wait_remaining(deadline) <= 0)
			conn->state = REMOTE_DEAD;
		else if (conn->state == REMOTE_BUSY)
			ask_to_cancel(conn);
	}
	finish_cancelling(conn, deadline);
	pipeline_ignore_outstanding(conn);
}

static void
drain_copy(RemoteConn *conn, TimestampTz deadline)
{
	bool		drained = copy_drain(conn, deadline);

	finish_cancelling(conn, deadline);
	remote_error_free(conn->priv->error);
	conn->priv->error = NULL;
	if (!drained)
		conn->state = REMOTE_DEAD;
	pipeline_enter(conn);
}

/* Tells the node to stop; drain_conn reads its further messages. */
static void
stop_statement(RemoteConn *conn)
{
	if (conn->state == REMOTE_CONNECTING)
		conn->state = REMOTE_DEAD;
	if (conn->state == REMOTE_DEAD)
		return;
	if (conn->priv->ending && conn->state == REMOTE_IDLE)
		conn->state = REMOTE_BUSY;
	if (conn->state == REMOTE_COPY_IN)
	{
		conn->state = REMOTE_BUSY;
		if (!channel_copy_end(&conn->priv->channel, "transaction aborted"))
			conn->state = REMOTE_DEAD;
		return;
	}
	if (!conn->priv->channel.pipelined)
	{
		if (conn->state == REMOTE_BUSY && channel_is_busy(&conn->priv->channel))
			ask_to_cancel(conn);
		return;
	}
	pipeline_ignore_outstanding(conn);
	if (conn->state == REMOTE_BUSY && !at_rest(conn))
		ask_to_cancel(conn);
}

static void
drain_conn(RemoteConn *conn, TimestampTz deadline)
{
	if (conn->priv->plain)
	{
		finish_cancelling(conn, deadline);
		conn->state = REMOTE_DEAD;
	}
	if (conn->state == REMOTE_DEAD)
		return;
	if (!conn->priv->channel.pipelined)
		drain_copy(conn, deadline);
	else
		drain_cancelled(conn, deadline);
}

void
remote_settle(RemoteConn *conn, long timeout_ms)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	if (!pipeline_past_barrier(conn, deadline))
		conn->state = REMOTE_DEAD;
	stop_statement(conn);
	drain_conn(conn, deadline);
	if (conn->state == REMOTE_DEAD)
		connect_hide(conn);
}

void
remote_plain_stop(RemoteConn *conn, long timeout_ms)
{
	if (conn->state != REMOTE_BUSY)
		return;
	ask_to_cancel(conn);
	finish_cancelling(conn, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms));
	conn->state = REMOTE_DEAD;
}

/*
 * Barriers don't count: all transactions end now, whatever a request hits, and
 * no node's request is to wait for another node.
 */
void
remote_settle_all(long timeout_ms)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		stop_statement(conn);
	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		drain_conn(conn, deadline);
}

/*
 * Closes all connections when the backend ends, and cancels their statements.
 */
void
finish_at_exit(void)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), EXIT_TIMEOUT_MS);
	dlist_mutable_iter iter;

	for (RemoteConn *conn = remote_following(NULL); conn != NULL; conn = remote_following(conn))
		if (conn->state == REMOTE_BUSY)
			ask_to_cancel(conn);
	dlist_foreach_modify(iter, &remote_conns)
	{
		RemoteConn *conn = &dlist_container(RemoteConnPrivate, link, iter.cur)->conn;

		finish_cancelling(conn, deadline);
		connect_leave(conn);
	}
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
	conn->priv->statement = pipeline_next_statement();
	conn->state = REMOTE_BUSY;
	pipeline_send_alone(conn, answer->sql, ITEM_STATEMENT);
}

/*
 * Reads the answer to a command of a broadcast; connections without an answer
 * at the deadline become unusable.
 */
static void
broadcast_receive(RemoteAnswer *answer, TimestampTz deadline)
{
	RemoteConn *conn = answer->conn;

	if (conn->state == REMOTE_BUSY && !pipeline_drain(conn, deadline))
		conn->state = REMOTE_DEAD;
	answer->error = conn->priv->error;
	conn->priv->error = NULL;
	if (answer->error == NULL && conn->state == REMOTE_IDLE)
		strlcpy(answer->tag, conn->priv->tag, sizeof(answer->tag));
}

void
remote_broadcast(RemoteAnswer *answers, int n, long timeout_ms, const char *between)
{
	TimestampTz deadline = timeout_ms < 0 ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	for (int i = 0; i < n; i++)
	{
		if (i > 0 && between != NULL)
			DEBUG_POINT(between);
		broadcast_send(&answers[i]);
	}

	for (int i = 0; i < n; i++)
		broadcast_receive(&answers[i], deadline);
}

void
remote_stop_broadcast(RemoteAnswer *answers, int n, long timeout_ms)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	HOLD_INTERRUPTS();
	for (int i = 0; i < n; i++)
		if (answers[i].conn->state == REMOTE_BUSY)
			ask_to_cancel(answers[i].conn);
	for (int i = 0; i < n; i++)
	{
		finish_cancelling(answers[i].conn, deadline);
		if (answers[i].tag[0] == '\0' && answers[i].error == NULL)
			broadcast_receive(&answers[i], deadline);
	}
	RESUME_INTERRUPTS();
}

uint64
remote_reported_clock(RemoteConn *conn)
{
	const char *clock = channel_parameter(&conn->priv->channel, "citus.clock");

	return clock == NULL ? 0 : strtou64(clock, NULL, 10);
}
