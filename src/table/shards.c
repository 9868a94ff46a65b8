/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Makes and drops the shards that are on this node, and runs utility
 *	  statements on them.
 *
 * Everything here acts on this node only, with the rights of the current user,
 * who has CREATE on schema citus_data like all roles; only this library's own
 * commands can use it (shard_schema.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "remote/shard_names.h"
#include "resolve/utility.h"
#include "sharding/hash.h"
#include "table/key_names.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

SQL_FUNCTION(citus_internal_create_local_shards);
SQL_FUNCTION(citus_internal_create_local_shard_keys);

List *
local_shard_indexes(const DistTable *table)
{
	List	   *result = NIL;

	if (table->kind == DIST_REFERENCE)
		return NIL;
	for (int i = 0; i < table->nshards; i++)
	{
		if (shard_is_here(&table->shards[i]))
			result = lappend_int(result, i);
	}
	return result;
}

List *
local_shard_relids(const DistTable *table)
{
	List	   *result = NIL;

	foreach_int(index, local_shard_indexes(table))
	{
		Oid			relid = shard_local_relid(table->relid, table->shards[index].shardid);

		if (OidIsValid(relid))
			result = lappend_oid(result, relid);
	}
	return result;
}

List *
local_shards_with_former(const DistTable *table)
{
	List	   *result = NIL;

	for (int i = 0; i < table->nshards + table->nidle; i++)
	{
		ShardInfo  *shard = i < table->nshards ? &table->shards[i] : &table->idle[i - table->nshards];
		bool		was_here = shard->former_group == metadata_local_group() && !shard->reshaped;

		if (was_here || (i < table->nshards && shard_is_here(shard)))
			result = lappend(result, shard);
	}
	return result;
}

List *
local_relids_to_drop(const DistTable *table)
{
	List	   *result = NIL;

	foreach_ptr(ShardInfo, shard, table->kind == DIST_REFERENCE ? NIL : local_shards_with_former(table))
	{
		Oid			relid = shard_local_relid(table->relid, shard->shardid);

		if (OidIsValid(relid))
			result = lappend_oid(result, relid);
	}
	return result;
}

List *
resolve_for_local_shards(const DistTable *table, Node *stmt)
{
	List	   *result = NIL;

	foreach_int(index, local_shard_indexes(table))
	{
		Node	   *copy = copyObject(stmt);

		resolve_utility(copy, table->colocation_id, table->shards[index].range, true);
		result = lappend(result, copy);
	}
	return result;
}

void
run_on_local_shards(const DistTable *table, Node *stmt, const char *query)
{
	ListCell   *cell;

	foreach(cell, resolve_for_local_shards(table, stmt))
	{
		CHECK_FOR_INTERRUPTS();
		run_raw_statement(lfirst(cell), query);
	}
}

void
run_commands_on_local_shards(const DistTable *table, List *commands)
{
	ListCell   *cell;

	foreach(cell, commands)
		run_on_local_shards(table, parse_utility(lfirst(cell)), lfirst(cell));
}

/*
 * Makes one shard from commands, as parse trees with their texts in the same
 * order.
 */
static void
create_shard(const DistTable *table, HashRange range, List *trees, List *commands)
{
	ListCell   *tree;
	ListCell   *command;

	forboth(tree, trees, command, commands)
	{
		Node	   *stmt = copyObject(lfirst(tree));

		resolve_utility(stmt, table->colocation_id, range, false);
		run_raw_statement(stmt, lfirst(command));
	}
}

/*
 * Errors unless an existing relation can be the table's shard: it must have
 * the table's owner.
 */
static void
check_shard_is_ours(const DistTable *table, Oid shard_relid)
{
	Relation	shard = relation_open(shard_relid, AccessShareLock);
	Relation	rel = relation_open(table->relid, AccessShareLock);
	bool		same = shard->rd_rel->relowner == rel->rd_rel->relowner &&
		shard->rd_rel->relkind == rel->rd_rel->relkind && shard->rd_att->natts == rel->rd_att->natts;

	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("relation \"%s\" is not a shard of table \"%s\"", RelationGetRelationName(shard),
						RelationGetRelationName(rel)),
				 errdetail("It has another owner, or other columns."),
				 errhint("A superuser can drop it.")));
	relation_close(rel, NoLock);
	relation_close(shard, NoLock);
}

/* Adds those foreign keys that a shard lacks. */
static void
add_foreign_keys(const DistTable *table, int shard_index, List *commands)
{
	Oid			shard_relid = shard_local_relid(table->relid, table->shards[shard_index].shardid);
	ListCell   *cell;

	foreach(cell, commands)
	{
		Node	   *stmt = parse_utility(lfirst(cell));
		AlterTableCmd *cmd;

		resolve_utility(stmt, table->colocation_id, table->shards[shard_index].range, false);
		cmd = linitial_node(AlterTableCmd, castNode(AlterTableStmt, stmt)->cmds);
		if (!OidIsValid(get_relation_constraint_oid(shard_relid, castNode(Constraint, cmd->def)->conname, true)))
			run_raw_statement(stmt, lfirst(cell));
	}
}

void
create_local_shard_keys(Oid relid)
{
	const DistTable *table = metadata_require(relid);
	List	   *commands = shard_foreign_key_commands(relid);
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		foreach_int(index, local_shard_indexes(table))
			add_foreign_keys(table, index, commands);
		name_keys_of_partitions(relid);
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
}

void
shards_check_active(const DistTable *table)
{
	if (table->kind == DIST_REFERENCE)
		return;
	for (int i = 0; i < table->nshards; i++)
		(void) node_of_group(table->shards[i].groupid);
}

void
create_local_shards(Oid relid)
{
	const DistTable *table = metadata_require(relid);
	List	   *indexes = local_shard_indexes(table);
	List	   *commands = NIL;
	List	   *trees = NIL;
	ListCell   *cell;

	if (indexes != NIL)
		commands = table_shard_commands(relid);
	foreach(cell, commands)
		trees = lappend(trees, parse_utility(lfirst(cell)));
	foreach_int(index, indexes)
	{
		const ShardInfo *shard = &table->shards[index];
		Oid			shard_relid = shard_local_relid(relid, shard->shardid);

		if (OidIsValid(shard_relid))
		{
			check_shard_is_ours(table, shard_relid);
			continue;
		}
		CHECK_FOR_INTERRUPTS();
		create_shard(table, shard->range, trees, commands);
		name_keys_of_shard(table, shard);
	}
}

/* Runs commands for one shard. */
static void
run_for_shard(const DistTable *table, const ShardInfo *shard, List *commands)
{
	List	   *trees = NIL;
	ListCell   *cell;

	foreach(cell, commands)
		trees = lappend(trees, parse_utility(lfirst(cell)));
	create_shard(table, shard->range, trees, commands);
}

void
shard_create_copy(const DistTable *table, const ShardInfo *shard)
{
	run_for_shard(table, shard, table_shard_bare_commands(table->relid));
}

void
shard_index_copy(const DistTable *table, const ShardInfo *shard)
{
	run_for_shard(table, shard, table_shard_index_commands(table->relid));
}

bool
constraint_is_valid(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	result = ((Form_pg_constraint) GETSTRUCT(tuple))->convalidated;
	ReleaseSysCache(tuple);
	return result;
}

/* Says in the catalogs whether a constraint is known to hold for all rows. */
static void
constraint_set_valid(Oid constraint, bool valid)
{
	Relation	rel = table_open(ConstraintRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	((Form_pg_constraint) GETSTRUCT(tuple))->convalidated = valid;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
shard_add_known_foreign_keys(const DistTable *table, const ShardInfo *shard)
{
	Oid			shard_relid = shard_local_relid(table->relid, shard->shardid);
	bool		partitioned = get_rel_relkind(shard_relid) == RELKIND_PARTITIONED_TABLE;
	ListCell   *cell;

	foreach(cell, shard_foreign_key_commands(table->relid))
	{
		Node	   *stmt = parse_utility(lfirst(cell));
		Constraint *constraint;
		bool		valid;

		resolve_utility(stmt, table->colocation_id, shard->range, false);
		constraint = castNode(Constraint, linitial_node(AlterTableCmd, castNode(AlterTableStmt, stmt)->cmds)->def);
		valid = constraint->initially_valid && !partitioned;
		constraint->skip_validation = !partitioned;
		constraint->initially_valid = partitioned;
		run_raw_statement(stmt, lfirst(cell));
		if (valid)
			constraint_set_valid(get_relation_constraint_oid(shard_relid, constraint->conname, false), true);
	}
}

void
shards_uncheck_constraint(const DistTable *table, const char *name)
{
	foreach_int(index, local_shard_indexes(table))
	{
		const ShardInfo *shard = &table->shards[index];
		Oid			constraint = get_relation_constraint_oid(shard_local_relid(table->relid, shard->shardid),
															 shard_constraint_name(table, name, shard->range), true);

		if (OidIsValid(constraint) && constraint_is_valid(constraint))
			constraint_set_valid(constraint, false);
	}
}

void
shard_set_replica_identity(Oid shard_relid, char identity)
{
	Relation	rel = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(shard_relid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", shard_relid);
	((Form_pg_class) GETSTRUCT(tuple))->relreplident = identity;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/*
 * Gives the index of a partition's shard its name: it is the child of
 * parent_index there.
 */
static void
name_index_of_shard(Oid shard_relid, Oid parent_index, const char *wanted)
{
	foreach_oid(index, OidIsValid(parent_index) ? find_inheritance_children(parent_index, NoLock) : NIL)
	{
		char	   *name = get_rel_name(index);

		if (IndexGetRelation(index, true) == shard_relid && strcmp(name, wanted) != 0)
			run_commands(list_make1(psprintf("ALTER INDEX %s RENAME TO %s",
											 quote_qualified_identifier(SHARD_SCHEMA, name), quote_identifier(wanted))));
	}
}

/* The same for an index of a partition, in all shards of this node. */
static void
name_index_of_partition(const DistTable *table, Oid index)
{
	Oid			parent_index = get_partition_parent(index, false);
	const DistTable *parent = metadata_require(IndexGetRelation(parent_index, false));

	foreach_int(i, local_shard_indexes(table))
		name_index_of_shard(shard_local_relid(table->relid, table->shards[i].shardid),
							shard_local_relid(parent_index, shard_colocated_with(table, parent, &table->shards[i])->shardid),
							shard_relation_name(get_rel_name(index), table->shards[i].shardid));
}

void
name_indexes_of_partitions(Oid relid)
{
	ListCell   *cell;
	ListCell   *index;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return;
	foreach(cell, find_all_inheritors(relid, NoLock, NULL))
	{
		const DistTable *table = metadata_lookup(lfirst_oid(cell));
		Relation	rel;

		if (table == NULL || table->relid == relid)
			continue;
		rel = relation_open(table->relid, AccessShareLock);
		foreach(index, RelationGetIndexList(rel))
		{
			if (get_rel_relispartition(lfirst_oid(index)))
				name_index_of_partition(table, lfirst_oid(index));
		}
		relation_close(rel, NoLock);
	}
}

void
drop_relations(List *relids)
{
	ObjectAddresses *objects = new_object_addresses();

	foreach_oid(relid, relids)
	{
		ObjectAddress address;

		LockRelationOid(relid, AccessExclusiveLock);
		ObjectAddressSet(address, RelationRelationId, relid);
		if (get_rel_relkind(relid) != '\0')
			add_exact_object_address(&address, objects);
	}
	performMultipleDeletions(objects, DROP_CASCADE, PERFORM_DELETION_INTERNAL | PERFORM_DELETION_QUIETLY);
	free_object_addresses(objects);
	CommandCounterIncrement();
}

/*
 * Errors unless a node calls for the owner of a table, by a function whose
 * argument is the table.
 */
static Oid
table_of_node_call(FunctionCallInfo fcinfo)
{
	Oid			relid = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	return relid;
}

/* citus_internal.create_local_shards(relation regclass) */
Datum
citus_internal_create_local_shards(PG_FUNCTION_ARGS)
{
	create_local_shards(table_of_node_call(fcinfo));
	PG_RETURN_VOID();
}

/* citus_internal.create_local_shard_keys(relation regclass) */
Datum
citus_internal_create_local_shard_keys(PG_FUNCTION_ARGS)
{
	create_local_shard_keys(table_of_node_call(fcinfo));
	PG_RETURN_VOID();
}
