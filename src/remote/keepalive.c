/*-------------------------------------------------------------------------
 *
 * keepalive.c
 *	  Noticing that a node doesn't answer any more.
 *
 * A statement may take long, so that a node sends nothing tells nothing; and
 * the kernel of a server that is stopped goes on acknowledging what it gets.
 * So after citus.node_keepalive without a message, a second connection is
 * opened, with the parameters of the first one.  Any answer to its startup
 * packet will do; it ends then.  If there is none in
 * citus.node_connection_timeout, the first connection is shut down, which the
 * code that waits for it notices as if the node had closed it.
 *
 * The library reads no catalogs for this, so it works in any state of the
 * transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat/wait_set.h"
#include "lib/wait_event.h"
#include "remote/private.h"

/* A silence is checked at growing intervals, up to this one. */
#define MAX_INTERVAL_MS 60000

static int	node_keepalive = 5000;

void
keepalive_init(void)
{
	DefineCustomIntVariable("citus.node_keepalive",
							"Sets how long a node may send nothing before it is asked whether it still answers.",
							"A node that doesn't answer within citus.node_connection_timeout then counts as lost.  "
							"0 means that it is never asked.",
							&node_keepalive, 5000, 0, 24 * 3600 * 1000, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
}

int
remote_keepalive(void)
{
	return node_keepalive;
}

/* How long the present silence may last until it is checked. */
static int
silence_limit(const RemoteConnPrivate *priv)
{
	int64		interval = (int64) node_keepalive << Min(priv->checks, 16);

	return (int) Max(node_keepalive, Min(interval, MAX_INTERVAL_MS));
}

TimestampTz
keepalive_due(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (node_keepalive == 0 || conn->state == REMOTE_CONNECTING || priv->silent)
		return 0;
	if (priv->quiet_since == 0)
	{
		priv->quiet_since = GetCurrentTimestamp();
		priv->checks = 0;
	}
	return TimestampTzPlusMilliseconds(priv->quiet_since, silence_limit(priv));
}

/*
 * Waits until the probe can go on; false if there is no need for it any more:
 * the node has sent something, or there is an interrupt that can't be handled
 * here.
 */
static bool
wait_for_probe(RemoteConn *conn, const Channel *probe, long timeout)
{
	WaitEventSet *set = wait_set_create(4);
	WaitEvent	events[4];
	bool		goes_on = true;
	int			n;

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, WL_POSTMASTER_DEATH, PGINVALID_SOCKET, NULL, NULL);
	AddWaitEventToSet(set, WL_SOCKET_READABLE, channel_socket(&conn->priv->channel), NULL, NULL);
	AddWaitEventToSet(set, channel_events(probe), channel_socket(probe), NULL, NULL);
	n = WaitEventSetWait(set, timeout, events, lengthof(events), wait_event(WAIT_NODE_ANSWER));
	FreeWaitEventSet(set);

	for (int i = 0; i < n; i++)
	{
		if (events[i].events == WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
			if (InterruptPending)
			{
				SetLatch(MyLatch);
				goes_on = false;
			}
		}
		else if (events[i].pos < 3)
			goes_on = false;
	}
	return goes_on;
}

/*
 * Whether there is an answer to the probe.  If the node's host has refused it,
 * the kernel there tells of the end of the session.
 */
static bool
probe_answered(RemoteConn *conn, Channel *probe)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), node_connection_timeout);
	long		remaining;

	if (!channel_open_probe(probe, &conn->priv->channel))
		return true;
	while ((remaining = wait_remaining(deadline)) > 0)
	{
		if (!wait_for_probe(conn, probe, remaining))
			return true;
		if (wait_remaining(deadline) > 0 && channel_probe(probe) != CHANNEL_NOTHING)
			return true;
	}
	return false;
}

void
keepalive_check(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	Channel		probe = {0};

	priv->quiet_since = GetCurrentTimestamp();
	priv->checks++;
	if (!AcquireExternalFD())
		return;
	PG_TRY();
	{
		priv->silent = !probe_answered(conn, &probe);
	}
	PG_FINALLY();
	{
		channel_close(&probe);
		ReleaseExternalFD();
	}
	PG_END_TRY();
	if (priv->silent)
		channel_shut(&priv->channel);
}

char *
keepalive_failure(const RemoteConn *conn)
{
	return conn->priv->silent ?
		psprintf("The node has sent nothing for a while, and a new connection to it got no answer within %d ms.",
				 node_connection_timeout) : NULL;
}
