/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  Entries of global indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GLOBAL_INDEX_KEYS_H
#define CITUS_GLOBAL_INDEX_KEYS_H

#include "postgres.h"

#include "utils/rel.h"

#include "executor/modify.h"

/* The column of entries with the distribution value of a key's row. */
#define ENTRY_DISTRIBUTION_VALUE "\"row's distribution value\""

/*
 * The columns of entries: those of the index's key; if that isn't unique,
 * those of the table's primary key, the row's identity, as "row's column <n>";
 * the distribution value; those that the index includes.
 */
typedef struct EntryShape
{
	int			nindex;			/* columns of the index's key */
	int			nidentity;
	int			nkeys;			/* both: no two entries are equal in these */
	int			nrequired;		/* of these, from the first one on, that aren't
								 * null; rows with others have no entry */
	int			nincluded;
	int			ncolumns;
	AttrNumber	dist_attno;		/* of the table, as identity's */
	AttrNumber	identity[INDEX_MAX_KEYS];
	int			included[INDEX_MAX_KEYS];	/* the index's columns, from 0
											 * on */
} EntryShape;

/* Sets what the entries of an index contain, or will.  Locks: of the table. */
extern void entry_shape(Relation rel, Relation index, EntryShape *shape);

/* The entries' column that has the table's column; InvalidAttrNumber: none. */
extern AttrNumber entry_column(const EntryShape *shape, Relation index, AttrNumber attno);

/* The name of an entries' column with one of the table's primary key. */
extern char *entry_identity_name(AttrNumber attno);

/* Whether the entries of an index, if it has them, have the primary key. */
extern bool entries_have_identity(Relation rel, Relation index);

/*
 * The columns of the table's primary key, unless it is deferrable; how many.
 */
extern int	entry_identity(Relation rel, AttrNumber *attnos);

/*
 * The server's own equality operator (in pg_catalog) of a type's default btree
 * operator class; InvalidOid if that is another's.
 */
extern Oid	key_equality(Oid type);

/* What ON CONFLICT calls (executor/modify.h). */
extern const GlobalKeyMethods global_keys;

/* Adds the entries of all rows of a table that gets the index. */
extern void entries_fill(Relation rel, Relation index, Oid entries);

/* The entries that the rows of a table have, as a query without an order. */
extern char *entries_query(Relation rel, Relation index);

/*
 * Has statements fail until the caller's level of settings ends, of which the
 * owner's own policies (FORCE ROW LEVEL SECURITY) would hide rows.
 */
extern void entries_require_all_rows(void);

/* A column or expression of an index's key, from 1 on. */
extern char *entry_key_text(Relation index, int number);

/*
 * Adds the entries that a query, with parameters, returns, and that aren't
 * there.  The query locks their rows, so that these have their keys.  Errors
 * with 23505 if another row has a key.
 */
extern void entries_add(Relation rel, Oid index, const char *query, int nparams, Oid *types, Datum *values);

/*
 * fill_online.c: has all rows have an entry, while others write them: in
 * several transactions.  The index is invalid, and has entries for all rows
 * that were written since a time when none was being written.
 */
extern void entries_fill_online(Oid relid, Oid index);

#endif							/* CITUS_GLOBAL_INDEX_KEYS_H */
