/*-------------------------------------------------------------------------
 *
 * node_users.c
 *	  Transactions that the removal of a node waits for.
 *
 * The removal locks pg_dist_node on all nodes, which writers of reference
 * tables and DDL have locked until their transactions end, and drops the
 * tables of the node that leaves, which its sessions may be reading.  While it
 * waited for that under its own locks, no DDL could run.  So it first waits
 * for all such transactions that have begun before it, without a lock; those
 * that have come meanwhile are left to node_exclude_leaving_everywhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/metadata.h"
#include "cluster/node_users.h"
#include "lib/wait_event.h"
#include "remote/connection.h"

#define POLL_MS 50
#define NOTICE_AFTER_MS 1000

/* Columns of a row that users_query selects. */
enum
{
	USERS_TRANSACTIONS,
	USERS_PROCESSES,
};

/*
 * Selects the transactions of a node, and their global process ids, in two
 * texts; of those in a text that was read before, or all if that is NULL.
 * Those of the client's own session are left out, which may be waiting for us:
 * DROP EXTENSION removes nodes over another connection.
 */
static char *
users_query(bool leaves, const char *transactions)
{
	return psprintf("SELECT pg_catalog.string_agg(DISTINCT l.virtualtransaction, ','), "
					"pg_catalog.string_agg(DISTINCT coalesce(g.global_pid, l.pid)::pg_catalog.text, ', ') "
					"FROM pg_catalog.pg_locks l LEFT JOIN LATERAL citus_internal.process_gpid(l.pid) g ON true "
					"WHERE l.granted AND l.locktype = 'relation' AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d "
					"WHERE d.datname = pg_catalog.current_database()) "
					"AND coalesce(g.global_pid, l.pid) IS DISTINCT FROM " UINT64_FORMAT "::pg_catalog.int8 "
					"AND (l.mode <> 'AccessShareLock' AND l.relation = 'pg_catalog.pg_dist_node'::pg_catalog.regclass::pg_catalog.oid%s)%s",
					backend_gpid(),
					leaves ? " OR l.relation IN (SELECT p.logicalrelid::pg_catalog.oid FROM pg_catalog.pg_dist_partition p)" : "",
					transactions == NULL ? "" :
					psprintf(" AND l.virtualtransaction = ANY (pg_catalog.string_to_array(%s, ','))",
							 quote_literal_cstr(transactions)));
}

static void
notice_wait(const ClusterNode *leaving, const ClusterNode *node, const char *processes)
{
	ereport(NOTICE,
			(errmsg("waiting for transactions on node %s:%d to end", node->host, node->port),
			 errdetail("They have changed tables or rows of reference tables, or use tables on node %s:%d. Processes: %s.",
					   leaving->host, leaving->port, processes == NULL ? "none" : processes)));
}

static void
report_timeout(const ClusterNode *leaving, const ClusterNode *node, const char *processes)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not remove node %s:%d because transactions on node %s:%d go on for long",
					leaving->host, leaving->port, node->host, node->port),
			 errdetail("They did not end within lock_timeout. Processes: %s.", processes == NULL ? "none" : processes),
			 errhint("The view citus_dist_stat_activity shows them, by global_pid. Those without a process are in pg_prepared_xacts.")));
}

/*
 * Waits for the present transactions of one node.  Each look at them has its
 * own memory, since there may be many.
 */
static void
await_users_of(const ClusterNode *node, const ClusterNode *leaving, RemoteConn *conn, TimestampTz begun)
{
	bool		leaves = node->nodeid == leaving->nodeid;
	char	   *transactions = remote_value(remote_plain_exec(conn, users_query(leaves, NULL), ERROR), 0, USERS_TRANSACTIONS);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus node users", ALLOCSET_SMALL_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	bool		told = false;

	while (transactions != NULL)
	{
		RemoteResult *left = remote_plain_exec(conn, users_query(leaves, transactions), ERROR);
		const char *processes = remote_value(left, 0, USERS_PROCESSES);
		long		ms = TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp());

		if (remote_value(left, 0, USERS_TRANSACTIONS) == NULL)
			break;
		if (LockTimeout > 0 && ms >= LockTimeout)
			report_timeout(leaving, node, processes);
		if (!told && ms >= NOTICE_AFTER_MS)
			notice_wait(leaving, node, processes);
		told |= ms >= NOTICE_AFTER_MS;
		MemoryContextReset(context);
		wait_pause(POLL_MS, WAIT_NODE_USERS);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

void
node_users_await(const ClusterNode *leaving, bool reachable, List *left_out)
{
	TimestampTz begun = GetCurrentTimestamp();

	if (IsTransactionBlock())
		return;
	foreach_ptr(const ClusterNode, node, node_active_primaries())
	{
		RemoteConn *conn;

		if (node->nodeid == leaving->nodeid ? !reachable : list_member_int(left_out, node->groupid))
			continue;
		conn = remote_plain_open(node->host, node->port, NULL);
		await_users_of(node, leaving, conn, begun);
		remote_plain_close(conn);
	}
}
