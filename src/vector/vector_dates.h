/*-------------------------------------------------------------------------
 *
 * vector_dates.h
 *	  Functions of dates and timestamps on arrays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_DATES_H
#define CITUS_VECTOR_VECTOR_DATES_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* A function of one date or timestamp, with its field if it has one. */
typedef struct VectorDateFunction VectorDateFunction;

/*
 * The vector form of a call: extract(), date_part(), date_trunc() with a
 * constant field, casts between date and timestamp.  NULL: it has none.  *arg:
 * what the function is called with.
 */
extern const VectorDateFunction *vector_date_function(Oid function, List *args, Node **arg);

/*
 * Computes it for values between least and greatest: integers, but floating-
 * point numbers of date_part().  False if the server's function may raise an
 * error, or a value is infinite.
 */
extern bool vector_date_compute(const VectorDateFunction *function, const int64 *values, uint32 count, int64 least,
								int64 greatest, Datum *results);

#endif							/* CITUS_VECTOR_VECTOR_DATES_H */
