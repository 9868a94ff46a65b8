/*-------------------------------------------------------------------------
 *
 * partition_triggers.h
 *	  The triggers of a partitioned table's partitions, for one statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_PARTITION_TRIGGERS_H
#define CITUS_EXECUTOR_PARTITION_TRIGGERS_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/rel.h"

#include "compat/foreach.h"
#include "executor/trigger_run.h"

typedef struct PartitionTriggers PartitionTriggers;

/*
 * Begins for the run of a partitioned table, whose UPDATE assigns columns.
 * Lives in CurrentMemoryContext.
 */
extern PartitionTriggers *partition_triggers_begin(TriggerRun *root, Relation rel, List *columns);
extern void partition_triggers_end(PartitionTriggers *partitions);

/*
 * As the functions of trigger_run.h, for rows of the partitioned table: all
 * rows, also old ones, are of its type.
 */
extern bool partition_before_insert(PartitionTriggers *partitions, Datum *values, bool *nulls);
extern bool partition_before_update(PartitionTriggers *partitions, HeapTuple old, Datum *values, bool *nulls);
extern bool partition_before_delete(PartitionTriggers *partitions, HeapTuple old);
extern void partition_after_insert(PartitionTriggers *partitions, Datum *values, bool *nulls);
extern void partition_after_update(PartitionTriggers *partitions, HeapTuple old, Datum *values, bool *nulls);
extern void partition_after_delete(PartitionTriggers *partitions, HeapTuple old);

/* The same as triggers_write_entries for all partitions so far. */
extern void partition_write_entries(PartitionTriggers *partitions);

/* The same as triggers_queue_checks. */
extern void partition_queue_checks(PartitionTriggers *partitions);

#endif							/* CITUS_EXECUTOR_PARTITION_TRIGGERS_H */
