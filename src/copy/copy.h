/*-------------------------------------------------------------------------
 *
 * copy.h
 *	  COPY of distributed and reference tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_COPY_H
#define CITUS_COPY_COPY_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "tcop/cmdtag.h"
#include "utils/queryenvironment.h"

extern void copy_init(void);

/*
 * Runs a COPY statement that concerns a distributed or reference table, or
 * that is tagged TAG_FRAMES, and sets qc.  Returns false, having done nothing,
 * if the server's own ProcessUtility shall run the statement: one that is no
 * COPY, COPY of local tables, COPY (query) TO, reference tables' COPY TO, and
 * what is tagged TAG_SHARD or TAG_NODE (whose names, if need be, have been
 * resolved before).  What is tagged TAG_DDL gives a materialized view its
 * rows.
 */
extern bool copy_utility(PlannedStmt *pstmt, const char *query_string, QueryEnvironment *query_env,
						 QueryCompletion *qc);

#endif							/* CITUS_COPY_COPY_H */
