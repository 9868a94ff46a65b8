/*-------------------------------------------------------------------------
 *
 * online_rows.c
 *	  Copies the rows of local tables into shards while others write them.
 *
 * The conversion is one distributed transaction, as without writers: for other
 * sessions the table is a local one until it commits.  It holds
 * ShareUpdateExclusiveLock on the local table, which blocks DDL, and copies
 * the rows of a registered snapshot.  A comparison then reads all row
 * versions, and compares that snapshot with a new one: it deletes from the
 * shards the rows that only the old one shows, by their primary keys, and adds
 * those that only the new one shows.  Comparisons are repeated until they find
 * few changes.
 *
 * For the last comparison and the switch the lock becomes AccessExclusiveLock.
 * Attempts to get it are short, since all other sessions wait behind them.  A
 * transaction that has written the table and then requests a conflicting lock
 * on it deadlocks with us: some attempts are long enough for the server to
 * detect that, and to cancel one of the two.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "catalog/metadata.h"
#include "compat/table_am.h"
#include "conversion/convert_checks.h"
#include "conversion/online_rows.h"
#include "copy/row_keys.h"
#include "copy/row_router.h"
#include "lib/run_as.h"
#include "lib/debug_point.h"
#include "lib/wait_event.h"
#include "sharding/hash.h"
#include "table/lock_attempt.h"
#include "table/lock_everywhere.h"
#include "txn/unpublished.h"

/* Differences that are few enough to be applied while writers wait. */
#define FEW_DIFFERENCES 1000

/*
 * How long an attempt to get the lock may block others, and the pause after
 * it; in ms.  One in this many attempts lasts until the server has checked for
 * a deadlock.
 */
#define ATTEMPT_LIMIT 200
#define ATTEMPT_PAUSE 300
#define ATTEMPTS_TO_DEADLOCK_CHECK 5

/* A table with rows of its own. */
typedef struct OnlineTable
{
	Relation	rel;
	Snapshot	snapshot;		/* what its shards have; registered */
} OnlineTable;

static void
refuse_online(Relation rel, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot distribute table \"%s\" concurrently", RelationGetRelationName(rel)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static void
check_online_table(Relation rel)
{
	if (has_foreign_keys(RelationGetRelid(rel)))
		refuse_online(rel, "It has, or is referenced by, a foreign key.",
					  "Use create_distributed_table(), or drop the foreign key and add it again afterwards.");
	if (rel->rd_rel->relkind != RELKIND_RELATION)
		return;
	if (row_keys_create(rel, metadata_local_group(), "") == NULL)
		refuse_online(rel, "It has no primary key by which updated and deleted rows could be found.",
					  "Add a primary key, or use create_distributed_table().");
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		refuse_online(rel, "Row-level security may hide rows from the current user.",
					  "Use create_distributed_table(), or a role that bypasses row-level security.");
}

void
online_rows_check(List *relids)
{
	foreach_oid(relid, relids)
	{
		Relation	rel = relation_open(relid, NoLock);

		check_online_table(rel);
		relation_close(rel, NoLock);
	}
}

/* Adds a row to those to be deleted from its shard. */
static void
note_gone(const OnlineTable *online, RowKeys **keys, TupleTableSlot *slot)
{
	const DistTable *table = metadata_require(RelationGetRelid(online->rel));
	int			index = 0;

	if (table->kind == DIST_HASH)
	{
		slot_getsomeattrs(slot, table->dist_attno);
		index = shard_index_of_stored(table, slot->tts_values[table->dist_attno - 1],
									  slot->tts_isnull[table->dist_attno - 1]);
	}
	if (keys[index] == NULL)
	{
		const ShardInfo *shard = &table->shards[index];
		char	   *name = shard_relation_name(RelationGetRelationName(online->rel), shard->shardid);

		keys[index] = row_keys_create(online->rel, shard->groupid, quote_qualified_identifier(SHARD_SCHEMA, name));
	}
	row_keys_note(keys[index], slot);
}

/*
 * Deletes from the shards the rows that only the table's old snapshot shows,
 * and adds those that only the new one shows to rows; returns the number of
 * both.
 */
static uint64
delete_gone(const OnlineTable *online, Snapshot now, Tuplestorestate *rows)
{
	int			nshards = metadata_require(RelationGetRelid(online->rel))->nshards;
	RowKeys   **keys = palloc0(nshards * sizeof(RowKeys *));
	TableScanDesc scan = table_beginscan(online->rel, SnapshotAny, 0, NULL, SO_NONE);
	TupleTableSlot *slot = table_slot_create(online->rel, NULL);
	uint64		count = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		was;
		bool		is;

		CHECK_FOR_INTERRUPTS();
		was = table_tuple_satisfies_snapshot(online->rel, slot, online->snapshot);
		is = table_tuple_satisfies_snapshot(online->rel, slot, now);
		if (was == is)
			continue;
		count++;
		if (is)
			tuplestore_puttupleslot(rows, slot);
		else
			note_gone(online, keys, slot);
	}
	for (int i = 0; i < nshards; i++)
	{
		if (keys[i] != NULL)
			row_keys_delete(keys[i]);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return count;
}

/*
 * Requires the caller's rights, which the router has checked, but runs as the
 * table's owner, since indexes and constraints may call functions of the
 * owner.
 */
static bool
send_rows_to_shards(Relation rel, Snapshot snapshot, int router_flags)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan;
	RunAs		caller;
	RowRouter  *router = NULL;

	PushActiveSnapshot(snapshot);
	scan = table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (router == NULL)
		{
			ereport(NOTICE, (errmsg("Copying data from local table...")));
			router = row_router_begin(rel, NIL, router_flags);
			caller = run_as_owner_begin(RelationGetRelid(rel));
		}
		row_router_put(router, slot);
	}
	table_endscan(scan);
	if (router != NULL)
	{
		(void) row_router_end(router);
		run_as_end(caller);
		ereport(NOTICE, (errmsg("copying the data has completed")));
	}
	PopActiveSnapshot();
	ExecDropSingleTupleTableSlot(slot);
	return router != NULL;
}

bool
rows_to_shards(Relation rel, Snapshot snapshot, int router_flags)
{
	ReplOriginId before = unpublished_begin();
	volatile bool any = false;

	PG_TRY();
	{
		any = send_rows_to_shards(rel, snapshot, router_flags);
	}
	PG_FINALLY();
	{
		unpublished_end(before);
	}
	PG_END_TRY();
	return any;
}

/* Sends stored rows to the shards. */
static void
route_rows(const OnlineTable *online, Tuplestorestate *rows)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(online->rel), &TTSOpsMinimalTuple);
	RowRouter  *router = row_router_begin(online->rel, NIL, 0);
	RunAs		caller = run_as_owner_begin(RelationGetRelid(online->rel));

	while (tuplestore_gettupleslot(rows, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		row_router_put(router, slot);
	}
	(void) row_router_end(router);
	run_as_end(caller);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Updates the shards of a table to the currently committed rows; returns the
 * number of differences.
 */
static uint64
follow_table(OnlineTable *online)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus online rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	Snapshot	now = RegisterSnapshot(GetLatestSnapshot());
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	uint64		count;

	PushActiveSnapshot(now);
	count = delete_gone(online, now, rows);
	if (tuplestore_tuple_count(rows) > 0)
		route_rows(online, rows);
	PopActiveSnapshot();
	tuplestore_end(rows);
	UnregisterSnapshot(online->snapshot);
	online->snapshot = now;
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	CommandCounterIncrement();
	return count;
}

static uint64
follow_tables(List *tables)
{
	uint64		count = 0;
	ListCell   *cell;

	foreach(cell, tables)
		count += follow_table(lfirst(cell));
	return count;
}

/*
 * Repeats follow_table for the tables while that substantially reduces the
 * differences.
 */
static void
catch_up(List *tables)
{
	uint64		count = follow_tables(tables);
	uint64		before;

	do
	{
		before = count;
		if (count > FEW_DIFFERENCES)
			count = follow_tables(tables);
	} while (count > FEW_DIFFERENCES && count < before / 2);
}

/*
 * Errors if the shards are not on the nodes of those of their colocation group
 * any more.  From now until the transaction ends no shards of the group are
 * moved, split or merged.
 */
static void
check_still_colocated(List *relids)
{
	int32		colocation_id = metadata_require(linitial_oid(relids))->colocation_id;
	List	   *others = list_difference_oid(metadata_tables(colocation_id), relids);
	const DistTable *own;
	const DistTable *other;
	bool		same;

	if (others == NIL)
		return;
	lock_group_placements(colocation_id);
	own = metadata_require(linitial_oid(relids));
	other = metadata_require(linitial_oid(others));
	same = own->nshards == other->nshards;
	for (int i = 0; same && i < own->nshards; i++)
		same = own->shards[i].groupid == other->shards[i].groupid &&
			own->shards[i].range.min == other->shards[i].range.min && own->shards[i].range.max == other->shards[i].range.max;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the shards of table \"%s\" have been moved, split or merged meanwhile", get_rel_name(other->relid)),
				 errdetail("Table \"%s\" is to be colocated with it.", get_rel_name(own->relid)),
				 errhint("Try again.")));
}

/* Arguments of the attempts to lock the tables. */
typedef struct OnlineLock
{
	List	   *relids;
	List	   *tables;			/* OnlineTable * */
} OnlineLock;

/* LockTaker's take. */
static bool
take_exclusive_locks(void *arg, int number, int timeout)
{
	const OnlineLock *lock = arg;

	lock_attempt_limit(ATTEMPT_LIMIT + (number % ATTEMPTS_TO_DEADLOCK_CHECK == 0 ? DeadlockTimeout : 0));
	foreach_oid(relid, lock->relids)
		LockRelationOid(relid, AccessExclusiveLock);
	return true;
}

/* LockTaker's clear_way: pauses, so that other sessions can proceed. */
static void
leave_alone(void *arg)
{
	const OnlineLock *lock = arg;

	wait_pause(ATTEMPT_PAUSE, WAIT_LOCK_RETRY);
	catch_up(lock->tables);
}

/* Copies the currently committed rows. */
static OnlineTable *
copy_table(Oid relid)
{
	OnlineTable *online = palloc(sizeof(OnlineTable));

	online->rel = table_open(relid, NoLock);
	online->snapshot = RegisterSnapshot(GetLatestSnapshot());
	(void) rows_to_shards(online->rel, online->snapshot, 0);
	CommandCounterIncrement();
	return online;
}

void
online_rows_copy(List *relids)
{
	OnlineLock	lock = {.relids = relids};
	LockTaker	taker = {.take = take_exclusive_locks,.clear_way = leave_alone,.arg = &lock};

	unpublished_transaction();
	foreach_oid(relid, relids)
	{
		if (get_rel_relkind(relid) == RELKIND_RELATION)
			lock.tables = lappend(lock.tables, copy_table(relid));
	}
	DEBUG_POINT("online-rows-copied");
	catch_up(lock.tables);
	check_still_colocated(relids);
	(void) lock_in_attempts(&taker);
	DEBUG_POINT("online-rows-locked");
	(void) follow_tables(lock.tables);
	foreach_ptr(OnlineTable, online, lock.tables)
	{
		UnregisterSnapshot(online->snapshot);
		table_close(online->rel, NoLock);
	}
}
