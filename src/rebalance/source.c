/*-------------------------------------------------------------------------
 *
 * source.c
 *	  A move: the source node's part.
 *
 * One session of that node takes part in a move from its begin to its switch;
 * it holds the locks that limit the group to one operation at a time, and that
 * show that the operation is alive.  Each function is called in a separate
 * transaction.
 *
 * The switch is one distributed transaction that this node decides, so this
 * node commits first: tasks that arrive later are sent to the new node.  The
 * new node commits last, and executes no task before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/slot.h"
#include "replication/walsender_private.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "cluster/members.h"
#include "compat/logical_message.h"
#include "compat/published_generated.h"
#include "compat/slot_process.h"
#include "compat/sql_function.h"
#include "copy/table_copy.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/run_as.h"
#include "lib/spi_query.h"
#include "lib/subtransaction.h"
#include "lib/wait_event.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "sharding/hash.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"
#include "txn/transaction.h"

SQL_FUNCTION(citus_internal_move_begin);
SQL_FUNCTION(citus_internal_move_publish);
SQL_FUNCTION(citus_internal_move_copy);
SQL_FUNCTION(citus_internal_move_switch);
SQL_FUNCTION(citus_internal_move_end);

/*
 * Distinguishes the lock on a shard group from others on objects of
 * pg_dist_colocation; the group's first hash value is part of the tag.
 */
#define GROUP_LOCK_BIT 0x8000

#define POLL_MS 1

/*
 * The target's kernel begins to write the rows soon, not many of them at once
 * later, when transactions that commit would wait for that.
 */
#define SMOOTH_WRITES "SET LOCAL backend_flush_after TO '512kB'"

/*
 * The move that this session takes part in; NULL if there is none.  In its own
 * memory context.
 */
typedef struct Move
{
	MemoryContext context;
	int64		operation;
	int			colocation_id;
	HashRange	range;
	int32		target;
	bool		logical;
	List	   *tables;			/* Oids, as of the begin */
	List	   *shardids;		/* of each (int64 *) */
	List	   *channels;		/* MoveChannel *, if logical */
	char	   *definition;		/* of all tables, as of the begin */
	char	   *owners_and_columns; /* of all shards, as of then */
} Move;

static Move *current_move = NULL;

void
move_group_locktag(LOCKTAG *tag, int colocation_id, HashRange range)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, dist_relid(PG_DIST_COLOCATION), colocation_id,
					   GROUP_LOCK_BIT | (uint16) ((uint32) range.min >> 17));
	tag->locktag_lockmethodid = USER_LOCKMETHOD;	/* the server gives
													 * these back when a
													 * session ends */
}

static int
compare_depth(const ListCell *a, const ListCell *b)
{
	int			left = get_rel_relispartition(lfirst_oid(a)) ? list_length(get_partition_ancestors(lfirst_oid(a))) : 0;
	int			right = get_rel_relispartition(lfirst_oid(b)) ? list_length(get_partition_ancestors(lfirst_oid(b))) : 0;

	if (left != right)
		return left - right;
	return lfirst_oid(a) < lfirst_oid(b) ? -1 : lfirst_oid(a) > lfirst_oid(b);
}

List *
move_tables(int colocation_id)
{
	List	   *tables = metadata_tables(colocation_id);

	list_sort(tables, compare_depth);
	return tables;
}

List *
move_present_tables(int colocation_id)
{
	List	   *tables = move_tables(colocation_id);

	if (tables == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables whose shards were to be moved, split or merged have been dropped")));
	foreach_oid(relid, tables)
		LockRelationOid(relid, AccessShareLock);
	drive_check_tables(tables);
	return tables;
}

char *
move_shard_name(Oid relid, int64 shardid)
{
	return pstrdup(quote_qualified_identifier(SHARD_SCHEMA, shard_relation_name(get_rel_name(relid), shardid)));
}

/* The shard of a table that has the move's range. */
static const ShardInfo *
moved_shard(Oid relid)
{
	const DistTable *table = drive_require_table(relid);
	int			index = shard_index_of_range(table, current_move->range);

	if (index < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the shards that are moved have been split meanwhile")));
	return &table->shards[index];
}

/*
 * In a fixed order, the coordinator first, since operations on shards of one
 * colocation group run on several nodes at a time.
 */
void
move_lock_placements(int colocation_id)
{
	char	   *sql = node_call(NODE_lock_group_placements, node_int(colocation_id));

	if (metadata_local_group() != COORDINATOR_GROUP)
		remote_exec(COORDINATOR_GROUP, sql);
	members_exec(sql, list_make1_int(COORDINATOR_GROUP));
}

char *
move_definition(int colocation_id)
{
	StringInfoData buf;
	ListCell   *command;

	initStringInfo(&buf);
	foreach_oid(relid, move_tables(colocation_id))
	{
		List	   *commands = list_concat(table_shard_commands(relid), shard_foreign_key_commands(relid));

		appendStringInfo(&buf, "%u\n", relid);
		foreach(command, commands)
			appendStringInfo(&buf, "%s\n", (char *) lfirst(command));
	}
	return buf.data;
}

static void
report_change(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a table was changed while its shards were moved, split or merged"),
			 errhint("Try again.")));
}

static void
check_same(const char *before, const char *now)
{
	if (strcmp(before, now) != 0)
		report_change();
}

void
move_check_definition(int colocation_id, const char *definition)
{
	check_same(definition, move_definition(colocation_id));
}

/*
 * The owners and columns of all shards, as a text for comparison.  It is read
 * from the relations themselves, since the transaction's snapshot may be older
 * than the definition in the catalogs, which the server can't tell then.
 */
static char *
write_owners_and_columns(void)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, current_move->tables)
	{
		Relation	rel = relation_open(shard_local_relid(relid, moved_shard(relid)->shardid),
										AccessShareLock);

		appendStringInfo(&buf, "%u\n", rel->rd_rel->relowner);
		for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

			appendStringInfo(&buf, "%s %u %d\n", NameStr(att->attname), att->atttypid, att->attisdropped);
		}
		relation_close(rel, NoLock);
	}
	return buf.data;
}

static void
forget_move(void)
{
	MemoryContext context = current_move->context;

	current_move = NULL;
	MemoryContextDelete(context);
}

/* Errors unless the session is in the middle of a move. */
static void
require_move(FunctionCallInfo fcinfo)
{
	node_function_check_superuser(fcinfo);
	if (current_move == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session has not begun to move a shard")));
}

/*
 * Errors unless the move's shards are here, and aren't part of another
 * operation.
 */
static void
check_shards(void)
{
	foreach_oid(relid, current_move->tables)
	{
		const ShardInfo *shard = moved_shard(relid);

		if (shard->groupid != metadata_local_group())
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard " INT64_FORMAT " is not on this node any more", shard->shardid)));
		if (shard->former_group >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("shard " INT64_FORMAT " was moved a moment ago, and transactions may still read it at its former place",
							shard->shardid),
					 errhint("Try again when they have ended, or call citus_cleanup_orphaned_resources().")));
	}
}

/*
 * Such a mark is noted on this node, and can't be told from those that other
 * operations make: a split has all placements of the old shards be left, and
 * once the shards are on another node, one may move them to where the mark is.
 */
void
move_check_remains(const char *shardids)
{
	char	   *shardid = spi_value(psprintf("SELECT shardid FROM pg_catalog.pg_dist_placement WHERE shardid IN (%s) "
											 "AND shardstate = %d LIMIT 1", shardids, PLACEMENT_ARRIVING));

	if (shardid != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("what an earlier move of shard %s has left is being removed", shardid),
				 errhint("Try again, or call citus_cleanup_orphaned_resources().")));
}

/*
 * Whether rows of a shard would be found by generated columns, which aren't
 * replicated.  A node of version 18 would refuse clients' UPDATE and DELETE.
 */
static bool
is_found_by_generated(Oid shard_relid)
{
	Relation	shard = relation_open(shard_relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(shard);
	Bitmapset  *key = OidIsValid(RelationGetReplicaIndex(shard)) ?
		RelationGetIndexAttrBitmap(shard, INDEX_ATTR_BITMAP_IDENTITY_KEY) : NULL;
	bool		found = false;

	for (int i = 0; i < desc->natts; i++)
	{
		bool		identifies = key == NULL ? !compat_whole_rows_lack_generated() :
			bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, key);

		found |= identifies && TupleDescAttr(desc, i)->attgenerated != '\0' && !TupleDescAttr(desc, i)->attisdropped;
	}
	relation_close(shard, NoLock);
	return found;
}

/* Why the rows of shards can't be replicated. */
typedef enum Obstacle
{
	OBSTACLE_NONE,
	OBSTACLE_WAL_LEVEL,
	OBSTACLE_UNLOGGED,
	OBSTACLE_GENERATED
} Obstacle;

/* That of the shards of tables; *table gets the table. */
static Obstacle
find_obstacle(List *tables, Oid *table)
{
	if (wal_level < WAL_LEVEL_LOGICAL)
		return OBSTACLE_WAL_LEVEL;
	foreach_oid(relid, tables)
	{
		*table = relid;
		if (get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
			return OBSTACLE_UNLOGGED;
		if (get_rel_relkind(relid) == RELKIND_RELATION &&
			is_found_by_generated(shard_local_relid(relid, moved_shard(relid)->shardid)))
			return OBSTACLE_GENERATED;
	}
	return OBSTACLE_NONE;
}

/*
 * Whether shards of the tables are to be replicated logically; errors if they
 * can't be, but must.
 */
static bool
choose_logical(const char *mode, List *tables)
{
	Oid			table = InvalidOid;
	Obstacle	obstacle;

	if (strcmp(mode, "block_writes") == 0)
		return false;
	obstacle = find_obstacle(tables, &table);
	if (strcmp(mode, "force_logical") == 0 && obstacle != OBSTACLE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 obstacle == OBSTACLE_WAL_LEVEL ? errmsg("wal_level on the shard's node must be logical to move it online") :
				 obstacle == OBSTACLE_UNLOGGED ? errmsg("unlogged tables cannot be replicated") :
				 errmsg("generated columns in the replica identity of table \"%s\" cannot be replicated", get_rel_name(table)),
				 errhint("Use the shard transfer mode block_writes.")));
	return obstacle == OBSTACLE_NONE;
}

static MoveChannel *
channel_of_owner(Oid owner)
{
	MoveChannel *channel;
	ListCell   *cell;

	foreach(cell, current_move->channels)
	{
		channel = lfirst(cell);
		if (channel->owner == owner)
			return channel;
	}
	channel = palloc0(sizeof(MoveChannel));
	channel->owner = owner;
	snprintf(channel->publication, MOVE_NAME_SIZE, MOVE_PUBLICATION_PREFIX "%d_%u_" INT64_FORMAT,
			 node_of_group(current_move->target)->nodeid, owner, current_move->operation);
	snprintf(channel->slot, MOVE_NAME_SIZE, MOVE_SLOT_PREFIX "%d_%u_" INT64_FORMAT,
			 node_of_group(current_move->target)->nodeid, owner, current_move->operation);
	snprintf(channel->subscription, MOVE_NAME_SIZE, MOVE_SUBSCRIPTION_PREFIX "%u_" INT64_FORMAT,
			 owner, current_move->operation);
	snprintf(channel->role, MOVE_NAME_SIZE, "citus_shard_move_subscription_role_%u_" INT64_FORMAT,
			 owner, current_move->operation);
	current_move->channels = lappend(current_move->channels, channel);
	return channel;
}

static Oid
owner_of(Oid relid)
{
	HeapTuple	tuple = catalog_tuple(RELOID, relid, "relation");
	Oid			owner;

	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Chooses the channels that replicate the shards. */
static void
make_channels(void)
{
	foreach_oid(relid, current_move->tables)
	{
		MoveChannel *channel;

		if (get_rel_relkind(relid) != RELKIND_RELATION)
			continue;
		channel = channel_of_owner(owner_of(relid));
		channel->relids = lappend_oid(channel->relids, relid);
	}
}

/*
 * Records all objects that will be created, so that they are removed even if
 * all sessions of this move die.
 */
static void
note_objects(void)
{
	int32		here = metadata_local_group();

	foreach_oid(relid, current_move->tables)
	{
		int64		shardid = moved_shard(relid)->shardid;
		char	   *name = move_shard_name(relid, shardid);

		if (cleanup_is_noted(CLEANUP_SHARD, name, current_move->target))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("what an earlier move of shard " INT64_FORMAT " has left on node %s:%d is being removed", shardid,
							node_of_group(current_move->target)->host, node_of_group(current_move->target)->port),
					 errhint("Try again, or call citus_cleanup_orphaned_resources().")));
		cleanup_note(current_move->operation, CLEANUP_SHARD, name, current_move->target, CLEANUP_ON_FAILURE);
	}
	foreach_ptr(MoveChannel, channel, current_move->channels)
	{
		cleanup_note(current_move->operation, CLEANUP_SUBSCRIPTION, channel->subscription, current_move->target, CLEANUP_ALWAYS);
		cleanup_note(current_move->operation, CLEANUP_ROLE, channel->role, current_move->target, CLEANUP_ALWAYS);
		cleanup_note(current_move->operation, CLEANUP_PUBLICATION, channel->publication, here, CLEANUP_ALWAYS);
	}
}

/* The ids of all moved shards, as "1, 2, 3". */
static char *
shardid_list(void)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, current_move->tables)
		appendStringInfo(&buf, "%s" INT64_FORMAT, buf.len == 0 ? "" : ", ", moved_shard(relid)->shardid);
	return buf.data;
}

/*
 * Writes, on all nodes, a placement of each shard on the target: an arriving
 * one, which is this operation's, or an active one.
 */
static void
place_on_target(int state)
{
	int64	   *ids = next_ids(PG_DIST_PLACEMENTID_SEQ, list_length(current_move->tables));
	int64		owner = state == PLACEMENT_ARRIVING ? current_move->operation : 0;
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, current_move->tables)
		appendStringInfo(&buf, "%s(" INT64_FORMAT ", " INT64_FORMAT ", %d, " INT64_FORMAT ", %d)", buf.len == 0 ? "" : ", ",
						 ids[foreach_current_index(relid)], moved_shard(relid)->shardid, state, owner, current_move->target);
	members_exec(psprintf("INSERT INTO pg_catalog.pg_dist_placement (placementid, shardid, shardstate, shardlength, groupid) "
						  "VALUES %s ON CONFLICT (shardid, groupid) DO UPDATE SET placementid = excluded.placementid, "
						  "shardstate = excluded.shardstate, shardlength = excluded.shardlength", buf.data), NIL);
}

/*
 * citus_internal.move_begin(shardid bigint, target_group integer, mode text):
 * the operation's number if it will be online, else NULL.  All sessions learn
 * that the group may go, and set savepoints (txn_guard).
 */
Datum
citus_internal_move_begin(PG_FUNCTION_ARGS)
{
	int64		shardid = PG_GETARG_INT64(0);
	const DistTable *table = metadata_require(metadata_require_shard(shardid));
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "citus move", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context;
	LOCKTAG		tag;

	if (current_move != NULL)
		forget_move();
	old_context = MemoryContextSwitchTo(context);
	current_move = palloc0(sizeof(Move));
	current_move->context = context;
	require_move(fcinfo);
	current_move->colocation_id = table->colocation_id;
	current_move->target = PG_GETARG_INT32(1);
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].shardid == shardid)
			current_move->range = table->shards[i].range;
	}
	move_group_locktag(&tag, current_move->colocation_id, current_move->range);
	if (LockAcquire(&tag, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("shard " INT64_FORMAT " is being moved or split by another session", shardid)));
	node_share_set_for_ddl();
	move_lock_placements(current_move->colocation_id);
	AcceptInvalidationMessages();
	current_move->tables = move_present_tables(current_move->colocation_id);
	check_shards();
	move_check_remains(shardid_list());
	current_move->operation = cleanup_begin();
	current_move->logical = choose_logical(text_to_cstring(PG_GETARG_TEXT_PP(2)), current_move->tables);
	if (current_move->logical)
		make_channels();
	current_move->definition = move_definition(current_move->colocation_id);
	current_move->owners_and_columns = write_owners_and_columns();
	note_objects();
	place_on_target(PLACEMENT_ARRIVING);
	MemoryContextSwitchTo(old_context);
	if (!current_move->logical)
		PG_RETURN_NULL();
	PG_RETURN_INT64(current_move->operation);
}

/*
 * Sets REPLICA IDENTITY FULL for a shard without a key.  A concurrent writer
 * would not notice the change, so writers are blocked for that moment.
 */
static void
log_whole_rows(Oid relid, int64 shardid)
{
	Oid			shard_relid = shard_local_relid(relid, shardid);
	Relation	rel;
	bool		has_key;
	int			level;

	if (get_rel_relkind(relid) != RELKIND_RELATION)
		return;
	rel = relation_open(shard_relid, AccessShareLock);
	has_key = OidIsValid(RelationGetReplicaIndex(rel)) || rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	relation_close(rel, NoLock);
	if (has_key)
		return;
	level = NewGUCNestLevel();
	lock_attempt_limit(drive_pause_limit);
	LockRelationOid(shard_relid, ShareRowExclusiveLock);
	AtEOXact_GUC(true, level);
	cleanup_note(current_move->operation, CLEANUP_IDENTITY, move_shard_name(relid, shardid), metadata_local_group(),
				 CLEANUP_ON_FAILURE);
	shard_set_replica_identity(shard_relid, REPLICA_IDENTITY_FULL);
}

/*
 * Errors if DDL has taken a shard out of its publication: what was written
 * since is missing in the copy.
 */
static void
check_published(void)
{
	foreach_ptr(const MoveChannel, channel, current_move->channels)
	{
		Oid			publication = get_publication_oid(channel->publication, true);

		foreach_oid(relid, channel->relids)
			if (!SearchSysCacheExists2(PUBLICATIONRELMAP,
									   ObjectIdGetDatum(shard_local_relid(relid, moved_shard(relid)->shardid)),
									   ObjectIdGetDatum(publication)))
				report_change();
	}
}

/* The names of the shards of a channel's tables. */
static char *
join_shard_names(const MoveChannel *channel)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, channel->relids)
		appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ",
						 move_shard_name(relid, moved_shard(relid)->shardid));
	return buf.data;
}

/*
 * citus_internal.move_publish(): makes the publications; a row for each owner,
 * of slot, publication, subscription, owner.
 */
Datum
citus_internal_move_publish(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *commands = NIL;

	require_move(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	(void) move_present_tables(current_move->colocation_id);
	move_check_definition(current_move->colocation_id, current_move->definition);
	foreach_oid(relid, current_move->tables)
		log_whole_rows(relid, moved_shard(relid)->shardid);
	foreach_ptr(MoveChannel, channel, current_move->channels)
	{
		Datum		values[] = {
			CStringGetTextDatum(channel->slot), CStringGetTextDatum(channel->publication),
			CStringGetTextDatum(channel->subscription), CStringGetTextDatum(GetUserNameFromId(channel->owner, false)),
			CStringGetTextDatum(channel->role),
		};
		bool		nulls[lengthof(values)] = {false};

		commands = lappend(commands, psprintf("CREATE PUBLICATION %s FOR TABLE %s",
											  quote_identifier(channel->publication), join_shard_names(channel)));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	run_commands(commands);
	return (Datum) 0;
}

/*
 * Copies the rows of a table's shard, which is locked, that the snapshot
 * shows.  Functions in constraints run with the owner's rights.
 */
static void
copy_shard(Oid relid, Snapshot snapshot, void (*sent) (size_t bytes))
{
	Oid			shard_relid = shard_local_relid(relid, moved_shard(relid)->shardid);
	TableCopy	copy = {.relid = shard_relid,.groupid = current_move->target,.name = get_rel_name(shard_relid),.sent = sent};
	RunAs		caller = run_as_owner_begin(shard_relid);

	table_copy_snapshot(&copy, snapshot);
	run_as_end(caller);
}

/*
 * citus_internal.move_copy(slot text): copies the rows of the slot's tables
 * that the transaction's snapshot shows, which the slot has exported.
 */
Datum
citus_internal_move_copy(PG_FUNCTION_ARGS)
{
	const char *slot = text_to_cstring(PG_GETARG_TEXT_PP(0));

	require_move(fcinfo);
	(void) move_present_tables(current_move->colocation_id);
	/* the transaction's locks keep them so until it ends */
	check_same(current_move->owners_and_columns, write_owners_and_columns());
	remote_exec(current_move->target, SMOOTH_WRITES);
	drive_pace_begin();
	foreach_ptr(const MoveChannel, channel, current_move->channels)
		foreach_oid(relid, strcmp(channel->slot, slot) == 0 ? channel->relids : NIL)
			copy_shard(relid, GetTransactionSnapshot(), drive_pace);
	PG_RETURN_VOID();
}

/* The walsender of a slot; 0 if there is none. */
static int
sender_of_slot(const char *name)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);
	int			pid = 0;

	if (slot != NULL)
	{
		SpinLockAcquire(&slot->mutex);
		pid = compat_slot_process(slot);
		SpinLockRelease(&slot->mutex);
	}
	return pid;
}

/* How far the receiver of a slot has applied changes. */
static XLogRecPtr
applied_by_receiver(const char *slot)
{
	int			pid = sender_of_slot(slot);
	XLogRecPtr	applied = InvalidXLogRecPtr;

	for (int i = 0; pid != 0 && i < max_wal_senders; i++)
	{
		WalSnd	   *sender = &WalSndCtl->walsnds[i];

		SpinLockAcquire(&sender->mutex);
		if (sender->pid == pid)
			applied = sender->apply;
		SpinLockRelease(&sender->mutex);
	}
	return applied;
}

/*
 * Waits until the receivers of channels (MoveChannel *) have applied all
 * changes written before now; false if that takes too long.
 */
static bool
await_subscribers(List *channels, TimestampTz deadline)
{
	XLogRecPtr	now = compat_log_mark();

	foreach_ptr(const MoveChannel, channel, channels)
	{
		char	   *flush = node_call(NODE_move_flush, node_text(channel->subscription));

		while (applied_by_receiver(channel->slot) < now)
		{
			if (GetCurrentTimestamp() >= deadline)
				return false;
			remote_exec(current_move->target, flush);
			wait_pause(POLL_MS, WAIT_SHARD_MOVE);
		}
	}
	return true;
}

/* Locks the shards against writers; errors if a lock isn't granted in time. */
static void
lock_shards(void)
{
	foreach_oid(relid, current_move->tables)
		LockRelationOid(shard_local_relid(relid, moved_shard(relid)->shardid), ExclusiveLock);
}

/* The call of a function on the target for the moved shards. */
static char *
target_call(NodeFunction function)
{
	return node_call(function, node_int(current_move->colocation_id), node_int(current_move->range.min),
					 node_int(current_move->range.max), node_bigint(current_move->operation));
}

/* Copies the shards' rows, in this transaction. */
static void
copy_shards(void)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	foreach_oid(relid, current_move->tables)
		copy_shard(relid, snapshot, NULL);
	UnregisterSnapshot(snapshot);
}

/*
 * The shards' old relations are dropped when no transaction can need them any
 * more.
 */
static void
note_old_shards(void)
{
	cleanup_forget(current_move->operation, CLEANUP_ON_FAILURE);
	foreach_oid(relid, current_move->tables)
		cleanup_note(current_move->operation, CLEANUP_SHARD,
					 move_shard_name(relid, moved_shard(relid)->shardid),
					 metadata_local_group(), CLEANUP_LATER);
}

/*
 * Takes the locks, brings the target up to date, and changes the metadata;
 * false if that isn't possible now.
 */
static bool
try_switch(void *arg)
{
	TimestampTz deadline;

	lock_attempt_limit(drive_pause_limit);
	node_share_set_for_ddl();
	move_lock_placements(current_move->colocation_id);
	if (!lock_everywhere(current_move->tables, ShareUpdateExclusiveLock))
	{
		drive_check_tables(current_move->tables);
		return false;
	}
	check_shards();
	move_check_definition(current_move->colocation_id, current_move->definition);
	check_published();
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), drive_pause_limit);
	lock_shards();
	DEBUG_POINT("move-shards-locked");
	if (current_move->logical)
	{
		if (!await_subscribers(current_move->channels, deadline))
			return false;
	}
	else
	{
		remote_exec(current_move->target, target_call(NODE_make_shard_copies));
		copy_shards();
		remote_exec(current_move->target, target_call(NODE_index_shard_copies));
	}
	remote_exec(current_move->target, target_call(NODE_complete_shard_copies));
	place_on_target(PLACEMENT_ACTIVE);
	members_exec(psprintf("UPDATE pg_catalog.pg_dist_placement SET shardstate = %d WHERE groupid = %d AND shardid IN (%s)",
						  PLACEMENT_LEFT, metadata_local_group(), shardid_list()), NIL);
	note_old_shards();
	txn_commit_last(current_move->target, current_move->tables);
	DEBUG_POINT("move-before-commit");
	return true;
}

bool
move_attempt(bool (*try_it) (void *arg))
{
	int			level = NewGUCNestLevel();
	ErrorData  *error;
	bool		done = subtransaction_run(try_it, NULL, &error);

	if (error != NULL && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		catch_rethrow(error);
	AtEOXact_GUC(true, level);
	return done;
}

/*
 * citus_internal.move_switch(): whether the target has the shards now; if not,
 * it must be called again.
 */
Datum
citus_internal_move_switch(PG_FUNCTION_ARGS)
{
	require_move(fcinfo);
	PG_RETURN_BOOL(move_attempt(try_switch));
}

/*
 * citus_internal.move_end(): ends the session's part in the move; remaining
 * objects may be cleaned up.
 */
Datum
citus_internal_move_end(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag;

	require_move(fcinfo);
	if (current_move->operation != 0)
	{
		move_group_locktag(&tag, current_move->colocation_id, current_move->range);
		(void) LockRelease(&tag, ExclusiveLock, true);
		cleanup_end(current_move->operation);
	}
	forget_move();
	PG_RETURN_VOID();
}
