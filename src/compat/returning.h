/*-------------------------------------------------------------------------
 *
 * returning.h
 *	  OLD and NEW in RETURNING.
 *
 * Since version 18 RETURNING can refer to both rows of a write, and the
 * rewriter marks columns of views that are expressions over one of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_RETURNING_H
#define CITUS_COMPAT_RETURNING_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Simplifies the RETURNING list of a rewritten query that writes, in place:
 * columns of a row that the command never has become nulls, those of the row
 * that RETURNING means anyway become its, and expressions over OLD or NEW of a
 * row that may not exist become CASE.  Afterwards only an UPDATE, an INSERT
 * with ON CONFLICT DO UPDATE and MERGE can refer to OLD, only MERGE to NEW.
 */
extern void returning_simplify(Query *query);

/*
 * Wraps each of OLD's columns in the query's RETURNING list, in place, so that
 * setrefs.c takes it for an expression, which isn't the target's column of the
 * same number.  Returns these columns as columns of the target (Var), each
 * once.
 */
extern List *returning_wrap_old(Query *query);

/*
 * The column of the target of a wrapped column of OLD, or NULL for any other
 * expression.
 */
extern Var *returning_old_column(const Node *node);

/*
 * The columns of an expression (as pull_var_clause with
 * PVC_RECURSE_PLACEHOLDERS), wrapped ones as they are.
 */
extern List *returning_columns(Node *node);

#endif							/* CITUS_COMPAT_RETURNING_H */
