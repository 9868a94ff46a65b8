/*-------------------------------------------------------------------------
 *
 * moved_rows.c
 *	  Marks of rows that a statement deletes to insert them into other shards.
 *
 * The server leaves such a mark (HeapTupleHeaderSetMovedPartitions) when an
 * UPDATE of its own moves a row to another partition.  Nobody asks its DELETE
 * for one, so it is added when the DELETE of a task has ended, before its
 * transaction can: others read it after they have waited for that.  Rows of
 * columnar tables' stripes get it while they are deleted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "columnar/stripe_format.h"
#include "columnar/table_modify.h"
#include "executor/moved_rows.h"
#include "sharding/logical_ctid.h"

/* Parameters of the task (modify_delete_text). */
enum
{
	PARAM_IDENTITIES,			/* tid[] */
	PARAM_PARTITIONS			/* bigint[], of a partitioned table: the shards
								 * that the rows stand in */
};

/* Whether a tuple has been deleted by this transaction, and not moved. */
static bool
is_deleted_here(HeapTupleHeader tuple, ItemPointer tid)
{
	return (tuple->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask) &&
		ItemPointerEquals(&tuple->t_ctid, tid) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple));
}

static HeapTupleHeader
tuple_at(Page page, ItemPointer tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	ItemId		item;

	if (offset < FirstOffsetNumber || offset > PageGetMaxOffsetNumber(page))
		return NULL;
	item = PageGetItemId(page, offset);
	return ItemIdIsNormal(item) ? (HeapTupleHeader) PageGetItem(page, item) : NULL;
}

/* Marks the tuple at tid if this transaction has deleted it. */
static void
mark_row(Relation rel, ItemPointer tid)
{
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	HeapTupleHeader tuple;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	tuple = tuple_at(BufferGetPage(buffer), tid);
	if (tuple != NULL && is_deleted_here(tuple, tid))
	{
		GenericXLogState *log = GenericXLogStart(rel);

		HeapTupleHeaderSetMovedPartitions(tuple_at(GenericXLogRegisterBuffer(log, buffer, 0), tid));
		(void) GenericXLogFinish(log);
	}
	UnlockReleaseBuffer(buffer);
}

/* The elements of a parameter, an array; their number is in *count. */
static Datum *
param_elements(ParamListInfo params, int index, Oid element, int16 length, char align, int *count)
{
	Datum	   *elements;

	deconstruct_array(DatumGetArrayTypePCopy(params->params[index].value), element, length, element == INT8OID && FLOAT8PASSBYVAL,
					  align, &elements, NULL, count);
	return elements;
}

/* Marks the rows that a DELETE was asked to delete, as far as it did. */
static void
mark_rows(ModifyTableState *state)
{
	ParamListInfo params = state->ps.state->es_param_list_info;
	bool		partitioned = params->numParams > PARAM_PARTITIONS;
	Relation	rel = state->resultRelInfo->ri_RelationDesc;
	int			count;
	Datum	   *tids = param_elements(params, PARAM_IDENTITIES, TIDOID, sizeof(ItemPointerData), TYPALIGN_SHORT, &count);
	Datum	   *shards = partitioned ?
		param_elements(params, PARAM_PARTITIONS, INT8OID, sizeof(int64), TYPALIGN_DOUBLE, &count) : NULL;

	for (int i = 0; i < count; i++)
	{
		ItemPointer tid = (ItemPointer) DatumGetPointer(tids[i]);

		if (partitioned)
		{
			int64		shardid = DatumGetInt64(shards[i]);

			rel = table_open(shard_local_relid(metadata_shard_relid(shardid), shardid), NoLock);
		}
		if (logical_ctid_to_row(RelationGetRelid(rel), tid) && !ctid_is_in_stripe(tid))
			mark_row(rel, tid);
		if (partitioned)
			table_close(rel, NoLock);
	}
}

/* ExecProcNode of the DELETE, which returns no rows: it is called once. */
static TupleTableSlot *
delete_and_mark(PlanState *node)
{
	TupleTableSlot *slot;

	if (node->instrument)
		InstrStartNode(node->instrument);
	PG_TRY();
	{
		columnar_deletes_move = true;
		slot = node->ExecProcNodeReal(node);
	}
	PG_FINALLY();
	{
		columnar_deletes_move = false;
	}
	PG_END_TRY();
	mark_rows(castNode(ModifyTableState, node));
	if (node->instrument)
		InstrStopNode(node->instrument, 0.0);
	return slot;
}

void
moved_rows_mark(QueryDesc *query_desc)
{
	PlanState  *node = query_desc->planstate;
	ParamListInfo params = query_desc->params;

	if (IsA(node, ModifyTableState) && ((ModifyTableState *) node)->operation == CMD_DELETE &&
		params != NULL && params->numParams > PARAM_IDENTITIES && params->params[PARAM_IDENTITIES].ptype == TIDARRAYOID)
		node->ExecProcNode = delete_and_mark;
}
