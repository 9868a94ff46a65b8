/*-------------------------------------------------------------------------
 *
 * partition.c
 *	  Creating, attaching and detaching partitions of distributed tables.
 *
 * A partition is a distributed table, colocated with its partitioned table;
 * its shards are attached to the shards of the latter as the logical tables
 * are.  A new partition, and a local table that becomes one, is distributed
 * after the server has attached the logical table.
 *
 * Locks: those that the server takes for the statement, on all nodes, on both
 * tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "conversion/convert.h"
#include "conversion/convert_checks.h"
#include "ddl/not_null.h"
#include "ddl/partition.h"
#include "global_index/foreign_key.h"
#include "planner/foreign_key.h"
#include "resolve/utility.h"
#include "sharding/hash.h"
#include "table/definition.h"
#include "table/key_names.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"

bool
create_partition(UtilityCall *call, CreateStmt *stmt)
{
	Oid			schema = RangeVarGetCreationNamespace(stmt->relation);

	if (utility_table(call, linitial_node(RangeVar, stmt->inhRelations), AccessExclusiveLock,
					  AccessExclusiveLock) == NULL)
		return false;
	if (stmt->if_not_exists && OidIsValid(get_relname_relid(stmt->relation->relname, schema)))
		return false;
	utility_run(call);
	CommandCounterIncrement();
	distribute_partition(get_relname_relid(stmt->relation->relname, schema));
	return true;
}

/*
 * Errors unless a distributed table can become, or is, a partition of another
 * that is colocated with it.
 */
static void
check_colocated_partition(const DistTable *parent, const DistTable *partition)
{
	bool		fits = partition->colocation_id == parent->colocation_id && partition->kind == parent->kind;

	if (fits && parent->dist_attno != 0)
		fits = strcmp(get_attname(partition->relid, partition->dist_attno, false),
					  get_attname(parent->relid, parent->dist_attno, false)) == 0;
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot attach table \"%s\" to \"%s\"", get_rel_name(partition->relid),
						get_rel_name(parent->relid)),
				 errdetail("They are not colocated, or not distributed by the same column."),
				 errhint("Use undistribute_table() on \"%s\" first: it is distributed again when it is attached.",
						 get_rel_name(partition->relid))));
}

/* Gives a check constraint of a shard the required name, if it has another. */
static void
rename_check(Oid shard_relid, const char *wanted, const char *other)
{
	if (strcmp(other, wanted) != 0 && OidIsValid(get_relation_constraint_oid(shard_relid, other, true)))
		run_commands(list_make1(psprintf("ALTER TABLE %s RENAME CONSTRAINT %s TO %s",
										 relation_qualified_name(shard_relid), quote_identifier(other),
										 quote_identifier(wanted))));
}

/*
 * Gives check constraints of this node's shards, and of those of its
 * partitions, the names that they need after (or before) the table becomes a
 * partition, or ceases to be one.
 */
static void
rename_checks_of_shards(const DistTable *table, const DistTable *parent)
{
	Relation	rel = relation_open(table->relid, NoLock);
	TupleConstr *constr = RelationGetDescr(rel)->constr;

	for (int i = 0; constr != NULL && i < constr->num_check; i++)
	{
		char	   *name = constr->check[i].ccname;

		foreach_int(index, local_shard_indexes(table))
		{
			const ShardInfo *shard = &table->shards[index];
			Oid			shard_relid = shard_local_relid(table->relid, shard->shardid);
			char	   *wanted = shard_constraint_name(table, name, shard->range);

			rename_check(shard_relid, wanted, shard_relation_name(name, shard->shardid));
			rename_check(shard_relid, wanted, shard_relation_name(name, shard_colocated_with(table, parent, shard)->shardid));
		}
	}
	relation_close(rel, NoLock);
}

/*
 * Has the server detach a partition, whose shards check themselves whether
 * rows reference it.
 */
static void
run_detach(UtilityCall *call, Oid partition)
{
	foreign_key_set_detached(partition);
	PG_TRY();
	{
		utility_run(call);
	}
	PG_FINALLY();
	{
		foreign_key_set_detached(InvalidOid);
	}
	PG_END_TRY();
}

/* Attaches or detaches a partition that is already distributed. */
static void
alter_distributed_partition(UtilityCall *call, const DistTable *parent, const DistTable *partition, bool attach)
{
	Node	   *for_shards = copyObject(call->pstmt->utilityStmt);

	check_colocated_partition(parent, partition);
	if (!call->relayed)
		lock_others_everywhere(list_make1_oid(partition->relid), AccessExclusiveLock);
	if (!call->relayed && !attach)
		global_keys_check_detach(partition->relid);
	if (attach)
		utility_run(call);
	else
		run_detach(call, partition->relid);
	CommandCounterIncrement();
	check_triggers(partition->relid);
	utility_relay(call);
	if (attach)
		rename_checks_of_shards(partition, parent);
	run_on_local_shards(parent, for_shards, call->query);
	if (!attach)
		rename_checks_of_shards(partition, parent);
	else
		name_keys_of_partitions(partition->relid);
	name_not_null_of_shards(partition->relid);
	metadata_invalidate(partition->relid);
	if (!call->relayed)
		global_keys_create(partition->relid, false);
}

void
detach_at_once(UtilityCall *call)
{
	AlterTableStmt *stmt = castNode(AlterTableStmt, call->pstmt->utilityStmt);
	AlterTableCmd *cmd = linitial_node(AlterTableCmd, stmt->cmds);

	if (cmd->subtype != AT_DetachPartition || !castNode(PartitionCmd, cmd->def)->concurrent ||
		dist_table_of_rangevar(stmt->relation) == NULL)
		return;
	castNode(PartitionCmd, cmd->def)->concurrent = false;
	if (!call->relayed)
		ereport(NOTICE,
				(errmsg("partition \"%s\" is detached at once", castNode(PartitionCmd, cmd->def)->name->relname),
				 errdetail("Others who use distributed table \"%s\" wait for the end of this transaction.",
						   stmt->relation->relname)));
}

bool
alter_partition(UtilityCall *call, const DistTable *parent, Oid partition)
{
	AlterTableStmt *stmt = castNode(AlterTableStmt, call->pstmt->utilityStmt);
	AlterTableCmd *cmd = linitial_node(AlterTableCmd, stmt->cmds);
	bool		attach = (cmd->subtype == AT_AttachPartition);
	if (get_rel_relkind(parent->relid) == RELKIND_PARTITIONED_TABLE && metadata_lookup(partition) != NULL)
		alter_distributed_partition(call, parent, metadata_lookup(partition), attach);
	else
	{
		utility_run(call);
		CommandCounterIncrement();
		if (attach)
			distribute_partition(partition);
	}
	return true;
}
