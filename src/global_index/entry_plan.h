/*-------------------------------------------------------------------------
 *
 * entry_plan.h
 *	  Statements for the entries of global indexes, prepared once a session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GLOBAL_INDEX_ENTRY_PLAN_H
#define CITUS_GLOBAL_INDEX_ENTRY_PLAN_H

#include "executor/spi.h"
#include "pg_config_manual.h"

/*
 * The columns of an entry are those of the key, then the distribution value of
 * its row, then included ones.
 */
#define MAX_ENTRY_COLUMNS (2 * INDEX_MAX_KEYS + 1)

typedef enum EntryStatementKind
{
	ENTRY_FIND,					/* returns the distribution value of a key */
	ENTRIES_FIND,				/* returns an array of those of several keys */
	ENTRY_INSERT,				/* of an entry */
	ENTRY_AWAIT,				/* the same, unless the key has one */
	ENTRY_DELETE,				/* of a key */
	ENTRIES_INSERT,				/* the same for arrays */
	ENTRIES_AWAIT,
	ENTRIES_DELETE,
	ENTRIES_TAKE,				/* deletes as many entries that equal those
								 * given; returns those that it hasn't found */
	ENTRIES_MISSING,			/* returns those given that aren't there; its
								 * key is the columns without nulls */
	ENTRIES_SETTLE,				/* waits for what is being committed */
} EntryStatementKind;

/* Rows whose columns are the elements of parameters that are arrays. */
typedef struct ParamRows
{
	StringInfoData columns;		/* data is NULL: none yet */
	bool		composite;		/* one is of a composite type */
} ParamRows;

/* Adds a column: the parameter's number, and its type, that of the array. */
extern void param_rows_add(ParamRows *rows, int number, Oid type);

/* A query that returns the rows. */
extern char *param_rows_query(const ParamRows *rows);

/* All bytes that aren't set must be 0. */
typedef struct EntryStatement
{
	EntryStatementKind kind;
	Oid			entries;
	int			nkeys;			/* columns of the key */
	int			ncolumns;		/* of the entries; not of ENTRY_FIND */
	uint64		null_keys;		/* bits of those of the key that are null */
	uint64		array_keys;		/* of ENTRIES_FIND: bits of those that may be
								 * any of an array's elements */
	Oid			types[MAX_ENTRY_COLUMNS];	/* of the parameters */
} EntryStatement;

/* How many of an entry's columns are parameters of the statement. */
extern int	entry_params(const EntryStatement *statement);

/*
 * Finds the entry of a key: false, or the distribution value of its row, which
 * may be null, in CurrentMemoryContext.  statement: an ENTRY_FIND; with an
 * ENTRIES_FIND, the array, which is null if it has no elements.  nulls: of
 * keys, as SPI has them; NULL: none is null.  latest: reads what is committed,
 * or own, now; else what the active snapshot shows.
 */
extern bool entry_find(const EntryStatement *statement, Datum *keys, const char *nulls, bool latest, NullableDatum *value);

/* The plan of a statement, in SPI, with the rights of the entries' owner. */
extern SPIPlanPtr entry_plan(const EntryStatement *statement);

#endif							/* CITUS_GLOBAL_INDEX_ENTRY_PLAN_H */
