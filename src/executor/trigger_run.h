/*-------------------------------------------------------------------------
 *
 * trigger_run.h
 *	  The triggers that a statement's rows fire.
 *
 * fire_triggers.c implements them; for a partitioned table it calls
 * partition_triggers.c, which calls it again for the partition.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_TRIGGER_RUN_H
#define CITUS_EXECUTOR_TRIGGER_RUN_H

#include "postgres.h"

#include "access/htup.h"

#include "compat/foreach.h"

typedef struct TriggerRun TriggerRun;

/*
 * A run for a partition of the table that root is for, and what fires when
 * the statement moves a row from one partition to another: as new rows of both
 * partitions.
 */
extern TriggerRun *triggers_begin_for_partition(const TriggerRun *root, Oid relid, List *columns);
extern void triggers_after_move(TriggerRun *from, HeapTuple old, Datum *left_values, bool *left_nulls, TriggerRun *to,
								Datum *values, bool *nulls);

/* Frees what triggers_begin has made; deferred triggers stay queued. */
extern void triggers_end(TriggerRun *run);

/*
 * BEFORE ROW triggers, which may change the new row in values and nulls; the
 * data that these point to then live until the next call.  False: the row is
 * skipped.  The old row's t_tableOid is its table or partition.
 */
extern bool triggers_before_insert(TriggerRun *run, Datum *values, bool *nulls);
extern bool triggers_before_update(TriggerRun *run, HeapTuple old, Datum *values, bool *nulls);
extern bool triggers_before_delete(TriggerRun *run, HeapTuple old);

/*
 * Queues AFTER ROW triggers for the end of the statement, and fills transition
 * tables.
 */
extern void triggers_after_insert(TriggerRun *run, Datum *values, bool *nulls);
extern void triggers_after_update(TriggerRun *run, HeapTuple old, Datum *values, bool *nulls);
extern void triggers_after_delete(TriggerRun *run, HeapTuple old);

/* Writes the entries of the rows so far in global indexes. */
extern void triggers_write_entries(TriggerRun *run);

/*
 * Then queues the checks of foreign keys that these rows' keys are noted for.
 */
extern void triggers_queue_checks(TriggerRun *run);

#endif							/* CITUS_EXECUTOR_TRIGGER_RUN_H */
