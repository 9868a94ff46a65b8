/*-------------------------------------------------------------------------
 *
 * current_row.c
 *	  The row of WHERE CURRENT OF.
 *
 * As on a single server it is the latest version of the row that the cursor
 * has returned last: the transaction itself may have updated it since, and
 * other transactions too, if the cursor has locked it FOR KEY SHARE.  The
 * shard's node finds and locks that version, and returns its ctid, by which
 * the statement finds the row under a later snapshot.  If the ctid has been
 * reused, the row has another xmin; that is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat/sql_function.h"
#include "executor/cursor.h"
#include "executor/scan_tasks.h"
#include "executor/task_set.h"
#include "remote/node_call.h"
#include "resolve/tag.h"
#include "sharding/logical_ctid.h"

/* A cursor whose query can have a current row. */
static Portal
find_cursor(const char *name)
{
	Portal		portal = GetPortalByName(name);

	if (!PortalIsValid(portal))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_CURSOR),
				 errmsg("cursor \"%s\" does not exist", name)));
	if (portal->strategy != PORTAL_ONE_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is not a SELECT query", name)));
	if (portal->queryDesc == NULL || portal->queryDesc->estate == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is held from a previous transaction", name)));
	return portal;
}

static void
set_param(ParamListInfo params, int index, Oid type, Datum value)
{
	params->params[index].ptype = type;
	params->params[index].value = value;
	params->params[index].isnull = false;
	params->params[index].pflags = PARAM_FLAG_CONST;
}

/* The task that locks a row on its shard's node, and returns where it is. */
static Task *
lock_task(const DistTable *table, CursorRow *row, bool exclusive)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(table->relid)),
												  get_rel_name(table->relid));
	ParamListInfo params = makeParamList(4);

	set_param(params, 0, INT8OID, Int64GetDatum(table->shards[row->shard].shardid));
	set_param(params, 1, TIDOID, PointerGetDatum(&row->ctid));
	set_param(params, 2, XIDOID, TransactionIdGetDatum(row->xmin));
	set_param(params, 3, BOOLOID, BoolGetDatum(exclusive));
	return task_make(table, row->shard,
					 node_call(NODE_lock_row, node_text(name), node_parameter(INT8OID, 1), node_parameter(TIDOID, 2),
							   node_parameter(XIDOID, 3), node_parameter(BOOLOID, 4)),
					 params);
}

bool
current_row_lock(const char *cursor, const DistTable *table, bool exclusive, int *shard, ItemPointer ctid)
{
	Portal		portal = find_cursor(cursor);
	TaskSetSpec spec = {.table = table,.write = true,.latest = true};
	CursorRow	row;
	TaskSet    *set;
	TupleTableSlot *slot;
	bool		found = false;

	if (!cursor_row(portal, table, &row))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" does not have a FOR UPDATE/SHARE reference to table \"%s\"",
						cursor, get_rel_name(table->relid)),
				 errhint("Name the table itself in the cursor's query, add FOR UPDATE, and be allowed to read all its columns.")));
	spec.tasks = list_make1(lock_task(table, &row, exclusive));
	spec.columns = scan_columns(list_make1_int(TIDOID), list_make1_int(-1));
	set = task_set_start(&spec);
	slot = MakeSingleTupleTableSlot(spec.columns, &TTSOpsVirtual);
	while (task_set_next(set, slot, NULL))
	{
		if (slot->tts_isnull[0])
			continue;
		ItemPointerCopy((ItemPointer) DatumGetPointer(slot->tts_values[0]), ctid);
		found = true;
	}
	ExecDropSingleTupleTableSlot(slot);
	task_set_end(set);
	if (!found && cursor_rows_moved(portal, table->relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the row of cursor \"%s\" has gone, or moved to another shard", cursor),
				 errdetail("Its transaction has changed the distribution column, or an identity column, of a row of table \"%s\".",
						   get_rel_name(table->relid)),
				 errhint("Change such columns last.")));
	*shard = row.shard;
	return found;
}

/* The shard here, opened; the user must have the right to write the table. */
static Relation
open_shard(Oid relid, int64 shardid)
{
	const DistTable *table = metadata_require(relid);
	Oid			shard_relid = InvalidOid;

	if (pg_class_aclmask(relid, GetUserId(), ACL_UPDATE | ACL_DELETE, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_UPDATE, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].shardid == shardid && shard_is_here(&table->shards[i]))
			shard_relid = shard_local_relid(relid, shardid);
	}
	if (get_rel_relkind(relid) != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(relid))));
	if (!OidIsValid(shard_relid))
		ereport(ERROR,
				(errcode(ERRCODE_SHARD_NOT_HERE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this node", shardid, get_rel_name(relid))));
	return table_open(shard_relid, RowShareLock);
}

/*
 * Sets ctid to the latest version of a row that the snapshot sees; false if
 * the version at ctid doesn't exist any more.
 */
static bool
find_latest(Relation shard, Snapshot snapshot, ItemPointer ctid, TransactionId xmin, TupleTableSlot *slot)
{
	TableScanDesc scan = table_beginscan_tid(shard, snapshot);
	bool		same = false;
	bool		isnull;

	if (table_tuple_tid_valid(scan, ctid) && table_tuple_fetch_row_version(shard, ctid, SnapshotAny, slot))
		same = TransactionIdEquals(DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber,
																		 &isnull)), xmin);
	ExecClearTuple(slot);
	if (same)
		table_tuple_get_latest_tid(scan, ctid);
	table_endscan(scan);
	return same;
}

static void
fail_to_serialize(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
}

/* Locks a row's latest version, in slot; false if it has gone. */
static bool
lock_latest(Relation shard, Snapshot snapshot, ItemPointer ctid, bool exclusive, TupleTableSlot *slot)
{
	uint8		flags = TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	TM_FailureData failure;
	TM_Result	result;

	if (!IsolationUsesXactSnapshot())
		flags |= TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
	result = table_tuple_lock(shard, ctid, snapshot, slot, GetCurrentCommandId(true),
							  exclusive ? LockTupleExclusive : LockTupleNoKeyExclusive, LockWaitBlock, flags, &failure);
	if (result == TM_Ok)
		return true;
	if (result == TM_Updated || (result == TM_Deleted && IsolationUsesXactSnapshot()))
		fail_to_serialize();
	return false;				/* deleted, by this transaction perhaps */
}

/*
 * citus_internal.lock_row(relation, shard, ctid, xmin, exclusive): where the
 * row's latest version is; null if it has gone.  Clients may call it, too: a
 * user who may write the table may lock all of it (LOCK TABLE), including rows
 * that policies hide.
 */
SQL_FUNCTION(citus_internal_lock_row);
Datum
citus_internal_lock_row(PG_FUNCTION_ARGS)
{
	Relation	shard = open_shard(PG_GETARG_OID(0), PG_GETARG_INT64(1));
	ItemPointer ctid = palloc(sizeof(ItemPointerData));
	Snapshot	snapshot = GetActiveSnapshot();
	TupleTableSlot *slot = table_slot_create(shard, NULL);
	bool		found;

	ItemPointerCopy((ItemPointer) PG_GETARG_POINTER(2), ctid);
	if (!logical_ctid_to_row(RelationGetRelid(shard), ctid) ||
		!find_latest(shard, snapshot, ctid, PG_GETARG_TRANSACTIONID(3), slot))
		fail_to_serialize();
	found = lock_latest(shard, snapshot, ctid, PG_GETARG_BOOL(4), slot);
	if (found)
	{
		ItemPointerCopy(&slot->tts_tid, ctid);
		logical_ctid_of_row(RelationGetRelid(shard), ctid);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_close(shard, NoLock);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(ctid);
}
