/*-------------------------------------------------------------------------
 *
 * reference_write.c
 *	  Writing a reference table on every node.
 *
 * The node with the lowest group id is written first, alone: row locks and
 * unique keys there order concurrent writers.  Besides, each writer takes a
 * lock for the table on that node until the end of its transaction: INSERTs,
 * which commute, in a shared mode, all others exclusively.  It is an object
 * lock, not a stronger mode of the table's lock: every writer already holds
 * ROW EXCLUSIVE on the table at this point, so two writers could deadlock.
 *
 * The order must be the same on all nodes, but a transaction becomes visible
 * on one node after another, and the next writer's statement may have begun
 * before.  So the task on each node takes the same lock there, which its
 * predecessor holds until its end on that node, and then takes its snapshot.
 * It reads no other table, whose copies may differ at that time: a write that
 * does is computed by its initiator (write_is_same_everywhere).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/result_relations.h"
#include "compat/sql_function.h"
#include "executor/reference_write.h"
#include "executor/row_image.h"
#include "executor/statement_snapshot.h"
#include "executor/task_set.h"
#include "remote/connection.h"
#include "remote/node_call.h"

/* Distinguishes our lock from the server's on the same relation. */
#define REFERENCE_LOCK_SUBID 1

/* Its modes: INSERTs share it. */
#define INSERT_LOCK RowExclusiveLock
#define WRITE_LOCK ExclusiveLock

/* Groups of all nodes, this one included, ascending. */
static List *
all_groups(void)
{
	List	   *groups = list_make1_int(metadata_local_group());

	foreach_ptr(ClusterNode, node, node_active_primaries())
		groups = list_append_unique_int(groups, node->groupid);
	list_sort(groups, list_int_cmp);
	return groups;
}

List *
reference_tasks(const DistTable *table, const char *text, ParamListInfo params)
{
	List	   *tasks = NIL;

	foreach_int(groupid, all_groups())
	{
		Task	   *task = palloc0(sizeof(Task));

		task->shard_index = -1;
		task->groupid = groupid;
		task->text = text;
		task->params = params;
		task->keep_rows = task->groupid == metadata_local_group();
		tasks = lappend(tasks, task);
	}
	return tasks;
}

/*
 * Takes the lock on this node until the end of the transaction; false if that
 * would require a wait and wait is false.
 */
static bool
lock_here(Oid relid, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId, relid, REFERENCE_LOCK_SUBID);
	if (LockAcquire(&tag, mode, false, !wait) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return true;
}

void
reference_lock_here(Oid relid, bool exclusive)
{
	(void) lock_here(relid, exclusive ? WRITE_LOCK : INSERT_LOCK, true);
}

/* Whether a plan writes, or locks, rows in another way than a plain INSERT. */
static bool
is_exclusive(const PlannedStmt *statement)
{
	const Plan *plan = statement->planTree;

	return statement->commandType != CMD_INSERT || !IsA(plan, ModifyTable) ||
		((const ModifyTable *) plan)->onConflictAction == ONCONFLICT_UPDATE;
}

void
reference_task_starts(QueryDesc *query_desc, int eflags)
{
	const PlannedStmt *statement = query_desc->plannedstmt;
	Bitmapset  *written = compat_result_relations(statement);
	bool		locked = false;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	for (int varno = -1; (varno = bms_next_member(written, varno)) >= 0;)
	{
		Oid			relid = rt_fetch(varno, statement->rtable)->relid;
		const DistTable *table = metadata_lookup(relid);

		if (table == NULL || table->kind != DIST_REFERENCE)
			continue;
		reference_lock_here(relid, is_exclusive(statement));
		locked = true;
	}
	if (locked)
		statement_snapshot_renew(query_desc);
}

void
reference_task_started(QueryDesc *query_desc)
{
	const PlannedStmt *statement = query_desc->plannedstmt;
	Bitmapset  *written = compat_result_relations(statement);

	for (int varno = -1; (varno = bms_next_member(written, varno)) >= 0;)
		row_places_allow(rt_fetch(varno, statement->rtable)->relid, query_desc->estate->es_query_cxt);
}

/* The lock on the lowest node. */
static bool
lock_at(int32 groupid, Oid relid, const char *name, bool exclusive, bool wait)
{
	if (groupid == metadata_local_group())
		return lock_here(relid, exclusive ? WRITE_LOCK : INSERT_LOCK, wait);
	return remote_is_true(remote_query(groupid,
									   node_call(NODE_lock_reference_table, node_text(name), node_bool(exclusive),
												 node_bool(wait)), NULL));
}

/*
 * A writer that has to wait holds ROW EXCLUSIVE on the table here, and will
 * need it on all nodes: DDL that locks the table on one of them in between
 * would wait for the writer, and block it.  So the writer takes ROW EXCLUSIVE
 * on all nodes first, and DDL queues behind the waiting writers.
 */
void
reference_lock(Oid relid, bool exclusive)
{
	int32		lowest;
	char	   *name;

	node_share_replicas_local();
	lowest = linitial_int(all_groups());
	name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));
	if (lock_at(lowest, relid, name, exclusive, false))
		return;
	remote_exec_on_all(node_call(NODE_keep_reference_table, node_text(name)));
	(void) lock_at(lowest, relid, name, exclusive, true);
}

bool
reference_lock_now(Oid relid, bool exclusive)
{
	node_share_replicas_local();
	return lock_at(linitial_int(all_groups()), relid,
				   quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid)),
				   exclusive, false);
}

/* Errors unless the user may write the table, or some columns of it. */
static void
check_may_write(Oid relid)
{
	AclMode		mode = ACL_INSERT | ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE;

	if (pg_class_aclmask(relid, GetUserId(), mode, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_INSERT | ACL_UPDATE, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
}

/*
 * citus_internal.lock_reference_table(relation, exclusive, wait): for an
 * initiator on another node; whether it is locked.
 */
SQL_FUNCTION(citus_internal_lock_reference_table);
Datum
citus_internal_lock_reference_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	check_may_write(relid);
	PG_RETURN_BOOL(lock_here(relid, PG_GETARG_BOOL(1) ? WRITE_LOCK : INSERT_LOCK, PG_GETARG_BOOL(2)));
}

/*
 * citus_internal.keep_reference_table(relation): for an initiator on another
 * node, which will write the table.
 */
SQL_FUNCTION(citus_internal_keep_reference_table);
Datum
citus_internal_keep_reference_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	check_may_write(relid);
	LockRelationOid(relid, RowExclusiveLock);
	PG_RETURN_VOID();
}
