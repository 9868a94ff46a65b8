/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waiting for sockets.
 *
 * Creating a wait event set costs half a dozen system calls, so each
 * connection keeps its own set, and remote_wait keeps the set for the
 * connections of its last call.  All waits process interrupts, end when the
 * postmaster dies, and flush pending output while they wait for input, so that
 * large parameters in one direction and rows in the other can't block each
 * other.
 *
 * When the postmaster dies, the process exits; but not while interrupts are
 * held off, which includes the time after a decision to commit, when an exit
 * would be a PANIC ("cannot abort transaction, it was already committed").
 * There the connection counts as lost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "compat/wait_set.h"
#include "lib/wait_event.h"
#include "remote/private.h"

/* Each set begins with the latch and the postmaster. */
#define SOCKET_POS 2

/* The set that remote_wait used last. */
static struct
{
	WaitEventSet *set;
	int			count;
	int			size;
	uint64	   *serials;
	uint32	   *events;
	WaitEvent  *occurred;
}			many;

static WaitEventSet *
new_set(int nsockets, uint32 postmaster_event)
{
	WaitEventSet *set = wait_set_create(nsockets + 2);

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, postmaster_event, PGINVALID_SOCKET, NULL, NULL);
	return set;
}

static void
forget_many(void)
{
	if (many.set != NULL)
		FreeWaitEventSet(many.set);
	many.set = NULL;
	many.count = 0;
}

/*
 * Frees what is kept for waiting on a connection; must be called before its
 * socket is closed.
 */
void
wait_forget(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	if (priv->wait_set != NULL)
		FreeWaitEventSet(priv->wait_set);
	priv->wait_set = NULL;

	for (int i = 0; i < many.count; i++)
	{
		if (many.serials[i] == priv->serial)
		{
			forget_many();
			break;
		}
	}
}

/* Milliseconds until deadline, at least 0; -1 for none. */
long
wait_remaining(TimestampTz deadline)
{
	if (deadline == 0)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
}

/* The earlier one of two times, of which 0 is never. */
static TimestampTz
earlier_of(TimestampTz one, TimestampTz other)
{
	return one == 0 || (other != 0 && other < one) ? other : one;
}

/*
 * When interrupts are held off while a transaction ends, a request to cancel
 * or terminate shortens the wait.
 */
static TimestampTz
hurried_deadline(const RemoteConn *conn, TimestampTz deadline)
{
	if (deadline == 0 || conn->priv->commits || InterruptHoldoffCount == 0 || (!QueryCancelPending && !ProcDiePending))
		return deadline;
	return earlier_of(deadline, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CANCEL_TIMEOUT_MS));
}

/*
 * While a connection is connecting, its socket may be another one each time,
 * so that no set is kept.
 */
bool
wait_for_conn(RemoteConn *conn, TimestampTz deadline)
{
	RemoteConnPrivate *priv = conn->priv;
	uint32		events = channel_events(&priv->channel);
	TimestampTz check = keepalive_due(conn);
	WaitEvent	event;

	deadline = hurried_deadline(conn, deadline);
	for (;;)
	{
		long		timeout = wait_remaining(earlier_of(deadline, check));
		uint32		occurred;

		if (lone_write_unwanted(conn))
		{
			if (conn->state == REMOTE_DEAD || lone_write_given_up())
			{
				pipeline_lost(conn);
				return false;
			}
			/*
			 * a request that arrives before the statement has no effect, or
			 * hits a command that must not be hit
			 */
			if (priv->items_head >= priv->items_safe)
				finish_ask_again(conn);
			timeout = CANCEL_REPEAT_MS;
		}

		if (conn->state == REMOTE_CONNECTING)
			occurred = WaitLatchOrSocket(MyLatch, events | WL_LATCH_SET | WL_POSTMASTER_DEATH |
										 (timeout >= 0 ? WL_TIMEOUT : 0),
										 channel_socket(&priv->channel), timeout, wait_event(WAIT_NODE_ANSWER));
		else
		{
			if (priv->wait_set == NULL)
			{
				WaitEventSet *set = new_set(1, WL_POSTMASTER_DEATH);

				AddWaitEventToSet(set, events, channel_socket(&priv->channel), NULL, NULL);
				priv->wait_set = set;
				priv->wait_events = events;
			}
			else if (priv->wait_events != events)
			{
				ModifyWaitEvent(priv->wait_set, SOCKET_POS, events, NULL);
				priv->wait_events = events;
			}
			occurred = WL_TIMEOUT;
			if (WaitEventSetWait(priv->wait_set, timeout, &event, 1, wait_event(WAIT_NODE_ANSWER)) > 0)
				occurred = event.events;
		}

		if (occurred & WL_POSTMASTER_DEATH)
		{
			if (InterruptHoldoffCount == 0)
				proc_exit(1);
			pipeline_lost(conn);
			return false;
		}
		if (occurred & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
			deadline = hurried_deadline(conn, deadline);
		}
		if (occurred & (WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE))
		{
			priv->quiet_since = 0;
			return true;
		}
		if (deadline != 0 && wait_remaining(deadline) <= 0)
			return false;
		if (check != 0 && wait_remaining(check) <= 0)
		{
			keepalive_check(conn);
			check = keepalive_due(conn);
		}
	}
}

/* Whether the kept set is for these connections. */
static bool
many_match(RemoteConn **conns, int nconns)
{
	if (many.set == NULL || many.count != nconns)
		return false;
	for (int i = 0; i < nconns; i++)
		if (many.serials[i] != conns[i]->priv->serial)
			return false;
	return true;
}

/* Makes the kept set one for these connections. */
static void
prepare_many(RemoteConn **conns, int nconns)
{
	if (many_match(conns, nconns))
	{
		for (int i = 0; i < nconns; i++)
		{
			uint32		events = channel_events(&conns[i]->priv->channel);

			if (many.events[i] != events)
			{
				ModifyWaitEvent(many.set, SOCKET_POS + i, events, NULL);
				many.events[i] = events;
			}
		}
		return;
	}

	forget_many();
	if (many.size < nconns)
	{
		int			size = Max(nconns, 16);

		many.size = 0;
		many.serials = many.serials == NULL ?
			MemoryContextAlloc(TopMemoryContext, size * sizeof(uint64)) :
			repalloc(many.serials, size * sizeof(uint64));
		many.events = many.events == NULL ?
			MemoryContextAlloc(TopMemoryContext, size * sizeof(uint32)) :
			repalloc(many.events, size * sizeof(uint32));
		many.occurred = many.occurred == NULL ?
			MemoryContextAlloc(TopMemoryContext, (size + 2) * sizeof(WaitEvent)) :
			repalloc(many.occurred, (size + 2) * sizeof(WaitEvent));
		many.size = size;
	}

	many.set = new_set(nconns, WL_EXIT_ON_PM_DEATH);
	for (int i = 0; i < nconns; i++)
	{
		many.serials[i] = conns[i]->priv->serial;
		many.events[i] = channel_events(&conns[i]->priv->channel);
		AddWaitEventToSet(many.set, many.events[i], channel_socket(&conns[i]->priv->channel), NULL, NULL);
	}
	many.count = nconns;
}

/*
 * Connections that can't be waited for: their end is known already.
 */
static int
count_ended(RemoteConn **conns, int nconns)
{
	int			ended = 0;

	for (int i = 0; i < nconns; i++)
		if (conns[i]->state == REMOTE_DEAD || channel_socket(&conns[i]->priv->channel) < 0)
			ended++;
	return ended;
}

/* When the first of the connections is to be checked; 0: never. */
static TimestampTz
first_due(RemoteConn **conns, int nconns)
{
	TimestampTz first = 0;

	for (int i = 0; i < nconns; i++)
		first = earlier_of(first, keepalive_due(conns[i]));
	return first;
}

/* Checks those that are due. */
static void
check_due(RemoteConn **conns, int nconns)
{
	for (int i = 0; i < nconns; i++)
	{
		TimestampTz due = keepalive_due(conns[i]);

		if (due != 0 && wait_remaining(due) <= 0)
			keepalive_check(conns[i]);
	}
}

int
remote_wait(RemoteConn **conns, int nconns, long timeout_ms)
{
	TimestampTz deadline = timeout_ms < 0 ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
	bool		connecting = false;
	int			nready = count_ended(conns, nconns);

	if (nready > 0)
		return nready;

	for (int i = 0; i < nconns; i++)
		connecting |= conns[i]->state == REMOTE_CONNECTING;

	if (nconns == 1)
		return wait_for_conn(conns[0], deadline) ? 1 : 0;

	if (connecting)
		forget_many();			/* sockets change while connecting */
	prepare_many(conns, nconns);

	for (;;)
	{
		TimestampTz check = first_due(conns, nconns);
		long		remaining = wait_remaining(earlier_of(deadline, check));
		int			n = WaitEventSetWait(many.set, remaining, many.occurred, nconns + 1, wait_event(WAIT_NODE_ANSWER));
		bool		latch_set = false;

		for (int i = 0; i < n; i++)
		{
			WaitEvent  *event = &many.occurred[i];

			if (event->events & WL_LATCH_SET)
				latch_set = true;
			else if (event->pos >= SOCKET_POS)
			{
				conns[event->pos - SOCKET_POS]->priv->quiet_since = 0;
				nready++;
			}
		}
		if (latch_set)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if (connecting && (nready > 0 || n == 0))
			forget_many();
		if (nready > 0)
			return nready;
		if (n == 0 && deadline != 0 && wait_remaining(deadline) <= 0)
			return 0;
		if (check != 0 && wait_remaining(check) <= 0)
			check_due(conns, nconns);
		if (many.set == NULL)
			prepare_many(conns, nconns);
	}
}
