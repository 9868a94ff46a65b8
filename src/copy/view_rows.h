/*-------------------------------------------------------------------------
 *
 * view_rows.h
 *	  The rows of a materialized view, which all nodes have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_VIEW_ROWS_H
#define CITUS_COPY_VIEW_ROWS_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"

/*
 * Replaces the rows of a materialized view on another node by those on this
 * node, in the distributed transaction.  Does nothing if the view is not
 * populated.  Locks it against changes, whose commands in this transaction
 * must be visible.
 */
extern void view_rows_send(Oid relid, int32 groupid);
extern void view_rows_send_to_all(Oid relid);	/* the other active nodes */

/*
 * Runs the COPY .. FROM STDIN that another node sends for that; returns the
 * number of rows.
 */
extern uint64 view_rows_receive(ParseState *pstate, CopyStmt *stmt);

#endif							/* CITUS_COPY_VIEW_ROWS_H */
