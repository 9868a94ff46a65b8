/*-------------------------------------------------------------------------
 *
 * vector_groups.h
 *	  The groups of a ColumnarAggregate, found by the rows of a batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_GROUPS_H
#define CITUS_VECTOR_VECTOR_GROUPS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "vector/vector_batch.h"
#include "vector/vector_plan.h"
#include "vector/vector_transition.h"

typedef struct VectorGroups VectorGroups;

/*
 * The expressions of the columns that groups carry, the keys first, over the
 * columns of a scan's table.
 */
typedef struct GroupColumn
{
	int			column;			/* of the table, from 0; -1: an expression */
	Bitmapset  *columns;		/* that the expression needs */
	ExprState  *state;
	struct VectorExpression *vector;	/* of an expression, or NULL */
} GroupColumn;

/*
 * Makes an empty set of groups, in the current memory context.  Columns of
 * tupdesc, from the first on, are those that groups carry.  How many bytes the
 * states of a group take, and how they begin, is told before the first row.
 */
extern VectorGroups *vector_groups_make(const VectorAggregatePlan *plan, TupleDesc tupdesc);
extern void vector_groups_set_transitions(VectorGroups *groups, Transition **transitions, int ntransitions);

/* The columns that groups carry: the values of expressions over a scan. */
extern GroupColumn *vector_groups_columns(List *exprs, ScanState *scan);

/* Forgets all groups. */
extern void vector_groups_reset(VectorGroups *groups);

/* Whether no new group is made until they are reset. */
extern bool vector_groups_are_full(const VectorGroups *groups);

/* Where the states' memory is, which vector_groups_reset() frees. */
extern MemoryContext vector_groups_context(const VectorGroups *groups);

/*
 * Finds the group of each row of a batch, in states, in the batch's order.
 * New ones are made; NULL: the memory for groups is full, and the row's isn't
 * among them.  Returns the hash values of the rows' keys, in the batch's
 * memory; NULL: there are no keys.
 */
extern const uint64 *vector_groups_find(VectorGroups *groups, const GroupColumn *columns, const VectorBatch *batch,
										TransitionState **states);

/* The same for the row in the scan's slot; *hash: of its keys. */
extern TransitionState *vector_groups_find_row(VectorGroups *groups, const GroupColumn *columns, ScanState *scan,
											   uint64 *hash);

/*
 * Goes to the next group, and tells what it carries; its states, or NULL at
 * the end.
 */
extern TransitionState *vector_groups_next(VectorGroups *groups, const Datum **values, const bool **nulls);

#endif							/* CITUS_VECTOR_VECTOR_GROUPS_H */
