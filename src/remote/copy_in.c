/*-------------------------------------------------------------------------
 *
 * copy_in.c
 *	  COPY .. FROM STDIN on a connection.
 *
 * libpq has no COPY in pipeline mode, so the mode is left, once the transaction
 * is open and the settings are sent, and taken up again at the end.  libpq's
 * output buffer would grow without bound if the node didn't keep up;
 * remote_copy_put waits as soon as the socket takes no more, and so holds
 * little more than the caller's last piece.
 *
 * The node may fail at any time, but libpq doesn't look at errors before the data
 * end.  All that a node sends during COPY are notices, of which we hear, and
 * that error: so when bytes have arrived without a notice, we end the COPY as failed and
 * get to know the reason.  Where the system doesn't tell how many bytes have
 * arrived, the error shows at the end of the data.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

#include "miscadmin.h"

#include "remote/identity.h"
#include "remote/private.h"

/* Bytes after which an error of the node is looked for. */
#define CHECK_INTERVAL (64 * 1024)

/* How many bytes have arrived on the connection so far; 0 if that isn't known. */
static uint64
bytes_received(RemoteConn *conn)
{
#ifdef __linux__
	struct tcp_info info = {0};
	socklen_t	len = sizeof(info);

	if (getsockopt(PQsocket(conn->priv->pg), IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
		len >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received))
		return info.tcpi_bytes_received;
#endif
	return 0;
}

/* Called for each notice. */
void
copy_note_notice(RemoteConn *conn)
{
	if (conn->state == REMOTE_COPY_IN)
		conn->priv->copy_received = bytes_received(conn);
}

/* Sends output on until the socket has taken all of it. */
static void
flush_output(RemoteConn *conn)
{
	for (;;)
	{
		int			rc = PQflush(conn->priv->pg);

		if (rc <= 0)
		{
			conn->priv->unflushed = false;
			return;				/* a failure shows when the result is read */
		}
		conn->priv->unflushed = true;
		wait_for_conn(conn, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE, 0);
		if (!PQconsumeInput(conn->priv->pg))
			return;
	}
}

/*
 * Reads all results outside pipeline mode; the first error stays in priv->error,
 * the tag of the last command in priv->tag.  False if the deadline (0: none) passed.
 */
bool
copy_drain(RemoteConn *conn, TimestampTz deadline)
{
	RemoteConnPrivate *priv = conn->priv;

	for (;;)
	{
		PGresult   *res;

		while (PQisBusy(conn->priv->pg))
		{
			priv->unflushed = PQflush(conn->priv->pg) > 0;
			if (!wait_for_conn(conn, WL_SOCKET_READABLE |
							   (priv->unflushed ? WL_SOCKET_WRITEABLE : 0), deadline))
				return false;
			if (!PQconsumeInput(conn->priv->pg))
				break;
		}
		res = PQgetResult(conn->priv->pg);
		if (res == NULL)
			return true;
		if (PQstatus(conn->priv->pg) != CONNECTION_OK)
		{
			pipeline_lost(conn, res);
			return true;
		}
		if (PQresultStatus(res) == PGRES_COPY_IN)
		{
			PQclear(res);
			conn->state = REMOTE_COPY_IN;
			return true;
		}
		if (PQresultStatus(res) == PGRES_COMMAND_OK)
			strlcpy(priv->tag, PQcmdStatus(res), sizeof(priv->tag));
		if (PQresultStatus(res) == PGRES_FATAL_ERROR && priv->error == NULL)
			priv->error = res;
		else
			PQclear(res);
	}
}

/* Raises the error that was kept, with the connection as usable as it can be. */
static void
raise_copy_error(RemoteConn *conn)
{
	RemoteError *error = conn->priv->error;

	if (error == NULL)
		return;
	conn->priv->identity_open = false;	/* the transaction has failed, and with it the user is restored */
	conn->priv->error = NULL;
	pipeline_enter(conn);
	remote_raise(ERROR, conn, error);
}

/* The node has failed, as it seems: ends the COPY and raises the reason. */
static void
fail_copy(RemoteConn *conn)
{
	conn->state = REMOTE_BUSY;
	if (PQputCopyEnd(conn->priv->pg, "unexpected message") < 0)
		pipeline_lost(conn, NULL);
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

	conn->xact_wrote = true;
	pipeline_begin(conn, true);
	conn->priv->identity_open = identity_begin_remote(conn, InvalidOid);
	if (conn->priv->items_head < conn->priv->items_tail)
	{
		conn->state = REMOTE_BUSY;
		pipeline_sync(conn);
	}
	pipeline_leave(conn);

	conn->state = REMOTE_BUSY;
	conn->priv->statement = pipeline_next_statement();
	if (!PQsendQuery(conn->priv->pg, sql))
		pipeline_lost(conn, NULL);
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
	conn->priv->copy_received = bytes_received(conn);
	conn->priv->copy_unchecked = 0;
}

void
remote_copy_put(RemoteConn *conn, const char *data, int len)
{
	RemoteConnPrivate *priv = conn->priv;

	Assert(conn->state == REMOTE_COPY_IN);

	for (;;)
	{
		int			rc = PQputCopyData(conn->priv->pg, data, len);

		if (rc > 0)
			break;
		if (rc < 0 || PQflush(conn->priv->pg) < 0)
			fail_copy(conn);
		wait_for_conn(conn, WL_SOCKET_WRITEABLE, 0);
	}

	priv->copy_unchecked += len;
	if (priv->copy_unchecked < CHECK_INTERVAL)
		return;
	priv->copy_unchecked = 0;
	flush_output(conn);
	if (PQstatus(conn->priv->pg) != CONNECTION_OK || bytes_received(conn) > priv->copy_received)
	{
		/* notices are handled, and counted, as they are parsed */
		if (PQconsumeInput(conn->priv->pg) && PQputCopyData(conn->priv->pg, "", 0) > 0 &&
			bytes_received(conn) <= priv->copy_received)
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
	if (PQputCopyEnd(conn->priv->pg, NULL) < 0)
		pipeline_lost(conn, NULL);
	else
	{
		flush_output(conn);
		copy_drain(conn, 0);
	}
	raise_copy_error(conn);
	if (strncmp(priv->tag, "COPY ", 5) == 0)
		rows = strtoull(priv->tag + 5, NULL, 10);
	pipeline_enter(conn);
	if (priv->identity_open)
		identity_end_remote_silently(conn);
	priv->identity_open = false;
	return rows;
}
