/*-------------------------------------------------------------------------
 *
 * reshape_copy.c
 *	  Copies some of a shard's rows into another shard.
 *
 * A new shard on this node gets the rows as they are stored, including
 * generated columns, without checking constraints again.  Functions in indexes
 * run with the owner's rights.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compat/find_replica_tuple.h"
#include "compat/index_tuples.h"
#include "compat/table_am.h"
#include "copy/table_copy.h"
#include "lib/run_as.h"
#include "rebalance/drive.h"
#include "rebalance/reshape.h"
#include "sharding/hash.h"

struct ReshapeCopy
{
	TableCopy	copy;
	const DistTable *table;
	HashRange	range;			/* hash values of the rows to be copied */
};

/* RowFilter */
static bool
is_in_range(void *arg, TupleTableSlot *slot)
{
	const ReshapeCopy *copy = arg;
	bool		isnull;
	Datum		value = slot_getattr(slot, copy->table->dist_attno, &isnull);
	int32		hash = isnull ? 0 : shard_hash_of_value(copy->table, value);

	return copy->range.min <= hash && hash <= copy->range.max;
}

/* The relation of this node that gets the rows. */
typedef struct CopyTarget
{
	EState	   *estate;
	ResultRelInfo *result;
	Oid			key_index;		/* of the primary key */
	TupleTableSlot *row;		/* for a row to be stored */
	TupleTableSlot *found;		/* and one to be deleted */
} CopyTarget;

static void
open_target(CopyTarget *target, Relation rel)
{
	target->estate = CreateExecutorState();
	target->result = makeNode(ResultRelInfo);
	target->row = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	target->found = table_slot_create(rel, NULL);
	(void) RelationGetIndexList(rel);	/* sets rd_pkindex */
	target->key_index = rel->rd_pkindex;
	InitResultRelInfo(target->result, rel, 1, NULL, 0);
	ExecOpenIndices(target->result, false);
}

static void
close_target(CopyTarget *target)
{
	ExecCloseIndices(target->result);
	ExecDropSingleTupleTableSlot(target->found);
	ExecDropSingleTupleTableSlot(target->row);
	FreeExecutorState(target->estate);
}

/* Stores a row of another relation of the same columns. */
static void
store_row(CopyTarget *target, TupleTableSlot *from)
{
	TupleTableSlot *to = target->row;
	MemoryContext old_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(target->estate));

	ExecClearTuple(to);
	slot_getallattrs(from);
	memcpy(to->tts_values, from->tts_values, from->tts_nvalid * sizeof(Datum));
	memcpy(to->tts_isnull, from->tts_isnull, from->tts_nvalid * sizeof(bool));
	ExecStoreVirtualTuple(to);
	simple_table_tuple_insert(target->result->ri_RelationDesc, to);
	if (target->result->ri_NumIndices > 0)
		compat_insert_index_tuples(target->result, to, target->estate);
	MemoryContextSwitchTo(old_context);
	ResetPerTupleExprContext(target->estate);
}

/* Deletes the row with the same primary key. */
static void
delete_copied_row(CopyTarget *target, TupleTableSlot *gone)
{
	Relation	rel = target->result->ri_RelationDesc;

	slot_getallattrs(gone);
	if (!RelationFindReplTupleByIndex(rel, target->key_index, false, LockTupleExclusive, gone, target->found))
		elog(ERROR, "a row of \"%s\" has not been copied", RelationGetRelationName(rel));
	simple_table_tuple_delete(rel, &target->found->tts_tid, GetLatestSnapshot());
}

/*
 * Deletes the rows that have been copied, and not those that a merge has from
 * another shard.
 */
static void
delete_copied_rows(ReshapeCopy *copy, CopyTarget *target)
{
	Relation	rel = target->result->ri_RelationDesc;
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL, SO_NONE);

	while (table_scan_getnextslot(scan, ForwardScanDirection, target->found))
	{
		CHECK_FOR_INTERRUPTS();
		if (is_in_range(copy, target->found))
			simple_table_tuple_delete(rel, &target->found->tts_tid, snapshot);
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
}

/* The size of a row, including TOAST data. */
static size_t
row_bytes(TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	size_t		bytes = 0;

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!slot->tts_isnull[i])
			bytes += att->attlen == -1 ? toast_datum_size(slot->tts_values[i]) : Max(att->attlen, 0);
	}
	return bytes;
}

/* Stores the rows to be copied that a snapshot shows. */
static void
store_visible(ReshapeCopy *copy, Relation rel, Snapshot snapshot, CopyTarget *target, bool paced)
{
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_in_range(copy, slot))
			continue;
		store_row(target, slot);
		if (paced && drive_rate_limit > 0)
			drive_pace(row_bytes(slot));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/*
 * Deletes rows that were visible before and aren't now, and adds rows that are
 * visible now and were not to rows; false if a row has been deleted and there
 * is no primary key.
 */
static bool
compare_versions(ReshapeCopy *copy, Relation rel, Snapshot now, CopyTarget *target, Tuplestorestate *rows)
{
	TableScanDesc scan = table_beginscan(rel, SnapshotAny, 0, NULL, SO_NONE);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	bool		complete = true;

	while (complete && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		was;
		bool		is;

		CHECK_FOR_INTERRUPTS();
		table_copy_compare(&copy->copy, rel, slot, now, &was, &is);
		if (was == is || !is_in_range(copy, slot))
			continue;
		if (is)
			tuplestore_puttupleslot(rows, slot);
		else if (OidIsValid(target->key_index))
			delete_copied_row(target, slot);
		else
			complete = false;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return complete;
}

/* Updates the relation from the copy's snapshot to another one. */
static void
store_changes(ReshapeCopy *copy, Relation rel, Snapshot now, CopyTarget *target)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);

	if (compare_versions(copy, rel, now, target, rows))
	{
		while (tuplestore_gettupleslot(rows, true, false, slot))
			store_row(target, slot);
	}
	else
	{
		delete_copied_rows(copy, target);
		store_visible(copy, rel, now, target, false);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(rows);
}

/* Copies into a relation of this node, as its owner: all rows, or changes. */
static void
copy_here(ReshapeCopy *copy, Snapshot now, bool changes)
{
	Relation	rel = table_open(copy->copy.relid, AccessShareLock);
	Relation	target_rel = table_open(get_relname_relid(copy->copy.name, get_namespace_oid(SHARD_SCHEMA, false)),
										RowExclusiveLock);

	if (rel->rd_rel->relkind == RELKIND_RELATION)
	{
		RunAs		caller = run_as_owner_begin(copy->copy.relid);
		CopyTarget	target;

		PushActiveSnapshot(now);
		open_target(&target, target_rel);
		if (changes)
			store_changes(copy, rel, now, &target);
		else
			store_visible(copy, rel, now, &target, true);
		close_target(&target);
		PopActiveSnapshot();
		run_as_end(caller);
	}
	table_close(target_rel, NoLock);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

ReshapeCopy *
reshape_copy_begin(const DistTable *table, Oid relid, const char *name, int32 groupid, HashRange range)
{
	ReshapeCopy *copy = palloc0(sizeof(ReshapeCopy));

	LockRelationOid(relid, AccessShareLock);
	copy->table = table;
	copy->range = range;
	copy->copy.relid = relid;
	copy->copy.name = name;
	copy->copy.groupid = groupid;
	copy->copy.filter = is_in_range;
	copy->copy.filter_arg = copy;
	if (groupid != metadata_local_group())
	{
		RunAs		caller = run_as_owner_begin(relid);

		copy->copy.sent = drive_pace;
		table_copy_start(&copy->copy);
		copy->copy.sent = NULL;
		run_as_end(caller);
		return copy;
	}
	copy->copy.snapshot = RegisterSnapshot(GetLatestSnapshot());
	copy_here(copy, copy->copy.snapshot, false);
	return copy;
}

void
reshape_copy_follow(ReshapeCopy *copy, bool last)
{
	Snapshot	now;

	if (copy->copy.groupid != metadata_local_group())
	{
		RunAs		caller = run_as_owner_begin(copy->copy.relid);

		if (last)
			table_copy_finish(&copy->copy);
		else
			table_copy_follow(&copy->copy);
		run_as_end(caller);
		return;
	}
	now = RegisterSnapshot(GetLatestSnapshot());
	copy_here(copy, now, true);
	if (last)
	{
		UnregisterSnapshot(now);
		return;
	}
	UnregisterSnapshot(copy->copy.snapshot);
	copy->copy.snapshot = now;
}

void
reshape_copy_end(ReshapeCopy *copy)
{
	table_copy_end(&copy->copy);
}
