/*-------------------------------------------------------------------------
 *
 * expr_values.h
 *	  Values of the expressions of a plan node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_EXPR_VALUES_H
#define CITUS_LIB_EXPR_VALUES_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/params.h"

/* Expressions that are ready to be evaluated. */
typedef struct ExprValues
{
	List	   *exprs;
	ExprState **states;			/* NULL of a constant or a client's
								 * parameter */
	PlanState  *parent;
} ExprValues;

/*
 * The value of a constant or a client's parameter; false if the expression is
 * neither, or of another type.
 */
extern bool expr_known_value(const Expr *expr, ParamListInfo params, Datum *value, bool *isnull);

/* Prepares expressions of a plan node that is being initialized. */
extern ExprValues *expr_values_init(List *exprs, PlanState *parent);

/*
 * Evaluates the expression at a position, with memory from
 * CurrentMemoryContext.
 */
extern Datum expr_value(const ExprValues *values, int position, ExprContext *econtext, bool *isnull);

#endif							/* CITUS_LIB_EXPR_VALUES_H */
