/*-------------------------------------------------------------------------
 *
 * cursor.h
 *	  The current row of a cursor, and WHERE CURRENT OF.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_CURSOR_H
#define CITUS_EXECUTOR_CURSOR_H

#include "nodes/execnodes.h"
#include "storage/itemptr.h"
#include "utils/portal.h"

#include "catalog/metadata.h"

/* The identity of a row version. */
typedef struct CursorRow
{
	int			shard;			/* index */
	ItemPointerData ctid;
	TransactionId xmin;
} CursorRow;

extern void cursor_init(void);

/*
 * Sets the current row of a cursor in a table; false if the cursor's plan has
 * no DistributedCursor for the table.  Errors if the row's lock may have been
 * released.
 */
extern bool cursor_row(Portal portal, const DistTable *table, CursorRow *row);

/*
 * Notes that a row of a table is deleted and inserted in another shard, where
 * no cursor can find it.
 */
extern void cursor_row_moves(Oid relid);

/*
 * Whether that has happened to any row of the table since the cursor was
 * opened.
 */
extern bool cursor_rows_moved(Portal portal, Oid relid);

/*
 * current_row.c: finds a cursor's current row in the table, waits for other
 * transactions that change it, and locks its latest version, with the present
 * user's rights: its shard, and ctid.  False if it has gone.  Errors as the
 * server does if the cursor has no such row.
 */
extern bool current_row_lock(const char *cursor, const DistTable *table, bool exclusive, int *shard, ItemPointer ctid);

#endif							/* CITUS_EXECUTOR_CURSOR_H */
