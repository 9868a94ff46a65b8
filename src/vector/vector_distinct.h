/*-------------------------------------------------------------------------
 *
 * vector_distinct.h
 *	  The different values of an aggregate with DISTINCT, by group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_DISTINCT_H
#define CITUS_VECTOR_VECTOR_DISTINCT_H

#include "postgres.h"

#include "vector/vector_transition.h"

typedef struct VectorDistinct VectorDistinct;

/* Whether an aggregate with DISTINCT can be one of a ColumnarAggregate. */
extern bool vector_distinct_can(const Aggref *aggref);

/* Makes an empty set for a transition, in the current memory context. */
extern VectorDistinct *vector_distinct_make(Transition *transition);

/*
 * Whether a value, which isn't NULL, is a group's first that equals it, and so
 * is to advance the group's state.  False also if that isn't known yet for
 * lack of memory: the value is kept for vector_distinct_finish() then.
 */
extern bool vector_distinct_add(VectorDistinct *distinct, TransitionState *states, Datum value);

/* Advances states by the values that were kept. */
extern void vector_distinct_finish(VectorDistinct *distinct);

/* Forgets all values, as the groups that they are of are forgotten. */
extern void vector_distinct_reset(VectorDistinct *distinct);

#endif							/* CITUS_VECTOR_VECTOR_DISTINCT_H */
