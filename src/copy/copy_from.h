/*-------------------------------------------------------------------------
 *
 * copy_from.h
 *	  COPY FROM into a distributed or reference table, on its initiator and on
 *	  the nodes that receive frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_COPY_FROM_H
#define CITUS_COPY_COPY_FROM_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "utils/rel.h"

#include "catalog/metadata.h"

/*
 * Runs COPY .. FROM for a table that is open and locked (RowExclusiveLock).
 * The statement may be scribbled on.  Returns the number of rows stored.
 */
extern uint64 copy_from_initiator(ParseState *pstate, CopyStmt *stmt, Relation rel, const DistTable *table);

/* Runs a COPY .. FROM STDIN whose data are frames. */
extern uint64 copy_from_frames(ParseState *pstate, CopyStmt *stmt, Relation rel, const DistTable *table);

/*
 * Adds the table to the range table of the parse state and checks that the
 * user may insert into the columns (attribute numbers; NIL: into any) by COPY
 * (privileges, row-level security, read-only transaction).
 */
extern ParseNamespaceItem *copy_check_insert(ParseState *pstate, Relation rel, List *attnums);

/*
 * The options, for WITH (...), under which another node reads this statement's
 * lines unchanged, without header and in the database's encoding; NULL if the
 * options don't allow that.
 */
extern const char *copy_line_options(List *options);

#endif							/* CITUS_COPY_COPY_FROM_H */
