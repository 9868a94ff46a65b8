/*-------------------------------------------------------------------------
 *
 * clone.c
 *	  citus_promote_clone_and_rebalance(): a standby of a node becomes a node,
 *	  and takes over half of its shard groups.
 *
 * Both servers have all rows already, so only placements change, as in the
 * switch of a move (source.c), for many groups at once.  The caller's session
 * drives a session on the primary:
 *
 * - clone_begin locks all of the primary's groups (session), chooses those
 *	 that leave, and marks them as arriving at the clone, so that transactions
 *	 set savepoints (txn_guard);
 * - clone_switch, repeated until it gets its locks, is one distributed
 *	 transaction that the primary decides.  It blocks changes of nodes, DDL and
 *	 writers of reference tables on all nodes, and writers of the groups that
 *	 leave; waits until the clone has replayed what was written before; and
 *	 promotes it.  Then the clone, which takes part in the transaction like a
 *	 new node, forgets that it was its primary, and the placements change: the
 *	 primary keeps former placements of the groups that have left, and the
 *	 clone has such of those that stay.  Clean-up drops both.
 *
 * What is written on the primary between the promotion and the commit, and
 * transactions that are prepared then, concern groups that stay, which the
 * clone drops.  If the transaction fails after the promotion, the cluster is
 * as before, and the clone is a copy of the primary that connects to no node
 * (remote/own_address.c); it must be made anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata_rows.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "cluster/clone_node.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "compat/logical_message.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/spi_query.h"
#include "lib/wait_event.h"
#include "rebalance/clone_plan.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "sharding/hash.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "txn/transaction.h"

SQL_FUNCTION(citus_promote_clone_and_rebalance);
SQL_FUNCTION(citus_internal_clone_begin);
SQL_FUNCTION(citus_internal_clone_switch);

/* How many bytes of WAL the clone may be behind when writers are blocked. */
#define CLONE_ENOUGH_LAG (1024 * 1024)

/* How long the clone may take to end its recovery. */
#define PROMOTE_SECONDS 60

#define POLL_MS 5

#define BECOME_PRIMARY "noderole = 'primary', isactive = true, hasmetadata = true, metadatasynced = true, " \
	"shouldhaveshards = true, nodeisclone = false, nodeprimarynodeid = 0"

/*
 * The promotion in which this session, on the primary, takes part; in its own
 * memory context.
 */
typedef struct CloneSplit
{
	MemoryContext context;
	int64		operation;
	int32		nodeid;			/* of the clone */
	List	   *leaving;		/* CloneGroup *: those for the clone */

	/* in the switch */
	RemoteConn *clone_conn;
	List	   *relids;			/* of all tables with shards here */
	List	   *left;			/* shards (int64 *) that leave, */
	List	   *left_names;		/* and their relations' names */
	List	   *kept;			/* the same of those that stay */
	List	   *kept_names;
} CloneSplit;

static CloneSplit *clone_split = NULL;

/* The tables of a group (Oids). */
static List *
tables_of_group(const CloneGroup *group)
{
	return group->colocation_id == 0 ? list_make1_oid(group->relid) : move_tables(group->colocation_id);
}

/* A comma-separated list of rows of pg_dist_placement, with new ids. */
static char *
placement_rows(List *shardids, int state, int64 length, int32 groupid)
{
	int64	   *ids = next_ids(PG_DIST_PLACEMENTID_SEQ, list_length(shardids));
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_ptr(const int64, shardid, shardids)
		appendStringInfo(&buf, "%s(" INT64_FORMAT ", " INT64_FORMAT ", %d, " INT64_FORMAT ", %d)", buf.len == 0 ? "" : ", ",
						 ids[foreach_current_index(shardid)], *shardid, state, length, groupid);
	return buf.data;
}

/* Writes such placements on all nodes that take part. */
static void
put_placements(List *shardids, int state, int64 length, int32 groupid)
{
	if (shardids != NIL)
		members_exec(psprintf("INSERT INTO pg_catalog.pg_dist_placement (placementid, shardid, shardstate, shardlength, groupid) "
							  "VALUES %s ON CONFLICT (shardid, groupid) DO UPDATE SET placementid = excluded.placementid, "
							  "shardstate = excluded.shardstate, shardlength = excluded.shardlength",
							  placement_rows(shardids, state, length, groupid)), NIL);
}

/* Locks a group for this session's operation. */
static void
lock_group(const CloneGroup *group)
{
	LOCKTAG		tag;

	move_group_locktag(&tag, group->colocation_id, group->range);
	if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("shard " INT64_FORMAT " is being moved or split by another session", group->shardid)));
}

/*
 * Errors if operations on shards of this node go on, or what former ones have
 * left isn't removed yet: the clone has it, too.
 */
static void
check_no_operations(void)
{
	char	   *found = spi_value(psprintf("SELECT shardid FROM pg_catalog.pg_dist_placement WHERE groupid = %d AND shardstate <> %d LIMIT 1",
										   metadata_local_group(), PLACEMENT_ACTIVE));

	if (found == NULL)
		found = spi_value(psprintf("SELECT object_name FROM pg_catalog.pg_dist_cleanup WHERE operation_id <> " INT64_FORMAT " LIMIT 1",
								   clone_split->operation));
	if (found != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("shards of the node are being moved or split, or were a moment ago"),
				 errdetail("One of them is %s.", found),
				 errhint("Try again when that has ended, or call citus_cleanup_orphaned_resources().")));
}

/* Forgets the promotion that this session has begun. */
static void
forget_clone_split(void)
{
	MemoryContext context = clone_split->context;

	clone_split = NULL;
	MemoryContextDelete(context);
}

/* Marks the groups that leave as arriving at the clone. */
static void
mark_leaving(const ClusterNode *clone)
{
	List	   *shardids = NIL;

	foreach_ptr(const CloneGroup, group, clone_split->leaving)
		foreach_oid(relid, tables_of_group(group))
		{
			const DistTable *table = metadata_require(relid);
			int			index = shard_index_of_range(table, group->range);

			if (index < 0)
				continue;
			shardids = lappend(shardids, (void *) &table->shards[index].shardid);
			cleanup_note(clone_split->operation, CLEANUP_SHARD, move_shard_name(relid, table->shards[index].shardid),
						 clone->groupid, CLEANUP_ON_FAILURE);
		}
	put_placements(shardids, PLACEMENT_ARRIVING, clone_split->operation, clone->groupid);
}

/*
 * citus_internal.clone_begin(nodeid integer, strategy text): on the primary of
 * a clone.
 */
Datum
citus_internal_clone_begin(PG_FUNCTION_ARGS)
{
	const ClusterNode *clone;
	MemoryContext context;
	MemoryContext old_context;

	node_function_check_superuser(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	clone = clone_require(PG_GETARG_INT32(0));
	if (node_require_id(clone->clone_of)->groupid != metadata_local_group())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("node %s:%d is not a clone of this node", clone->host, clone->port)));
	if (clone_split != NULL)
		forget_clone_split();
	context = AllocSetContextCreate(TopMemoryContext, "citus clone", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	clone_split = palloc0(sizeof(CloneSplit));
	clone_split->context = context;
	clone_split->nodeid = clone->nodeid;
	node_share_set_for_ddl();
	AcceptInvalidationMessages();
	check_no_operations();
	clone_split->operation = cleanup_begin();
	foreach_ptr(CloneGroup, group, clone_plan(node_require_id(clone->clone_of), clone,
											  PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1))))
	{
		lock_group(group);
		move_lock_placements(group->colocation_id);
		if (group->leaves)
			clone_split->leaving = lappend(clone_split->leaving, group);
	}
	mark_leaving(clone);
	MemoryContextSwitchTo(old_context);
	PG_RETURN_VOID();
}

static bool
group_leaves(const DistTable *table, const ShardInfo *shard)
{
	foreach_ptr(const CloneGroup, group, clone_split->leaving)
		if (group->colocation_id == table->colocation_id && group->range.min == shard->range.min &&
			group->range.max == shard->range.max && (table->colocation_id != 0 || group->relid == table->relid))
			return true;
	return false;
}

/*
 * Finds this node's shards as they are now; locks those that leave against
 * writers.
 */
static void
lock_leaving(void)
{
	clone_split->relids = clone_split->left = clone_split->left_names = clone_split->kept = clone_split->kept_names = NIL;
	foreach_oid(relid, move_tables(0))
	{
		const DistTable *table = metadata_require(relid);

		for (int i = 0; i < table->nshards; i++)
		{
			const ShardInfo *shard = &table->shards[i];
			char	   *name;

			if (table->kind == DIST_REFERENCE || shard->groupid != metadata_local_group())
				continue;
			name = move_shard_name(relid, shard->shardid);
			clone_split->relids = list_append_unique_oid(clone_split->relids, relid);
			if (group_leaves(table, shard))
			{
				LockRelationOid(shard_local_relid(relid, shard->shardid), ExclusiveLock);
				clone_split->left = lappend(clone_split->left, (void *) &shard->shardid);
				clone_split->left_names = lappend(clone_split->left_names, name);
			}
			else
			{
				clone_split->kept = lappend(clone_split->kept, (void *) &shard->shardid);
				clone_split->kept_names = lappend(clone_split->kept_names, name);
			}
		}
	}
}

/* Whether the clone has replayed the WAL up to a place before a deadline. */
static bool
await_replay(XLogRecPtr place, TimestampTz deadline)
{
	char	   *query = psprintf("SELECT pg_catalog.pg_last_wal_replay_lsn() >= '%X/%X'", LSN_FORMAT_ARGS(place));

	while (!drive_is_true(clone_split->clone_conn, query))
	{
		if (GetCurrentTimestamp() >= deadline)
			return false;
		wait_pause(POLL_MS, WAIT_SHARD_MOVE);
	}
	return true;
}

/*
 * Rolls back what the standby had replayed as prepared: transactions of the
 * primary, which ends its own.
 */
static void
end_prepared_on_clone(void)
{
	RemoteResult *gids = remote_plain_exec(clone_split->clone_conn,
										   "SELECT gid FROM pg_catalog.pg_prepared_xacts "
										   "WHERE database = pg_catalog.current_database()", ERROR);

	for (int i = 0; i < gids->nrows; i++)
		(void) remote_plain_exec(clone_split->clone_conn,
								 psprintf("ROLLBACK PREPARED %s", quote_literal_cstr(remote_value(gids, i, 0))), ERROR);
}

/* What the server that asked for it says after an error in the switch. */
static void
promoted_context(void *arg)
{
	const ClusterNode *clone = arg;

	errcontext("after the promotion of %s:%d, which is no standby any more: remove it with citus_remove_clone_node(), make a "
			   "new standby, and register that", clone->host, clone->port);
}

/*
 * Ends the clone's recovery; it has this node's identity until the transaction
 * commits.
 */
static void
promote_standby(void)
{
	remote_plain_limit(clone_split->clone_conn, (PROMOTE_SECONDS + 10) * 1000);
	if (!drive_is_true(clone_split->clone_conn, psprintf("SELECT pg_catalog.pg_promote(true, %d)", PROMOTE_SECONDS)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the clone was not promoted within %d s", PROMOTE_SECONDS)));
	end_prepared_on_clone();
}

/* Notes the relations that the two servers don't need any more. */
static void
note_former(const ClusterNode *clone)
{
	StringInfoData buf;

	cleanup_forget(clone_split->operation, CLEANUP_ON_FAILURE);
	foreach_ptr(const char, name, clone_split->left_names)
		cleanup_note(clone_split->operation, CLEANUP_SHARD, name, metadata_local_group(), CLEANUP_LATER);
	if (clone_split->kept_names == NIL)
		return;
	initStringInfo(&buf);
	foreach_ptr(const char, name, clone_split->kept_names)
		appendStringInfo(&buf, "%s(" INT64_FORMAT ", %d, %s, %d, %d)", buf.len == 0 ? "" : ", ", clone_split->operation,
						 CLEANUP_SHARD, quote_literal_cstr(name), clone->groupid, CLEANUP_LATER);
	remote_exec(clone->groupid, psprintf("INSERT INTO pg_catalog.pg_dist_cleanup (operation_id, object_type, object_name, "
										 "node_group_id, policy_type) VALUES %s", buf.data));
}

/* Makes the promoted server a node, in the distributed transaction. */
static void
join_clone(const ClusterNode *clone)
{
	List	   *replicas = NIL;

	members_set(clone->nodeid, BECOME_PRIMARY, NIL);
	remote_exec(clone->groupid, node_call(NODE_become_promoted_clone, node_int(clone->nodeid)));
	foreach_oid(relid, metadata_tables(0))
		if (metadata_require(relid)->kind == DIST_REFERENCE)
			replicas = lappend(replicas, (void *) &metadata_require(relid)->shards[0].shardid);
	put_placements(replicas, PLACEMENT_ACTIVE, 0, clone->groupid);
	put_placements(clone_split->left, PLACEMENT_ACTIVE, 0, clone->groupid);
	put_placements(clone_split->left, PLACEMENT_LEFT, 0, metadata_local_group());
	put_placements(clone_split->kept, PLACEMENT_LEFT, 0, clone->groupid);
	note_former(clone);
	txn_commit_last(clone->groupid, clone_split->relids);
}

/*
 * Takes the locks, promotes the clone, and changes the metadata; false if that
 * isn't possible now.
 */
static bool
try_clone_switch(void *arg)
{
	const ClusterNode *clone = clone_require(clone_split->nodeid);
	TimestampTz deadline;
	ErrorContextCallback context = {.previous = error_context_stack,.callback = promoted_context,.arg = (void *) clone};

	lock_attempt_limit(drive_pause_limit);
	foreach_ptr(const CloneGroup, group, clone_split->leaving)
		move_lock_placements(group->colocation_id);
	AcceptInvalidationMessages();
	check_no_operations();
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_pause_limit);
	lock_leaving();
	DEBUG_POINT("clone-locked");
	if (!await_replay(compat_log_mark(), deadline))
		return false;
	error_context_stack = &context;
	promote_standby();
	DEBUG_POINT("clone-promoted");
	join_clone(clone);
	DEBUG_POINT("clone-before-commit");
	error_context_stack = context.previous;
	return true;
}

/*
 * citus_internal.clone_switch(): whether the clone is a node now; if not, it
 * must be called again.
 */
Datum
citus_internal_clone_switch(PG_FUNCTION_ARGS)
{
	const ClusterNode *clone;
	bool		done;

	node_function_check_superuser(fcinfo);
	if (clone_split == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session has not begun to promote a clone")));
	clone = clone_require(clone_split->nodeid);
	clone_split->clone_conn = remote_plain_open(clone->host, clone->port, NULL);
	node_exclude_replicas_everywhere(NIL, NIL);
	done = move_attempt(try_clone_switch);
	remote_plain_close(clone_split->clone_conn);
	PG_RETURN_BOOL(done);
}

/* Waits until the clone has nearly caught up, at most until a deadline. */
static void
await_catch_up(RemoteConn *primary, const ClusterNode *clone, int seconds)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), (int64) seconds * 1000);
	RemoteConn *conn = remote_plain_open(clone->host, clone->port, NULL);

	for (;;)
	{
		char	   *replayed = drive_ask(conn, "SELECT pg_catalog.pg_last_wal_replay_lsn()");
		char	   *lag = replayed == NULL ? NULL :
			drive_ask(primary, psprintf("SELECT (pg_catalog.pg_current_wal_insert_lsn() - pg_lsn %s)::bigint", quote_literal_cstr(replayed)));

		if (lag != NULL && strtoi64(lag, NULL, 10) < CLONE_ENOUGH_LAG)
			break;
		if (GetCurrentTimestamp() >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("clone %s:%d has not caught up with its primary within %d s", clone->host, clone->port, seconds),
					 lag == NULL ? 0 : errdetail("It is %s bytes of WAL behind.", lag),
					 errhint("Try again with a longer catchup_timeout_seconds.")));
		drive_pause(DRIVE_POLL_MS);
	}
	remote_plain_close(conn);
}

/* Drives the session on the primary. */
static void
drive_promotion(RemoteConn *primary, const ClusterNode *clone, const char *strategy, int seconds)
{
	(void) remote_plain_exec(primary, psprintf("SET citus.move_pause_limit TO %d; SELECT citus_internal.cleanup()", drive_pause_limit), ERROR);
	await_catch_up(primary, clone, seconds);
	(void) drive_ask(primary, psprintf("SET LOCAL lock_timeout TO %d; %s", drive_switch_timeout,
									   node_call(NODE_clone_begin, node_int(clone->nodeid), node_text(strategy))));
	DEBUG_POINT("clone-begun");
	drive_pause(DRIVE_BETWEEN_MS);	/* for statements that don't know yet that
									 * the shards may leave */
	if (!drive_switch(primary, "SELECT citus_internal.clone_switch()"))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not promote clone %s:%d because transactions on its primary go on for long, or it doesn't catch up",
						clone->host, clone->port),
				 errdetail("They did not end within citus.move_switch_timeout."),
				 errhint("The views citus_lock_waits and citus_dist_stat_activity show them.")));
	DEBUG_POINT("clone-switched");
}

/* Makes the primary clean up; its daemon will remove the rest. */
static void
end_promotion(RemoteConn *primary)
{
	if (primary->state == REMOTE_IDLE &&
		remote_plain_exec(primary, "SELECT pg_catalog.pg_advisory_unlock_all()", WARNING) != NULL)
		(void) remote_plain_exec(primary, "SELECT citus_internal.cleanup()", WARNING);
	remote_plain_close(primary);
}

/* Drops the slot by which the clone streamed: it would keep WAL forever. */
static void
drop_clone_slot(RemoteConn *primary, const char *slot)
{
	if (slot != NULL)
		(void) remote_plain_exec(primary, psprintf("SELECT pg_catalog.pg_drop_replication_slot(slot_name) "
												   "FROM pg_catalog.pg_replication_slots WHERE slot_name = %s",
												   quote_literal_cstr(slot)), WARNING);
}

/*
 * citus_promote_clone_and_rebalance(clone_nodeid integer, rebalance_strategy
 * name, catchup_timeout_seconds integer)
 */
Datum
citus_promote_clone_and_rebalance(PG_FUNCTION_ARGS)
{
	const CatchPoint point = catch_point();
	const ClusterNode *clone;
	const ClusterNode *primary;
	RemoteConn *conn;
	char	   *slot;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_GETARG_INT32(2) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the clone and the timeout must be given")));
	drive_check_caller("promote a clone");
	clone = clone_require(PG_GETARG_INT32(0));
	primary = drive_require_node(node_require_id(clone->clone_of), "divide the shards of");
	slot = clone_check_standby(clone->host, clone->port, primary);
	conn = drive_open(primary);
	PG_TRY();
	{
		drive_promotion(conn, clone, PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1)), PG_GETARG_INT32(2));
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		remote_plain_stop(conn, remote_connection_timeout());
		end_promotion(conn);
		catch_rethrow(error);
	}
	PG_END_TRY();
	drop_clone_slot(conn, slot);
	end_promotion(conn);
	PG_RETURN_VOID();
}
