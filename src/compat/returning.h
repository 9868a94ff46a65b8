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
 * that RETURNING means anyway become its, virtual ones their expressions, and
 * expressions over OLD or NEW of a row that may not exist become CASE.
 * Afterwards only an UPDATE, an INSERT with ON CONFLICT DO UPDATE and MERGE
 * can refer to OLD, only MERGE to NEW.
 */
extern void returning_simplify(Query *query);

/*
 * Wraps each column of OLD and NEW in the query's RETURNING list, in place, so
 * that setrefs.c takes it for an expression, which isn't the target's column
 * of the same number.  Returns OLD's as columns of the target (Var), each
 * once.
 */
extern List *returning_wrap(Query *query);

/*
 * The column of the target of a wrapped one, and whether it is OLD's; NULL for
 * any other expression.
 */
extern Var *returning_wrapped(const Node *node, bool *old);

#endif							/* CITUS_COMPAT_RETURNING_H */
