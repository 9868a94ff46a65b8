/*-------------------------------------------------------------------------
 *
 * catalog_rows.h
 *	  Reading a few rows of a catalog: the server's or the extension's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_CATALOG_ROWS_H
#define CITUS_CATALOG_CATALOG_ROWS_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/skey.h"

#include "compat/foreach.h"

typedef struct CatalogRow
{
	HeapTuple	tuple;			/* for GETSTRUCT */
	Datum	   *values;			/* by column, from 0; not toasted out of
								 * line */
	bool	   *nulls;
} CatalogRow;

/*
 * The rows (CatalogRow) of a catalog that the keys find: by an index, and in
 * its order, unless that is InvalidOid.  In CurrentMemoryContext; whatever the
 * caller's rights.
 */
extern List *catalog_rows_by_keys(Oid catalog, Oid index, int nkeys, ScanKey keys);

/* The same for the rows with a value in a column, the first of the index. */
extern List *catalog_rows_by_oid(Oid catalog, Oid index, AttrNumber column, Oid value);

/*
 * The same for a table in pg_catalog that a key on an index of it finds, or
 * all without one (NULL).  NIL if there is no such table, as before the
 * extension is made.
 */
extern List *catalog_rows(const char *table, const char *index, ScanKey key);

/* The first row that has a value in the first column of an index, or NULL. */
extern CatalogRow *catalog_row(const char *table, const char *index, AttrNumber column, RegProcedure equals, Datum value);

/* A row of a system cache, to be released; errors if there is none. */
extern HeapTuple catalog_tuple(int cache, Oid oid, const char *kind);

/* Rows of pg_depend: what an object depends on, and what depends on it. */
extern List *catalog_needs(Oid classid, Oid objid);
extern List *catalog_dependents(Oid classid, Oid objid);

/* The triggers that enforce a global foreign key on this node: Oids. */
extern List *global_key_triggers(Oid constraint);

#endif							/* CITUS_CATALOG_CATALOG_ROWS_H */
