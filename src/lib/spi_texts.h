/*-------------------------------------------------------------------------
 *
 * spi_texts.h
 *	  The texts that a query by SPI has returned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SPI_TEXTS_H
#define CITUS_LIB_SPI_TEXTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * The first column of each row of SPI's last result (char *), in a context
 * that outlives SPI_finish; it has no NULLs.
 */
extern List *spi_texts(MemoryContext context);

#endif							/* CITUS_LIB_SPI_TEXTS_H */
