/*-------------------------------------------------------------------------
 *
 * run_conditions.h
 *	  Conditions on window functions' values that the planner has moved from
 *	  the query around theirs to the windows, which leave the other rows out
 *	  (WHERE rank <= 2).  Version 17 keeps them in the functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_RUN_CONDITIONS_H
#define CITUS_COMPAT_RUN_CONDITIONS_H

#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"

#include "compat/foreach.h"

/*
 * The conditions of a query with these windows (WindowClauses) that returns
 * these expressions; WindowFuncs stand for the functions' values.
 */
static inline List *
compat_run_conditions(List *windows, List *exprs)
{
	List	   *conditions = NIL;

#if PG_VERSION_NUM >= 170000
	List	   *parts = pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
										PVC_INCLUDE_PLACEHOLDERS);

	foreach_ptr(Expr, part, parts)
	{
		if (!IsA(part, WindowFunc))
			continue;
		foreach_node(WindowFuncRunCondition, condition, ((WindowFunc *) part)->runCondition)
		{
			Expr	   *left = condition->wfunc_left ? part : condition->arg;
			Expr	   *right = condition->wfunc_left ? condition->arg : part;

			conditions = lappend(conditions, make_opclause(condition->opno, BOOLOID, false, left, right,
														   InvalidOid, condition->inputcollid));
		}
	}
#else
	foreach_node(WindowClause, window, windows)
		conditions = list_concat(conditions, window->runCondition);
#endif
	return conditions;
}

#endif							/* CITUS_COMPAT_RUN_CONDITIONS_H */
