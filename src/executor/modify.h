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
	CHANGE_IDENTITY,			/* tid, or bytea (executor/row_image.h) for a
								 * reference table; null for INSERT */
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

typedef struct DistModifyState
{
	CustomScanState css;		/* must be first */
	ModifyPlan	plan;
	const DistTable *table;
	TupleDesc	row_desc;		/* of the table */
	Oid			row_type;
	PlanState  *child;
	List	   *expr_states;
	List	   *actions;		/* of ModifyAction */
	bool		may_move;		/* rows may be deleted and inserted */
	uint64		nmoved;			/* rows that are: they count once */

	RowImage   *image;			/* of rows of a reference table */
	Datum	   *image_values;	/* work space, of a row */
	bool	   *image_nulls;

	TupleDesc	change_desc;
	ChangeList	inserts;
	ChangeList	updates;
	ChangeList	deletes;
	ChangeList	upserts;		/* rows to insert, if the initiator resolves
								 * conflicts */
	bool		resolving;		/* those that don't wait any more are being
								 * resolved */
	int64		sequence;
	Oid			partition;		/* that the child's row stands in; InvalidOid:
								 * the table */
	int64		partition_shard;	/* that the child's row stands in; 0: the
									 * table isn't partitioned */
	HTAB	   *seen;			/* rows already changed (RowGroup); all writes
								 * of a table in a statement share it */

	bool		checks_new_rows;	/* the plan has conditions for new rows */
	ResultRelInfo *generator;	/* computes generated columns for these; NULL:
								 * there are none */
	TupleTableSlot *generated;	/* a new row with them */

	TriggerRun *triggers;		/* NULL if the statement fires none */
	Tuplestorestate *input;		/* the child's rows, if all must be read before
								 * one is written */
	TupleTableSlot *input_slot;

	void	   *stream;			/* of an INSERT of many rows; NULL: they wait
								 * in inserts */
	Relation	stream_rel;		/* the table then */

	TupleDesc	output_desc;	/* scan tuple, and its position */
	Tuplesortstate *output;		/* rows for RETURNING */
	TupleTableSlot *output_row; /* one that goes in */
	TupleTableSlot *output_slot;	/* and one that comes out */
	bool		done;
	MemoryContext context;		/* lives as long as the node */
} DistModifyState;

/*
 * Called before a statement that writes a reference table starts: orders it
 * after other writers, and takes a snapshot that sees their commits.
 */
extern void modify_lock_references(QueryDesc *query_desc, int eflags);

extern void modify_init(void);

/* modify_apply.c: the setting citus.write_buffer_size, and its parts. */
extern void modify_apply_init(void);

/*
 * Kilobytes that the changes of one kind and shard may take before they go to
 * disk.
 */
extern int	modify_store_kilobytes(const DistModifyState *state);

/* Bytes of memory for all changes, and of those that are sent together. */
extern Size modify_buffer_bytes(void);
extern Size modify_round_bytes(void);

/*
 * modify_apply.c: applies all pending changes to the shards, and collects the
 * returned rows.
 */
extern void modify_apply_all(DistModifyState *state);
extern void modify_end_stores(DistModifyState *state, ChangeList *changes);

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
 * Reads the next batch of each shard that has changes left, and makes the
 * tasks.  change_slot is work space.
 */
extern void modify_round_begin(DistModifyState *state, ChangeList *changes, TupleTableSlot *change_slot, Round *round);

/* The batch that a task belongs to. */
extern Batch *modify_round_batch(Round *round, Task *task);

/*
 * Adds a row for RETURNING, if there is one: what the node returned, and the
 * child's columns of the change.
 */
extern void modify_add_output(DistModifyState *state, ChangeList *changes, MinimalTuple change, int64 sequence,
							  TupleTableSlot *row, TupleTableSlot *change_slot);

/* The position in plan.attnos of a column of the target that nodes return. */
extern int	modify_returned_position(DistModifyState *state, AttrNumber attno);

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
 * modify_stream.c: begins a stream if enough rows of an INSERT are pending;
 * these are its first rows.
 */
extern void modify_stream_consider(DistModifyState *state);
extern void modify_stream_put(DistModifyState *state, TupleTableSlot *row);
extern void modify_stream_end(DistModifyState *state);
extern void modify_stream_init(void);

/*
 * modify_upsert.c: inserts the pending rows, and resolves their conflicts; the
 * resulting UPDATEs become pending changes.
 */
extern void modify_apply_upserts(DistModifyState *state);

/*
 * Adds a row that is to be inserted unless it conflicts; may apply pending
 * changes.
 */
extern void modify_add_upsert(DistModifyState *state, TupleTableSlot *child, int shard, Datum *values, bool *nulls);

/*
 * modify_collect.c: reads the child to its end, and stores the resulting
 * changes.
 */
extern void modify_collect_begin(DistModifyState *state);
extern void modify_collect(DistModifyState *state);

/* Reads the child to its end, for modify_collect to be called later. */
extern void modify_read_input(DistModifyState *state);

/*
 * Parts of it: a pending change (identity of the old row, NULL for an INSERT;
 * values and nulls of the new row, NULL for a DELETE), a row's columns, a
 * tuple for triggers, an action's values, and an UPDATE with its triggers
 * (false if they skip the row).
 */
extern void modify_add_change(DistModifyState *state, ChangeList *changes, int shard, const RowIdentity *identity,
							  Datum *values, bool *nulls, TupleTableSlot *child);
extern void modify_deform_row(DistModifyState *state, Datum row, Datum *values, bool *nulls);
extern HeapTuple modify_old_tuple(DistModifyState *state, Datum *values, bool *nulls);
extern void modify_evaluate_action(DistModifyState *state, ModifyAction *action, ExprContext *econtext,
								   Datum *values, bool *nulls);
extern bool modify_add_update(DistModifyState *state, TupleTableSlot *child, int shard, const RowIdentity *identity,
							  HeapTuple old, Datum *values, bool *nulls);

/* A column of a row; the row itself for attribute number 0. */
extern Datum modify_row_column(DistModifyState *state, AttrNumber attno, Datum *values, bool *nulls, bool *isnull);

/*
 * The identity of a row on its node: the ctid or, in a reference table, what
 * the row holds.
 */
extern RowIdentity modify_row_identity(DistModifyState *state, Datum row, Datum ctid);

/*
 * Rows of the target that the statement has written: records one (false if it
 * was recorded before), or checks for one.
 */
extern bool modify_first_change(DistModifyState *state, int shard, ItemPointer ctid);
extern bool modify_has_changed(DistModifyState *state, int shard, ItemPointer ctid);

/* Whether the n-th expression is true, not false or null. */
extern bool modify_is_true(DistModifyState *state, int n, ExprContext *econtext);

/*
 * modify_check.c: errors if a row violates one of the conditions
 * (ModifyPlan.checks): a row that is to be written, or the written row in the
 * scan slot.
 */
extern void modify_check_begin(DistModifyState *state);
extern void modify_check_new_row(DistModifyState *state, Datum *values, bool *nulls);
extern void modify_check_stored_row(DistModifyState *state);
extern void modify_check_end(DistModifyState *state);

#endif							/* CITUS_EXECUTOR_MODIFY_H */
