/*-------------------------------------------------------------------------
 *
 * index.c
 *	  CREATE INDEX, REINDEX and CLUSTER of distributed and reference tables.
 *
 * The server chooses the index's name and definition on the logical table;
 * other nodes and shards get that definition.  index_concurrently.c has
 * CONCURRENTLY.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/object_scope.h"
#include "compat/maintains_table.h"
#include "compat/repack.h"
#include "conversion/convert_checks.h"
#include "ddl/handlers.h"
#include "ddl/index_concurrently.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "table/definition.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

/* Oids of a table's indexes. */
static List *
indexes_of_table(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *result = RelationGetIndexList(rel);

	table_close(rel, NoLock);
	return result;
}

/* Errors if shards can't enforce the table's unique indexes. */
static void
check_indexes(const DistTable *table)
{
	Relation	rel = table_open(table->relid, AccessShareLock);

	check_unique_indexes(rel, table->dist_attno);
	table_close(rel, NoLock);
}

/*
 * Whether this transaction created or changed the relation.  Other
 * transactions may create indexes of the table at the same time, since their
 * locks don't conflict.
 */
static bool
is_of_this_transaction(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Creates an index on this node's logical table; returns its Oid, or
 * InvalidOid if there is one of that name.
 */
static Oid
create_logical_index(UtilityCall *call, Oid relid)
{
	bool		concurrent = castNode(IndexStmt, call->pstmt->utilityStmt)->concurrent;
	List	   *before = indexes_of_table(relid);

	utility_run(call);
	CommandCounterIncrement();
	check_indexes(metadata_require(relid));
	foreach_oid(index, indexes_of_table(relid))
	{
		if (!list_member_oid(before, index) && (concurrent || is_of_this_transaction(index)))
			return index;
	}
	return InvalidOid;
}

bool
create_index_utility(UtilityCall *call)
{
	IndexStmt  *stmt = castNode(IndexStmt, call->pstmt->utilityStmt);
	const DistTable *table = utility_table(call, stmt->relation, ShareLock,
										   stmt->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	Oid			index;

	if (table == NULL)
		return false;
	if (stmt->concurrent && get_rel_relkind(table->relid) == RELKIND_RELATION)
	{
		create_index_concurrently(call, table, create_logical_index);
		return true;
	}
	index = create_logical_index(call, table->relid);
	if (OidIsValid(index))
	{
		char	   *definition = index_definition(index, !stmt->relation->inh);

		utility_relay_text(call, definition);
		run_commands_on_local_shards(metadata_require(table->relid), list_make1(definition));
		if (!call->relayed)
		{
			global_indexes_create(table->relid);
			global_keys_create(table->relid, true);
		}
	}
	name_indexes_of_partitions(table->relid);
	return true;
}

/* The statement that applies stmt to a relation, without VERBOSE. */
static char *
reindex_text(const ReindexStmt *stmt, Oid relid)
{
	char	   *tablespace = "";
	ListCell   *cell;

	foreach(cell, stmt->params)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "tablespace") == 0)
			tablespace = psprintf("(TABLESPACE %s) ", quote_identifier(defGetString(lfirst(cell))));
	}
	return psprintf("REINDEX %s%s %s", tablespace, stmt->kind == REINDEX_OBJECT_INDEX ? "INDEX" : "TABLE",
					relation_qualified_name(relid));
}

/*
 * A copy of a statement's options for shards and other nodes: VERBOSE reports
 * the logical tables only.
 */
static List *
without_verbose(List *options)
{
	List	   *result = copyObject(options);
	ListCell   *cell;

	foreach(cell, result)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "verbose") == 0)
			result = foreach_delete_current(result, cell);
	}
	return result;
}

/*
 * Runs the statement here, on shards too, and then, unless it was relayed, on
 * the other nodes, one after the other, outside the distributed transaction,
 * since the server uses a transaction for each table.  here is what this node
 * does after it, or NULL.  Only this node's warnings are shown.
 */
static void
run_on_each_node_alone(UtilityCall *call, void (*here) (UtilityCall *call))
{
	MemoryContext context = CurrentMemoryContext;
	char	   *text = psprintf("%s%s", TASK_TAG_DDL, utility_text(call));
	int			level;

	run_commands_become_own();
	utility_run(call);
	MemoryContextSwitchTo(context);
	if (here != NULL)
		here(call);
	if (call->relayed)
		return;
	level = quiet_begin(ERROR);
	foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
		remote_exec_alone(node->groupid, text);
	AtEOXact_GUC(true, level);
}

/*
 * Whether REINDEX TABLE of a partition has nothing to do.  The server says so
 * of a table, but not of a partition.
 */
static bool
partition_has_nothing(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	bool		none = RelationGetIndexList(rel) == NIL && !OidIsValid(rel->rd_rel->reltoastrelid);

	table_close(rel, AccessShareLock);
	return none;
}

/*
 * REINDEX of a partitioned table or index: of its partitions, one after the
 * other, as on one server, but all of them in this transaction.
 */
static void
reindex_partitions(const UtilityCall *call, Oid relid)
{
	ReindexStmt *stmt = castNode(ReindexStmt, call->pstmt->utilityStmt);

	foreach_oid(partition, find_all_inheritors(relid, NoLock, NULL))
	{
		UtilityCall part = *call;

		if (RELKIND_HAS_PARTITIONS(get_rel_relkind(partition)) ||
			(stmt->kind == REINDEX_OBJECT_TABLE && partition_has_nothing(partition)))
			continue;
		part.query = reindex_text(stmt, partition);
		part.pstmt = copyObject(call->pstmt);
		part.pstmt->stmt_location = 0;
		part.pstmt->stmt_len = 0;
		((ReindexStmt *) part.pstmt->utilityStmt)->relation =
			makeRangeVar(get_namespace_name(get_rel_namespace(partition)), get_rel_name(partition), -1);
		(void) reindex_utility(&part);
	}
}

/*
 * Runs REINDEX SCHEMA for this node's shards of the tables in the schema,
 * which are in another one, each in a transaction of its own.  Tables that the
 * user may not maintain are skipped, with a warning by the node that the
 * client is connected to.
 */
static void
reindex_shards_in_schema(UtilityCall *call)
{
	ReindexStmt *stmt = castNode(ReindexStmt, call->pstmt->utilityStmt);
	Oid			schema = get_namespace_oid(stmt->name, true);
	List	   *shards = NIL;

	foreach_oid(relid, metadata_tables(0))
	{
		const DistTable *table = metadata_lookup(relid);

		if (table == NULL || table->kind == DIST_REFERENCE || get_rel_namespace(relid) != schema)
			continue;
		if (compat_may_maintain(relid))
		{
			shards = list_concat(shards, local_shard_relids(table));
			foreach_oid(index, indexes_of_table(relid))
			{
				const DistTable *entries = metadata_lookup(global_index_entries(index));

				shards = list_concat(shards, entries != NULL ? local_shard_relids(entries) : NIL);
			}
		}
		else if (!call->relayed)
			ereport(WARNING,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied to reindex shards of \"%s\", skipping them", get_rel_name(relid))));
	}
	foreach_oid(shard, shards)
	{
		ReindexStmt *one = copyObject(stmt);

		run_commands_next_transaction();
		if (get_rel_name(shard) == NULL || get_rel_relkind(shard) != RELKIND_RELATION)
			continue;
		one->kind = REINDEX_OBJECT_TABLE;
		one->name = NULL;
		one->relation = makeRangeVar(get_namespace_name(get_rel_namespace(shard)), get_rel_name(shard), -1);
		one->params = without_verbose(stmt->params);
		run_utility_alone((Node *) one, "REINDEX");
	}
	run_commands_next_transaction();
}

/*
 * REINDEX SCHEMA and DATABASE.  In a database, shards are tables as all
 * others.  REINDEX SYSTEM, and that of a schema that only this node has, is
 * left to the server.
 */
static bool
reindex_many(UtilityCall *call)
{
	ReindexStmt *stmt = castNode(ReindexStmt, call->pstmt->utilityStmt);
	bool		in_schema = stmt->kind == REINDEX_OBJECT_SCHEMA;
	ObjectAddress object;

	ObjectAddressSet(object, NamespaceRelationId, in_schema ? get_namespace_oid(stmt->name, true) : InvalidOid);
	if (stmt->kind == REINDEX_OBJECT_SYSTEM || metadata_tables(0) == NIL ||
		(in_schema && (!OidIsValid(object.objectId) || object_is_local(&object))))
		return false;
	PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, in_schema ? "REINDEX SCHEMA" : "REINDEX DATABASE");
	if (call->relayed)
		stmt->params = without_verbose(stmt->params);
	run_on_each_node_alone(call, in_schema ? reindex_shards_in_schema : NULL);
	return true;
}

/*
 * The entries (Oids) of the global indexes that a REINDEX is about.  Errors if
 * one may lack entries, since REINDEX would make it valid.
 */
static List *
reindexed_entries(const ReindexStmt *stmt, const DistTable *table)
{
	Oid			named = RangeVarGetRelid(stmt->relation, NoLock, false);
	List	   *result = NIL;

	foreach_oid(index, indexes_of_table(table->relid))
	{
		Oid			entries = named == table->relid || named == index ? global_index_entries(index) : InvalidOid;

		if (!OidIsValid(entries))
			continue;
		if (!get_index_isvalid(index))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot reindex global index \"%s\", which was not built completely", get_rel_name(index)),
					 errhint("Drop it with DROP INDEX, and create it again.")));
		result = lappend_oid(result, entries);
	}
	return result;
}

/* REINDEX of the entries of global indexes. */
static void
reindex_entries(const UtilityCall *call, List *entries, bool concurrent)
{
	foreach_oid(relid, entries)
	{
		UtilityCall part = *call;
		ReindexStmt *stmt;

		part.query = psprintf("REINDEX TABLE %s%s", concurrent ? "CONCURRENTLY " : "", relation_qualified_name(relid));
		part.pstmt = copyObject(call->pstmt);
		part.pstmt->stmt_location = 0;
		part.pstmt->stmt_len = 0;
		stmt = castNode(ReindexStmt, part.pstmt->utilityStmt);
		stmt->kind = REINDEX_OBJECT_TABLE;
		stmt->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), -1);
		part.follows = true;
		if (concurrent)
			run_commands_next_transaction();
		(void) reindex_utility(&part);
	}
}

/*
 * REINDEX.
 *
 * The server's table lock allows reads, but readers need the table's indexes,
 * which are locked exclusively one after another.  On several nodes, this
 * could deadlock with readers that hold locks on one node and wait for
 * another; so the table is locked in AccessExclusiveLock, in attempts that let
 * readers finish (lock_everywhere.c).
 */
bool
reindex_utility(UtilityCall *call)
{
	ReindexStmt *stmt = castNode(ReindexStmt, call->pstmt->utilityStmt);
	ReindexStmt *for_shards = copyObject(stmt);
	const DistTable *table;
	List	   *entries = NIL;
	bool		concurrent = false;

	if (stmt->relation == NULL)
		return reindex_many(call);
	for_shards->params = without_verbose(stmt->params);
	foreach_node(DefElem, option, stmt->params)
		concurrent |= (strcmp(option->defname, "concurrently") == 0);
	table = utility_table(call, stmt->relation, concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
						  concurrent ? ShareUpdateExclusiveLock : ShareLock);
	if (table == NULL)
		return false;
	if (!call->relayed)
		entries = reindexed_entries(stmt, table);
	if (concurrent)
	{
		stmt->params = list_copy(for_shards->params);
		reindex_concurrently(call, table);
		reindex_entries(call, entries, true);
		return true;
	}
	if (get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE)
	{
		reindex_partitions(call, RangeVarGetRelid(stmt->relation, NoLock, false));
		return true;
	}
	if (call->relayed)
		stmt->params = list_copy(for_shards->params);
	utility_run(call);
	utility_relay(call);
	run_on_local_shards(table, (Node *) for_shards, call->query);
	reindex_entries(call, entries, false);
	return true;
}

/* Errors if a table with shards can't be repacked so. */
static void
check_repack_options(const RepackStmt *stmt)
{
	if (compat_is_cluster(stmt))
		return;
	foreach_node(DefElem, option, stmt->params)
	{
		bool		concurrently = strcmp(option->defname, "concurrently") == 0;

		if (!(concurrently || strcmp(option->defname, "analyze") == 0) || !defGetBoolean(option))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("REPACK (%s) is not supported for distributed and reference tables",
						concurrently ? "CONCURRENTLY" : "ANALYZE"),
				 concurrently ? errhint("Leave out the option: writers and readers of the table wait for REPACK then.") :
				 errhint("Leave out the option, and run ANALYZE afterwards.")));
	}
}

/*
 * CLUSTER or REPACK of one partition, by its part of the index (or
 * InvalidOid).
 */
static void
repack_partition(const UtilityCall *call, Oid partition, Oid index)
{
	UtilityCall part = *call;
	RepackStmt *stmt;

	if (RELKIND_HAS_PARTITIONS(get_rel_relkind(partition)) || !compat_clusters_partition(partition))
		return;
	part.pstmt = copyObject(call->pstmt);
	part.pstmt->stmt_location = 0;
	part.pstmt->stmt_len = 0;
	stmt = castNode(RepackStmt, part.pstmt->utilityStmt);
	part.query = psprintf("%s %s", compat_repack_name(stmt), relation_qualified_name(partition));
	compat_set_repacked(stmt, makeRangeVar(get_namespace_name(get_rel_namespace(partition)), get_rel_name(partition), -1));
	if (OidIsValid(index))
	{
		part.query = psprintf("%s %s %s", part.query, compat_repack_using(stmt), quote_identifier(get_rel_name(index)));
		stmt->indexname = get_rel_name(index);
	}
	(void) cluster_utility(&part);
}

/*
 * CLUSTER or REPACK of a partitioned table: of its partitions, by their parts
 * of the index, one after the other, as on one server, but all of them in this
 * transaction; not of partitions that others own.  Errors as the server does
 * if the user may not, or the index isn't fit for it.
 */
static void
cluster_partitions(const UtilityCall *call, Oid relid)
{
	RepackStmt *stmt = castNode(RepackStmt, call->pstmt->utilityStmt);
	const char *name = compat_repacked(stmt)->relname;
	Relation	rel;
	Oid			index;

	RangeVarCallbackMaintainsTable(compat_repacked(stmt), relid, InvalidOid, NULL);
	rel = table_open(relid, AccessShareLock);
	PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, compat_repack_name(stmt));
	if (!compat_repacks_by_index(stmt))
	{
		table_close(rel, NoLock);
		foreach_oid(partition, find_all_inheritors(relid, NoLock, NULL))
			repack_partition(call, partition, InvalidOid);
		return;
	}
	if (stmt->indexname == NULL)
		ereport(ERROR,
				(errcode(COMPAT_NO_CLUSTERED_INDEX),
				 compat_is_cluster(stmt) ? errmsg("there is no previously clustered index for table \"%s\"", name) :
				 errmsg("cannot execute REPACK on partitioned table \"%s\" USING INDEX with no index name", name)));
	index = get_relname_relid(stmt->indexname, RelationGetNamespace(rel));
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index \"%s\" for table \"%s\" does not exist", stmt->indexname, name)));
	check_index_is_clusterable(rel, index, AccessShareLock);
	table_close(rel, NoLock);

	foreach_oid(part_index, find_all_inheritors(index, NoLock, NULL))
		repack_partition(call, IndexGetRelation(part_index, false), part_index);
}

/*
 * Without a table: those of each node that were clustered before, shards among
 * them.
 */
bool
cluster_utility(UtilityCall *call)
{
	RepackStmt *stmt = castNode(RepackStmt, call->pstmt->utilityStmt);
	const DistTable *table;

	if (compat_repacked(stmt) == NULL)
	{
		if (metadata_tables(0) == NIL)
			return false;
		PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, compat_repack_name(stmt));
		if (call->relayed)
			stmt->params = without_verbose(stmt->params);
		run_on_each_node_alone(call, NULL);
		return true;
	}
	table = utility_table(call, compat_repacked(stmt), AccessExclusiveLock, AccessExclusiveLock);
	if (table == NULL)
		return false;
	check_repack_options(stmt);
	if (get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE)
	{
		cluster_partitions(call, table->relid);
		return true;
	}
	utility_run_with_shards(call, table);
	return true;
}
