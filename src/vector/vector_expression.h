/*-------------------------------------------------------------------------
 *
 * vector_expression.h
 *	  Arithmetic on the rows of a batch together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_EXPRESSION_H
#define CITUS_VECTOR_VECTOR_EXPRESSION_H

#include "postgres.h"

#include "vector/vector_batch.h"

typedef enum VectorKind
{
	VECTOR_NONE,
	VECTOR_INTEGER,				/* and all types ordered as integers */
	VECTOR_NUMERIC,				/* integers, divided by a power of ten */
	VECTOR_FLOAT,				/* float8 */
	VECTOR_DATUM				/* values as they are, of a column */
} VectorKind;

/* A value for each row that was asked for, in this order. */
typedef struct Vector
{
	VectorKind	kind;
	int			scale;			/* VECTOR_NUMERIC: digits after the point */
	const Datum *values;		/* int64, float8 or Datum; of a NULL, any in
								 * range */
	const bool *nulls;			/* NULL: none is */
	int64		least;			/* no integer is beyond these */
	int64		greatest;
	bool		exact;			/* these are values, if none is NULL */
	bool		same;			/* there is one value, for all rows; not in
								 * results */
} Vector;

typedef struct VectorExpression VectorExpression;

/*
 * Makes an expression over the columns of a scan's table, in the current
 * memory context, which has to last as the plan's state.  NULL if it has no
 * vector form.
 */
extern VectorExpression *vector_expression_make(Node *expr, ScanState *scan);

/* Which kind of values its results are. */
extern VectorKind vector_expression_kind(const VectorExpression *expression);

/*
 * Evaluates it for the rows of a batch.  The result is in the batch's memory.
 * False if it can't be done for these: a number may exceed what the type, or
 * an int64, can represent.  The server's executor knows whether it does.
 */
extern bool vector_expression_evaluate(VectorExpression *expression, const VectorBatch *batch, Vector *result);

#endif							/* CITUS_VECTOR_VECTOR_EXPRESSION_H */
