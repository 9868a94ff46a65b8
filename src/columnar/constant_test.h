/*-------------------------------------------------------------------------
 *
 * constant_test.h
 *	  Conditions that compare a column with constants: text = and <>, IN, LIKE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_CONSTANT_TEST_H
#define CITUS_COLUMNAR_CONSTANT_TEST_H

#include "postgres.h"

#include "columnar/column_chunk.h"

typedef struct ConstantTest ConstantTest;

/*
 * Makes the test of a condition, in the current memory context.  *column: of
 * the table, from 0.  NULL if the condition isn't of these forms.
 */
extern ConstantTest *constant_test_make(Node *qual, Index varno, int *column);

/*
 * Keeps, in front, the rows for which the condition holds, and returns how
 * many these are.  Neither fails nor shows a value to anybody.
 */
extern uint32 constant_test_apply(const ConstantTest *test, const ColumnVector *vector, uint32 *rows, uint32 count);

#endif							/* CITUS_COLUMNAR_CONSTANT_TEST_H */
