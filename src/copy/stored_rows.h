/*-------------------------------------------------------------------------
 *
 * stored_rows.h
 *	  Rows that another node's table has, in COPY's format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_STORED_ROWS_H
#define CITUS_COPY_STORED_ROWS_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "tcop/cmdtag.h"

/*
 * Runs a node's COPY .. FROM STDIN of rows that its table has, and sets qc
 * unless it is NULL.  Returns false, without effect, for other statements.
 */
extern bool stored_rows_receive(PlannedStmt *pstmt, const char *query_string, QueryCompletion *qc);

#endif							/* CITUS_COPY_STORED_ROWS_H */
