/*-------------------------------------------------------------------------
 *
 * row_keys.h
 *	  Deletes rows of a relation on some node by their primary keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_ROW_KEYS_H
#define CITUS_COPY_ROW_KEYS_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

/* The keys of rows of a table, noted to be deleted. */
typedef struct RowKeys RowKeys;

/*
 * Keys of rel's rows, for a relation of that qualified name, with the same
 * columns, on the group's node.  NULL if rel has no primary key that can be
 * sent as arrays.  Lives in the current memory context.
 */
extern RowKeys *row_keys_create(Relation rel, int32 groupid, const char *name);

/* Notes a row's key; deletes the noted rows when they are many. */
extern void row_keys_note(RowKeys *keys, TupleTableSlot *slot);

/*
 * Deletes the noted rows, in the distributed transaction, and forgets them.
 */
extern void row_keys_delete(RowKeys *keys);

#endif							/* CITUS_COPY_ROW_KEYS_H */
