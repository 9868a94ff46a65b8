/*-------------------------------------------------------------------------
 *
 * cursor.h
 *	  Where a cursor stands, and WHERE CURRENT OF.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_CURSOR_H
#define CITUS_EXECUTOR_CURSOR_H

#include "nodes/execnodes.h"
#include "storage/itemptr.h"
#include "utils/portal.h"

#include "catalog/metadata.h"

/* What identifies a version of a row. */
typedef struct CursorRow
{
	int			shard;			/* index */
	ItemPointerData ctid;
	TransactionId xmin;
} CursorRow;

extern void cursor_init(void);

/*
 * Sets where a cursor's query stands in a table; false if the cursor doesn't
 * lock its rows in a way that we could follow.  Errors if what is known of
 * them can't be relied on any more.
 */
extern bool cursor_row(Portal portal, const DistTable *table, CursorRow *row);

/*
 * A row of a table is deleted and inserted elsewhere, where no cursor that
 * stands on it can find it.
 */
extern void cursor_row_moves(Oid relid);

/*
 * Whether that has happened to any row of the table since the cursor was
 * opened.
 */
extern bool cursor_rows_moved(Portal portal, Oid relid);

/*
 * current_row.c: finds the row of the table that a cursor stands on, waits for
 * other transactions that change it, and locks its latest version, with the
 * present user's rights: its shard, and ctid.  False if it has gone.  Errors
 * as the server does if the cursor has no such row.
 */
extern bool current_row_lock(const char *cursor, const DistTable *table, bool exclusive, int *shard, ItemPointer ctid);

#endif							/* CITUS_EXECUTOR_CURSOR_H */
