/*-------------------------------------------------------------------------
 *
 * index_concurrently.c
 *	  CREATE INDEX, DROP INDEX and REINDEX CONCURRENTLY of distributed and
 *	  reference tables.
 *
 * The server's own CREATE INDEX CONCURRENTLY creates the shards' indexes,
 * outside any other transaction: on all nodes in parallel, one shard after
 * another on each.  The logical index is created first, in a separate
 * distributed transaction, and is invalid on all nodes until all shards have
 * theirs.  So an error leaves an invalid index, as on a single server, which
 * DROP INDEX removes together with the existing indexes of shards.  DROP INDEX
 * CONCURRENTLY takes the steps in reverse order; REINDEX changes shards only.
 *
 * Locks: the logical tables are empty, and locked for a moment only, without
 * blocking writers behind long transactions (lock_everywhere.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "ddl/index_concurrently.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "lib/index_columns.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "resolve/tag.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

SQL_FUNCTION(citus_internal_set_index_valid);

/* Marks an index of this node as valid or invalid. */
static void
set_index_valid(Oid index, bool valid)
{
	Relation	rel = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(INDEXRELID, ObjectIdGetDatum(index));

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index with OID %u does not exist", index)));
	((Form_pg_index) GETSTRUCT(tuple))->indisvalid = valid;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(((Form_pg_index) GETSTRUCT(tuple))->indrelid);
	table_close(rel, RowExclusiveLock);
	CommandCounterIncrement();
}

/* citus_internal.set_index_valid(index regclass, valid boolean) */
Datum
citus_internal_set_index_valid(PG_FUNCTION_ARGS)
{
	Oid			index = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	if (!object_ownercheck(RelationRelationId, index, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(index));
	set_index_valid(index, PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

static char *
set_valid_command(const char *index, bool valid)
{
	return node_call(NODE_set_index_valid, node_text(index), node_bool(valid));
}

/*
 * Error context: a hint about the invalid index that an error leaves, and how
 * to remove it.  Not for warnings, nor for errors that are raised before any
 * index is created.
 */
static void
add_invalid_hint(void *index)
{
	int			category = ERRCODE_TO_CATEGORY(geterrcode());

	if (category == ERRCODE_SUCCESSFUL_COMPLETION || category == ERRCODE_WARNING ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_FEATURE_NOT_SUPPORTED))
		return;
	if (index == NULL && geterrcode() == ERRCODE_UNDEFINED_TABLE)
		errhint("Not all shards have the index, since CREATE INDEX CONCURRENTLY has failed. Drop it with DROP INDEX, and create it again.");
	else if (index == NULL)
		errhint("The indexes can be used as before. What is left of new ones goes when the statement is repeated.");
	else
		errhint("Index %s is left invalid. Drop it with DROP INDEX, and try again.", (char *) index);
}

/*
 * Whether a statement drops a missing index: CREATE INDEX had not reached that
 * shard.
 */
static bool
is_gone(Node *stmt)
{
	return IsA(stmt, DropStmt) &&
		!OidIsValid(RangeVarGetRelid(makeRangeVarFromNameList(linitial(castNode(DropStmt, stmt)->objects)), NoLock, true));
}

/*
 * Runs the statement on this node's shards, each in separate transactions; on
 * the table itself if it has no shards.
 */
static void
run_on_shards_alone(UtilityCall *call, const DistTable *table)
{
	List	   *statements;
	ListCell   *cell;

	if (table->kind == DIST_REFERENCE)
	{
		run_utility_alone(call->pstmt->utilityStmt, call->query);
		return;
	}
	statements = resolve_for_local_shards(table, call->pstmt->utilityStmt);
	foreach(cell, statements)
	{
		if (is_gone(lfirst(cell)))
			continue;
		run_utility_alone(lfirst(cell), call->query);
		run_commands_next_transaction();
	}
}

/*
 * Runs a text on the other nodes, and if here is true, the statement on this
 * one; a hint names the index if that fails.
 */
static void
run_everywhere_alone(UtilityCall *call, const char *text, char *index, Oid relid, bool here)
{
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = add_invalid_hint,.arg = index};

	error_context_stack = &callback;
	if (node_active_primaries_remote() != NIL)
		remote_exec_alone_on_all(psprintf("%s%s", TASK_TAG_DDL, text));
	if (here)
		run_on_shards_alone(call, metadata_require(relid));
	error_context_stack = callback.previous;
}

/* Locks the table for the last step; it was not locked since the first one. */
static void
lock_again(Oid relid, LOCKMODE mode)
{
	node_share_set_for_ddl();
	while (!lock_everywhere(list_make1_oid(relid), mode))
		(void) metadata_require(relid);
	if (!ActiveSnapshotSet())
		PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * The text for shards: CREATE INDEX CONCURRENTLY, from the text without
 * CONCURRENTLY.
 */
static char *
concurrent_text(const char *definition)
{
	const char *verb = strstr(definition, " INDEX ");

	return psprintf("%.*s INDEX CONCURRENTLY %s", (int) (verb - definition), definition, verb + strlen(" INDEX "));
}

/*
 * Writes the entries of a global index, while others write the table: they
 * wait only for the table of entries to be made.
 */
static void
fill_global_index(Oid relid, Oid index)
{
	lock_again(relid, ShareRowExclusiveLock);
	global_index_begin(relid, index);
	global_keys_create(relid, true);
	entries_fill_online(relid, index);
}

/*
 * The last step: makes the index valid on all nodes.  If it is a global one,
 * its entries are written before; or, if it treats nulls as equal, in this
 * step, while other writers wait.
 */
static void
finish_index(UtilityCall *call, Oid relid, Oid index, char *name)
{
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = add_invalid_hint,.arg = name};
	Relation	rel = index_open(index, AccessShareLock);
	bool		global = index_is_global(rel->rd_index, metadata_require(relid)->dist_attno);
	bool		online = global && global_index_fills_online(rel);

	index_close(rel, AccessShareLock);
	error_context_stack = &callback;
	if (online)
		fill_global_index(relid, index);
	lock_again(relid, global && !online ? ShareLock : ShareUpdateExclusiveLock);
	set_index_valid(index, true);
	utility_relay_call(call, set_valid_command(name, true));
	if (global && !online)
	{
		global_indexes_create(relid);
		global_keys_create(relid, true);
	}
	PopActiveSnapshot();
	error_context_stack = callback.previous;
}

void
create_index_concurrently(UtilityCall *call, const DistTable *table,
						  Oid (*create_logical) (UtilityCall *call, Oid relid))
{
	IndexStmt  *stmt = castNode(IndexStmt, call->pstmt->utilityStmt);
	IndexStmt  *original = copyObject(stmt);
	Oid			relid = table->relid;
	bool		reference = table->kind == DIST_REFERENCE;
	MemoryContext context = CurrentMemoryContext;
	Oid			index;
	char	   *definition;
	char	   *name;

	PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "CREATE INDEX CONCURRENTLY");
	if (call->relayed)
	{
		run_on_shards_alone(call, table);
		return;
	}
	/*
	 * a reference table's index is made here first, by the server's own steps,
	 * and gives the others its name
	 */
	stmt->concurrent = reference;
	index = create_logical(call, relid);
	MemoryContextSwitchTo(context);
	if (!OidIsValid(index))
		return;
	definition = index_definition(index, false);
	name = relation_qualified_name(index);
	if (reference)
	{
		run_everywhere_alone(call, concurrent_text(definition), name, relid, false);
		return;
	}
	/*
	 * its expressions have been analysed for the table, and the shards' have
	 * not
	 */
	original->idxname = get_rel_name(index);
	call->pstmt->utilityStmt = (Node *) original;
	set_index_valid(index, false);
	utility_relay_call(call, run_commands_call(list_make2(definition, set_valid_command(name, false))));
	run_commands_next_transaction();
	run_everywhere_alone(call, concurrent_text(definition), name, relid, true);
	run_commands_next_transaction();
	finish_index(call, relid, index, name);
}

void
drop_index_concurrently(UtilityCall *call, const DistTable *table)
{
	DropStmt   *stmt = castNode(DropStmt, call->pstmt->utilityStmt);
	Oid			index = RangeVarGetRelid(makeRangeVarFromNameList(linitial(stmt->objects)), NoLock, true);
	Oid			relid = table->relid;
	bool		reference = table->kind == DIST_REFERENCE;
	char	   *name;

	PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "DROP INDEX CONCURRENTLY");
	if (call->relayed)
	{
		run_on_shards_alone(call, table);
		return;
	}
	/* what the server refuses */
	if (list_length(stmt->objects) > 1 || stmt->behavior == DROP_CASCADE || OidIsValid(get_index_constraint(index)) ||
		get_rel_relkind(index) != RELKIND_INDEX || !object_ownercheck(RelationRelationId, index, GetUserId()))
	{
		utility_run(call);
		return;
	}
	name = relation_qualified_name(index);
	if (!reference)
	{
		set_index_valid(index, false);
		utility_relay_call(call, set_valid_command(name, false));
	}
	run_commands_next_transaction();
	stmt->missing_ok = true;
	run_everywhere_alone(call, psprintf("DROP INDEX CONCURRENTLY IF EXISTS %s", name), name, relid, true);
	if (reference)
		return;
	run_commands_next_transaction();
	lock_again(relid, AccessExclusiveLock);
	drop_relations(list_make1_oid(index));
	utility_relay_text(call, psprintf("DROP INDEX IF EXISTS %s", name));
	PopActiveSnapshot();
}

/*
 * Drops the invalid indexes that an interrupted REINDEX CONCURRENTLY has left
 * on shards of this node.
 */
static void
drop_remains(const DistTable *table)
{
	List	   *remains = NIL;
	ListCell   *index;

	foreach_oid(shard, list_append_unique_oid(local_shard_relids(table), table->relid))
	{
		Relation	rel = table_open(shard, AccessShareLock);

		foreach(index, RelationGetIndexList(rel))
		{
			char	   *name = get_rel_name(lfirst_oid(index));

			if (!get_index_isvalid(lfirst_oid(index)) && (strstr(name, "_ccnew") || strstr(name, "_ccold")))
				remains = lappend_oid(remains, lfirst_oid(index));
		}
		table_close(rel, NoLock);
	}
	if (remains != NIL)
		drop_relations(remains);
	run_commands_next_transaction();
}

/*
 * Whether a table, not a partitioned one, has no indexes that REINDEX TABLE
 * CONCURRENTLY takes, nor its TOAST: it leaves out invalid ones.
 */
static bool
has_no_indexes(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	bool		none = !RELKIND_HAS_PARTITIONS(rel->rd_rel->relkind) && !OidIsValid(rel->rd_rel->reltoastrelid);

	foreach_oid(index, RelationGetIndexList(rel))
		none = none && !get_index_isvalid(index);
	table_close(rel, NoLock);
	return none;
}

/*
 * The statement of the user is about the logical table, or this node's copy of
 * a reference table: its messages are shown, and event triggers fire for it.
 * It comes last, since an invalid index becomes valid there.
 */
void
reindex_concurrently(UtilityCall *call, const DistTable *table)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			relid = table->relid;
	bool		here = table->kind != DIST_REFERENCE;
	char	   *text = utility_text(call);

	PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "REINDEX CONCURRENTLY");
	drop_remains(table);
	if (call->relayed)
	{
		run_on_shards_alone(call, metadata_require(relid));
		return;
	}
	if (castNode(ReindexStmt, call->pstmt->utilityStmt)->kind != REINDEX_OBJECT_TABLE || !has_no_indexes(relid))
		run_everywhere_alone(call, text, NULL, relid, here);
	MemoryContextSwitchTo(context);
	run_commands_next_transaction();
	run_commands_become_own();
	PushActiveSnapshot(GetTransactionSnapshot());
	utility_run(call);
	/* it may have found nothing to do, and ended no transaction */
	while (ActiveSnapshotSet())
		PopActiveSnapshot();
	MemoryContextSwitchTo(context);
}
