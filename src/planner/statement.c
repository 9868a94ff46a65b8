/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  A planned statement that is one task, or the same task on some shards.
 *
 * The statement keeps all relations of the query in its range table, for
 * permissions, locks and plan invalidation, and one more entry that gives the
 * columns of the result their names in EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "compat/permissions.h"
#include "planner/planner.h"

typedef struct RelationContext
{
	List	   *rtable;
	List	   *permissions;	/* RTEPermissionInfos of version 16 and
								 * later */
	List	   *oids;
	Query	   *query;			/* the level that the walk is at */
} RelationContext;

/* Collects copies of the relation entries of all levels. */
static bool
statement_relation_walker(Node *node, void *context)
{
	RelationContext *relations = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (compat_has_permissions(rte))
		{
			RangeTblEntry *copy = copyObject(rte);

			copy->securityQuals = NIL;
			copy->tablesample = NULL;
			compat_copy_permissions(&relations->permissions, copy, relations->query);
			relations->rtable = lappend(relations->rtable, copy);
			relations->oids = lappend_oid(relations->oids, rte->relid);
		}
		return false;
	}
	if (IsA(node, Query))
	{
		Query	   *outer = relations->query;

		relations->query = (Query *) node;
		(void) query_tree_walker(relations->query, statement_relation_walker, context, QTW_EXAMINE_RTES_BEFORE);
		relations->query = outer;
		return false;
	}
	return expression_tree_walker(node, statement_relation_walker, context);
}

void
statement_add_relations(PlannedStmt *statement, List *queries)
{
	RelationContext relations = {
		.rtable = statement->rtable,
		.permissions = compat_statement_permissions(statement),
		.oids = statement->relationOids,
	};
	ListCell   *cell;

	foreach(cell, queries)
		(void) statement_relation_walker(lfirst(cell), &relations);
	statement->rtable = relations.rtable;
	statement->relationOids = relations.oids;
	compat_set_permissions(statement, relations.permissions);
}

/* An entry that only lends names to the columns of a task. */
static RangeTblEntry *
make_task_rte(List *names)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_VALUES;
	rte->eref = makeAlias("task", names);
	rte->inFromCl = true;
	return rte;
}

/*
 * The node's output: one column for each non-junk entry of the query's result.
 */
static List *
make_columns(List *result, Index varno, DistPlan *plan, List **scan_tlist, List **names)
{
	List	   *targetlist = NIL;
	AttrNumber	attno = 0;

	foreach_ptr(TargetEntry, entry, result)
	{
		Node	   *expr = (Node *) entry->expr;
		TargetEntry *copy;

		if (entry->resjunk)
			continue;
		attno++;
		*names = lappend(*names, makeString(pstrdup(entry->resname ? entry->resname : "?column?")));
		*scan_tlist = lappend(*scan_tlist,
							  makeTargetEntry((Expr *) makeVar(varno, attno, exprType(expr),
															   exprTypmod(expr),
															   exprCollation(expr), 0),
											  attno, NULL, false));
		copy = flatCopyTargetEntry(entry);
		copy->expr = (Expr *) makeVar(INDEX_VAR, attno, exprType(expr), exprTypmod(expr),
									  exprCollation(expr), 0);
		copy->resno = attno;
		copy->ressortgroupref = 0;
		targetlist = lappend(targetlist, copy);

		plan->positions = lappend_int(plan->positions, attno - 1);
		plan->types = lappend_int(plan->types, (int) exprType(expr));
		plan->typmods = lappend_int(plan->typmods, exprTypmod(expr));
		plan->ncolumns++;
	}
	return targetlist;
}

/* Replaces columns of custom scans, and of plans below, by what they are. */
static Node *
expand_columns(Node *node, Plan *plan)
{
	Var		   *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varno == INDEX_VAR && IsA(plan, CustomScan))
		return copyObject((Node *) list_nth_node(TargetEntry, ((CustomScan *) plan)->custom_scan_tlist, var->varattno - 1)->expr);
	if (IsA(node, Var) && var->varno == OUTER_VAR && outerPlan(plan) != NULL)
		return expand_columns((Node *) list_nth_node(TargetEntry, outerPlan(plan)->targetlist, var->varattno - 1)->expr,
							  outerPlan(plan));
	return expression_tree_mutator(node, expand_columns, plan);
}

CustomScan *
make_scan_like(const Plan *plan)
{
	CustomScan *scan = makeNode(CustomScan);

	foreach_ptr(TargetEntry, entry, plan->targetlist)
	{
		const Node *expr = (Node *) entry->expr;
		TargetEntry *copy = flatCopyTargetEntry(entry);
		TargetEntry *column = flatCopyTargetEntry(entry);

		column->expr = (Expr *) expand_columns((Node *) entry->expr, unconstify(Plan *, plan));
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, column);
		copy->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, copy);
	}
	scan->scan.plan.startup_cost = plan->startup_cost;
	scan->scan.plan.total_cost = plan->total_cost;
	scan->scan.plan.plan_rows = plan->plan_rows;
	scan->scan.plan.plan_width = plan->plan_width;
	scan->scan.plan.extParam = bms_copy(plan->extParam);
	scan->scan.plan.allParam = bms_copy(plan->allParam);
	return scan;
}

PlannedStmt *
make_dist_statement(Query *query, DistPlan *plan, List *exprs)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	CustomScan *scan = makeNode(CustomScan);
	RelationContext relations = {NIL};
	List	   *names = NIL;
	ListCell   *cell;
	List	   *result = query->commandType == CMD_SELECT ? query->targetList : query->returningList;

	statement_relation_walker((Node *) query, &relations);

	scan->scan.plan.targetlist = make_columns(result, list_length(relations.rtable) + 1, plan,
											  &scan->custom_scan_tlist, &names);
	scan->scan.plan.startup_cost = 0;
	scan->scan.plan.total_cost = 1;
	scan->scan.plan.plan_rows = 1;
	scan->scan.plan.plan_width = 32;
	scan->methods = &dist_scan_methods;
	foreach(cell, exprs)
		scan->custom_exprs = lappend(scan->custom_exprs, expression_planner(lfirst(cell)));
	plan->can_set_tag = query->canSetTag;
	plan->command = query->commandType;
	scan->custom_private = dist_plan_pack(plan, scan->custom_exprs);

	statement->commandType = query->commandType;
	statement->queryId = query->queryId;
	statement->hasReturning = query->returningList != NIL;
	statement->hasModifyingCTE = query->hasModifyingCTE;
	statement->canSetTag = query->canSetTag;
	statement->dependsOnRole = query->hasRowSecurity;
	statement->planTree = (Plan *) scan;
	statement->rtable = lappend(relations.rtable, make_task_rte(names));
	compat_set_permissions(statement, relations.permissions);
	statement->relationOids = relations.oids;
	statement->stmt_location = query->stmt_location;
	statement->stmt_len = query->stmt_len;
	return statement;
}
