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

typedef enum EntryStatementKind
{
	ENTRY_FIND,					/* returns the distribution value of a key */
	ENTRY_INSERT,				/* of a key and a distribution value */
	ENTRY_AWAIT,				/* the same, unless the key has an entry */
	ENTRY_DELETE,				/* of a key */
	ENTRIES_INSERT,				/* the same for arrays */
	ENTRIES_AWAIT,
	ENTRIES_DELETE,
} EntryStatementKind;

/* All bytes that aren't set must be 0. */
typedef struct EntryStatement
{
	EntryStatementKind kind;
	Oid			entries;
	int			nkeys;
	Oid			types[INDEX_MAX_KEYS + 1];	/* of the parameters: the columns
											 * of the key and, to insert,
											 * the distribution column */
} EntryStatement;

/* How many parameters the statement has for a key of so many columns. */
extern int	entry_params(EntryStatementKind kind, int nkeys);

/*
 * Finds the entry of a key, none of whose values is null: false, or the
 * distribution value of its row, which may be null, in CurrentMemoryContext.
 * statement: an ENTRY_FIND.  latest: reads what is committed, or own, now;
 * else what the active snapshot shows.
 */
extern bool entry_find(const EntryStatement *statement, Datum *keys, bool latest, NullableDatum *value);

/* The plan of a statement, in SPI, with the rights of the entries' owner. */
extern SPIPlanPtr entry_plan(const EntryStatement *statement);

#endif							/* CITUS_GLOBAL_INDEX_ENTRY_PLAN_H */
