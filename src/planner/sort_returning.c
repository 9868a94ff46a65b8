/*-------------------------------------------------------------------------
 *
 * sort_returning.c
 *	  RETURNING in an order that doesn't depend on the nodes.
 *
 * A write of several shards returns rows in the order in which nodes answer.
 * Tests, and tools that compare outputs, want the same order each time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/guc.h"
#include "utils/typcache.h"

#include "compat/foreach.h"
#include "planner/sort_returning.h"

static bool sort_returning = false;

/* Adds a column of the plan below to the sort's output, and to its key. */
static void
add_sort_column(Sort *sort, TargetEntry *column)
{
	Var		   *var = makeVarFromTargetEntry(OUTER_VAR, column);
	const TypeCacheEntry *type = lookup_type_cache(var->vartype, TYPECACHE_LT_OPR);
	TargetEntry *output = flatCopyTargetEntry(column);

	output->expr = (Expr *) var;
	sort->plan.targetlist = lappend(sort->plan.targetlist, output);
	if (!OidIsValid(type->lt_opr))
		return;
	sort->sortColIdx[sort->numCols] = column->resno;
	sort->sortOperators[sort->numCols] = type->lt_opr;
	sort->collations[sort->numCols] = var->varcollid;
	sort->numCols++;
}

PlannedStmt *
sort_returning_apply(PlannedStmt *plan)
{
	Plan	   *below = plan->planTree;
	int			most = list_length(below->targetlist);
	Sort	   *sort;

	if (!sort_returning || !plan->hasReturning || plan->commandType == CMD_SELECT)
		return plan;
	sort = makeNode(Sort);
	sort->plan.startup_cost = below->total_cost;
	sort->plan.total_cost = below->total_cost;
	sort->plan.plan_rows = below->plan_rows;
	sort->plan.plan_width = below->plan_width;
	sort->plan.lefttree = below;
	sort->plan.extParam = bms_copy(below->extParam);
	sort->plan.allParam = bms_copy(below->allParam);
	sort->sortColIdx = palloc(sizeof(AttrNumber) * most);
	sort->sortOperators = palloc(sizeof(Oid) * most);
	sort->collations = palloc(sizeof(Oid) * most);
	sort->nullsFirst = palloc0(sizeof(bool) * most);
	foreach_node(TargetEntry, column, below->targetlist)
		add_sort_column(sort, column);
	if (sort->numCols > 0)
		plan->planTree = &sort->plan;
	return plan;
}

void
sort_returning_init(void)
{
	DefineCustomBoolVariable("citus.sort_returning",
							 "Sorts the rows that INSERT, UPDATE, DELETE and MERGE of distributed tables return.",
							 "By all columns, in their order, so that the output is the same each time.",
							 &sort_returning, false, PGC_USERSET, 0, NULL, NULL, NULL);
}
