/*-------------------------------------------------------------------------
 *
 * sequence_calls.h
 *	  Replaces calls of nextval() and similar functions by functions for all
 *	  nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SEQUENCE_CALLS_H
#define CITUS_PLANNER_SEQUENCE_CALLS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * The query, or a copy, with functions of citus_internal in the place of the
 * server's sequence functions where they are needed.
 */
extern Query *sequence_calls_turn(Query *query);

/* The same for an expression by itself. */
extern Node *sequence_calls_turn_expression(Node *expr);

/* Whether a function is nextval(), or its replacement. */
extern bool sequence_call_is_nextval(Oid funcid);

#endif							/* CITUS_PLANNER_SEQUENCE_CALLS_H */
