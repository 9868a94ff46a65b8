/*-------------------------------------------------------------------------
 *
 * lock_everywhere.c
 *	  Locks a table on all nodes before DDL changes it there.
 *
 * A write that starts on node A locks the logical table on A, then on the node
 * B where its shard is.  DDL that has the table on B and waits on A releases
 * its lock (lock_attempt.c).
 *
 * There are two kinds of attempts, which alternate.  All nodes at once: new
 * sessions queue on each node before they hold a lock, so only sessions
 * between their two locks can block the attempt.  Or the coordinator first,
 * without a time limit: so long users of the table are waited for as on a
 * single server.
 *
 * After a wait, the table may have gone, or has another name, or is
 * distributed now, or no longer: then the caller has to look up the name
 * again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/maintains_table.h"
#include "compat/sql_function.h"
#include "lib/run_as.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "resolve/tag.h"
#include "table/definition.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "txn/commit_ring.h"

SQL_FUNCTION(citus_internal_lock_node_set);
SQL_FUNCTION(citus_internal_lock_group_placements);

static const char *const mode_names[] = {
	[AccessShareLock] = "ACCESS SHARE",
	[RowShareLock] = "ROW SHARE",
	[RowExclusiveLock] = "ROW EXCLUSIVE",
	[ShareUpdateExclusiveLock] = "SHARE UPDATE EXCLUSIVE",
	[ShareLock] = "SHARE",
	[ShareRowExclusiveLock] = "SHARE ROW EXCLUSIVE",
	[ExclusiveLock] = "EXCLUSIVE",
	[AccessExclusiveLock] = "ACCESS EXCLUSIVE",
};

typedef struct LockRequest
{
	List	   *relids;
	LOCKMODE	mode;
	char	   *description;	/* of the tables before the wait */
	char	   *text;			/* LOCK TABLE for the other nodes; NULL: only
								 * on this node */
} LockRequest;

void
node_share_set_for_ddl(void)
{
	if (metadata_local_group() != COORDINATOR_GROUP)
		remote_exec(COORDINATOR_GROUP, node_call(NODE_lock_node_set, node_int(metadata_local_group())));
	node_share_set_local();
}

/* citus_internal.lock_node_set(groupid integer) */
Datum
citus_internal_lock_node_set(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	node_share_set_local();
	(void) node_of_group(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

void
lock_group_placements(int32 colocation_id)
{
	LockDatabaseObject(dist_relid(PG_DIST_COLOCATION), colocation_id, 0, ShareLock);
}

/* citus_internal.lock_group_placements(colocation_id integer) */
Datum
citus_internal_lock_group_placements(PG_FUNCTION_ARGS)
{
	node_function_check_superuser(fcinfo);
	LockDatabaseObject(dist_relid(PG_DIST_COLOCATION), PG_GETARG_INT32(0), 0, ExclusiveLock);
	PG_RETURN_VOID();
}

const char *
lock_mode_name(LOCKMODE mode)
{
	return mode_names[mode];
}

char *
lock_table_text(List *relids, LOCKMODE mode)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, relids)
	{
		if (metadata_find(relid) != NULL)
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", relation_qualified_name(relid));
	}
	return buf.len == 0 ? NULL : psprintf("%sLOCK TABLE %s IN %s MODE", TASK_TAG_DDL, buf.data, mode_names[mode]);
}

/*
 * The tables' names, and which of them are distributed; NULL if one is gone.
 */
static char *
describe_tables(List *relids)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, relids)
	{
		if (get_rel_name(relid) == NULL)
			return NULL;
		appendStringInfo(&buf, "%s %d,", relation_qualified_name(relid),
						 metadata_find(relid) != NULL);
	}
	return buf.data;
}

/* Whether the tables, locked now, are what they were before the wait. */
static bool
are_unchanged(const LockRequest *request)
{
	const char *now = describe_tables(request->relids);

	return now != NULL && strcmp(now, request->description) == 0;
}

/* Takes the locks on one node. */
static void
take_locks_on(int32 group, const LockRequest *request)
{
	if (group != metadata_local_group())
	{
		remote_exec(group, request->text);
		return;
	}
	foreach_oid(relid, request->relids)
	{
		LockRelationOid(relid, request->mode);
		if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			(void) find_all_inheritors(relid, request->mode, NULL);
	}
}

/* On this node, while the other nodes take theirs. */
static void
take_locks_here(void *arg)
{
	take_locks_on(metadata_local_group(), arg);
}

/*
 * All nodes at once; before that, sessions that lock the table in this way
 * queue on the coordinator.
 */
static void
take_locks_together(const LockRequest *request, int timeout)
{
	if (request->mode > ShareLock)
	{
		LockRequest turn = {request->relids, ShareUpdateExclusiveLock};

		turn.text = lock_table_text(request->relids, ShareUpdateExclusiveLock);
		take_locks_on(0, &turn);
	}
	lock_attempt_limit(timeout);
	remote_exec_on_all_while(request->text, take_locks_here, (void *) request);
}

/*
 * The coordinator, where sessions that lock the same table queue before they
 * hold a lock; then the other nodes.  For modes that don't block writes, only
 * the coordinator's lock is needed.
 */
static void
take_locks_one_by_one(const LockRequest *request, int timeout)
{
	take_locks_on(0, request);
	if (metadata_local_group() == 0 && !are_unchanged(request))
		return;
	if (request->mode < ShareLock)
	{
		take_locks_on(metadata_local_group(), request);
		return;
	}
	lock_attempt_limit(timeout);
	foreach_ptr(const ClusterNode, node, node_active_primaries())
		if (node->groupid != 0)
			take_locks_on(node->groupid, request);
}

/*
 * LockTaker's take.  The caller has checked that the user may do what needs
 * the locks, for which LOCK TABLE may want other rights: so it runs with a
 * superuser's.
 */
static bool
take_table_locks(void *arg, int number, int timeout)
{
	const LockRequest *request = arg;

	if (request->text == NULL)
		take_locks_on(metadata_local_group(), request);
	else
	{
		int			level = quiet_begin(WARNING);
		RunAs		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);

		if (request->mode >= ShareLock && timeout > 0 && number % 2 == 1)
			take_locks_together(request, timeout);
		else
			take_locks_one_by_one(request, timeout);
		run_as_end(caller);
		AtEOXact_GUC(true, level);
	}
	return are_unchanged(request);
}

void
lock_others_everywhere(List *relids, LOCKMODE mode)
{
	List	   *allowed = NIL;

	foreach_oid(relid, relids)
	{
		if (pg_class_aclcheck(relid, GetUserId(), ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE) == ACLCHECK_OK ||
			compat_may_maintain(relid))
			allowed = lappend_oid(allowed, relid);
	}
	(void) lock_everywhere(allowed, mode);
}

bool
lock_everywhere(List *relids, LOCKMODE mode)
{
	LockRequest request = {relids, mode};
	LockTaker	taker = {.take = take_table_locks, .arg = &request};

	if (relids == NIL)
		return true;
	request.description = describe_tables(relids);
	if (request.description == NULL)
		return false;
	if (node_active_primaries_remote() != NIL && (mode >= ShareLock || metadata_local_group() != 0))
		request.text = lock_table_text(relids, mode);
	taker.here_only = request.text == NULL;
	return lock_in_attempts(&taker);
}
