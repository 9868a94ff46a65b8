/*-------------------------------------------------------------------------
 *
 * modify.h
 *	  The executor node of a DistributedModify.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_MODIFY_H
#define CITUS_EXECUTOR_MODIFY_H

#include "nodes/execnodes.h"
#include "utils/hsearch.h"
#include "utils/tuplesort.h"
#include "utils/tuplestore.h"

#include "catalog/metadata.h"
#include "executor/fire_triggers.h"
#include "executor/partition_routing.h"
#include "executor/row_image.h"
#include "executor/task_set.h"
#include "planner/modify_plan.h"

/*
 * Columns of a change (see ChangeList); columns of other tables follow, and
 * then the old row's key columns (ModifyPlan.key_attnos).
 */
enum
{
	CHANGE_SEQUENCE,			/* int8: position in the child's output */
	CHANGE_IDENTITY,			/* of the old row: tid, or bytea
								 * (executor/row_image.h) for a reference
								 * table; null for INSERT */
	CHANGE_NEW_ROW,				/* the table's row type; null for DELETE */
	CHANGE_PARTITION,			/* int8: the shard of the row's partition; null
								 * if there are none */
	CHANGE_OTHERS
};

/* The changes of one kind, by shard. */
typedef struct ChangeList
{
	const char *text;			/* that applies them */
	bool		has_ordinal;	/* the text returns the ordinal first */
	int			nfixed;			/* columns that it returns before the
								 * target's */
	bool		returns;		/* the text returns the target's columns */
	bool		counts;			/* rows count as processed */
	Tuplestorestate **stores;	/* per shard, NULL if none */
	uint64		nchanges;
	uint64		bytes;			/* of all of them */
	int			next_shard;		/* with which the next round begins */
} ChangeList;

/* What identifies an old row on its node. */
typedef struct RowIdentity
{
	Datum		id;				/* CHANGE_IDENTITY */
	Datum	   *keys;			/* of a reference table: the key's columns */
} RowIdentity;

/* The child's rows. */
typedef struct ModifyInput
{
	PlanState  *child;
	Tuplestorestate *rows;		/* if all must be read before one is written */
	TupleTableSlot *slot;
} ModifyInput;

/* The changes that wait to be applied, and those that were made. */
typedef struct PendingChanges
{
	TupleDesc	desc;			/* of a change */
	ChangeList	inserts;
	ChangeList	updates;
	ChangeList	deletes;
	ChangeList	moves;			/* deletes of rows that are inserted into other
								 * shards */
	ChangeList	upserts;		/* rows to insert, if the initiator resolves
								 * conflicts */
	HTAB	   *seen;			/* rows already changed (RowGroup); all writes
								 * of a table in a statement share it */
} PendingChanges;

/* The rows for RETURNING. */
typedef struct ModifyOutput
{
	TupleDesc	desc;			/* scan tuple, and its position */
	Tuplesortstate *sorted;		/* NULL: there are none */
	TupleTableSlot *row;		/* one that goes in */
	Datum		actions[CMD_MERGE]; /* names of commands, for merge_action() */
	TupleTableSlot *slot;		/* and one that comes out */
} ModifyOutput;

typedef struct DistModifyState
{
	CustomScanState css;		/* must be first */
	ModifyPlan	plan;
	const DistTable *table;
	TupleDesc	row_desc;		/* of the table */
	Oid			row_type;
	List	   *expr_states;
	List	   *actions;		/* of ModifyAction */

	RowImage   *image;			/* of rows of a reference table */
	Datum	   *image_values;	/* work space, of a row */
	bool	   *image_nulls;

	ModifyInput input;
	PendingChanges pending;
	ModifyOutput output;
	bool		resolving;		/* the upserts that don't wait any more are
								 * being resolved */
	int64		sequence;		/* of the child's row; and as long as that
								 * lasts: */
	Oid			partition;		/* that it stands in; InvalidOid: the table */
	int64		partition_shard;	/* that it stands in; 0: the table isn't
									 * partitioned */
	bool		partitioned;	/* it is */
	PartitionRouting *routing;	/* of rows that may conflict; NULL: not used */
	Relation	routing_rel;	/* the table then */

	bool		checks_new_rows;	/* the plan has conditions for new rows */
	ResultRelInfo *generator;	/* computes generated columns for these; NULL:
								 * there are none */
	TupleTableSlot *generated;	/* a new row with them */

	TriggerRun *triggers;		/* NULL if the statement fires none */

	void	   *stream;			/* of an INSERT of many rows; NULL: they wait
								 * in inserts */
	Relation	stream_rel;		/* the table then */

	bool		done;
	bool		late;			/* changes are applied when all other parts of
								 * the statement have run (modify_late.c) */
	MemoryContext context;		/* lives as long as the node */
} DistModifyState;

/*
 * Below, a file's functions call only those of files before it.
 *
 * modify_rows.c: reads the child to its end, for modify_next_input to be
 * called later; the next row of the child, or NULL.
 */
extern void modify_read_input(DistModifyState *state);
extern TupleTableSlot *modify_next_input(DistModifyState *state);

/*
 * A row's columns, as they are stored (null in the place of virtual ones); one
 * of them, or the row itself for attribute number 0.
 */
extern void modify_deform_row(DistModifyState *state, Datum row, Datum *values, bool *nulls);
extern Datum modify_row_column(DistModifyState *state, AttrNumber attno, Datum *values, bool *nulls, bool *isnull);

/*
 * Whole rows that nodes return: the type in which they come, and a row of the
 * table's type.
 */
extern Oid	modify_returned_row_type(DistModifyState *state);
extern Datum modify_returned_row(DistModifyState *state, Datum value);

/* Whether the n-th expression is true, not false or null. */
extern bool modify_is_true(DistModifyState *state, int n, ExprContext *econtext);

/* Sets the values that an action assigns. */
extern void modify_evaluate_action(DistModifyState *state, ModifyAction *action, ExprContext *econtext,
								   Datum *values, bool *nulls);

/*
 * The output.  modify_add_output adds a row, if there is RETURNING: what the
 * node returned, and the child's columns of the change; modify_add_old_output
 * one that is to be deleted, of the child's row.  modify_next_output clears
 * the slot, and returns false, at the end.
 */
extern void modify_begin_output(DistModifyState *state);
extern void modify_add_output(DistModifyState *state, ChangeList *changes, MinimalTuple change, int64 sequence,
							  TupleTableSlot *row, TupleTableSlot *change_slot);
extern void modify_add_old_output(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls);
extern bool modify_next_output(DistModifyState *state, TupleTableSlot *slot);

/* The position in plan.attnos of a column of the target that nodes return. */
extern int	modify_returned_position(DistModifyState *state, AttrNumber attno);

/*
 * The partition of a new row of a partitioned table (partition_routing_find);
 * and notes the one that a row of a shard stands in.
 */
extern Oid	modify_partition_of(DistModifyState *state, const Datum *values, const bool *nulls);
extern void modify_note_partition(DistModifyState *state, int shard, Oid partition);

/* Ends input and output. */
extern void modify_end_rows(DistModifyState *state);

/* modify_pending.c: the setting citus.write_buffer_size. */
extern void modify_pending_init(void);

/* Bytes of memory for all changes, and of those that are sent together. */
extern Size modify_buffer_bytes(void);
extern Size modify_round_bytes(void);

/* Makes and frees the stores of changes that are still to be sent. */
extern void modify_begin_pending(DistModifyState *state);
extern void modify_end_pending(DistModifyState *state);

/*
 * Adds a change: identity of the old row, NULL for an INSERT; values and nulls
 * of the new row, NULL for a DELETE.
 */
extern void modify_add_change(DistModifyState *state, ChangeList *changes, int shard, const RowIdentity *identity,
							  Datum *values, bool *nulls, TupleTableSlot *child);

/* Forgets the changes of one kind, which were applied. */
extern void modify_end_changes(DistModifyState *state, ChangeList *changes);

/*
 * Rows of the target that the statement has written: records one (false if it
 * was recorded before), or checks for one.
 */
extern bool modify_first_change(DistModifyState *state, int shard, ItemPointer ctid);
extern bool modify_has_changed(DistModifyState *state, int shard, ItemPointer ctid);

/*
 * modify_check.c: errors if a row violates one of the conditions
 * (ModifyPlan.checks): a row that is to be written, or the written row in the
 * scan slot.
 */
extern void modify_check_begin(DistModifyState *state);
extern void modify_check_new_row(DistModifyState *state, Datum *values, bool *nulls);
extern void modify_check_stored_row(DistModifyState *state);
extern void modify_check_end(DistModifyState *state);

/*
 * modify_change.c: the identity of a row on its node: the ctid or, in a
 * reference table, what the row holds.
 */
extern RowIdentity modify_row_identity(DistModifyState *state, Datum row, Datum ctid);

/* A tuple for triggers; NULL if there are none. */
extern HeapTuple modify_old_tuple(DistModifyState *state, Datum *values, bool *nulls);

/* The shard that a new row goes to. */
extern int	modify_stored_shard(DistModifyState *state, Datum *values, bool *nulls);

/*
 * Adds an UPDATE in the row's shard, or moves the row to another shard.  old
 * is its old version, if there are triggers; false if they skip the row.
 */
extern bool modify_add_update(DistModifyState *state, TupleTableSlot *child, int shard, const RowIdentity *identity,
							  HeapTuple old, Datum *values, bool *nulls);

/*
 * Functions that send many rows of a table, with limited memory; set by
 * src/copy, a later folder.
 */
typedef struct InsertStreamMethods
{
	void	   *(*begin) (Relation relation, Size memory);
	void		(*put) (void *stream, TupleTableSlot *row);
	uint64		(*end) (void *stream);	/* how many rows were stored */
} InsertStreamMethods;

extern const InsertStreamMethods *insert_stream_methods;

/*
 * Entries of global indexes, set by src/global_index, a later folder.
 *
 * rel is the table, or the row's partition.
 *
 * find: whether the key of a row in one of its indexes has an entry,
 * as far as a snapshot of now shows; then sets the distribution value of the
 * row that has it, which may be null, in CurrentMemoryContext.
 *
 * claim: adds the entries of a new row in all global indexes of its table.
 * False if another row has its key in one of the indexes given, after waiting
 * for the transaction that has inserted it; entries of others may have been
 * added then.  Errors with 23505 for other indexes.
 */
typedef struct GlobalKeyMethods
{
	bool		(*find) (Relation rel, List *indexes, TupleTableSlot *row, NullableDatum *value);
	bool		(*claim) (Relation rel, List *indexes, TupleTableSlot *row);
} GlobalKeyMethods;

extern const GlobalKeyMethods *global_key_methods;

/*
 * modify_stream.c: begins a stream if enough rows of an INSERT are pending;
 * these are its first rows.
 */
extern void modify_stream_consider(DistModifyState *state);
extern void modify_stream_put(DistModifyState *state, TupleTableSlot *row);
extern void modify_stream_end(DistModifyState *state);
extern void modify_stream_init(void);

/* One batch: the changes of one statement on one shard. */
typedef struct Batch
{
	MinimalTuple *changes;
	int			nchanges;
	int			returned;		/* rows that came back so far */
	int			shard;
	Task	   *task;			/* of a reference table: this node's */
} Batch;

/* One statement on each shard, with its batch. */
typedef struct Round
{
	TaskSetSpec spec;
	List	   *batches;		/* NIL: nothing is left */
} Round;

/*
 * modify_apply.c: reads the next batch of each shard that has changes left,
 * and makes the tasks.  change_slot is work space.
 */
extern void modify_round_begin(DistModifyState *state, ChangeList *changes, TupleTableSlot *change_slot, Round *round);

/* The batch that a task belongs to. */
extern Batch *modify_round_batch(Round *round, Task *task);

/* Applies the pending changes of one kind, and collects the returned rows. */
extern void modify_apply_changes(DistModifyState *state, ChangeList *changes);

/*
 * modify_upsert.c: applies all pending changes to the shards; or only if there
 * are enough rows that may conflict, so that these are resolved now.
 */
extern void modify_apply_all(DistModifyState *state);
extern void modify_consider_upserts(DistModifyState *state);

/*
 * modify_collect.c: reads the child to its end, and stores the resulting
 * changes.
 */
extern void modify_collect(DistModifyState *state);

/*
 * modify_late.c: decides whether the changes are applied late, which may be
 * refused, and sees to it that they are.
 */
extern void modify_late_begin(DistModifyState *state);

/*
 * modify.c: called before a statement that writes a reference table starts:
 * orders it after other writers, and takes a snapshot that sees their commits.
 */
extern void modify_lock_references(QueryDesc *query_desc, int eflags);

extern void modify_init(void);

#endif							/* CITUS_EXECUTOR_MODIFY_H */
