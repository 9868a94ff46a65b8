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
 * that is tagged TAG_FRAMES, and sets qc.  Returns false, without effect, if
 * the server's own ProcessUtility must run the statement: statements other
 * than COPY, COPY of local tables, COPY (query) TO, COPY TO of reference
 * tables, and statements tagged TAG_SHARD or TAG_NODE (whose names were
 * resolved before, if necessary).  COPY tagged TAG_DDL fills a materialized
 * view.
 */
extern bool copy_utility(PlannedStmt *pstmt, const char *query_string, QueryEnvironment *query_env,
						 QueryCompletion *qc);

#endif							/* CITUS_COPY_COPY_H */
