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
 * The server's own equality operator (in pg_catalog) of a type's default btree
 * operator class; InvalidOid if that is another's.
 */
extern Oid	key_equality(Oid type);

/* What ON CONFLICT calls (executor/modify.h). */
extern const GlobalKeyMethods global_keys;

/*
 * Whether keys of an index are checked at the end of transactions, at first.
 */
extern bool initially_deferred(Relation index);

/* Adds the entries of all rows of a table that gets the index. */
extern void entries_fill(Relation rel, Relation index, Oid entries);

#endif							/* CITUS_GLOBAL_INDEX_KEYS_H */
