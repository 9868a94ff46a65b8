/*-------------------------------------------------------------------------
 *
 * convert.c
 *	  create_distributed_table(), create_reference_table(): converts local
 *	  tables.
 *
 * A conversion is one distributed transaction: it writes metadata on this
 * node; on the others the table's definition, then metadata; creates the
 * shards on their nodes; and moves the rows from the local table to the
 * shards.
 *
 * Locks, in this order: AccessExclusiveLock on the table, or at first only
 * ShareUpdateExclusiveLock (online_rows.c); ShareLock on pg_dist_node, so that
 * no node comes or goes; AccessShareLock on a table of the colocation group to
 * join, which keeps that group alive, or pg_dist_colocation (colocation_lock)
 * to make a new group, so that two sessions don't both make the default one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/sql_function.h"
#include "conversion/convert.h"
#include "conversion/convert_checks.h"
#include "conversion/convert_metadata.h"
#include "conversion/discard_rows.h"
#include "conversion/online_rows.h"
#include "conversion/undistribute.h"
#include "copy/row_router.h"
#include "copy/view_rows.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "objects/dependents.h"
#include "objects/sequence_values.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "sharding/hash.h"
#include "table/definition.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/policy_scope.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

SQL_FUNCTION(create_distributed_table);
SQL_FUNCTION(create_distributed_table_concurrently);
SQL_FUNCTION(create_reference_table);
SQL_FUNCTION(citus_add_local_table_to_metadata);

/* Reference tables form a group that no other table can join. */
#define REFERENCE_REPLICATION_FACTOR (-1)

/*
 * Tables that citus_add_local_table_to_metadata() keeps on a node of some
 * group number form one, too.
 */
#define LOCAL_REPLICATION_FACTOR(groupid) (-2 - (groupid))

/* The tables of a distributed schema form one each. */
#define SCHEMA_REPLICATION_FACTOR 0

/* How a table is to be distributed. */
typedef struct Distribution
{
	AttrNumber	attno;			/* 0: one shard */
	Oid			type;			/* of the column, or InvalidOid */
	Oid			collation;
	int			shard_count;
	int			replication_factor;
	bool		online;			/* others write the tables meanwhile */
	char	   *colocate_with;	/* 'default', 'none' or a table */
	int32		colocation_id;	/* the group to join, or to make; 0: it is
								 * looked for */
} Distribution;

int			shard_count_setting = 32;

void
convert_init(void)
{
	DefineCustomIntVariable("citus.shard_count",
							"Sets the number of shards for a new hash-distributed table.",
							NULL, &shard_count_setting, 32, 1, MAX_SHARD_COUNT, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* The colocated table that the user named; errors if its shards don't fit. */
static const DistTable *
colocated_table_by_name(const char *name, const Distribution *wanted)
{
	RangeVar   *relation = makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
	Oid			relid = RangeVarGetRelid(relation, AccessShareLock, false);
	const DistTable *table = metadata_require(relid);

	if (table->kind == DIST_REFERENCE || (table->kind == DIST_HASH) != (wanted->attno != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot colocate with table \"%s\"", get_rel_name(relid)),
				 errdetail("The tables are distributed in different ways.")));
	if (wanted->attno != 0 && table->dist_type != wanted->type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot colocate with table \"%s\"", get_rel_name(relid)),
				 errdetail("Distribution column types don't match: %s and %s.",
						   format_type_be(table->dist_type), format_type_be(wanted->type))));
	if (wanted->attno != 0 && table->dist_collation != wanted->collation)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot colocate with table \"%s\"", get_rel_name(relid)),
				 errdetail("Distribution column collations don't match.")));
	return table;
}

/* The result of a search in the locked pg_dist_colocation. */
typedef struct DefaultGroup
{
	const Distribution *wanted;
	int32		id;				/* 0 if there is none */
	Oid			table;			/* of the group, or InvalidOid */
} DefaultGroup;

static void
find_default_group(DefaultGroup *group)
{
	const Distribution *wanted = group->wanted;

	InvalidateCatalogSnapshot();
	group->id = metadata_default_colocation(wanted->shard_count, wanted->replication_factor, wanted->type,
											wanted->collation);
	group->table = group->id == 0 ? InvalidOid : metadata_colocated_table(group->id);
}

/*
 * LockTaker's take: locks pg_dist_colocation, unless the group has a table by
 * then.
 */
static bool
take_group_lock(void *arg, int number, int timeout)
{
	DefaultGroup *group = arg;

	colocation_lock();
	find_default_group(group);
	return !OidIsValid(group->table);
}

/*
 * A table of the default colocation group, locked so that the group stays, or
 * NULL if there is none: pg_dist_colocation is locked then, and *empty_group
 * is the group if it exists, else 0.  If two transactions drop the last two
 * tables of a group at the same time, each regards it as used, so it stays
 * without tables.
 *
 * Nothing waits for a table of the group with pg_dist_colocation locked, and a
 * session that drops the last table of a group doesn't wait for that lock
 * (delete_empty_group).
 */
static const DistTable *
default_colocated_table(const Distribution *wanted, int32 *empty_group)
{
	DefaultGroup group = {wanted};
	LockTaker	taker = {.take = take_group_lock,.here_only = true,.arg = &group};

	for (;;)
	{
		find_default_group(&group);
		if (OidIsValid(group.table))
		{
			const DistTable *table;

			LockRelationOid(group.table, AccessShareLock);
			table = metadata_lookup(group.table);
			if (table != NULL && table->colocation_id == group.id)
				return table;
			UnlockRelationOid(group.table, AccessShareLock);
		}
		else if (lock_in_attempts(&taker))
		{
			*empty_group = group.id;
			return NULL;
		}
	}
}

/*
 * The table to colocate with; NULL: make a new group, or use *empty_group if
 * that is not 0.
 */
static const DistTable *
choose_colocated_table(const Distribution *wanted, int32 *empty_group)
{
	*empty_group = wanted->colocation_id;
	if (wanted->colocation_id != 0)
	{
		Oid			table;

		colocation_lock();
		table = metadata_colocated_table(wanted->colocation_id);
		return OidIsValid(table) ? metadata_require(table) : NULL;
	}
	if (pg_strcasecmp(wanted->colocate_with, "none") == 0)
	{
		colocation_lock();
		return NULL;
	}
	if (pg_strcasecmp(wanted->colocate_with, "default") == 0)
		return default_colocated_table(wanted, empty_group);
	return colocated_table_by_name(wanted->colocate_with, wanted);
}

/* The hash values of a new table's shard: those of the colocated shard. */
static HashRange
new_shard_range(const Distribution *wanted, const DistTable *colocate_with, int index)
{
	HashRange	range;

	if (colocate_with != NULL)
		return colocate_with->shards[index].range;
	shard_hash_range(wanted->shard_count, index, &range.min, &range.max);
	return range;
}

/*
 * Writes the shards of a hash-distributed or single-shard table on this node,
 * with their placements in groups.
 */
static void
insert_shards(Oid relid, const Distribution *wanted, const DistTable *colocate_with, const int32 *groups)
{
	int64	   *shardids = next_ids(PG_DIST_SHARDID_SEQ, wanted->shard_count);
	int64	   *placementids = next_ids(PG_DIST_PLACEMENTID_SEQ, wanted->shard_count);

	for (int i = 0; i < wanted->shard_count; i++)
	{
		HashRange	range;

		if (wanted->attno == 0)
			metadata_insert_shard(relid, shardids[i], SHARD_STORAGE_TABLE, NULL, NULL);
		else
		{
			range = new_shard_range(wanted, colocate_with, i);
			metadata_insert_shard(relid, shardids[i], SHARD_STORAGE_TABLE, psprintf("%d", range.min),
								  psprintf("%d", range.max));
		}
		metadata_insert_placement(shardids[i], 0, groups[i], placementids[i]);
	}
}

/*
 * Writes all metadata of a new distributed table on this node: colocated with
 * a table, unless that is NULL.
 */
static void
insert_metadata(Oid relid, Distribution *wanted, const DistTable *colocate_with)
{
	List	   *targets = node_shard_targets();
	int32		empty_group = 0;
	int32		colocation_id;
	int32	   *groups;

	check_no_extension(relid);
	if (colocate_with == NULL)
		colocate_with = choose_colocated_table(wanted, &empty_group);
	if (colocate_with != NULL && !wanted->online)
	{
		Oid			other = colocate_with->relid;

		lock_group_placements(colocate_with->colocation_id);
		colocate_with = metadata_require(other);
	}
	if (colocate_with != NULL)
		wanted->shard_count = colocate_with->nshards;
	groups = palloc(sizeof(int32) * wanted->shard_count);
	if (colocate_with != NULL)
	{
		colocation_id = colocate_with->colocation_id;
		for (int i = 0; i < wanted->shard_count; i++)
			groups[i] = colocate_with->shards[i].groupid;
	}
	else
	{
		int			offset;

		colocation_id = empty_group != 0 ? empty_group : (int32) next_id(PG_DIST_COLOCATIONID_SEQ);
		offset = wanted->attno == 0 ? colocation_id : 0;
		for (int i = 0; i < wanted->shard_count; i++)
			groups[i] = ((ClusterNode *) list_nth(targets, (i + offset) % list_length(targets)))->groupid;
		if (wanted->replication_factor == LOCAL_REPLICATION_FACTOR(metadata_local_group()))
			groups[0] = metadata_local_group();
		metadata_insert_colocation(colocation_id, wanted->shard_count, wanted->replication_factor,
								   wanted->type, wanted->collation);
	}

	metadata_insert_partition(relid, wanted->attno ? PARTMETHOD_HASH : PARTMETHOD_NONE,
							  wanted->attno ? get_attname(relid, wanted->attno, false) : NULL,
							  colocation_id, REPMODEL_STREAMING);
	insert_shards(relid, wanted, colocate_with, groups);
}

/* Writes all metadata of a new reference table on this node. */
static void
insert_reference_metadata(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	int64		shardid = next_id(PG_DIST_SHARDID_SEQ);
	int64	   *placementids;
	int32		colocation_id;

	(void) node_shard_targets();	/* registers this server if there is no
									 * node */
	colocation_lock();
	colocation_id = metadata_default_colocation(1, REFERENCE_REPLICATION_FACTOR, InvalidOid, InvalidOid);
	if (colocation_id == 0)
	{
		colocation_id = (int32) next_id(PG_DIST_COLOCATIONID_SEQ);
		metadata_insert_colocation(colocation_id, 1, REFERENCE_REPLICATION_FACTOR, InvalidOid, InvalidOid);
	}
	metadata_insert_partition(relid, PARTMETHOD_NONE, NULL, colocation_id, REPMODEL_REFERENCE);
	metadata_insert_shard(relid, shardid, SHARD_STORAGE_TABLE, NULL, NULL);
	placementids = next_ids(PG_DIST_PLACEMENTID_SEQ, list_length(node_active_primaries()));
	foreach_ptr(ClusterNode, node, node_active_primaries())
		metadata_insert_placement(shardid, 0, node->groupid,
								  placementids[foreach_current_index(node)]);
}

/* A call of a function of nodes whose only argument is a table. */
static char *
table_call(NodeFunction function, Oid relid)
{
	return node_call(function, node_text(relation_qualified_name(relid)));
}

/*
 * Creates tables on the other nodes, and their shards on all, without the
 * foreign keys of shards.  definitions (Lists of commands) were generated
 * before the metadata was written.  Foreign keys come after all tables, since
 * there may be cycles.
 */
static void
create_everywhere(List *relids, List *definitions)
{
	List	   *commands = NIL;

	if (node_active_primaries_remote() != NIL)
	{
		foreach_oid(relid, relids)
			policies_check_scope(relid);
		foreach_ptr(List, definition, definitions)
			commands = list_concat(commands, definition);
		foreach_oid(relid, relids)
			commands = list_concat(commands, table_foreign_key_commands(relid));
		foreach_oid(relid, relids)
		{
			commands = list_concat(commands, table_metadata_commands(relid));
			if (metadata_require(relid)->kind != DIST_REFERENCE)
				commands = lappend(commands, table_call(NODE_create_local_shards, relid));
		}
		remote_exec_on_all(run_commands_call(commands));
	}
	foreach_oid(relid, relids)
		create_local_shards(relid);
}

/*
 * Adds the foreign keys of the tables' shards, which have their rows: the
 * server checks all of them at once, and there may be cycles.
 */
static void
create_keys_everywhere(List *relids)
{
	List	   *commands = NIL;

	foreach_oid(relid, relids)
		if (shard_foreign_key_commands(relid) != NIL)
			commands = lappend(commands, table_call(NODE_create_local_shard_keys, relid));
	if (commands == NIL)
		return;
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(commands));
	foreach_oid(relid, relids)
		create_local_shard_keys(relid);
}

/*
 * Sends the local table's rows to the shards; true if there were any.  The
 * scan sees what is committed now: the table is locked.
 */
static bool
move_rows(Relation rel, int router_flags)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	bool		any = rows_to_shards(rel, snapshot, router_flags);

	UnregisterSnapshot(snapshot);
	return any;
}

/*
 * Creates dependent objects of tables on the other nodes, with the rows of
 * materialized views, and then the tables' triggers, which must not fire for
 * moved rows.
 */
static void
create_rest_everywhere(List *relids)
{
	List	   *commands;

	if (node_active_primaries_remote() == NIL)
		return;
	commands = table_dependents_commands(relids);
	foreach_oid(relid, relids)
		commands = list_concat(commands, table_trigger_commands(relid));
	if (commands != NIL)
	{
		int			level = quiet_begin(WARNING);

		remote_exec_on_all(run_commands_call(commands));
		AtEOXact_GUC(true, level);
	}
	foreach_oid(view, table_dependent_views(relids))
		view_rows_send_to_all(view);
}

/*
 * Opens and locks the table to convert, after the checks that come before any
 * change.
 */
static Relation
open_for_conversion(Oid relid, LOCKMODE mode)
{
	Relation	rel;

	node_share_set_for_ddl();
	rel = open_table_by_oid(relid, mode);
	check_convertible(rel, false);
	return rel;
}

/* Reads the arguments of create_distributed_table about how to distribute. */
static void
read_distribution(FunctionCallInfo fcinfo, Relation rel, Distribution *wanted)
{
	bool		has_count = !PG_ARGISNULL(4);

	memset(wanted, 0, sizeof(Distribution));
	wanted->colocate_with = PG_ARGISNULL(3) ? "default" : text_to_cstring(PG_GETARG_TEXT_PP(3));
	wanted->replication_factor = 1;
	wanted->shard_count = has_count ? PG_GETARG_INT32(4) : shard_count_setting;
	if (wanted->shard_count < 1 || wanted->shard_count > MAX_SHARD_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d is outside the valid range for parameter \"shard_count\" (1 .. 64000)",
						wanted->shard_count)));
	if (has_count && pg_strcasecmp(wanted->colocate_with, "default") != 0 &&
		pg_strcasecmp(wanted->colocate_with, "none") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot use colocate_with with a table and shard_count at the same time")));

	check_no_tableoid(rel);
	if (PG_ARGISNULL(1))
	{
		if (has_count)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("shard_count can't be specified when the distribution column is null because in that "
							"case it's automatically set to 1")));
		wanted->shard_count = 1;
		return;
	}
	wanted->attno = check_distribution_column(rel, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	wanted->type = TupleDescAttr(RelationGetDescr(rel), wanted->attno - 1)->atttypid;
	wanted->collation = TupleDescAttr(RelationGetDescr(rel), wanted->attno - 1)->attcollation;
	check_unique_indexes(rel, wanted->attno);
}

/* Errors for distribution types other than hash. */
static void
check_distribution_type(Oid value)
{
	char	   *label = DatumGetCString(DirectFunctionCall1(enum_out, ObjectIdGetDatum(value)));

	if (strcmp(label, "hash") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("distribution type \"%s\" is not supported", label),
				 errhint("Use the distribution type 'hash'.")));
}

/*
 * How a partition is distributed: as its partitioned table is, by a column
 * that may have another number.
 */
static Distribution
distribution_of_partition(Relation rel, const Distribution *wanted, const char *column)
{
	Distribution result = *wanted;

	check_convertible(rel, true);
	if (column != NULL)
		result.attno = check_distribution_column(rel, column);
	check_no_tableoid(rel);
	check_unique_indexes(rel, result.attno);
	return result;
}

/*
 * Distributes tables, which are locked: a table, and its partitions after
 * their partitioned tables.  They are colocated with a table, or with the
 * first one if that is NULL.
 */
static void
distribute_tables(List *relids, Distribution *wanted, const DistTable *colocate_with, const char *column)
{
	List	   *definitions = NIL;

	foreach_oid(relid, relids)
		definitions = lappend(definitions, table_definition_commands(relid));
	foreach_oid(relid, relids)
	{
		Relation	rel = relation_open(relid, NoLock);
		Distribution own = *wanted;

		if (rel->rd_rel->relispartition)
			own = distribution_of_partition(rel, wanted, column);
		insert_metadata(relid, &own, colocate_with);
		if (colocate_with == NULL)
			colocate_with = metadata_require(relid);
		lock_others_everywhere(list_difference_oid(referenced_tables(relid, NULL, 0), relids), ShareRowExclusiveLock);
		relation_close(rel, NoLock);
	}
	foreach_oid(relid, relids)
	{
		check_foreign_keys(relid);
		notice_local_foreign_keys(relid);
	}
	create_everywhere(relids, definitions);
	if (wanted->online)
		online_rows_copy(relids);
	foreach_oid(relid, relids)
	{
		Relation	rel = relation_open(relid, NoLock);

		if (rel->rd_rel->relkind == RELKIND_RELATION && (wanted->online || move_rows(rel, 0)))
			relation_discard_rows(rel);
		sequences_changed(relid);
		relation_close(rel, NoLock);
	}
	create_keys_everywhere(relids);
	create_rest_everywhere(relids);
	foreach_oid(relid, relids)
	{
		global_indexes_create(relid);
		global_keys_create(relid, false);
	}
}

void
distribute_partition(Oid relid)
{
	const DistTable *parent = metadata_require(get_partition_parent(relid, false));
	Distribution wanted = {.attno = parent->dist_attno,.type = parent->dist_type,.collation = parent->dist_collation,
	.shard_count = parent->nshards,.replication_factor = 1};

	distribute_tables(find_all_inheritors(relid, AccessExclusiveLock, NULL), &wanted, parent,
			   parent->dist_attno == 0 ? NULL : get_attname(parent->relid, parent->dist_attno, false));
}

/*
 * Makes a table that citus_add_local_table_to_metadata() has added a local one
 * again, which can be distributed.
 */
static void
leave_metadata(Oid relid)
{
	const DistTable *table = metadata_lookup(relid);

	if (table != NULL && group_stays_on_node(table->colocation_id))
		undistribute_tables(list_make1_oid(relid));
}

/*
 * Distributes a table as the arguments of create_distributed_table say.
 * online: others write it until the switch.
 */
static void
distribute_by_arguments(FunctionCallInfo fcinfo, bool online)
{
	LOCKMODE	mode = online ? ShareUpdateExclusiveLock : AccessExclusiveLock;
	Distribution wanted;
	Relation	rel;
	Oid			relid;
	List	   *relids;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("table_name cannot be NULL")));
	if (!PG_ARGISNULL(2))
		check_distribution_type(PG_GETARG_OID(2));
	relid = PG_GETARG_OID(0);
	if (!online)
		leave_metadata(relid);
	rel = open_for_conversion(relid, mode);
	read_distribution(fcinfo, rel, &wanted);
	if (online)
		global_index_check_online(rel, wanted.attno);
	relation_close(rel, NoLock);
	wanted.online = online;
	relids = find_all_inheritors(relid, mode, NULL);
	if (online)
		online_rows_check(relids);
	distribute_tables(relids, &wanted, NULL, PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)));
}

/*
 * create_distributed_table(table_name regclass, distribution_column text,
 *		distribution_type citus.distribution_type, colocate_with text, shard_count int)
 */
Datum
create_distributed_table(PG_FUNCTION_ARGS)
{
	distribute_by_arguments(fcinfo, false);
	PG_RETURN_VOID();
}

/*
 * create_distributed_table_concurrently: the same, with the same arguments,
 * while others read and write the table.
 */
Datum
create_distributed_table_concurrently(PG_FUNCTION_ARGS)
{
	PreventInTransactionBlock(true, "create_distributed_table_concurrently");
	distribute_by_arguments(fcinfo, true);
	PG_RETURN_VOID();
}

/* create_reference_table(table_name regclass) */
Datum
create_reference_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel;
	List	   *definition;

	leave_metadata(relid);
	rel = open_for_conversion(relid, AccessExclusiveLock);
	definition = table_definition_commands(relid);
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partitioned table \"%s\" cannot be a reference table", RelationGetRelationName(rel)),
				 errhint("Use create_distributed_table(), with NULL as distribution column to keep it on one node.")));
	insert_reference_metadata(rel);
	lock_others_everywhere(referenced_tables(relid, NULL, 0), ShareRowExclusiveLock);
	check_foreign_keys(relid);
	create_everywhere(list_make1_oid(relid), list_make1(definition));
	if (node_active_primaries_remote() != NIL)
		(void) move_rows(rel, ROW_ROUTER_REMOTE_ONLY);
	create_rest_everywhere(list_make1_oid(relid));
	sequences_changed(relid);
	relation_close(rel, NoLock);
	global_keys_create(relid, false);
	PG_RETURN_VOID();
}

/*
 * Distributes tables, each with its partitions, as ones with a single shard.
 */
static void
distribute_single(List *roots, Distribution *wanted)
{
	List	   *relids = NIL;

	foreach_oid(relid, roots)
	{
		Relation	rel = open_for_conversion(relid, AccessExclusiveLock);

		check_no_tableoid(rel);
		relation_close(rel, NoLock);
		relids = list_concat(relids, find_all_inheritors(relid, AccessExclusiveLock, NULL));
	}
	if (relids != NIL)
		distribute_tables(relids, wanted, NULL, NULL);
}

void
distribute_into_group(List *roots, int32 colocation_id)
{
	Distribution wanted = {.shard_count = 1,.replication_factor = SCHEMA_REPLICATION_FACTOR,
	.colocation_id = colocation_id};

	distribute_single(roots, &wanted);
}

bool
group_stays_on_node(int32 colocation_id)
{
	CatalogRow *row = catalog_row("pg_dist_colocation", "pg_dist_colocation_pkey", Anum_colocation_colocationid,
								  F_INT4EQ, Int32GetDatum(colocation_id));

	return row != NULL &&
		DatumGetInt32(row->values[Anum_colocation_replicationfactor - 1]) <= LOCAL_REPLICATION_FACTOR(0);
}

/*
 * citus_add_local_table_to_metadata(table_name regclass,
 * cascade_via_foreign_keys boolean)
 *
 * The table becomes one with a single shard, which stays on this node: so all
 * nodes can use it.
 */
Datum
citus_add_local_table_to_metadata(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Distribution wanted = {.shard_count = 1,.colocate_with = "default"};

	wanted.replication_factor = LOCAL_REPLICATION_FACTOR(metadata_local_group());
	if (metadata_lookup(relid) != NULL && group_stays_on_node(metadata_lookup(relid)->colocation_id))
	{
		ereport(NOTICE, (errmsg("table \"%s\" is in the metadata already", get_rel_name(relid))));
		PG_RETURN_VOID();
	}
	relation_close(open_for_conversion(relid, AccessExclusiveLock), NoLock);
	distribute_single(PG_GETARG_BOOL(1) ? tables_connected_by_keys(relid) : list_make1_oid(relid), &wanted);
	PG_RETURN_VOID();
}
