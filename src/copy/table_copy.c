/*-------------------------------------------------------------------------
 *
 * table_copy.c
 *	  Copies the rows of a table of this node to the same table of another one.
 *
 * They are sent in COPY's format, and stored in the distributed transaction.
 *
 * Writers are blocked for a moment only.  table_copy_begin sends the rows of a
 * snapshot, which it keeps registered, so that no row version that was visible
 * then is removed.  table_copy_complete, with writers blocked, reads all row
 * versions of the table, and compares that snapshot with a new one: versions
 * visible only in the old one are deleted, by the primary key (row_keys.c),
 * and versions visible only in the new one are added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "compat/table_am.h"
#include "copy/row_encoder.h"
#include "copy/row_keys.h"
#include "copy/table_copy.h"
#include "remote/connection.h"
#include "resolve/tag.h"

#define COPY_BUFFER_SIZE (64 * 1024)

static const char binary_header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

/* Columns that COPY carries: all but dropped and generated ones. */
static List *
copied_columns(TupleDesc desc)
{
	List	   *attnums = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attgenerated == '\0')
			attnums = lappend_int(attnums, att->attnum);
	}
	return attnums;
}

/* The qualified name of the relation that gets the rows. */
static char *
target_name(Relation rel, const TableCopy *copy)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), copy->name);
}

/*
 * The COPY statement that receives the table's rows: the node stores them, or
 * replaces those of a materialized view by them (view_rows.c).
 */
static char *
copy_command(Relation rel, const TableCopy *copy, List *attnums, const char *options)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%sCOPY %s (", rel->rd_rel->relkind == RELKIND_MATVIEW ? TASK_TAG_DDL : TASK_TAG_NODE_UNPUBLISHED,
					 target_name(rel, copy));
	foreach(lc, attnums)
		appendStringInfo(&buf, "%s%s", lc == list_head(attnums) ? "" : ", ",
						 quote_identifier(get_attname(RelationGetRelid(rel), lfirst_int(lc), false)));
	appendStringInfo(&buf, ") FROM STDIN WITH (%s)", options);
	return buf.data;
}

/* Whether a row belongs to a copy; resets the memory for that. */
static bool
is_wanted(const TableCopy *copy, TupleTableSlot *slot, MemoryContext context)
{
	MemoryContext old_context;
	bool		wanted;

	if (copy->filter == NULL)
		return true;
	old_context = MemoryContextSwitchTo(context);
	wanted = copy->filter(copy->filter_arg, slot);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(context);
	return wanted;
}

/*
 * Sends the wanted rows of a scan, or else those that are stored, into a COPY.
 */
static void
send_rows(RemoteConn *conn, const TableCopy *copy, TupleTableSlot *slot, TableScanDesc scan, Tuplestorestate *rows,
		  RowEncoder *encoder, bool binary)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "citus row", ALLOCSET_DEFAULT_SIZES);
	StringInfoData buf;

	initStringInfo(&buf);
	if (binary)
		appendBinaryStringInfo(&buf, binary_header, 19);

	while (scan != NULL ? table_scan_getnextslot(scan, ForwardScanDirection, slot) :
		   tuplestore_gettupleslot(rows, true, false, slot))
	{
		MemoryContext old_context;

		CHECK_FOR_INTERRUPTS();
		if (scan != NULL && !is_wanted(copy, slot, row_context))
			continue;
		old_context = MemoryContextSwitchTo(row_context);
		row_encoder_append(encoder, slot, &buf);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(row_context);
		if (buf.len >= COPY_BUFFER_SIZE)
		{
			remote_copy_put(conn, buf.data, buf.len);
			if (copy->sent != NULL)
				copy->sent(buf.len);
			resetStringInfo(&buf);
		}
	}
	if (binary)
	{
		uint16		trailer = pg_hton16((uint16) -1);

		appendBinaryStringInfo(&buf, (char *) &trailer, sizeof(trailer));
	}
	remote_copy_put(conn, buf.data, buf.len);
	MemoryContextDelete(row_context);
}

/*
 * The COPY holds its connection to its end: no other owner can use the
 * connection meanwhile.
 */
static void
refuse_yield(RemoteOwner *owner, RemoteConn *conn)
{
	elog(ERROR, "connection is needed while a table is being copied over it");
}

/* Copies the rows of a scan, or else those that are stored. */
static void
copy_rows(Relation rel, const TableCopy *copy, TupleTableSlot *slot, TableScanDesc scan, Tuplestorestate *rows)
{
	RemoteOwner owner = {.yield = refuse_yield};
	List	   *attnums = copied_columns(RelationGetDescr(rel));
	RowEncoder *encoder = row_encoder_create(RelationGetDescr(rel), attnums);
	const char *options = row_encoder_options(encoder);
	RemoteConn *conn = remote_acquire(copy->groupid, &owner, true);

	remote_copy_begin(conn, copy_command(rel, copy, attnums, options));
	send_rows(conn, copy, slot, scan, rows, encoder, strcmp(options, "FORMAT binary") == 0);
	remote_copy_end(conn);
	remote_release(conn, &owner);
}

/* Copies the rows of a snapshot. */
static void
copy_all(Relation rel, const TableCopy *copy, Snapshot snapshot)
{
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	copy_rows(rel, copy, slot, scan, NULL);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

void
table_copy_snapshot(const TableCopy *copy, Snapshot snapshot)
{
	Relation	rel = table_open(copy->relid, NoLock);

	/* a partitioned table has no rows of its own */
	if (RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
		copy_all(rel, copy, snapshot);
	table_close(rel, NoLock);
}

void
table_copy_start(TableCopy *copy)
{
	copy->snapshot = RegisterSnapshot(GetLatestSnapshot());
	table_copy_snapshot(copy, copy->snapshot);
}

TableCopy *
table_copy_begin(Oid relid, int32 groupid)
{
	TableCopy  *copy = palloc0(sizeof(TableCopy));

	copy->relid = relid;
	copy->groupid = groupid;
	copy->name = get_rel_name(relid);
	table_copy_start(copy);
	return copy;
}

void
table_copy_compare(const TableCopy *copy, Relation rel, TupleTableSlot *slot, Snapshot now, bool *was, bool *is)
{
	*was = table_tuple_satisfies_snapshot(rel, slot, copy->snapshot);
	*is = table_tuple_satisfies_snapshot(rel, slot, now);
}

/*
 * Deletes on the node rows that were visible before and aren't now, and adds
 * rows that are visible now and were not to rows; false if a row has been
 * deleted and there is no primary key.
 */
static bool
find_differences(Relation rel, const TableCopy *copy, Snapshot now, Tuplestorestate *rows)
{
	TableScanDesc scan = table_beginscan(rel, SnapshotAny, 0, NULL, SO_NONE);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	MemoryContext filter_context = AllocSetContextCreate(CurrentMemoryContext, "citus filter", ALLOCSET_SMALL_SIZES);
	RowKeys    *gone = row_keys_create(rel, copy->groupid, target_name(rel, copy));
	bool		complete = true;

	while (complete && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		was;
		bool		is;

		CHECK_FOR_INTERRUPTS();
		table_copy_compare(copy, rel, slot, now, &was, &is);
		if (is == was || !is_wanted(copy, slot, filter_context))
			continue;
		if (is)
			tuplestore_puttupleslot(rows, slot);
		else if (gone != NULL)
			row_keys_note(gone, slot);
		else
			complete = false;
	}
	if (gone != NULL)
		row_keys_delete(gone);
	MemoryContextDelete(filter_context);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return complete;
}

/* Copies the changes since the last copy to the node. */
static void
copy_differences(Relation rel, const TableCopy *copy, Snapshot now)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);

	if (find_differences(rel, copy, now, rows))
	{
		TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);

		copy_rows(rel, copy, slot, NULL, rows);
		ExecDropSingleTupleTableSlot(slot);
	}
	else
	{
		remote_exec(copy->groupid, psprintf("%sDELETE FROM ONLY %s", TASK_TAG_NODE_UNPUBLISHED, target_name(rel, copy)));
		copy_all(rel, copy, now);
	}
	tuplestore_end(rows);
}

/* The same as of a snapshot, if the table has rows of its own. */
static void
copy_changes(const TableCopy *copy, Snapshot now)
{
	Relation	rel = table_open(copy->relid, NoLock);

	if (rel->rd_rel->relkind == RELKIND_RELATION)
		copy_differences(rel, copy, now);
	table_close(rel, NoLock);
}

void
table_copy_follow(TableCopy *copy)
{
	Snapshot	now = RegisterSnapshot(GetLatestSnapshot());

	copy_changes(copy, now);
	UnregisterSnapshot(copy->snapshot);
	copy->snapshot = now;
}

void
table_copy_finish(const TableCopy *copy)
{
	Snapshot	now = RegisterSnapshot(GetLatestSnapshot());

	copy_changes(copy, now);
	UnregisterSnapshot(now);
}

void
table_copy_end(TableCopy *copy)
{
	UnregisterSnapshot(copy->snapshot);
}

void
table_copy_complete(TableCopy *copy)
{
	table_copy_finish(copy);
	table_copy_end(copy);
	pfree(copy);
}
