/*-------------------------------------------------------------------------
 *
 * node_locks.c
 *	  The locks for changes of nodes, on all nodes.
 *
 * Three things are blocked, each on all active nodes, until commit:
 *
 * - other changes of nodes, and DDL: SHARE ROW EXCLUSIVE on pg_dist_node, in
 *   the order of the groups.  It conflicts with node_share_set_local.
 * - writers of reference tables, which rely on the set of nodes: EXCLUSIVE on
 *   pg_dist_node, which conflicts with node_share_replicas_local.  A writer
 *   has locked its table on its own node before it gets to pg_dist_node there,
 *   so code that locks the tables too, there and on the coordinator, does that
 *   after the other nodes' pg_dist_node, and before this node's.
 * - writers to a node, which rely on its address: a lock on the node itself,
 *   which conflicts with node_share_address_local.
 *
 * Sessions may hold one of these locks from earlier statements of their
 * transactions, and wait for another.  So the latter two are taken in attempts
 * (table/lock_attempt.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "catalog/node.h"
#include "catalog/relations.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"

typedef struct NodeLocks
{
	List	   *left_out;
	List	   *tables;			/* reference tables to lock */
	int32		leaving;		/* group of a node whose tables are locked; 0:
								 * none */
	int32		groupid;		/* whose writers are blocked */
	TimestampTz patience_ends;	/* when sessions that block us are
								 * terminated */
} NodeLocks;

/* Runs a command on the other nodes. */
static void
on_others(List *left_out, const char *sql)
{
	foreach_int(groupid, members_other_groups(left_out))
		remote_exec(groupid, sql);
}

/*
 * Locks the nodes in the order of their groups, so that sessions of several
 * nodes don't deadlock.
 */
void
node_exclude_changes_everywhere(List *left_out)
{
	int32		here = metadata_local_group();
	bool		locked_here = false;

	foreach_int(groupid, members_other_groups(left_out))
	{
		if (!locked_here && groupid > here)
		{
			LockRelationOid(dist_relid(PG_DIST_NODE), ShareRowExclusiveLock);
			locked_here = true;
		}
		remote_exec(groupid, "LOCK TABLE pg_catalog.pg_dist_node IN SHARE ROW EXCLUSIVE MODE");
		if (groupid == COORDINATOR_GROUP)
			node_share_set_for_ddl();
	}
	if (!locked_here)
		LockRelationOid(dist_relid(PG_DIST_NODE), ShareRowExclusiveLock);
}

/*
 * Blocks writers of reference tables: on the coordinator, whose copies all of
 * them write first, and here.
 */
static void
lock_replicas(List *relids)
{
	char	   *text = lock_table_text(relids, ShareLock);

	if (text != NULL && metadata_local_group() != COORDINATOR_GROUP)
		remote_exec(COORDINATOR_GROUP, text);
	foreach_oid(relid, relids)
		LockRelationOid(relid, ShareLock);
}

/*
 * LockTaker's take of node_exclude_replicas_everywhere and
 * node_exclude_leaving_everywhere.
 */
static bool
take_replica_locks(void *arg, int number, int timeout)
{
	const NodeLocks *locks = arg;
	int			level = NewGUCNestLevel();

	lock_attempt_limit(timeout);
	on_others(locks->left_out, "LOCK TABLE pg_catalog.pg_dist_node IN EXCLUSIVE MODE");
	if (locks->leaving != 0)
		remote_exec(locks->leaving, "SELECT citus_internal.lock_before_leaving()");
	lock_replicas(locks->tables);
	LockRelationOid(dist_relid(PG_DIST_NODE), ExclusiveLock);
	AtEOXact_GUC(true, level);
	return true;
}

void
node_exclude_replicas_everywhere(List *left_out, List *tables)
{
	NodeLocks	locks = {.left_out = left_out, .tables = tables};
	LockTaker	taker = {.take = take_replica_locks, .arg = &locks};

	(void) lock_in_attempts(&taker);
}

void
node_exclude_leaving_everywhere(List *left_out, int32 leaving)
{
	NodeLocks	locks = {.left_out = left_out, .leaving = leaving};
	LockTaker	taker = {.take = take_replica_locks, .arg = &locks};

	(void) lock_in_attempts(&taker);
}

/* LockTaker's take of node_exclude_address_everywhere. */
static bool
take_address_locks(void *arg, int number, int timeout)
{
	const NodeLocks *locks = arg;
	int			level = NewGUCNestLevel();

	lock_attempt_limit(timeout);
	node_exclude_changes_everywhere(locks->left_out);
	node_exclude_address_local(locks->groupid);
	on_others(locks->left_out, node_call(NODE_lock_node_address, node_int(locks->groupid)));
	AtEOXact_GUC(true, level);
	return true;
}

/*
 * LockTaker's clear_way: terminates the sessions that hold conflicting locks.
 */
static void
end_others(void *arg)
{
	const NodeLocks *locks = arg;

	if (GetCurrentTimestamp() < locks->patience_ends)
		return;
	members_exec(psprintf("SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_locks "
						  "WHERE granted AND pid <> pg_catalog.pg_backend_pid() AND database = "
						  "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) "
						  "AND locktype = 'relation' AND (relation = %u "
						  "OR relation = 'pg_catalog.pg_dist_node'::pg_catalog.regclass "
						  "AND mode NOT IN ('AccessShareLock', 'RowShareLock'))", NODE_LOCK_RELATION(locks->groupid)),
				 locks->left_out);
}

void
node_exclude_address_everywhere(int32 groupid, List *left_out, int cooldown)
{
	NodeLocks	locks = {.left_out = left_out, .groupid = groupid};
	LockTaker	taker = {.take = take_address_locks, .arg = &locks};

	if (cooldown != NO_COOLDOWN)
	{
		locks.patience_ends = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), cooldown);
		taker.clear_way = end_others;
	}
	(void) lock_in_attempts(&taker);
}

/*
 * citus_internal.lock_node_address(groupid): for the coordinator, which
 * changes the node's address.
 */
SQL_FUNCTION(citus_internal_lock_node_address);
Datum
citus_internal_lock_node_address(PG_FUNCTION_ARGS)
{
	node_exclude_address_local(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}
