/*-------------------------------------------------------------------------
 *
 * with_shards.c
 *	  TRUNCATE, LOCK and GRANT: statements that take a list of tables.
 *
 * Each node runs them once, on the logical tables and all its shards.
 * TRUNCATE and LOCK may start on any node.  Concurrent sessions take the locks
 * on the coordinator first, so that they queue there instead of deadlocking.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "catalog/node.h"
#include "catalog/object_scope.h"
#include "ddl/handlers.h"
#include "ddl/truncate_triggers.h"
#include "objects/sequence_values.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/sequence.h"
#include "table/shards.h"

/*
 * Appends RangeVars of the table's shards on this node, without those that are
 * dropped meanwhile.
 */
static List *
append_shards(List *relations, const DistTable *table)
{
	foreach_oid(shard, local_shard_relids(table))
	{
		char	   *name = get_rel_name(shard);

		if (name != NULL)
			relations = lappend(relations, makeRangeVar(pstrdup(SHARD_SCHEMA), name, -1));
	}
	return relations;
}

/*
 * Splits off the distributed and reference tables of a list of RangeVars:
 * their qualified names as text, or NULL if there are none.
 */
static char *
list_dist_tables(List *relations)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_node(RangeVar, relation, relations)
	{
		const DistTable *table = metadata_lookup(RangeVarGetRelid(relation, NoLock, true));

		if (table == NULL)
			continue;
		appendStringInfo(&buf, "%s%s%s", buf.len == 0 ? "" : ", ", relation->inh ? "" : "ONLY ",
						 relation_qualified_name(table->relid));
	}
	return buf.len == 0 ? NULL : buf.data;
}

/*
 * Runs a statement here, and text on the other nodes: the coordinator is
 * always the first.
 */
static void
run_everywhere(UtilityCall *call, const char *text)
{
	int			level;

	if (!call->relayed)
		node_share_set_for_ddl();
	if (call->relayed || metadata_local_group() == COORDINATOR_GROUP)
	{
		utility_run(call);
		utility_relay_text(call, text);
		return;
	}
	text = psprintf("%s%s", TASK_TAG_DDL, text);
	level = quiet_begin(WARNING);
	remote_exec(COORDINATOR_GROUP, text);
	AtEOXact_GUC(true, level);
	utility_run(call);
	level = quiet_begin(WARNING);
	foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
		if (node->groupid != COORDINATOR_GROUP)
			remote_exec(node->groupid, text);
	AtEOXact_GUC(true, level);
}

/*
 * Oids of the tables that a list of RangeVars names, without local ones that
 * can't be distributed; false if the user may not lock one of them. Locks the
 * set of nodes if one is distributed.
 */
static bool
list_tables_to_lock(List *relations, List **relids)
{
	*relids = NIL;
	foreach_node(RangeVar, relation, relations)
	{
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);

		if (metadata_lookup(relid) != NULL)
			node_share_set_for_ddl();
		else if (relid < FirstNormalObjectId || get_rel_relkind(relid) != RELKIND_RELATION)
			continue;
		if (pg_class_aclcheck(relid, GetUserId(), ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE) != ACLCHECK_OK)
			return false;
		*relids = lappend_oid(*relids, relid);
	}
	return true;
}

/*
 * Takes the locks of the statement's tables before their metadata are read, so
 * that these don't change; does nothing if the user may not take one of them,
 * for which the server will raise the error.
 */
static void
lock_if_allowed(UtilityCall *call, List *relations, LOCKMODE mode)
{
	List	   *relids;

	if (call->relayed)
		return;
	do
	{
		if (!list_tables_to_lock(relations, &relids))
			return;
	} while (!lock_everywhere(relids, mode));
	foreach_oid(relid, relids)
	{
		const DistTable *table = metadata_lookup(relid);

		if (table != NULL)
			shards_check_active(table);
	}
}

/*
 * Whether the user may truncate all tables; if not, the server will raise the
 * error.
 */
static bool
may_truncate(List *relids)
{
	foreach_oid(relid, relids)
	{
		if (pg_class_aclcheck(relid, GetUserId(), ACL_TRUNCATE) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/*
 * The shards on this node of truncated tables, including those of CASCADE, so
 * that the server's cascade sends no notices about shards.  Locks the tables.
 */
static List *
truncated_shards(List *relids)
{
	List	   *shards = NIL;

	foreach_oid(relid, relids)
		LockRelationOid(relid, AccessExclusiveLock);
	foreach_oid(relid, relids)
	{
		const DistTable *table = metadata_lookup(relid);

		if (table != NULL)
			shards = append_shards(shards, table);
	}
	return shards;
}

/*
 * Truncates tables with triggers for it: the initiator fires them; the
 * server's TRUNCATE must not, on any node.
 */
static void
truncate_with_triggers(UtilityCall *call, const char *text, List *relids)
{
	bool		fires = !call->relayed;

	if (fires)
		truncate_triggers_before(relids);
	truncate_triggers_hide(relids);
	PG_TRY();
	{
		run_everywhere(call, text);
	}
	PG_CATCH();
	{
		truncate_triggers_forget();
		PG_RE_THROW();
	}
	PG_END_TRY();
	truncate_triggers_show(relids);
	if (fires)
		truncate_triggers_after(relids);
}

bool
truncate_utility(UtilityCall *call)
{
	TruncateStmt *stmt = castNode(TruncateStmt, call->pstmt->utilityStmt);
	List	   *relids;
	List	   *all;
	bool		may;
	char	   *names;
	char	   *text;

	lock_if_allowed(call, stmt->relations, AccessExclusiveLock);
	names = list_dist_tables(stmt->relations);
	if (names == NULL)
		return false;
	text = psprintf("TRUNCATE TABLE %s%s%s", names, stmt->restart_seqs ? " RESTART IDENTITY" : "",
					stmt->behavior == DROP_CASCADE ? " CASCADE" : "");
	relids = truncated_tables(stmt->relations, stmt->behavior == DROP_CASCADE, &all);
	may = may_truncate(relids);
	if (may)
		stmt->relations = list_concat(stmt->relations, truncated_shards(relids));
	if (may && have_truncate_triggers(all))
		truncate_with_triggers(call, text, all);
	else
		run_everywhere(call, text);
	if (stmt->restart_seqs)
	{
		foreach_oid(relid, all)
			sequences_changed(relid);
	}
	return true;
}

static bool
is_table(Oid relid)
{
	char		kind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	return kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE;
}

/*
 * The names of a relayed LOCK TABLE that are tables here, which it locks.  The
 * others have been dropped in this moment, perhaps by the transaction that it
 * waits for, which the initiator sees when it has its own lock; or they were
 * dropped here, and perhaps made another object, while DDL wasn't propagated:
 * if the table is to be dropped, it needs no lock here.
 */
static List *
lock_tables_here(const LockStmt *stmt)
{
	uint32		flags = RVR_MISSING_OK | (stmt->nowait ? RVR_NOWAIT : 0);
	List	   *result = NIL;

	foreach_node(RangeVar, relation, stmt->relations)
	{
		if (is_table(RangeVarGetRelid(relation, NoLock, true)) &&
			is_table(RangeVarGetRelidExtended(relation, stmt->mode, flags, NULL, NULL)))
			result = lappend(result, relation);
	}
	return result;
}

bool
lock_utility(UtilityCall *call)
{
	LockStmt   *stmt = castNode(LockStmt, call->pstmt->utilityStmt);
	char	   *names;

	if (call->relayed)
	{
		stmt->relations = lock_tables_here(stmt);
		if (stmt->relations == NIL)
			return true;
	}
	else
		RequireTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "LOCK TABLE");
	if (!stmt->nowait)
		lock_if_allowed(call, stmt->relations, stmt->mode);
	names = list_dist_tables(stmt->relations);
	if (names == NULL)
		return false;
	run_everywhere(call, psprintf("LOCK TABLE %s IN %s MODE%s", names, lock_mode_name(stmt->mode),
								  stmt->nowait ? " NOWAIT" : ""));
	return true;
}

/* Whether the user may grant something on a relation, or on its columns. */
static bool
may_grant(Oid relid)
{
	return pg_class_aclmask(relid, GetUserId(), ACL_GRANT_OPTION_FOR(ACL_ALL_RIGHTS_RELATION), ACLMASK_ANY) != 0 ||
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_GRANT_OPTION_FOR(ACL_ALL_RIGHTS_COLUMN),
								  ACLMASK_ANY) == ACLCHECK_OK;
}

/*
 * Oids of the tables that a GRANT names, directly or by their sequences, and
 * on which the user may grant something.
 */
static List *
granted_tables(const GrantStmt *stmt)
{
	List	   *relids = NIL;

	foreach_node(RangeVar, relation, stmt->objects)
	{
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);
		Oid			owner = owner_of_sequence(relid);

		if (OidIsValid(relid) && may_grant(relid))
			relids = list_append_unique_oid(relids, OidIsValid(owner) ? owner : relid);
	}
	return relids;
}

List *
utility_schema_tables(const List *schemas)
{
	List	   *relids = NIL;
	ListCell   *schema;

	foreach_oid(relid, metadata_tables(0))
	{
		foreach(schema, schemas)
		{
			if (get_rel_namespace(relid) == get_namespace_oid(strVal(lfirst(schema)), true))
				relids = list_append_unique_oid(relids, relid);
		}
	}
	return relids;
}

/*
 * The tables that a GRANT on tables or sequences locks, in a fixed order:
 * distributed tables, and local ones that can be distributed.
 */
static void
tables_to_grant_on(const GrantStmt *stmt, List **distributed, List **local)
{
	List	   *relids = stmt->targtype == ACL_TARGET_OBJECT ? granted_tables(stmt) : utility_schema_tables(stmt->objects);

	*distributed = NIL;
	*local = NIL;
	list_sort(relids, list_oid_cmp);
	foreach_oid(relid, relids)
	{
		if (metadata_lookup(relid) != NULL)
			*distributed = lappend_oid(*distributed, relid);
		else if (relid >= FirstNormalObjectId && get_rel_relkind(relid) == RELKIND_RELATION)
			*local = lappend_oid(*local, relid);
	}
}

/*
 * Locks the tables of a GRANT, so that no other session changes their rows of
 * pg_class, here or on shards, at the same time; and reads their metadata
 * again.  The server takes no locks: so local tables get a lock that only
 * prevents that they are distributed meanwhile.  On other nodes, this waits
 * only for commits that are just arriving there.
 */
static void
lock_to_grant(UtilityCall *call, const GrantStmt *stmt)
{
	List	   *distributed;
	List	   *local;
	List	   *distributed_now;
	List	   *local_now;
	bool		locked = true;

	do
	{
		tables_to_grant_on(stmt, &distributed, &local);
		if (distributed != NIL)
			utility_check_initiator(call);
		if (!call->relayed)
			locked = lock_everywhere(distributed, ShareUpdateExclusiveLock) && lock_everywhere(local, AccessShareLock);
		else
			foreach_oid(relid, distributed)
				LockRelationOid(relid, ShareUpdateExclusiveLock);
		tables_to_grant_on(stmt, &distributed_now, &local_now);
	} while (!locked || !equal(distributed, distributed_now) || !equal(local, local_now));
}

/* Whether a relation other than a distributed table is on all nodes. */
static bool
is_shared_relation(Oid relid)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, relid);
	return !object_is_local(&object);
}

/*
 * GRANT on named tables and sequences: the shards' RangeVars.  *names are
 * those of the objects that other nodes have as well, or NULL if there are
 * none.
 */
static List *
grant_shards(GrantStmt *stmt, char **names)
{
	StringInfoData buf;
	List	   *shards = NIL;

	initStringInfo(&buf);
	foreach_node(RangeVar, relation, stmt->objects)
	{
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);
		const DistTable *table = metadata_lookup(relid);

		if (table != NULL)
			shards = append_shards(shards, table);
		else if (!OidIsValid(relid) || !(sequence_is_of_dist_table(relid) || is_shared_relation(relid)))
			continue;
		appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", relation_qualified_name(relid));
	}
	*names = buf.len == 0 ? NULL : buf.data;
	return shards;
}

/* Appends the privileges of a GRANT or REVOKE as they were written. */
static void
append_privileges(StringInfo buf, List *privileges)
{
	ListCell   *column;

	if (privileges == NIL)
		appendStringInfoString(buf, "ALL PRIVILEGES");
	foreach_node(AccessPriv, privilege, privileges)
	{
		appendStringInfo(buf, "%s%s", foreach_current_index(privilege) == 0 ? "" : ", ",
						 privilege->priv_name ? privilege->priv_name : "ALL PRIVILEGES");
		foreach(column, privilege->cols)
			appendStringInfo(buf, "%s%s", foreach_current_index(column) == 0 ? " (" : ", ",
							 quote_identifier(strVal(lfirst(column))));
		if (privilege->cols != NIL)
			appendStringInfoChar(buf, ')');
	}
}

static const char *
role_text(const RoleSpec *role)
{
	return role->roletype == ROLESPEC_PUBLIC ? "PUBLIC" : quote_identifier(get_rolespec_name(role));
}

/* The GRANT or REVOKE on tables or sequences of these names alone. */
static char *
grant_text(const GrantStmt *stmt, const char *names)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%s %s", stmt->is_grant ? "GRANT" : "REVOKE",
					 !stmt->is_grant && stmt->grant_option ? "GRANT OPTION FOR " : "");
	append_privileges(&buf, stmt->privileges);
	appendStringInfo(&buf, " ON %s %s %s ", stmt->objtype == OBJECT_SEQUENCE ? "SEQUENCE" : "TABLE", names,
					 stmt->is_grant ? "TO" : "FROM");
	foreach(cell, stmt->grantees)
		appendStringInfo(&buf, "%s%s", foreach_current_index(cell) == 0 ? "" : ", ", role_text(lfirst(cell)));
	if (stmt->is_grant && stmt->grant_option)
		appendStringInfoString(&buf, " WITH GRANT OPTION");
	if (stmt->grantor != NULL)
		appendStringInfo(&buf, " GRANTED BY %s", role_text(stmt->grantor));
	if (!stmt->is_grant && stmt->behavior == DROP_CASCADE)
		appendStringInfoString(&buf, " CASCADE");
	return buf.data;
}

/*
 * Shards of all distributed tables in the schemas that the statement names;
 * *found: whether there are such tables.
 */
static List *
grant_schema_shards(GrantStmt *stmt, bool *found)
{
	List	   *relids = utility_schema_tables(stmt->objects);
	List	   *shards = NIL;

	*found = (relids != NIL);
	foreach_oid(relid, relids)
		shards = append_shards(shards, metadata_require(relid));
	return shards;
}

/* GRANT and REVOKE on tables and their sequences, named or all of a schema. */
bool
grant_utility(UtilityCall *call)
{
	GrantStmt  *stmt = castNode(GrantStmt, call->pstmt->utilityStmt);
	bool		relations = (stmt->objtype == OBJECT_TABLE || stmt->objtype == OBJECT_SEQUENCE);
	GrantStmt  *for_shards;
	List	   *shards = NIL;
	char	   *names = NULL;
	bool		in_schema = false;
	int			level;

	if (relations && (stmt->targtype == ACL_TARGET_OBJECT || stmt->targtype == ACL_TARGET_ALL_IN_SCHEMA))
		lock_to_grant(call, stmt);
	if (relations && stmt->targtype == ACL_TARGET_OBJECT)
		shards = grant_shards(stmt, &names);
	else if (relations && stmt->targtype == ACL_TARGET_ALL_IN_SCHEMA)
		shards = grant_schema_shards(stmt, &in_schema);
	if (names == NULL && !in_schema)
		return false;
	utility_check_initiator(call);

	for_shards = copyObject(stmt);
	utility_run(call);
	level = quiet_begin(ERROR);
	utility_relay_text(call, names != NULL ? grant_text(stmt, names) : utility_text(call));
	if (shards != NIL && stmt->objtype == OBJECT_TABLE)
	{
		for_shards->targtype = ACL_TARGET_OBJECT;
		for_shards->objects = shards;
		run_raw_statement((Node *) for_shards, call->query);
	}
	AtEOXact_GUC(true, level);
	return true;
}
