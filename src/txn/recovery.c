/*-------------------------------------------------------------------------
 *
 * recovery.c
 *	  Ends prepared transactions whose initiator could not.
 *
 * A node recovers the transactions that it began itself: their gids have its
 * group.  For each other node, in this order:
 *
 *	  P  the transactions prepared there
 *	  A  those of P that are undecided: their initiator is still active here, or
 *		 has been prepared itself
 *	  T  the commit records here
 *	  Q  the transactions prepared there, again
 *
 * What is in P and not in A was decided before T was read: it is committed if
 * it is in T, and rolled back if not.  (What is in Q only may have been
 * prepared since A was read, and is left for the next time.)  A record in T
 * may go when its transaction is neither in P nor in Q, nor in A, so that
 * nothing will ask for it again.
 *
 * The daemon doesn't ask a node that can't have anything for us (is_settled):
 * one that had no such transaction when it was last asked, and for which there
 * is no record since.  Each transaction that this node commits in two phases
 * leaves a record for each participant; what fails before its commit, and
 * isn't undone at once, is counted as unfinished (active.c), and then all
 * nodes are asked.  A participant that another server replaces may bring back
 * what was ended already, so a new address, and each address once in
 * REASK_MS, is asked anyway.
 *
 * Two recoveries at a time exclude each other by a lock on pg_dist_transaction
 * that doesn't conflict with writers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "lib/debug_point.h"
#include "txn/commit_ring.h"
#include "txn/private.h"
#include "txn/transaction.h"

SQL_FUNCTION(recover_prepared_transactions);

/* A node is asked once in this time, whatever is known of it. */
#define REASK_MS (3600 * 1000)

/* What this process knows of a node; allocated in TopMemoryContext. */
typedef struct SettledNode
{
	int32		groupid;		/* hash key */
	int32		port;
	char		host[256];
	TimestampTz asked;			/* since then nothing was left; 0: unknown */
} SettledNode;

static HTAB *settled_nodes = NULL;

static SettledNode *
settled_node(int32 groupid)
{
	SettledNode *settled;
	bool		found;

	if (settled_nodes == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(int32), .entrysize = sizeof(SettledNode), .hcxt = TopMemoryContext};

		settled_nodes = hash_create("nodes without prepared transactions", 32, &info,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	settled = hash_search(settled_nodes, &groupid, HASH_ENTER, &found);
	if (!found)
		settled->asked = 0;
	return settled;
}

/*
 * Whether a node has nothing for recovery, as its last answer to this process
 * and the records since then show.
 */
static bool
is_settled(const ClusterNode *node, List *groups_with_records)
{
	const SettledNode *settled = settled_node(node->groupid);

	return settled->asked != 0 && settled->port == node->port && strcmp(settled->host, node->host) == 0 &&
		!TimestampDifferenceExceeds(settled->asked, GetCurrentTimestamp(), REASK_MS) &&
		!list_member_int(groups_with_records, node->groupid);
}

/* Stores whether a node that was just asked had anything for recovery. */
static void
note_settled(const ClusterNode *node, bool settled)
{
	SettledNode *entry = settled_node(node->groupid);

	entry->port = node->port;
	strlcpy(entry->host, node->host, sizeof(entry->host));
	entry->asked = settled ? GetCurrentTimestamp() : 0;
}

/* A set of gids, in CurrentMemoryContext. */
typedef struct GidEntry
{
	char		gid[GID_SIZE];
} GidEntry;

static HTAB *
make_set(List *gids)
{
	HASHCTL		info = {0};
	HTAB	   *set;
	ListCell   *lc;

	info.keysize = sizeof(GidEntry);
	info.entrysize = sizeof(GidEntry);
	info.hcxt = CurrentMemoryContext;
	set = hash_create("prepared transactions", Max(list_length(gids), 16), &info,
					  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	foreach(lc, gids)
		hash_search(set, lfirst(lc), HASH_ENTER, NULL);
	return set;
}

static bool
in_set(HTAB *set, const char *gid)
{
	return hash_search(set, gid, HASH_FIND, NULL) != NULL;
}

/*
 * The transactions of our group that are prepared on a node; false if the node
 * can't be asked.
 */
static bool
list_prepared(RemoteConn *conn, int32 group, List **gids)
{
	char	   *sql = psprintf("SELECT x.gid FROM pg_catalog.pg_prepared_xact() x "
							   "JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) x.dbid "
							   "WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() "
							   "AND pg_catalog.starts_with(x.gid, '%s%d_') AND " PREPARED_FOR_NODE, GID_PREFIX, group);
	RemoteResult *result = remote_plain_exec(conn, sql, WARNING);

	*gids = NIL;
	if (result == NULL)
		return false;
	for (int i = 0; i < result->nrows; i++)
	{
		char	   *gid = remote_value(result, i, 0);
		ParsedGid	parsed;

		if (strlen(gid) < sizeof(GidEntry) && gid_parse(gid, &parsed) && parsed.groupid == group)
			*gids = lappend(*gids, gid);
	}
	return true;
}

/*
 * Whether a transaction of this node, by its full id, is in progress or
 * prepared.
 */
static bool
in_progress(FullTransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();

	if (!FullTransactionIdIsValid(xid) || FullTransactionIdFollowsOrEquals(xid, next) ||
		U64FromFullTransactionId(next) - U64FromFullTransactionId(xid) >= PG_INT32_MAX)
		return false;
	return TransactionIdIsInProgress(XidFromFullTransactionId(xid));
}

/* Those of the gids whose transactions' ends are not decided. */
static HTAB *
undecided_gids(List *gids, int32 group)
{
	HTAB	   *active = active_numbers();
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, gids)
	{
		ParsedGid	parsed;

		if (gid_parse(lfirst(lc), &parsed) && parsed.groupid == group &&
			(hash_search(active, &parsed.number, HASH_FIND, NULL) != NULL || in_progress(parsed.parent)))
			found = lappend(found, lfirst(lc));
	}
	return make_set(found);
}

/*
 * Ends a prepared transaction as its record says: without one, by a rollback.
 * The commit has the initiator's timestamp, unless this node has forgotten it.
 */
static bool
finish_recovered(RemoteConn *conn, const char *gid, const CommitRecord *record)
{
	CommitTimestamp ts = record != NULL ? commit_ring_timestamp_of(record->xid) : 0;
	char	   *command = psprintf("%s PREPARED '%s'", record != NULL ? "COMMIT" : "ROLLBACK", gid);

	if (ts != 0)
		command = psprintf(TIMESTAMP_TAG "%s", ts, command);
	DEBUG_POINT("recovery-before-finish");
	if (remote_plain_exec(conn, command, WARNING) == NULL)
		return false;
	DEBUG_POINT("recovery-after-finish");
	ereport(LOG,
			(errmsg("recovery %s prepared transaction \"%s\" on node %s:%d",
					record != NULL ? "committed" : "rolled back", gid, conn->nodename, conn->nodeport)));
	return true;
}

/*
 * Recovers on one node; returns how many transactions were ended.  *clean: the
 * node answered, and had none of ours.
 */
static int
recover_node(RemoteConn *conn, int32 group, int32 node_group, bool *clean)
{
	List	   *before;
	List	   *after;
	List	   *needless = NIL;
	HTAB	   *active;
	HTAB	   *before_set;
	HTAB	   *after_set;
	HTAB	   *records;
	HASH_SEQ_STATUS status;
	CommitRecord *record;
	int			count = 0;

	*clean = false;
	if (!list_prepared(conn, group, &before))
		return 0;
	active = undecided_gids(before, group);
	records = commit_record_set(node_group);
	if (!list_prepared(conn, group, &after))
		return 0;
	*clean = before == NIL && after == NIL;
	before_set = make_set(before);
	after_set = make_set(after);

	foreach_ptr(char, gid, before)
	{
		if (!in_set(after_set, gid) || in_set(active, gid))
			continue;
		record = hash_search(records, gid, HASH_FIND, NULL);
		if (finish_recovered(conn, gid, record))
		{
			count++;
			if (record != NULL)
				needless = lappend(needless, gid);
		}
	}
	hash_seq_init(&status, records);
	while ((record = hash_seq_search(&status)) != NULL)
	{
		if (!in_set(before_set, record->gid) && !in_set(after_set, record->gid))
			needless = lappend(needless, record->gid);
	}
	commit_record_delete(node_group, needless);
	return count;
}

static uint64 unfinished_seen = 0;

bool
txn_recovery_wanted(void)
{
	return active_unfinished_count() != unfinished_seen;
}

int
txn_recover(bool all)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "transaction recovery",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64		unfinished = active_unfinished_count();
	bool		complete = true;
	List	   *groups = NIL;
	Oid			table = get_relname_relid("pg_dist_transaction", PG_CATALOG_NAMESPACE);
	int32		group = metadata_local_group();
	int			count = 0;

	all = all || unfinished != unfinished_seen;
	if (OidIsValid(table))
	{
		LockRelationOid(table, ShareUpdateExclusiveLock);
		groups = commit_record_groups();
	}

	foreach_ptr(const ClusterNode, node, OidIsValid(table) ? node_active_primaries_remote() : NIL)
	{
		char	   *error = NULL;
		RemoteConn *conn;
		bool		clean;

		if (!all && is_settled(node, groups))
			continue;
		conn = remote_plain_open(node->host, node->port, &error);
		if (conn == NULL)
		{
			ereport(WARNING,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("could not connect to node %s:%d", node->host, node->port),
					 errdetail_internal("%s", error)));
			complete = false;
			continue;
		}
		remote_plain_limit(conn, remote_connection_timeout());
		count += recover_node(conn, group, node->groupid, &clean);
		note_settled(node, clean);
		remote_plain_close(conn);
	}
	if (complete)
		unfinished_seen = unfinished;

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return count;
}

/*
 * recover_prepared_transactions() returns integer: ends the prepared
 * transactions that this node began and could not end, and says how many those
 * were.
 */
Datum
recover_prepared_transactions(PG_FUNCTION_ARGS)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to recover prepared transactions"),
				 errdetail("Only superusers may do this.")));
	PG_RETURN_INT32(txn_recover(true));
}
