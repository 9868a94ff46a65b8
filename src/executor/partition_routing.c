/*-------------------------------------------------------------------------
 *
 * partition_routing.c
 *	  Which partition of a partitioned table a row belongs to.
 *
 * The server's tuple routing finds it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "executor/partition_routing.h"

PartitionRouting *
partition_routing_begin(Relation rel)
{
	PartitionRouting *routing = palloc0(sizeof(PartitionRouting));
	ResultRelInfo *info = makeNode(ResultRelInfo);

	routing->estate = CreateExecutorState();
	InitResultRelInfo(info, rel, 0, NULL, 0);
	routing->state = makeNode(ModifyTableState);
	routing->state->ps.state = routing->estate;
	routing->state->operation = CMD_INSERT;
	routing->state->mt_nrels = 1;
	routing->state->resultRelInfo = info;
	routing->state->rootResultRelInfo = info;
	routing->routing = ExecSetupPartitionTupleRouting(routing->estate, rel);
	routing->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	return routing;
}

void
partition_routing_end(PartitionRouting *routing)
{
	ExecDropSingleTupleTableSlot(routing->slot);
	ExecCleanupTupleRouting(routing->state, routing->routing);
	ExecResetTupleTable(routing->estate->es_tupleTable, false);
	FreeExecutorState(routing->estate);
}

Oid
partition_routing_find(PartitionRouting *routing, const Datum *values, const bool *nulls)
{
	TupleTableSlot *slot = routing->slot;
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
	return RelationGetRelid(ExecFindPartition(routing->state, routing->state->rootResultRelInfo, routing->routing, slot,
											  routing->estate)->ri_RelationDesc);
}
