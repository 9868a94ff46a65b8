/*-------------------------------------------------------------------------
 *
 * copy_in.c
 *	  COPY .. FROM STDIN on a connection.
 *
 * libpq has no COPY in pipeline mode, so pipeline mode is left after the
 * transaction is open and the settings are sent, and entered again at the end.
 *
 * libpq's output buffer would grow without bound if the node is slow; so
 * remote_copy_put waits when the socket takes no more, and little more than
 * the caller's last piece is buffered.
 *
 * The node may fail at any time, but libpq doesn't process errors before the
 * end of the data.  During COPY, a node sends only notices, which are reported
 * to us, and that error.  So if bytes have arrived without a notice, we end
 * the COPY as failed and get the error.  If the system doesn't report how many
 * bytes have arrived, the error is raised at the end of the data.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "remote/command_log.h"
#include "remote/identity.h"
#include "remote/private.h"

/* Bytes after which an error of the node is looked for. */
#define CHECK_INTERVAL (64 * 1024)

/* Called for each notice. */
void
copy_note_notice(RemoteConn *conn)
{
	if (conn->state == REMOTE_COPY_IN)
		conn->priv->copy_received = channel_bytes_received(&conn->priv->channel);
}

/* Sends all buffered output; a failure is reported when the answer is read. */
static void
flush_output(RemoteConn *conn)
{
	Channel    *channel = &conn->priv->channel;

	while (channel_flush(channel) && channel->unflushed && !channel->unreadable)
	{
		wait_for_conn(conn, 0);
		channel_read(channel);
	}
}

/*
 * Reads all messages outside pipeline mode; the first error stays in
 * priv->error, the tag of the last command in priv->tag.  False if the
 * deadline (0: none) passed.
 */
bool
copy_drain(RemoteConn *conn, TimestampTz deadline)
{
	RemoteConnPrivate *priv = conn->priv;

	for (;;)
	{
		switch (channel_next(&priv->channel))
		{
			case CHANNEL_NOTHING:
				if (!wait_for_conn(conn, deadline))
					return false;
				channel_read(&priv->channel);
				break;
			case CHANNEL_END:
				return true;
			case CHANNEL_LOST:
				pipeline_lost(conn);
				return true;
			case CHANNEL_COPY_IN:
				conn->state = REMOTE_COPY_IN;
				return true;
			case CHANNEL_COMPLETE:
				strlcpy(priv->tag, priv->channel.tag, sizeof(priv->tag));
				break;
			case CHANNEL_FAILED:
				if (priv->error == NULL)
					priv->error = channel_take_error(&priv->channel);
				break;
			default:
				break;
		}
	}
}

/*
 * Raises the error that was kept, with the connection as usable as it can be.
 */
static void
raise_copy_error(RemoteConn *conn)
{
	RemoteError *error = conn->priv->error;

	if (error == NULL)
		return;
	conn->priv->identity_open = false;	/* the transaction has failed, and with
										 * it the user is restored */
	conn->priv->error = NULL;
	pipeline_enter(conn);
	remote_raise(ERROR, conn, error);
}

/* The node seems to have failed: ends the COPY and raises the node's error. */
static void
fail_copy(RemoteConn *conn)
{
	conn->state = REMOTE_BUSY;
	if (!channel_copy_end(&conn->priv->channel, "unexpected message"))
		pipeline_lost(conn);
	else
	{
		flush_output(conn);
		copy_drain(conn, 0);
	}
	raise_copy_error(conn);
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("unexpected message from node %s:%d during COPY", conn->nodename, conn->nodeport)));
}

void
remote_copy_begin(RemoteConn *conn, const char *sql)
{
	Assert(conn->state == REMOTE_IDLE);

	pipeline_writes(conn);
	pipeline_begin(conn, true);
	conn->priv->identity_open = identity_begin_remote(conn, InvalidOid);
	if (conn->priv->items_head < conn->priv->items_tail)
	{
		conn->state = REMOTE_BUSY;
		pipeline_sync(conn);
	}
	pipeline_leave(conn);

	conn->state = REMOTE_BUSY;
	command_log(conn, sql);
	conn->priv->statement = pipeline_next_statement();
	if (!channel_send_script(&conn->priv->channel, sql))
		pipeline_lost(conn);
	else
	{
		flush_output(conn);
		copy_drain(conn, 0);
	}
	raise_copy_error(conn);
	if (conn->state != REMOTE_COPY_IN)
	{
		pipeline_enter(conn);
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("node %s:%d did not start a COPY", conn->nodename, conn->nodeport)));
	}
	conn->priv->copy_received = channel_bytes_received(&conn->priv->channel);
	conn->priv->copy_unchecked = 0;
	conn->priv->copy_span = trace_begin();
}

void
remote_copy_put(RemoteConn *conn, const char *data, int len)
{
	RemoteConnPrivate *priv = conn->priv;
	int			rc;

	Assert(conn->state == REMOTE_COPY_IN);

	while ((rc = channel_copy_put(&priv->channel, data, len)) <= 0)
	{
		if (rc < 0 || priv->channel.unreadable)
			fail_copy(conn);
		flush_output(conn);
	}

	priv->copy_unchecked += len;
	if (priv->copy_unchecked < CHECK_INTERVAL)
		return;
	priv->copy_unchecked = 0;
	flush_output(conn);
	if (!channel_ok(&priv->channel) || channel_bytes_received(&priv->channel) > priv->copy_received)
	{
		/* notices are handled, and counted, as they are parsed */
		channel_read(&priv->channel);
		if (!priv->channel.unreadable && channel_copy_put(&priv->channel, "", 0) > 0 &&
			channel_bytes_received(&priv->channel) <= priv->copy_received)
			return;
		fail_copy(conn);
	}
}

uint64
remote_copy_end(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	uint64		rows = 0;

	Assert(conn->state == REMOTE_COPY_IN);

	conn->state = REMOTE_BUSY;
	priv->tag[0] = '\0';
	if (!channel_copy_end(&priv->channel, NULL))
		pipeline_lost(conn);
	else
	{
		flush_output(conn);
		copy_drain(conn, 0);
	}
	raise_copy_error(conn);
	if (strncmp(priv->tag, "COPY ", 5) == 0)
		rows = strtoull(priv->tag + 5, NULL, 10);
	trace_end(&priv->copy_span, TRACE_COPY, conn->groupid, rows, NULL);
	pipeline_enter(conn);
	if (priv->identity_open)
		identity_end_remote_silently(conn);
	priv->identity_open = false;
	return rows;
}
