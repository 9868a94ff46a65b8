/*-------------------------------------------------------------------------
 *
 * partial_plan.c
 *	  Aggregates without their final step.
 *
 * A task's tag requests partial aggregation, for which SQL has no syntax: the
 * server's planner plans the text, and the final step is removed from the
 * topmost Agg node of the plan.  The initiator's plan has a Finalize
 * Aggregate.  PostgreSQL uses the same phases for parallel queries; if this
 * node's plan is parallel, its Agg combines the workers' states and returns
 * the combined state.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "compat/foreach.h"
#include "planner/partial_plan.h"

/*
 * An aggregate of the topmost node, now or with the states of parallel workers
 * as its input.
 */
static void
drop_final_step(Aggref *aggref)
{
	if (aggref->aggsplit == AGGSPLIT_SIMPLE)
	{
		mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		return;
	}
	aggref->aggsplit |= AGGSPLITOP_SKIPFINAL | AGGSPLITOP_SERIALIZE;
	aggref->aggtype = aggref->aggtranstype == INTERNALOID ? BYTEAOID : aggref->aggtranstype;
}

/* Gives the columns that a node passes on the types that its child returns. */
static void
pass_types(Plan *node, const Plan *child)
{
	foreach_ptr(TargetEntry, entry, node->targetlist)
	{
		Var		   *var = (Var *) entry->expr;

		if (IsA(var, Var) && var->varno == OUTER_VAR)
			var->vartype = exprType((Node *) list_nth_node(TargetEntry, child->targetlist, var->varattno - 1)->expr);
	}
}

/*
 * Changes the topmost Agg at or below a node; a plan without one (min, max by
 * an index) has no final step either.
 */
static void
make_partial(Plan *node)
{
	if (node == NULL)
		return;
	if (!IsA(node, Agg))
	{
		make_partial(outerPlan(node));
		if (outerPlan(node) != NULL)
			pass_types(node, outerPlan(node));
		return;
	}
	foreach_ptr(TargetEntry, entry, node->targetlist)
	{
		Expr	   *expr = entry->expr;

		if (IsA(expr, Aggref))
			drop_final_step((Aggref *) expr);
	}
	((Agg *) node)->aggsplit |= ((Agg *) node)->aggsplit == AGGSPLIT_SIMPLE ? AGGSPLIT_INITIAL_SERIAL :
		AGGSPLITOP_SKIPFINAL | AGGSPLITOP_SERIALIZE;
}

void
partial_plan_make(PlannedStmt *statement)
{
	make_partial(statement->planTree);
}
