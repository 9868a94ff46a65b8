/*-------------------------------------------------------------------------
 *
 * spi_query.h
 *	  Statements by SPI, and their answers as text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SPI_QUERY_H
#define CITUS_LIB_SPI_QUERY_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Runs a statement of ours by SPI, from SPI_connect to SPI_finish, with names
 * looked up in pg_catalog only; returns the number of rows that it returned or
 * changed.
 */
extern uint64 spi_exec(const char *sql);

/* A column's value; NULL for NULL. */
typedef char *SpiText;

/*
 * The same for the rows themselves: of each (SpiText *) the values of its
 * columns.  In CurrentMemoryContext.
 */
extern List *spi_rows(const char *sql, int *ncolumns);

/* The first column of the first row; NULL if there is no row. */
extern char *spi_value(const char *sql);

/*
 * texts with the first column of each row of SPI's last result (char *), in a
 * context that outlives SPI_finish, and that texts are in; it has no NULLs.
 */
extern List *spi_texts(List *texts, MemoryContext context);

#endif							/* CITUS_LIB_SPI_QUERY_H */
