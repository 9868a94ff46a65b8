/*-------------------------------------------------------------------------
 *
 * commit_record.c
 *	  Rows of pg_dist_transaction: the decision to commit in two phases.
 *
 * A row (group, gid) is written in the initiator's transaction for each
 * transaction that it prepares on another node.  So the row is visible if, and
 * only if, the initiator has committed.  The writer's lock on the table is
 * held until after COMMIT PREPARED has been sent, since the server calls us
 * before it releases locks: a session that holds a conflicting lock knows that
 * no decision is under way.  Recovery deletes rows that are no longer needed.
 * It reads all rows, so there is no index, which would make commits slower.
 *
 * If the initiator's transaction is to be prepared itself, outer_xid is its
 * id, and the lock is not kept: the session that ends it takes the lock again
 * (finish_prepared.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

#include "txn/private.h"

typedef struct RecordTable
{
	Relation	rel;
	AttrNumber	groupid;
	AttrNumber	gid;
	AttrNumber	outer_xid;
} RecordTable;

static void
open_table(RecordTable *table, LOCKMODE lock)
{
	Oid			relid = get_relname_relid("pg_dist_transaction", PG_CATALOG_NAMESPACE);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"pg_dist_transaction\" does not exist"),
				 errhint("The extension \"citus\" must be created in this database.")));
	table->rel = table_open(relid, lock);
	table->groupid = get_attnum(relid, "groupid");
	table->gid = get_attnum(relid, "gid");
	table->outer_xid = get_attnum(relid, "outer_xid");
}

void
commit_record_insert(const RemoteAnswer *writers, int n, FullTransactionId parent)
{
	bool		prepared = FullTransactionIdIsValid(parent);
	CatalogIndexState indexes;
	RecordTable table;
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;

	/* the statement's own is gone when the transaction ends */
	PushActiveSnapshot(GetLatestSnapshot());
	open_table(&table, RowExclusiveLock);
	indexes = CatalogOpenIndexes(table.rel);
	desc = RelationGetDescr(table.rel);
	values = palloc0(sizeof(Datum) * desc->natts);
	nulls = palloc(sizeof(bool) * desc->natts);
	memset(nulls, true, sizeof(bool) * desc->natts);
	nulls[table.groupid - 1] = false;
	nulls[table.gid - 1] = false;
	values[table.outer_xid - 1] = FullTransactionIdGetDatum(parent);
	nulls[table.outer_xid - 1] = !prepared;

	for (int i = 0; i < n; i++)
	{
		HeapTuple	tuple;

		values[table.groupid - 1] = Int32GetDatum(writers[i].conn->groupid);
		values[table.gid - 1] = CStringGetTextDatum(writers[i].conn->participant->gid);
		tuple = heap_form_tuple(desc, values, nulls);
		CatalogTupleInsertWithInfo(table.rel, tuple, indexes);
		heap_freetuple(tuple);
	}
	CatalogCloseIndexes(indexes);
	PopActiveSnapshot();
	pfree(values);
	pfree(nulls);

	/*
	 * a session that blocks decisions must not wait for a transaction that a
	 * client has prepared, which can take days
	 */
	table_close(table.rel, prepared ? RowExclusiveLock : NoLock);
}

/* The gid of a record of the group, or NULL. */
static char *
record_gid(RecordTable *table, HeapTuple tuple, int32 groupid)
{
	TupleDesc	desc = RelationGetDescr(table->rel);
	bool		isnull;
	Datum		value = heap_getattr(tuple, table->groupid, desc, &isnull);

	if (isnull || DatumGetInt32(value) != groupid)
		return NULL;
	value = heap_getattr(tuple, table->gid, desc, &isnull);
	return isnull ? NULL : TextDatumGetCString(value);
}

HTAB *
commit_record_set(int32 groupid)
{
	HASHCTL		info = {.keysize = GID_SIZE, .entrysize = sizeof(CommitRecord), .hcxt = CurrentMemoryContext};
	HTAB	   *records = hash_create("commit records", 64, &info, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	RecordTable table;
	SysScanDesc scan;
	HeapTuple	tuple;

	open_table(&table, AccessShareLock);
	scan = systable_beginscan(table.rel, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		char	   *gid = record_gid(&table, tuple, groupid);

		if (gid != NULL && strlen(gid) < GID_SIZE)
			((CommitRecord *) hash_search(records, gid, HASH_ENTER, NULL))->xid =
				HeapTupleHeaderGetRawXmin(tuple->t_data);
	}
	systable_endscan(scan);
	table_close(table.rel, AccessShareLock);
	UnregisterSnapshot(snapshot);
	return records;
}

List *
commit_record_groups(void)
{
	List	   *groups = NIL;
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	RecordTable table;
	SysScanDesc scan;
	HeapTuple	tuple;

	open_table(&table, AccessShareLock);
	scan = systable_beginscan(table.rel, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, table.groupid, RelationGetDescr(table.rel), &isnull);

		if (!isnull)
			groups = list_append_unique_int(groups, DatumGetInt32(value));
	}
	systable_endscan(scan);
	table_close(table.rel, AccessShareLock);
	UnregisterSnapshot(snapshot);
	return groups;
}

List *
commit_record_children(TransactionId parent)
{
	List	   *children = NIL;
	SnapshotData dirty;
	RecordTable table;
	SysScanDesc scan;
	HeapTuple	tuple;

	InitDirtySnapshot(dirty);
	open_table(&table, AccessShareLock);
	scan = systable_beginscan(table.rel, InvalidOid, false, &dirty, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		TupleDesc	desc = RelationGetDescr(table.rel);
		PreparedChild *child;
		bool		isnull;

		if (HeapTupleHeaderGetXmin(tuple->t_data) != parent)
			continue;
		(void) heap_getattr(tuple, table.outer_xid, desc, &isnull);
		if (isnull)
			continue;
		child = palloc(sizeof(PreparedChild));
		child->groupid = DatumGetInt32(heap_getattr(tuple, table.groupid, desc, &isnull));
		strlcpy(child->gid, TextDatumGetCString(heap_getattr(tuple, table.gid, desc, &isnull)),
				sizeof(child->gid));
		children = lappend(children, child);
	}
	systable_endscan(scan);
	table_close(table.rel, AccessShareLock);
	return children;
}

static int
compare_gids(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

static bool
sorted_member(List *gids, const char *gid)
{
	int			low = 0;
	int			high = list_length(gids) - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;
		int			order = strcmp(gid, list_nth(gids, middle));

		if (order == 0)
			return true;
		if (order < 0)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return false;
}

/* Sorts gids.  The caller holds a lock that no one else deletes under. */
void
commit_record_delete(int32 groupid, List *gids)
{
	Snapshot	snapshot;
	RecordTable table;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (gids == NIL)
		return;
	list_sort(gids, compare_gids);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	open_table(&table, RowExclusiveLock);
	scan = systable_beginscan(table.rel, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		char	   *gid = record_gid(&table, tuple, groupid);

		if (gid != NULL && sorted_member(gids, gid))
			CatalogTupleDelete(table.rel, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(table.rel, NoLock);
	UnregisterSnapshot(snapshot);
	CommandCounterIncrement();	/* the same command may delete again */
}
