/*-------------------------------------------------------------------------
 *
 * fire_triggers.h
 *	  The triggers of a distributed or reference table, for one statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_FIRE_TRIGGERS_H
#define CITUS_EXECUTOR_FIRE_TRIGGERS_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "catalog/metadata.h"
#include "executor/trigger_run.h"

/* Applies the pending changes of the statement; false if there are none. */
typedef bool (*TriggerApply) (void *arg);

/*
 * Prepares the triggers of a table for a statement that is being executed by
 * estate.  commands are the COMMAND_BITs that the statement may do, command is
 * its own kind, rows says that triggers are given whole rows, columns
 * (IntList) are those that its UPDATE assigns.  apply is
 * called before a BEFORE ROW trigger's statement may see the table.  Lives in
 * CurrentMemoryContext, until triggers_end (trigger_run.h, which has the
 * functions for rows).
 */
extern TriggerRun *triggers_begin(EState *estate, Oid relid, CmdType command, int commands, bool rows, List *columns,
								  TriggerApply apply, void *apply_arg);

/*
 * Statement-level triggers; those that come after are queued for the end of
 * the statement.
 */
extern void triggers_before_statement(TriggerRun *run);
extern void triggers_after_statement(TriggerRun *run);

/* Rows that are inserted have their entries in global indexes already. */
extern void triggers_has_entries(TriggerRun *run);

/*
 * Whether BEFORE ROW triggers are being called.  A statement that starts
 * meanwhile calls the other function first, with its own snapshot or NULL.
 */
extern bool triggers_are_called(void);
extern void triggers_statement_starts(Snapshot snapshot);

/*
 * Fills in the generated columns of a row that is to be inserted, in
 * CurrentMemoryContext.
 */
extern void triggers_compute_columns(TriggerRun *run, Datum *values, bool *nulls);

/*
 * Makes all foreign keys refuse that a statement of the server's own executor
 * deletes rows, whatever their actions: the rows are moved.
 */
extern void triggers_refuse_delete(QueryDesc *query_desc);

/*
 * Makes a statement of the server's own executor on this node's copy of a
 * table fire no triggers of users: the node that sent it fires them.
 */
extern void triggers_suppress(QueryDesc *query_desc);

/*
 * Hides the triggers of users from code that reads the table's triggers
 * between the two calls.  The second takes the result of the first.
 */
extern TriggerDesc *triggers_hide(Relation rel);
extern void triggers_show(Relation rel, TriggerDesc *all);

#endif							/* CITUS_EXECUTOR_FIRE_TRIGGERS_H */
