/*-------------------------------------------------------------------------
 *
 * free_slots.c
 *	  Telling the nodes that connect to this server whether it has free
 *	  connections.
 *
 * Sessions of other nodes keep their connections to this server between
 * transactions.  If many nodes do that, their idle sessions can take all of
 * max_connections, so that further sessions are refused.  So at the end of a
 * transaction a node's session reports to its opener whether few connections
 * are left: then the opener doesn't keep the connection (close_surplus), and
 * opens no extra one.  The connections that are kept therefore leave some for
 * other sessions, which wait for these if they are refused
 * (connect_finish_queued).
 *
 * Long before that, if more than one node has sessions here and they could
 * soon have half of max_connections, each is told its share: of its sessions,
 * no more should have connections at a time (shared_pool.c).
 *
 * The report is a parameter of the protocol, so that it costs no message of
 * its own.  Nothing is in shared memory but the server's own list of free
 * entries, which is read at most once in CHECK_MS by a session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "compat/proc.h"
#include "remote/free_slots.h"

#define CHECK_MS 100

/* There are few if no more than this many are free, besides reserved ones. */
#define MAX_FEW 4

/*
 * Sessions rest (kept_session.c) only while more than this part of
 * max_connections is free.
 */
#define RESTING_PART 3

/*
 * Sessions of other nodes should have this part of max_connections, if there
 * are several.
 */
#define SHARED_PART 2

static char told_share[32] = "";
static TimestampTz slots_checked = 0;

static void
report_parameter(const char *value)
{
	StringInfoData message;

	pq_beginmessage(&message, 'S');
	pq_sendstring(&message, FREE_SLOTS_PARAMETER);
	pq_sendstring(&message, value);
	pq_endmessage(&message);
}

bool
free_slots_for_rest(void)
{
	return proc_has_free(compat_reserved_connections() + MaxConnections / RESTING_PART);
}

void
free_slots_forget(void)
{
	told_share[0] = '\0';
	slots_checked = 0;
}

/*
 * How many sessions each node should have here; 0: as many as it wants, which
 * is so if no other one has any, or if there is room for one more of each.
 */
static int
share_of_node(void)
{
	int			nsessions;
	int			nopeners = backend_count_openers(&nsessions);
	int			room = MaxConnections / SHARED_PART;

	return nopeners < 2 || nsessions + nopeners <= room ? 0 : Max(1, room / nopeners);
}

void
free_slots_report(void)
{
	TimestampTz now = GetCurrentStatementStartTimestamp();
	char		news[sizeof(told_share)] = "";

	/* the login's transaction comes before its opener can be told */
	if (whereToSendOutput != DestRemote || !IsNormalProcessingMode() ||
		!TimestampDifferenceExceeds(slots_checked, now, CHECK_MS))
		return;
	slots_checked = now;
	if (!proc_has_free(compat_reserved_connections() + MaxConnections * (SHARED_PART - 1) / SHARED_PART))
	{
		bool		few = !proc_has_free(compat_reserved_connections() + Min(MAX_FEW, MaxConnections / 10));
		int			share = share_of_node();

		if (few || share > 0)
			snprintf(news, sizeof(news), "%s%d", few ? FREE_SLOTS_FEW : "", share);
		if (!free_slots_for_rest())
			backend_end_resting(InvalidOid, MAX_FEW);
	}
	if (strcmp(news, told_share) == 0 || backend_served_gpid(MyProcPid) == 0)
		return;
	strlcpy(told_share, news, sizeof(told_share));
	report_parameter(news);
}
