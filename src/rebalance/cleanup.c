/*-------------------------------------------------------------------------
 *
 * cleanup.c
 *	  Clean-up after operations on shards: pg_dist_cleanup.
 *
 * Each object that an operation creates is recorded before it exists, on the
 * node that runs the operation.  An operation is alive while the session that
 * began it holds a lock on its number.  The daemon of this node removes the
 * recorded objects of other operations, also on other nodes, and retries until
 * it succeeds:
 *
 * The new node's session may still be working when the operation is over.  It
 * creates nothing without locking the marks of arriving shards (rows of
 * pg_dist_placement), and these are deleted first: so either the session has
 * committed by then, and its objects are found, or it finds no marks.
 *
 * - always: objects that only serve the operation.  Replication slots are
 *   found by
 *   their names instead of by records: the session that drives a move has
 *   another session create them, which may do so after the operation is over;
 * - on failure: objects that are kept if the operation succeeds, which then
 *   deletes their records;
 * - later: former placements of shards.  A transaction whose snapshot is older
 *   than the move still reads them; it has asked this node for a snapshot
 *   then, which this node holds.  So a placement can go when no snapshot of
 *   this node is older than the move, and no session has it locked.  Snapshots
 *   of sessions that drive operations don't count: they read no shards, and a
 *   session that drives several operations waits for the removal of what the
 *   first one has replaced.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "catalog/node.h"
#include "catalog/relations.h"
#include "cluster/members.h"
#include "compat/slot_process.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/exact_text.h"
#include "lib/spi_query.h"
#include "lib/subtransaction.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/lock_attempt.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_cleanup);
SQL_FUNCTION(citus_internal_drop_shard_copy);

/* How long to wait for a lock while there is none to give back; in ms. */
#define LOCK_WAIT_MS 1000

/*
 * Afterwards, clean-up waits for no lock, lest a client's DROP find that both
 * wait for each other: it gives way, and is tried again.
 */
#define NO_WAIT_MS 1

typedef struct CleanupRecord
{
	int64		id;
	int64		operation;
	CleanupKind kind;
	char	   *name;
	int32		groupid;
	CleanupPolicy policy;
} CleanupRecord;

int			cleanup_interval = 15000;

/*
 * Whether this transaction has locked or dropped what a client's DROP may wait
 * for.
 */
static bool holds_locks = false;

static void
set_operation_lock(LOCKTAG *tag, int64 operation)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, dist_relid(PG_DIST_CLEANUP), (Oid) operation, 0);
	tag->locktag_lockmethodid = USER_LOCKMETHOD;	/* the server gives
													 * these back when a
													 * session ends */
}

int64
cleanup_begin(void)
{
	int64		operation = next_id(PG_DIST_OPERATIONID_SEQ);
	LOCKTAG		tag;

	set_operation_lock(&tag, operation);
	(void) LockAcquire(&tag, ExclusiveLock, true, false);
	return operation;
}

void
cleanup_end(int64 operation)
{
	LOCKTAG		tag;

	set_operation_lock(&tag, operation);
	(void) LockRelease(&tag, ExclusiveLock, true);
}

void
cleanup_note(int64 operation, CleanupKind kind, const char *name, int32 groupid, CleanupPolicy policy)
{
	(void) spi_exec(psprintf("INSERT INTO pg_catalog.pg_dist_cleanup (operation_id, object_type, object_name, "
							 "node_group_id, policy_type) VALUES (" INT64_FORMAT ", %d, %s, %d, %d)",
							 operation, kind, quote_literal_cstr(name), groupid, policy));
}

void
cleanup_forget(int64 operation, CleanupPolicy policy)
{
	(void) spi_exec(psprintf("DELETE FROM pg_catalog.pg_dist_cleanup WHERE operation_id = " INT64_FORMAT
							 " AND policy_type = %d", operation, policy));
}

bool
cleanup_is_noted(CleanupKind kind, const char *name, int32 groupid)
{
	return spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_cleanup WHERE object_type = %d AND object_name = %s AND "
							 "node_group_id = %d", kind, quote_literal_cstr(name), groupid)) > 0;
}

/*
 * Reads the records of this node, the corresponding marks, and slots, in the
 * order of their removal.
 */
static List *
read_records(void)
{
	List	   *records = NIL;
	int			ncolumns;
	char	   *query;

	query = psprintf("SELECT * FROM (SELECT record_id, operation_id, object_type, object_name, node_group_id, policy_type "
					 "FROM pg_catalog.pg_dist_cleanup UNION ALL "
					 "SELECT record_id, operation_id, %d, object_name, node_group_id, policy_type "
					 "FROM pg_catalog.pg_dist_cleanup WHERE object_type = %d AND policy_type = %d UNION ALL "
					 "SELECT 0, pg_catalog.substring(slot_name, '[0-9]+$')::bigint, %d, slot_name, 0, %d "
					 "FROM pg_catalog.pg_replication_slots WHERE database = pg_catalog.current_database() "
					 "AND slot_name ~ '^" MOVE_SLOT_PREFIX "[0-9]+_[0-9]+_[0-9]+$') r "
					 "ORDER BY object_type <> %d, object_type <> %d, object_type, record_id",
					 CLEANUP_ARRIVAL, CLEANUP_SHARD, CLEANUP_ON_FAILURE, CLEANUP_SLOT, CLEANUP_ALWAYS,
					 CLEANUP_ARRIVAL, CLEANUP_SUBSCRIPTION);
	foreach_ptr(SpiText, values, spi_rows(query, &ncolumns))
	{
		CleanupRecord *record = palloc(sizeof(CleanupRecord));

		record->id = strtoll(values[0], NULL, 10);
		record->operation = strtoll(values[1], NULL, 10);
		record->kind = atoi(values[2]);
		record->name = values[3];
		record->groupid = atoi(values[4]);
		record->policy = atoi(values[5]);
		records = lappend(records, record);
	}
	return records;
}

/* Whether no session works on the operation any more. */
static bool
is_over(int64 operation)
{
	LOCKTAG		tag;

	set_operation_lock(&tag, operation);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Opens a session on a node of the group for what this transaction is not part
 * of; NULL if the node has been removed, and what it had is nobody's any more.
 */
static RemoteConn *
open_on_group(int32 groupid)
{
	const ClusterNode *node;

	if (node_primary_of(groupid) == NULL)
		return NULL;
	node = node_of_group(groupid);
	return remote_plain_open(node->host, node->port, NULL);
}

/* Runs SQL on another node, or this one, outside this transaction. */
static void
run_on_group(int32 groupid, const char *sql)
{
	RemoteConn *conn = open_on_group(groupid);

	if (conn == NULL)
		return;
	(void) remote_plain_exec(conn, "SET search_path TO pg_catalog; SET citus.enable_ddl_propagation TO off", ERROR);
	(void) remote_plain_exec(conn, sql, ERROR);
	remote_plain_close(conn);
}

static int
lock_wait_ms(void)
{
	return holds_locks ? NO_WAIT_MS : LOCK_WAIT_MS;
}

static void
limit_lock_waits(void)
{
	lock_attempt_limit(lock_wait_ms());
}

/* A value that a node of the group answers; NULL also if there is no node. */
static char *
ask_group(int32 groupid, const char *sql)
{
	RemoteConn *conn = open_on_group(groupid);
	char	   *answer;

	if (conn == NULL)
		return NULL;
	answer = remote_only_value(remote_plain_exec(conn, sql, ERROR));
	remote_plain_close(conn);
	return answer;
}

/*
 * A statement that makes the text that locks a subscription's tables on its
 * node; no row if there is no such subscription.
 */
static char *
lock_tables_query(const char *subscription)
{
	return psprintf("SELECT pg_catalog.concat(pg_catalog.string_agg(pg_catalog.format("
					"'LOCK TABLE %%I.%%I IN ACCESS SHARE MODE; ', n.nspname, c.relname), '') "
					"FILTER (WHERE c.oid IS NOT NULL)) FROM pg_catalog.pg_subscription s LEFT JOIN pg_catalog.pg_subscription_rel r ON r.srsubid = s.oid "
					"LEFT JOIN pg_catalog.pg_class c ON c.oid = r.srrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
					"WHERE s.subname = %s AND s.subdbid = (SELECT d.oid FROM pg_catalog.pg_database d "
					"WHERE d.datname = pg_catalog.current_database()) GROUP BY s.oid", quote_literal_cstr(subscription));
}

/*
 * Its slot is removed separately.  Its tables are locked before: DROP of a
 * table holds the table's lock when it deletes the table's row of
 * pg_subscription_rel, and the server takes no other lock for that row.  Else
 * the second of both would fail with XX000.
 */
static void
drop_subscription(const CleanupRecord *record)
{
	const char *name = quote_identifier(record->name);
	char	   *lock_tables = ask_group(record->groupid, lock_tables_query(record->name));

	if (lock_tables != NULL)
		run_on_group(record->groupid,
					 psprintf("SET lock_timeout TO %d; %sSET lock_timeout TO 0; ALTER SUBSCRIPTION %s DISABLE; "
							  "ALTER SUBSCRIPTION %s SET (slot_name = NONE); DROP SUBSCRIPTION %s",
							  lock_wait_ms(), lock_tables, name, name, name));
}

/*
 * Errors if it is in use: while its subscription is being dropped by another
 * session, the next worker of that may take it at any time.
 */
static void
drop_slot(const CleanupRecord *record)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(record->name, true);

	if (slot == NULL)
		return;
	if (compat_slot_process(slot) != 0)
		(void) spi_exec(psprintf("SELECT pg_catalog.pg_terminate_backend(%d, %d)", compat_slot_process(slot), LOCK_WAIT_MS));
	ReplicationSlotDrop(record->name, true);
}

/*
 * The id of a shard by the name of its relation, which ends with it.  The
 * table may have been renamed since.
 */
static int64
shardid_of_name(const char *name)
{
	const char *digits = strrchr(name, '_');

	return digits == NULL ? 0 : strtoll(digits + 1, NULL, 10);
}

/*
 * The condition for rows of pg_dist_placement of the record's shard in a
 * state; if it arrives, by the record's operation, and not by a later one.
 */
static char *
placement_condition(const CleanupRecord *record, int state)
{
	return psprintf("p.groupid = %d AND p.shardstate = %d AND (p.shardstate <> %d OR p.shardlength = " INT64_FORMAT ") "
					"AND p.shardid = " INT64_FORMAT,
					record->groupid, state, PLACEMENT_ARRIVING, record->operation, shardid_of_name(record->name));
}

/*
 * Waits until no transaction changes placements of the record's group on any
 * node: one that created the placement, or changed its state, may be committed
 * here but still be prepared on another node, where its rows aren't visible
 * yet.
 */
static void
lock_placements_of(const CleanupRecord *record)
{
	char	   *colocation_id = spi_value(psprintf("SELECT t.colocationid FROM pg_catalog.pg_dist_shard s "
												   "JOIN pg_catalog.pg_dist_partition t ON t.logicalrelid = s.logicalrelid "
												   "WHERE s.shardid = " INT64_FORMAT, shardid_of_name(record->name)));

	if (colocation_id != NULL)
		move_lock_placements(atoi(colocation_id));
}

/*
 * Deletes the record's placement, if it is in that state, on all nodes; and
 * also the shard, if that was its last placement: a split or merge was
 * creating it, or has replaced it.  The caller limits the waits for locks; the
 * rows' aren't waited for.
 */
static void
forget_placement(const CleanupRecord *record, int state)
{
	lock_placements_of(record);
	holds_locks = true;
	limit_lock_waits();
	members_exec(psprintf("WITH gone AS (DELETE FROM pg_catalog.pg_dist_placement p WHERE %s RETURNING p.placementid, p.shardid) "
						  "DELETE FROM pg_catalog.pg_dist_shard s USING gone WHERE s.shardid = gone.shardid AND NOT EXISTS "
						  "(SELECT FROM pg_catalog.pg_dist_placement o WHERE o.shardid = s.shardid "
						  "AND o.placementid <> gone.placementid)", placement_condition(record, state)), NIL);
}

void
cleanup_lock_arrivals(List *shardids, int64 operation)
{
	StringInfoData ids;
	ListCell   *cell;

	initStringInfo(&ids);
	foreach(cell, shardids)
		appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "" : ", ", *(int64 *) lfirst(cell));
	if (spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_placement p WHERE p.shardid IN (%s) AND p.shardstate = %d AND "
						  "p.shardlength = " INT64_FORMAT " AND "
						  "p.groupid = (SELECT groupid FROM pg_catalog.pg_dist_local_group) FOR KEY SHARE",
						  ids.data, PLACEMENT_ARRIVING, operation)) < list_length(shardids))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the move or split that makes these shards is over, and being cleaned up")));
}

static Oid
find_relation(const char *name, LOCKMODE lockmode)
{
	List	   *names = textToQualifiedNameList(cstring_to_text(name));

	return RangeVarGetRelid(makeRangeVarFromNameList(names), lockmode, true);
}

/*
 * The transaction that has moved the record's shard away; invalid if the shard
 * doesn't exist any more.
 */
static TransactionId
when_left(const CleanupRecord *record)
{
	char	   *xid = spi_value(psprintf("SELECT p.xmin FROM pg_catalog.pg_dist_placement p WHERE %s",
										 placement_condition(record, PLACEMENT_LEFT)));

	return xid == NULL ? InvalidTransactionId : strtoul(xid, NULL, 10);
}

/*
 * Whether a snapshot that may be older than the transaction is one of a
 * session that doesn't drive operations.
 */
static bool
others_have_snapshots(TransactionId xid)
{
	LOCKTAG		tag;
	int			nvxids;
	VirtualTransactionId *vxids = GetCurrentVirtualXIDs(xid, true, false, 0, &nvxids);
	VirtualTransactionId *drivers;

	drive_locktag(&tag);
	drivers = GetLockConflicts(&tag, ExclusiveLock, NULL);
	for (int i = 0; i < nvxids; i++)
	{
		const VirtualTransactionId *driver = drivers;

		while (VirtualTransactionIdIsValid(*driver) && !VirtualTransactionIdEquals(*driver, vxids[i]))
			driver++;
		if (!VirtualTransactionIdIsValid(*driver))
			return true;
	}
	return false;
}

/*
 * Whether a snapshot of this node may be older than a transaction, and read
 * the relation.  One that another session drops or has locked against readers
 * counts as needed: it may be gone when the record's turn comes again.
 */
static bool
record_may_be_needed(Oid relid, TransactionId xid)
{
	Relation	rel = NULL;
	TransactionId oldest;
	bool		needed;

	if (ConditionalLockRelationOid(relid, AccessShareLock))
		rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		return true;

	/* a partitioned table has no rows of its own to ask for */
	oldest = GetOldestNonRemovableTransactionId(RELKIND_HAS_STORAGE(rel->rd_rel->relkind) ? rel : NULL);
	needed = TransactionIdIsNormal(xid) && !TransactionIdPrecedes(xid, oldest) && others_have_snapshots(xid);
	relation_close(rel, NoLock);
	return needed;
}

/*
 * Drops a shard's former placement on this node; false if it is still needed.
 */
static bool
drop_former(const CleanupRecord *record)
{
	Oid			relid = find_relation(record->name, NoLock);

	if (OidIsValid(relid) && record_may_be_needed(relid, when_left(record)))
		return false;
	if (OidIsValid(relid))
	{
		drop_relations(list_make1_oid(relid));
		holds_locks = true;
		limit_lock_waits();
	}
	forget_placement(record, PLACEMENT_LEFT);
	return true;
}

/*
 * The table of a record's shard; invalid if the shard doesn't exist any more.
 */
static Oid
table_of_record(const CleanupRecord *record)
{
	char	   *relid = spi_value(psprintf("SELECT logicalrelid::oid FROM pg_catalog.pg_dist_shard WHERE shardid = " INT64_FORMAT,
										   shardid_of_name(record->name)));

	return relid == NULL ? InvalidOid : atooid(relid);
}

/* The replica identity of a table, which its shards' follow. */
static char
identity_of_table(Oid relid)
{
	char	   *identity = spi_value(psprintf("SELECT relreplident FROM pg_catalog.pg_class WHERE oid = %u", relid));

	return identity == NULL ? REPLICA_IDENTITY_DEFAULT : identity[0];
}

/* Whether a later operation has recorded the same for the record's shard. */
static bool
recorded_later(const CleanupRecord *record)
{
	return spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_cleanup WHERE object_type = %d AND "
							 "object_name ~ '_" INT64_FORMAT "\"?$' AND operation_id > " INT64_FORMAT,
							 record->kind, shardid_of_name(record->name), record->operation)) > 0;
}

/* Whether the publication of the record's operation is still to be dropped. */
static bool
may_be_published(const CleanupRecord *record)
{
	return spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_cleanup WHERE object_type = %d AND operation_id = " INT64_FORMAT,
							 CLEANUP_PUBLICATION, record->operation)) > 0;
}

/*
 * Resets a shard's replica identity to its table's, unless a later move needs
 * it; whether that is done.  While the shard is published, the server refuses
 * to change its rows without an identity.
 */
static bool
reset_identity(const CleanupRecord *record)
{
	Oid			table = table_of_record(record);
	Oid			relid;

	if (!OidIsValid(table))
		return true;
	relid = find_relation(move_shard_name(table, shardid_of_name(record->name)), NoLock);
	if (!OidIsValid(relid))
		return true;
	if (may_be_published(record))
		return false;
	LockRelationOid(relid, ShareRowExclusiveLock);
	if (!recorded_later(record))
		shard_set_replica_identity(relid, identity_of_table(table));
	return true;
}

/*
 * Drops a copy of a shard on the record's node, in this transaction: marks
 * that it has deleted don't count any more.
 */
static void
drop_copy(const CleanupRecord *record)
{
	char	   *call = node_call(NODE_drop_shard_copy, node_text(record->name));
	int			level = exact_names_begin();

	if (record->groupid == metadata_local_group())
		members_exec_here(call);
	else if (node_primary_of(record->groupid) != NULL)
		remote_exec(record->groupid, call);
	AtEOXact_GUC(true, level);
}

/*
 * Removes what a record names; whether it is gone.  The caller limits waits
 * for locks.
 */
static bool
clean_record(const CleanupRecord *record)
{
	switch (record->kind)
	{
		case CLEANUP_SUBSCRIPTION:
			drop_subscription(record);
			return true;
		case CLEANUP_SLOT:
			drop_slot(record);
			return true;
		case CLEANUP_PUBLICATION:
			run_commands(list_make1(psprintf("DROP PUBLICATION IF EXISTS %s", quote_identifier(record->name))));
			return true;
		case CLEANUP_ROLE:
			run_on_group(record->groupid, psprintf("DROP ROLE IF EXISTS %s", quote_identifier(record->name)));
			return true;
		case CLEANUP_IDENTITY:
			return reset_identity(record);
		case CLEANUP_SHARD:
			if (record->policy == CLEANUP_LATER)
				return drop_former(record);
			drop_copy(record);
			return true;
		case CLEANUP_ARRIVAL:
			/* the session that creates the shard may have locked it */
			forget_placement(record, PLACEMENT_ARRIVING);
			return true;
	}
	return false;
}

static bool
record_exists(int64 id, const char *locking)
{
	return spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_cleanup WHERE record_id = " INT64_FORMAT "%s", id, locking)) > 0;
}

/*
 * As above, with the record (slots have none).  Another session may have
 * cleaned up since the record was read, and an object of that name may now
 * belong to a new operation.
 */
static bool
clean_with_record(void *arg)
{
	const CleanupRecord *record = arg;
	int			level;
	bool		gone;

	if (record->kind == CLEANUP_SLOT)
		return clean_record(record);
	if (!record_exists(record->id, " FOR UPDATE SKIP LOCKED"))
		return !record_exists(record->id, "");
	level = NewGUCNestLevel();
	limit_lock_waits();
	gone = clean_record(record);
	AtEOXact_GUC(true, level);
	if (!gone)
		return false;
	if (record->kind != CLEANUP_ARRIVAL)
		(void) spi_exec(psprintf("DELETE FROM pg_catalog.pg_dist_cleanup WHERE record_id = " INT64_FORMAT, record->id));
	return true;
}

/* Whether the clean-up of a record locks shards or placements. */
static bool
needs_locks(const CleanupRecord *record)
{
	return record->kind == CLEANUP_ARRIVAL || record->kind == CLEANUP_SHARD || record->kind == CLEANUP_IDENTITY;
}

/*
 * The same in a subtransaction, so that clean-up continues after an error;
 * unreachable is set if that was the loss of a node.
 */
static bool
try_record(CleanupRecord *record, bool *unreachable)
{
	ErrorData  *error;
	bool		held = holds_locks;
	bool		done = subtransaction_run(clean_with_record, record, &error);

	holds_locks = held || (error == NULL && needs_locks(record));
	if (error == NULL)
		return done;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		catch_rethrow(error);
	ereport(LOG,
			(errmsg("could not clean up \"%s\" after a move of a shard, will try again", record->name),
			 errdetail_internal("%s", error->message)));
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_CONNECTION_EXCEPTION)
		*unreachable = true;
	FreeErrorData(error);
	return false;
}

/* Whether the clean-up of a record needs other nodes. */
static bool
needs_nodes(const CleanupRecord *record)
{
	return record->kind == CLEANUP_ARRIVAL || record->kind == CLEANUP_SUBSCRIPTION || record->kind == CLEANUP_ROLE ||
		record->kind == CLEANUP_SHARD;
}

/*
 * Whether a session on the record's node may be creating the recorded object.
 */
static bool
may_come(const CleanupRecord *record, List *arriving)
{
	ListCell   *cell;

	if (!needs_nodes(record) || record->kind == CLEANUP_ARRIVAL)
		return false;
	foreach(cell, arriving)
	{
		if (((const CleanupRecord *) lfirst(cell))->operation == record->operation)
			return true;
	}
	return false;
}

/*
 * Cleans up as much as possible; returns the number of remaining records.  An
 * unreachable node may take citus.node_connection_timeout, which the daemon
 * doesn't wait for with each record.
 */
static int
clean_up(void)
{
	List	   *records = read_records();
	List	   *arriving = NIL; /* marks that still exist */
	bool		unreachable = false;
	int			left = 0;

	holds_locks = false;
	DEBUG_POINT("cleanup-records-read");
	foreach_ptr(CleanupRecord, record, records)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_over(record->operation) && !may_come(record, arriving) && !(unreachable && needs_nodes(record)) &&
			try_record(record, &unreachable))
		{
			DEBUG_POINT("cleanup-record-gone");
			continue;
		}
		left++;
		if (record->kind == CLEANUP_ARRIVAL)
			arriving = lappend(arriving, record);
	}
	return left;
}

void
cleanup_job(void)
{
	(void) clean_up();
}

/* citus_internal.cleanup(): how many records are left on this node. */
Datum
citus_internal_cleanup(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(clean_up());
}

static bool
shard_is_placed_here(const char *name)
{
	return spi_exec(psprintf("SELECT FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid) "
							 "JOIN pg_catalog.pg_dist_local_group g USING (groupid) "
							 "WHERE pg_catalog.shard_name(s.logicalrelid, s.shardid) = %s", quote_literal_cstr(name))) > 0;
}

/*
 * citus_internal.drop_shard_copy(name text): a relation of the shards' schema,
 * unless the shard is placed on this node.  If it arrives here, that is a
 * later operation's: the mark of the one that had the record is gone.  A later
 * operation's mark is committed before it creates the relation.
 */
Datum
citus_internal_drop_shard_copy(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			relid = shard_is_placed_here(name) ? InvalidOid : find_relation(name, AccessExclusiveLock);

	if (OidIsValid(relid) && get_rel_namespace(relid) == get_namespace_oid(SHARD_SCHEMA, false) &&
		!shard_is_placed_here(name))
		drop_relations(list_make1_oid(relid));
	PG_RETURN_VOID();
}
