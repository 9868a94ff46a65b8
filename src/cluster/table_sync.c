/*-------------------------------------------------------------------------
 *
 * table_sync.c
 *	  Gives a node all distributed and reference tables.
 *
 * DDL is blocked.  Reference tables are writable until the node has all
 * definitions and a copy of their rows; then their writers are blocked until
 * commit, by locks on the set of nodes and, in ShareLock, on this node's
 * copies, which all writers write first, and the node gets the changes since
 * the copy.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "cluster/members.h"
#include "cluster/node_locks.h"
#include "cluster/node_sync.h"
#include "conversion/convert_metadata.h"
#include "copy/table_copy.h"
#include "lib/debug_point.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"
#include "tenants/tenant_limit.h"

/* A table that the node gets. */
typedef struct SyncedTable
{
	Oid			relid;
	int			depth;			/* number of tables that it is a partition
								 * of */
	DistTableKind kind;
	int64		reference_shardid;	/* of a reference table */
} SyncedTable;

static int
compare_tables(const ListCell *a, const ListCell *b)
{
	const SyncedTable *left = lfirst(a);
	const SyncedTable *right = lfirst(b);

	if (left->depth != right->depth)
		return left->depth < right->depth ? -1 : 1;
	return left->relid < right->relid ? -1 : left->relid > right->relid;
}

/*
 * Locks all tables and returns them, partitioned tables before their
 * partitions.
 */
static List *
lock_tables(void)
{
	List	   *tables = NIL;

	foreach_oid(relid, metadata_tables(0))
	{
		const DistTable *dist_table = metadata_require(relid);
		SyncedTable *table;

		LockRelationOid(relid, AccessShareLock);
		dist_table = metadata_lookup(relid);
		if (dist_table == NULL)
			continue;			/* dropped before the lock was granted */

		table = palloc0(sizeof(SyncedTable));
		table->relid = relid;
		table->kind = dist_table->kind;
		if (dist_table->kind == DIST_REFERENCE && dist_table->nshards > 0)
			table->reference_shardid = dist_table->shards[0].shardid;
		if (get_rel_relispartition(relid))
			table->depth = list_length(get_partition_ancestors(relid));
		tables = lappend(tables, table);
	}
	list_sort(tables, compare_tables);
	return tables;
}

/* Blocks writers of reference tables, if there are any. */
static void
lock_reference_tables(List *tables, const ClusterNode *node)
{
	List	   *relids = NIL;

	foreach_ptr(SyncedTable, table, tables)
		if (table->kind == DIST_REFERENCE)
			relids = lappend_oid(relids, table->relid);
	list_sort(relids, list_oid_cmp);
	if (relids != NIL)
		node_exclude_replicas_everywhere(list_make1_int(node->groupid), relids);
}

/*
 * Adds the placement of a reference table on the new node, on all other nodes.
 */
static void
add_reference_placement(const SyncedTable *table, int32 groupid)
{
	members_exec(node_call(NODE_add_placement_metadata, node_bigint(table->reference_shardid), node_bigint(0),
						   node_int(groupid), node_bigint(next_id(PG_DIST_PLACEMENTID_SEQ))),
				 list_make1_int(groupid));
}

/*
 * Runs commands on the node with search_path = pg_catalog, and without
 * propagation.
 */
static void
run_on_node(const ClusterNode *node, List *commands)
{
	if (commands != NIL)
		remote_exec(node->groupid, run_commands_call(commands));
}

/*
 * A command that creates the node's missing shards, or their foreign keys: it
 * may have been without metadata for a while.
 */
static char *
shards_command(NodeFunction function, Oid relid)
{
	return node_call(function, node_text(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
																	get_rel_name(relid))));
}

/* Whether a node's group has shards of a distributed table. */
static bool
has_shards(const DistTable *table, int32 groupid)
{
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->kind != DIST_REFERENCE && table->shards[i].groupid == groupid)
			return true;
	}
	return false;
}

List *
table_sync_definitions(const ClusterNode *node)
{
	List	   *tables = lock_tables();
	List	   *commands = NIL;

	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, table_definition_commands(table->relid));
	run_on_node(node, commands);
	return tables;
}

void
table_sync_rest(const ClusterNode *node, List *tables)
{
	List	   *copies = NIL;
	List	   *commands;
	ListCell   *lc;

	foreach_ptr(SyncedTable, table, tables)
		if (table->kind == DIST_REFERENCE)
			copies = lappend(copies, table_copy_begin(table->relid, node->groupid));
	DEBUG_POINT("node-tables-copied");
	lock_reference_tables(tables, node);
	foreach_ptr(SyncedTable, table, tables)
	{
		if (table->kind == DIST_REFERENCE)
			add_reference_placement(table, node->groupid);
	}
	foreach(lc, copies)
		table_copy_complete(lfirst(lc));

	/*
	 * foreign keys are checked when they are added, so before the node takes
	 * the tables for distributed ones
	 */
	commands = NIL;
	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, table_foreign_key_commands(table->relid));
	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, table_trigger_commands(table->relid));
	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, table_metadata_commands(table->relid));
	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, global_index_commands(table->relid));
	foreach_ptr(SyncedTable, table, tables)
		commands = list_concat(commands, global_key_commands(table->relid));
	foreach_ptr(SyncedTable, table, tables)
	{
		Oid			relid = table->relid;

		if (has_shards(metadata_require(relid), node->groupid))
			commands = lappend(commands, shards_command(NODE_create_local_shards, relid));
	}
	foreach_ptr(SyncedTable, table, tables)
	{
		Oid			relid = table->relid;

		if (has_shards(metadata_require(relid), node->groupid))
			commands = lappend(commands, shards_command(NODE_create_local_shard_keys, relid));
	}
	run_on_node(node, list_concat(commands, tenant_limit_commands()));
}
