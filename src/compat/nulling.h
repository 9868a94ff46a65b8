/*-------------------------------------------------------------------------
 *
 * nulling.h
 *	  Which outer joins may have made a Var null (Var.varnullingrels).
 *
 * Since version 16 a Var says so, and the planner insists that an expression
 * says the same as the list of columns that it is computed from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_NULLING_H
#define CITUS_COMPAT_NULLING_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "rewrite/rewriteManip.h"

/*
 * A copy of an expression, or a list of them, whose Vars say nothing of outer
 * joins.
 */
static inline Node *
without_nulling(PlannerInfo *root, Node *node)
{
#if PG_VERSION_NUM >= 160000
	return remove_nulling_relids(node, root->outer_join_rels, NULL);
#else
	return (Node *) copyObject(node);
#endif
}

#endif							/* CITUS_COMPAT_NULLING_H */
