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
#include "planner/modify_plan.h"

/* Columns of a change (see ChangeList); columns of other tables follow. */
enum
{
	CHANGE_SEQUENCE,			/* int8: position in the child's output */
	CHANGE_IDENTITY,			/* tid, or text for a reference table; null for INSERT */
	CHANGE_NEW_ROW,				/* the table's row type; null for DELETE */
	CHANGE_OTHERS
};

/* The changes of one kind, by shard. */
typedef struct ChangeList
{
	const char *text;			/* that applies them */
	bool		has_ordinal;	/* the text returns the ordinal first */
	bool		returns;		/* the text returns the target's columns */
	bool		counts;			/* rows count as processed */
	Tuplestorestate **stores;	/* per shard, NULL if none */
	uint64		nchanges;
} ChangeList;

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

	TupleDesc	change_desc;
	ChangeList	inserts;
	ChangeList	updates;
	ChangeList	deletes;
	int64		sequence;
	HTAB	   *seen;			/* identities of rows already changed */

	TriggerRun *triggers;		/* NULL if the statement fires none */
	bool		triggers_query; /* a BEFORE ROW trigger has run statements */
	int			nest_level;		/* of transactions, where the statement runs */
	Tuplestorestate *input;		/* the child's rows, if there are triggers */
	TupleTableSlot *input_slot;

	TupleDesc	output_desc;	/* scan tuple, and its position */
	Tuplesortstate *output;		/* rows for RETURNING */
	TupleTableSlot *output_slot;
	bool		done;
	MemoryContext context;		/* lives as long as the node */
} DistModifyState;

extern void modify_init(void);

/* modify_apply.c: runs all changes that wait on the shards, and collects what they return. */
extern void modify_apply_all(DistModifyState *state);
extern void modify_end_stores(DistModifyState *state, ChangeList *changes);

/* modify_collect.c: reads the child to its end, and notes the changes that its rows mean. */
extern void modify_collect_begin(DistModifyState *state);
extern void modify_collect(DistModifyState *state);

/* Reads the child to its end, for modify_collect to be called later. */
extern void modify_read_input(DistModifyState *state);

/* Whether the n-th expression is true, not false or null. */
extern bool modify_is_true(DistModifyState *state, int n, ExprContext *econtext);

/*
 * Whether a BEFORE ROW trigger of a DistributedModify is being called.  A statement
 * that starts meanwhile calls the other function first, with its own snapshot or NULL.
 */
extern bool modify_in_trigger(void);
extern void modify_statement_starts(Snapshot snapshot);

#endif							/* CITUS_EXECUTOR_MODIFY_H */
