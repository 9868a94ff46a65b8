/*-------------------------------------------------------------------------
 *
 * partition_routing.h
 *	  Which partition of a partitioned table a row belongs to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_PARTITION_ROUTING_H
#define CITUS_EXECUTOR_PARTITION_ROUTING_H

#include "postgres.h"

#include "executor/execPartition.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

typedef struct PartitionRouting
{
	EState	   *estate;			/* its memory for a row may be used and
								 * reset */
	ModifyTableState *state;
	PartitionTupleRouting *routing;
	TupleTableSlot *slot;
} PartitionRouting;

/* Lives in CurrentMemoryContext; the table must stay open until the end. */
extern PartitionRouting *partition_routing_begin(Relation rel);
extern void partition_routing_end(PartitionRouting *routing);

/* The partition of a row; errors if there is none, as the server does. */
extern Oid	partition_routing_find(PartitionRouting *routing, const Datum *values, const bool *nulls);

#endif							/* CITUS_EXECUTOR_PARTITION_ROUTING_H */
