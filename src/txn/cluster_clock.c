/*-------------------------------------------------------------------------
 *
 * cluster_clock.c
 *	  The nodes' clocks as SQL shows them: the type cluster_clock.
 *
 * A cluster_clock is a commit timestamp (commit_ring.h) in the format that the
 * SQL interface gives it: milliseconds since 1970, shifted left by 22 bits,
 * and a counter within the millisecond, here its microseconds.  It is stored
 * as an int8, and compared, hashed and sent by the server's functions for
 * int8.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "txn/commit_ring.h"
#include "txn/dist_transaction.h"

#define COUNTER_BITS 22
#define MAX_COUNTER ((UINT64CONST(1) << COUNTER_BITS) - 1)
#define MAX_MILLISECONDS ((UINT64CONST(1) << (63 - COUNTER_BITS)) - 1)

/*
 * Microseconds from 1970, where the clocks begin, to 2000, where timestamps
 * do.
 */
#define EPOCH_DIFFERENCE \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * UINT64CONST(1000000) * SECS_PER_DAY)

static int64
clock_of_timestamp(CommitTimestamp ts)
{
	uint64		microseconds = ts + EPOCH_DIFFERENCE;

	return (int64) ((microseconds / 1000) << COUNTER_BITS | microseconds % 1000);
}

/* Reads an unsigned number up to limit, and moves *text behind it. */
static bool
parse_clock_part(char **text, uint64 limit, uint64 *part)
{
	char	   *end;

	while (isspace((unsigned char) **text))
		(*text)++;
	if (!isdigit((unsigned char) **text))
		return false;
	errno = 0;
	*part = strtou64(*text, &end, 10);
	*text = end;
	return errno == 0 && *part <= limit;
}

/* Whether the text is (milliseconds, counter). */
static bool
parse_clock(char *text, uint64 *milliseconds, uint64 *counter)
{
	if (*text++ != '(' || !parse_clock_part(&text, MAX_MILLISECONDS, milliseconds) ||
		*text++ != ',' || !parse_clock_part(&text, MAX_COUNTER, counter))
		return false;
	return strcmp(text, ")") == 0;
}

SQL_FUNCTION(cluster_clock_in);
Datum
cluster_clock_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	uint64		milliseconds;
	uint64		counter;

	if (!parse_clock(text, &milliseconds, &counter))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"", "cluster_clock", text)));
	PG_RETURN_INT64((int64) (milliseconds << COUNTER_BITS | counter));
}

SQL_FUNCTION(cluster_clock_out);
Datum
cluster_clock_out(PG_FUNCTION_ARGS)
{
	uint64		clock = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_CSTRING(psprintf("(" UINT64_FORMAT "," UINT64_FORMAT ")", clock >> COUNTER_BITS,
							   clock & MAX_COUNTER));
}

/* citus_get_node_clock(): later than all that this node has given before. */
SQL_FUNCTION(citus_get_node_clock);
Datum
citus_get_node_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(clock_of_timestamp(commit_ring_advance(0)));
}

/*
 * citus_internal.advance_clock(timestamp) returns bigint: for nodes; a
 * timestamp of this node that is later than another node's.
 */
SQL_FUNCTION(citus_internal_advance_clock);
Datum
citus_internal_advance_clock(PG_FUNCTION_ARGS)
{
	CommitTimestamp ts = (CommitTimestamp) PG_GETARG_INT64(0);

	node_function_check(fcinfo);
	commit_ring_check(ts);
	PG_RETURN_INT64((int64) commit_ring_advance(ts));
}

/* Advances the clock of each node that takes part; the latest of them. */
static CommitTimestamp
advance_participants(CommitTimestamp ts)
{
	foreach_int(groupid, txn_groups())
	{
		ts = remote_int64(remote_read(groupid, node_call(NODE_advance_clock, node_bigint(ts))), 0, 0);
	}
	return ts;
}

/*
 * citus_get_transaction_clock(): later than the clocks of all nodes that take
 * part in the transaction, and earlier than every later value of these clocks.
 */
SQL_FUNCTION(citus_get_transaction_clock);
Datum
citus_get_transaction_clock(PG_FUNCTION_ARGS)
{
	CommitTimestamp ts = commit_ring_advance(advance_participants(commit_ring_advance(0)));

	(void) advance_participants(ts);
	PG_RETURN_INT64(clock_of_timestamp(ts));
}
