/*-------------------------------------------------------------------------
 *
 * reshape.c
 *	  Splits and merges: the part of the node that has the shard groups.
 *
 * Neighbouring old shard groups of this node are replaced by new ones that
 * together have the same hash values: by several for a split, by one for a
 * merge.  One session of the node takes part from begin to switch, as in a
 * move (source.c).
 *
 * A task that arrives after the switch names a shard group that doesn't exist
 * any more.  Reads are sent to the new groups (task_follow.c).  Writes can't
 * be, since they were computed for one shard; so the switch locks the logical
 * tables against writers on all nodes, which hold that lock until their
 * transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "cluster/members.h"
#include "compat/sql_function.h"
#include "lib/debug_point.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "rebalance/reshape.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "sharding/hash.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/table_definition.h"
#include "txn/transaction.h"
#include "txn/unpublished.h"

SQL_FUNCTION(citus_internal_reshape_begin);
SQL_FUNCTION(citus_internal_reshape_switch);
SQL_FUNCTION(citus_internal_reshape_end);

/* A new shard group. */
typedef struct NewGroup
{
	HashRange	range;
	int32		groupid;		/* node that will have it */
	List	   *shardids;		/* of each table (int64 *) */
	List	   *placementids;	/* of each of these (int64 *) */
} NewGroup;

/* The operation that this session takes part in, in its own memory context. */
typedef struct Reshape
{
	MemoryContext context;
	int64		operation;
	int			colocation_id;
	HashRange	range;			/* of all old groups, and of all new ones */
	List	   *old;			/* HashRange * */
	List	   *new;			/* NewGroup * */
	List	   *tables;			/* Oids, as of the begin */
	char	   *definition;		/* of all tables, as of the begin */
	List	   *copies;			/* ReshapeCopy *, while a transaction
								 * switches */
} Reshape;

static Reshape *current_reshape = NULL;

static void
forget_reshape(void)
{
	MemoryContext context = current_reshape->context;

	current_reshape = NULL;
	MemoryContextDelete(context);
}

/* Errors unless the session is in the middle of a split or merge. */
static void
require_reshape(FunctionCallInfo fcinfo)
{
	node_function_check_superuser(fcinfo);
	if (current_reshape == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session has not begun to split or merge shards")));
}

/* A table's shard of an old group; errors if it can't be replaced. */
static const ShardInfo *
old_shard(Oid relid, const HashRange *range)
{
	const DistTable *table = metadata_require(relid);
	int			index = shard_index_of_range(table, *range);
	const ShardInfo *shard = index < 0 ? NULL : &table->shards[index];

	if (shard == NULL || shard->groupid != metadata_local_group() || shard->others != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the shards of table \"%s\" have been moved, split or merged meanwhile", get_rel_name(relid)),
				 errhint("Try again.")));
	if (shard->former_group >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("shard " INT64_FORMAT " was moved, split or merged a moment ago, and transactions may still read what it was",
						shard->shardid),
				 errhint("Try again when they have ended, or call citus_cleanup_orphaned_resources().")));
	return shard;
}

static void
check_old_shards(void)
{
	ListCell   *old;

	foreach_oid(relid, current_reshape->tables)
	{
		foreach(old, current_reshape->old)
			(void) old_shard(relid, lfirst(old));
	}
}

static void
append_id(StringInfo buf, int64 id)
{
	appendStringInfo(buf, "%s" INT64_FORMAT, buf->len == 0 ? "" : ", ", id);
}

/* The ids of all old shards, as "1, 2, 3". */
static char *
old_shardids(void)
{
	StringInfoData buf;
	ListCell   *old;

	initStringInfo(&buf);
	foreach_oid(relid, current_reshape->tables)
	{
		foreach(old, current_reshape->old)
			append_id(&buf, old_shard(relid, lfirst(old))->shardid);
	}
	return buf.data;
}

/* Finds the old groups, and locks each against other operations. */
static void
lock_old_groups(const DistTable *table)
{
	int64		next = current_reshape->range.min;

	for (int i = 0; i < table->nshards; i++)
	{
		HashRange  *range;
		LOCKTAG		tag;

		if (table->shards[i].range.min != next || table->shards[i].range.max > current_reshape->range.max)
			continue;
		range = palloc(sizeof(HashRange));
		*range = table->shards[i].range;
		move_group_locktag(&tag, current_reshape->colocation_id, *range);
		if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("shard " INT64_FORMAT " is being moved, split or merged by another session",
							table->shards[i].shardid)));
		current_reshape->old = lappend(current_reshape->old, range);
		next = (int64) range->max + 1;
	}
	if (next != (int64) current_reshape->range.max + 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no shards for exactly the hash values from %d to %d", get_rel_name(table->relid),
						current_reshape->range.min, current_reshape->range.max)));
}

static void
unlock_old_groups(void)
{
	ListCell   *cell;

	foreach(cell, current_reshape->old)
	{
		LOCKTAG		tag;

		move_group_locktag(&tag, current_reshape->colocation_id, *(HashRange *) lfirst(cell));
		(void) LockRelease(&tag, ExclusiveLock, true);
	}
}

/*
 * Plans the new groups: their last hash values, and the nodes that get them.
 */
static void
plan_new_groups(ArrayType *last, ArrayType *groups)
{
	int			count = ArrayGetNItems(ARR_NDIM(last), ARR_DIMS(last));
	const int32 *lasts = (const int32 *) ARR_DATA_PTR(last);
	const int32 *groupids = (const int32 *) ARR_DATA_PTR(groups);
	int64		next = current_reshape->range.min;

	if (array_contains_nulls(last) || array_contains_nulls(groups) ||
		count != ArrayGetNItems(ARR_NDIM(groups), ARR_DIMS(groups)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the new shards are not described right")));
	for (int i = 0; i < count; i++)
	{
		NewGroup   *group = palloc0(sizeof(NewGroup));

		if (lasts[i] < next || lasts[i] > current_reshape->range.max)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the new shards are not in ascending order")));
		group->range.min = (int32) next;
		group->range.max = lasts[i];
		group->groupid = node_of_group(groupids[i])->groupid;
		current_reshape->new = lappend(current_reshape->new, group);
		next = (int64) lasts[i] + 1;
	}
	if (next != (int64) current_reshape->range.max + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the new shards don't have all hash values")));
}

static int64
new_shardid(const NewGroup *group, int table)
{
	return *(int64 *) list_nth(group->shardids, table);
}

/*
 * Gives the new shards their ids, and records them, so that they are removed
 * even if all sessions of this operation die.
 */
static void
name_new_shards(void)
{
	int			ntables = list_length(current_reshape->tables);
	int64	   *ids = next_ids(PG_DIST_SHARDID_SEQ, ntables * list_length(current_reshape->new));
	int64	   *placement_ids = next_ids(PG_DIST_PLACEMENTID_SEQ, ntables * list_length(current_reshape->new));

	foreach_ptr(NewGroup, group, current_reshape->new)
	{
		for (int i = 0; i < ntables; i++)
		{
			group->shardids = lappend(group->shardids, ids);
			group->placementids = lappend(group->placementids, placement_ids++);
			cleanup_note(current_reshape->operation, CLEANUP_SHARD, move_shard_name(list_nth_oid(current_reshape->tables, i), *ids),
						 group->groupid, CLEANUP_ON_FAILURE);
			ids++;
		}
	}
}

/* The table's name as a constant of type regclass, on any node. */
static char *
relation_constant(Oid relid)
{
	return psprintf("%s::pg_catalog.regclass",
					quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
																  get_rel_name(relid))));
}

/*
 * Writes the rows of the new shards, as arriving or active, on all nodes that
 * don't have them.
 */
static void
announce_new_shards(int state)
{
	int			ntables = list_length(current_reshape->tables);
	int64		owner = state == PLACEMENT_ARRIVING ? current_reshape->operation : 0;
	StringInfoData shards;
	StringInfoData placements;

	initStringInfo(&shards);
	initStringInfo(&placements);
	foreach_ptr(const NewGroup, group, current_reshape->new)
	{
		for (int i = 0; i < ntables; i++)
		{
			const char *comma = shards.len == 0 ? "" : ", ";

			appendStringInfo(&shards, "%s(%s, " INT64_FORMAT ", 't'::\"char\", '%d', '%d')", comma,
							 relation_constant(list_nth_oid(current_reshape->tables, i)), new_shardid(group, i), group->range.min,
							 group->range.max);
			appendStringInfo(&placements, "%s(" INT64_FORMAT ", " INT64_FORMAT ", %d, " INT64_FORMAT ", %d)", comma,
							 *(int64 *) list_nth(group->placementids, i), new_shardid(group, i), state, owner, group->groupid);
		}
	}
	members_exec(psprintf("INSERT INTO pg_catalog.pg_dist_placement (placementid, shardid, shardstate, shardlength, groupid) "
						  "VALUES %s ON CONFLICT DO NOTHING", placements.data), NIL);
	members_exec(psprintf("INSERT INTO pg_catalog.pg_dist_shard (logicalrelid, shardid, shardstorage, shardminvalue, shardmaxvalue) "
						  "SELECT * FROM (VALUES %s) v (relation, id, storage, low, high) WHERE NOT EXISTS "
						  "(SELECT FROM pg_catalog.pg_dist_shard s WHERE s.shardid = v.id)", shards.data), NIL);
}

/*
 * citus_internal.reshape_begin(shardid bigint, min_hash integer, max_hash
 *		integer, last integer[], groups integer[])
 *
 * The shardid is one of any table of the groups.
 */
Datum
citus_internal_reshape_begin(PG_FUNCTION_ARGS)
{
	const DistTable *table = metadata_require(metadata_require_shard(PG_GETARG_INT64(0)));
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "citus reshape", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context;

	node_function_check_superuser(fcinfo);
	if (current_reshape != NULL)
		forget_reshape();
	old_context = MemoryContextSwitchTo(context);
	current_reshape = palloc0(sizeof(Reshape));
	current_reshape->context = context;
	current_reshape->colocation_id = table->colocation_id;
	current_reshape->range.min = PG_GETARG_INT32(1);
	current_reshape->range.max = PG_GETARG_INT32(2);
	lock_old_groups(table);
	node_share_set_for_ddl();
	move_lock_placements(current_reshape->colocation_id);
	AcceptInvalidationMessages();
	current_reshape->tables = move_present_tables(current_reshape->colocation_id);
	check_old_shards();
	move_check_remains(old_shardids());
	plan_new_groups(PG_GETARG_ARRAYTYPE_P(3), PG_GETARG_ARRAYTYPE_P(4));
	current_reshape->operation = cleanup_begin();
	current_reshape->definition = move_definition(current_reshape->colocation_id);
	name_new_shards();
	announce_new_shards(PLACEMENT_ARRIVING);
	MemoryContextSwitchTo(old_context);
	PG_RETURN_VOID();
}

/* Runs a function on a node for a new group, in this transaction. */
static void
run_for_group(const NewGroup *group, NodeFunction function)
{
	char	   *call = node_call(function, node_int(current_reshape->colocation_id), node_int(group->range.min),
								 node_int(group->range.max), node_bigint(current_reshape->operation));

	if (group->groupid == metadata_local_group())
		members_exec_here(call);
	else
		remote_exec(group->groupid, call);
}

static void
run_for_new_groups(NodeFunction function)
{
	ListCell   *cell;

	foreach(cell, current_reshape->new)
		run_for_group(lfirst(cell), function);
}

/* Begins to copy the rows of a table's old shard. */
static List *
copy_old_shard(List *copies, const DistTable *table, int number, HashRange *old)
{
	Oid			relid = shard_local_relid(table->relid, old_shard(table->relid, old)->shardid);

	foreach_ptr(const NewGroup, group, current_reshape->new)
	{
		HashRange	common = group->range;
		char	   *name = shard_relation_name(get_rel_name(table->relid), new_shardid(group, number));

		if (hash_range_intersect(&common, *old))
			copies = lappend(copies, reshape_copy_begin(table, relid, name, group->groupid, common));
	}
	return copies;
}

/* Creates the new shards, copies all rows into them, and indexes them. */
static void
fill_new_shards(void)
{
	List	   *copies = NIL;
	ListCell   *old;

	run_for_new_groups(NODE_make_shard_copies);
	drive_pace_begin();
	foreach_oid(relid, current_reshape->tables)
	{
		foreach(old, current_reshape->old)
			copies = copy_old_shard(copies, metadata_require(relid), foreach_current_index(relid), lfirst(old));
	}
	current_reshape->copies = copies;
	run_for_new_groups(NODE_index_shard_copies);
}

/* Copies the changes since the last copy. */
static void
follow_old_shards(bool last)
{
	ListCell   *cell;

	foreach(cell, current_reshape->copies)
		reshape_copy_follow(lfirst(cell), last);
}

static void
end_copies(void)
{
	ListCell   *cell;

	foreach(cell, current_reshape->copies)
		reshape_copy_end(lfirst(cell));
	current_reshape->copies = NIL;
}

static void
lock_old_shards(void)
{
	ListCell   *old;

	foreach_oid(relid, current_reshape->tables)
	{
		foreach(old, current_reshape->old)
			LockRelationOid(shard_local_relid(relid, old_shard(relid, lfirst(old))->shardid),
							ExclusiveLock);
	}
}

/* And of all new ones. */
static char *
new_shardids(void)
{
	StringInfoData buf;
	ListCell   *id;

	initStringInfo(&buf);
	foreach_ptr(NewGroup, group, current_reshape->new)
	{
		foreach(id, group->shardids)
			append_id(&buf, *(int64 *) lfirst(id));
	}
	return buf.data;
}

/*
 * The old shards' relations are dropped when no transaction can need them any
 * more.
 */
static void
note_replaced_shards(void)
{
	ListCell   *old;

	cleanup_forget(current_reshape->operation, CLEANUP_ON_FAILURE);
	foreach_oid(relid, current_reshape->tables)
	{
		foreach(old, current_reshape->old)
			cleanup_note(current_reshape->operation, CLEANUP_SHARD,
						 move_shard_name(relid, old_shard(relid, lfirst(old))->shardid),
						 metadata_local_group(), CLEANUP_LATER);
	}
}

/* The node that commits last; this one, if it has all new shards. */
static int32
last_node(void)
{
	foreach_ptr(const NewGroup, group, current_reshape->new)
		if (group->groupid != metadata_local_group())
			return group->groupid;
	return metadata_local_group();
}

/* Changes the metadata on all nodes, also those that were added meanwhile. */
static void
replace_shards(void)
{
	char	   *old = old_shardids();

	note_replaced_shards();
	members_exec(psprintf("UPDATE pg_catalog.pg_dist_placement SET shardstate = CASE WHEN shardid IN (%s) THEN %d ELSE %d END, "
						  "shardlength = 0 WHERE shardid IN (%s, %s)", old, PLACEMENT_LEFT, PLACEMENT_ACTIVE, old, new_shardids()), NIL);
	announce_new_shards(PLACEMENT_ACTIVE);
}

/*
 * Takes the locks, copies the rest, and changes the metadata; false if that
 * isn't possible now.
 */
static bool
try_reshape(void *arg)
{
	lock_attempt_limit(drive_pause_limit);
	node_share_set_for_ddl();
	move_lock_placements(current_reshape->colocation_id);
	if (!lock_everywhere(current_reshape->tables, ExclusiveLock))
	{
		drive_check_tables(current_reshape->tables);
		return false;
	}
	check_old_shards();
	move_check_definition(current_reshape->colocation_id, current_reshape->definition);
	lock_old_shards();
	DEBUG_POINT("reshape-shards-locked");
	follow_old_shards(true);
	run_for_new_groups(NODE_complete_shard_copies);
	replace_shards();
	txn_commit_last(last_node(), current_reshape->tables);
	DEBUG_POINT("reshape-before-commit");
	return true;
}

static void
report_writers(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not replace shards because transactions that have written to their tables go on for long"),
			 errdetail("They did not end within citus.move_switch_timeout."),
			 errhint("The views citus_lock_waits and citus_dist_stat_activity show them.")));
}

/*
 * citus_internal.reshape_switch(): fills the new shards while the old ones are
 * written, and switches to them.
 */
Datum
citus_internal_reshape_switch(PG_FUNCTION_ARGS)
{
	TimestampTz deadline;

	require_reshape(fcinfo);
	current_reshape->copies = NIL;
	unpublished_transaction();
	fill_new_shards();
	DEBUG_POINT("reshape-filled");
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_switch_timeout);
	follow_old_shards(false);
	for (int attempt = 0; !move_attempt(try_reshape); attempt++)
	{
		if (GetCurrentTimestamp() >= deadline)
			report_writers();
		drive_back_off(attempt);
		follow_old_shards(false);
	}
	end_copies();
	PG_RETURN_VOID();
}

/*
 * citus_internal.reshape_end(): ends the session's part; remaining objects may
 * be cleaned up.
 */
Datum
citus_internal_reshape_end(PG_FUNCTION_ARGS)
{
	require_reshape(fcinfo);
	unlock_old_groups();
	if (current_reshape->operation != 0)
		cleanup_end(current_reshape->operation);
	forget_reshape();
	PG_RETURN_VOID();
}
