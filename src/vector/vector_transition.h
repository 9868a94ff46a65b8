/*-------------------------------------------------------------------------
 *
 * vector_transition.h
 *	  Transition states of aggregates, advanced by vectors or by rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_TRANSITION_H
#define CITUS_VECTOR_VECTOR_TRANSITION_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "vector/vector_expression.h"

/*
 * The state of an aggregate for a group: the server's, as its transition
 * function knows it, and beside it what vectors have added up.  Those that
 * add nothing up end before the count.
 */
typedef struct TransitionState
{
	Datum		value;
	bool		isnull;
	bool		unset;			/* the first value that isn't NULL becomes the
								 * state */
	int16		scale;			/* of sum */
	int64		count;			/* values in sum */
	int128		sum;
} TransitionState;

struct Transition;

/*
 * Adds a vector to states: count values, each of the group in its place.
 * NULL: count(*), which has no argument.  What it allocates in the current
 * memory context isn't needed later.
 */
typedef void (*VectorAdvance) (struct Transition *transition, TransitionState **groups, const Vector *vector,
							   uint32 count);

/* What several aggregates with the same arguments share. */
typedef struct Transition
{
	int			number;			/* among the transitions */
	Size		offset;			/* of the state in a group's states */
	bool		one_group;		/* all rows are of one group */
	const Aggref *aggref;
	MemoryContext context;		/* of the states */
	FmgrInfo	function;
	FunctionCallInfo call;
	int			nargs;
	Oid			type;			/* of the state */
	int16		type_len;
	bool		type_byval;
	Datum		initial;
	bool		initial_is_null;
	const struct VectorForm *form;	/* NULL: only rows advance it */
	FmgrInfo	combine;		/* if the form adds up */
	FmgrInfo	deserialize;
} Transition;

/* An aggregate: the final step of a transition, or its serialization. */
typedef struct VectorAggregate
{
	Transition *transition;
	FmgrInfo	final;
	FunctionCallInfo final_call;	/* NULL: the state is the result */
	bool		final_is_strict;
} VectorAggregate;

/*
 * The context for calls of aggregates' functions, which make them keep their
 * state in a memory context.
 */
extern Node *transition_context_make(MemoryContext states);

/*
 * Makes the transition of an aggregate, and an aggregate that ends with it.
 * All is made in the current memory context.  Errors if the user may not
 * execute the function.
 */
extern Transition *transition_make(const Aggref *aggref, int number, Node *context, MemoryContext states);
extern void vector_aggregate_make(const Aggref *aggref, Transition *transition, VectorAggregate *aggregate);

/*
 * Decides where the states of a group are, after the forms of all transitions
 * are known.  Returns how many bytes they take.
 */
extern Size transition_states_lay_out(Transition **transitions, int ntransitions);

/* The state among those of a group. */
static inline TransitionState *
transition_state_of(const Transition *transition, TransitionState *states)
{
	return (TransitionState *) ((char *) states + transition->offset);
}

/* The state before the first row. */
extern void transition_state_begin(const Transition *transition, TransitionState *state);

/* Advances a state by the arguments in the transition's call, from 1 on. */
extern void transition_advance(Transition *transition, TransitionState *state);

/*
 * The form in which vectors advance a transition with an argument of a kind,
 * or VECTOR_NONE without one.  NULL: there is none.
 */
extern VectorAdvance transition_vector_form(Transition *transition, VectorKind kind);

/*
 * Whether vectors must advance a transition in the order of rows: of numerics
 * that are equal, but of different scales, one is the result.
 */
extern bool transition_needs_order(const Transition *transition);

/* Whether the result of an aggregate may depend on the order of rows. */
extern bool transition_order_matters(const Aggref *aggref);

/* Makes what vectors have added up part of the server's state. */
extern void transition_settle(Transition *transition, TransitionState *state);

/* The result for a group, in the current memory context. */
extern Datum vector_aggregate_result(VectorAggregate *aggregate, TransitionState *state, bool *isnull);

#endif							/* CITUS_VECTOR_VECTOR_TRANSITION_H */
