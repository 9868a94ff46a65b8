/*-------------------------------------------------------------------------
 *
 * exchange_row.h
 *	  The format of rows in an exchange.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXCHANGE_EXCHANGE_ROW_H
#define CITUS_EXCHANGE_EXCHANGE_ROW_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "lib/stringinfo.h"

typedef struct ExchangeRow ExchangeRow;

/* For writing, or reading, rows with these columns. */
extern ExchangeRow *exchange_row_create(TupleDesc columns, bool writes);

/* Appends a row to a buffer. */
extern void exchange_row_append(ExchangeRow *row, StringInfo buffer, const Datum *values, const bool *nulls);

/*
 * Takes the next row off a buffer, at its cursor; values are in
 * CurrentMemoryContext.  False at its end.
 */
extern bool exchange_row_take(ExchangeRow *row, StringInfo buffer, Datum *values, bool *nulls);

#endif							/* CITUS_EXCHANGE_EXCHANGE_ROW_H */
