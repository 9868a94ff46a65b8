/*-------------------------------------------------------------------------
 *
 * follower_probe.c
 *	  Asks standbys how far they are (catalog/follower.c).
 *
 * The question has a connection of its own: it comes before the standby is
 * chosen, and must not begin a transaction there, whose snapshot would be too
 * old.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "catalog/follower.h"
#include "lib/wait_event.h"
#include "remote/connection.h"
#include "remote/follower_probe.h"

/* How long a standby may take to connect, and to answer. */
#define ANSWER_MS 2000

/* Between two questions while it is waited for. */
#define BETWEEN_MS 10

#define STATE_QUERY "SELECT pg_catalog.pg_is_in_recovery(), " \
	"pg_catalog.pg_last_wal_replay_lsn() OPERATOR(pg_catalog.-) '0/0'::pg_catalog.pg_lsn, " \
	"coalesce(1000 * pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) " \
	"pg_catalog.pg_last_xact_replay_timestamp()), 1e15)::pg_catalog.int8"

/* Columns of its row. */
enum
{
	STATE_IN_RECOVERY,
	STATE_REPLAYED,
	STATE_AGE
};

/*
 * Reads an answer; the state is that of a node that is down if there is none.
 */
static void
read_state(const RemoteResult *row, FollowerState *state)
{
	memset(state, 0, sizeof(FollowerState));
	if (row == NULL || row->nrows != 1 || strcmp(remote_value(row, 0, STATE_IN_RECOVERY), "t") != 0 ||
		remote_value(row, 0, STATE_REPLAYED) == NULL)
		return;
	state->up = true;
	state->replayed = strtou64(remote_value(row, 0, STATE_REPLAYED), NULL, 10);
	state->age_ms = strtoi64(remote_value(row, 0, STATE_AGE), NULL, 10);
}

/* The FollowerProbe. */
static void
probe_follower(const ClusterNode *node, XLogRecPtr place, int wait_ms, FollowerState *state)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), wait_ms);
	char	   *error = NULL;
	RemoteConn *conn = remote_plain_open_unchecked(node->host, node->port, ANSWER_MS, &error);

	memset(state, 0, sizeof(FollowerState));
	if (conn == NULL)
		return;
	remote_plain_limit(conn, ANSWER_MS);
	for (;;)
	{
		remote_plain_send(conn, STATE_QUERY);
		read_state(remote_plain_result(conn, &error), state);
		if (!state->up || state->replayed >= place || GetCurrentTimestamp() >= deadline)
			break;
		wait_pause(BETWEEN_MS, WAIT_NODE_ANSWER);
	}
	remote_plain_close(conn);
}

void
follower_probe_init(void)
{
	follower_probe = probe_follower;
}
