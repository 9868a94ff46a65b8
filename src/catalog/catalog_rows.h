/*-------------------------------------------------------------------------
 *
 * catalog_rows.h
 *	  Reading a few rows of the extension's tables, by name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_CATALOG_ROWS_H
#define CITUS_CATALOG_CATALOG_ROWS_H

#include "postgres.h"

#include "access/skey.h"
#include "nodes/pg_list.h"

typedef struct CatalogRow
{
	Datum	   *values;			/* by column, from 0; not toasted out of
								 * line */
	bool	   *nulls;
} CatalogRow;

/*
 * The rows (CatalogRow) of a table in pg_catalog that a key on an index of it
 * finds, or all without one (NULL).  In CurrentMemoryContext; whatever the
 * caller's rights.  NIL if there is no such table, as before the extension is
 * made.
 */
extern List *catalog_rows(const char *table, const char *index, ScanKey key);

#endif							/* CITUS_CATALOG_CATALOG_ROWS_H */
