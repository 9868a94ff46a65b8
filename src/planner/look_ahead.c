/*-------------------------------------------------------------------------
 *
 * look_ahead.c
 *	  LookAhead nodes, below nested loops and subqueries' callers.
 *
 * A LATERAL or correlated subquery that isn't tied to the distribution column
 * runs once for each row of the query around it, and each run asks all nodes.
 * A LookAhead lets the scan in it see the next rows: the scan then asks once
 * for many values (executor/scan.c).  What is read in advance is only a hint,
 * so it needn't be complete.
 *
 * Rows are not read in advance if that could be noticed: in a statement that
 * calls volatile functions, or locks rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "utils/lsyscache.h"

#include "compat/foreach.h"
#include "planner/dist_plan.h"
#include "planner/look_ahead.h"
#include "planner/shared_rows.h"

CustomScanMethods look_ahead_methods = {
	.CustomName = "LookAhead",
};

/* What a node computes from each row of its input for what it runs. */
typedef struct LoopParams
{
	PlannedStmt *statement;
	int			param;			/* of the LookAhead, from 1 */
	Bitmapset  *ids;			/* of the values */
	List	   *targets;		/* IntList, the same */
	List	   *exprs;			/* in the terms of the input */
	bool		used;			/* a scan looks them up */
} LoopParams;

static void add_below(PlannedStmt *statement, Plan *node);

/* Finds a column of one relation; context is its varno. */
static bool
reads_lookup_relation(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == *(int *) context && ((Var *) node)->varlevelsup == 0;
	return expression_tree_walker(node, reads_lookup_relation, context);
}

bool
is_lookup(const OpExpr *op, Index varno, bool *column_is_left)
{
	int			relation = varno;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	for (int i = 0; i < 2; i++)
	{
		const Var  *column = list_nth(op->args, i);
		RegProcedure left;
		RegProcedure right;

		if (IsA(column, Var) && column->varno == relation && column->varattno > 0 &&
			!reads_lookup_relation(list_nth(op->args, 1 - i), &relation))
		{
			*column_is_left = i == 0;
			return op_hashjoinable(op->opno, exprType(linitial(op->args))) && op_strict(op->opno) &&
				get_op_hash_functions(op->opno, &left, &right);
		}
	}
	return false;
}

Node *
lookup_of_batch(const OpExpr *op, bool column_is_left, int number)
{
	const Node *value = list_nth(op->args, column_is_left ? 1 : 0);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);
	Param	   *array = makeNode(Param);

	array->paramkind = PARAM_EXTERN;
	array->paramid = number;
	array->paramtype = get_array_type(exprType(value));
	array->paramtypmod = -1;
	array->paramcollid = exprCollation(value);
	any->opno = column_is_left ? op->opno : get_commutator(op->opno);
	any->useOr = true;
	any->inputcollid = op->inputcollid;
	any->args = list_make2(list_nth(op->args, column_is_left ? 0 : 1), array);
	any->location = -1;
	if (!OidIsValid(any->opno) || !OidIsValid(array->paramtype))
		return NULL;
	any->opfuncid = get_opcode(any->opno);
	return (Node *) any;
}

/* Whether a node is one of our custom scans. */
static bool
is_scan_of(const Plan *node, const CustomScanMethods *methods)
{
	return IsA(node, CustomScan) && ((const CustomScan *) node)->methods == methods;
}

/* The plans that a node gets rows from. */
static List *
plan_children(const Plan *node)
{
	List	   *plans = NIL;

	if (outerPlan(node) != NULL)
		plans = lappend(plans, outerPlan(node));
	if (innerPlan(node) != NULL)
		plans = lappend(plans, innerPlan(node));
	switch (nodeTag(node))
	{
		case T_Append:
			return list_concat(plans, ((const Append *) node)->appendplans);
		case T_MergeAppend:
			return list_concat(plans, ((const MergeAppend *) node)->mergeplans);
		case T_SubqueryScan:
			return lappend(plans, ((const SubqueryScan *) node)->subplan);
		case T_CustomScan:
			return list_concat(plans, ((const CustomScan *) node)->custom_plans);
		default:
			return plans;
	}
}

/* Whether nobody notices that a plan's rows are read in advance. */
static bool
may_read_ahead(const Plan *node)
{
	if (IsA(node, LockRows) || IsA(node, ModifyTable))
		return false;
	if (IsA(node, CustomScan) && !is_scan_of(node, &look_ahead_methods) && !is_scan_of(node, &shared_rows_methods) &&
		(!is_dist_scan(node) || dist_plan_peek((const CustomScan *) node)->writes))
		return false;
	foreach_ptr(Plan, child, plan_children(node))
	{
		if (!may_read_ahead(child))
			return false;
	}
	return true;
}

/*
 * Finds a parameter of the executor that isn't one of a loop's values, or, in
 * *any, one that is.
 */
typedef struct ParamSearch
{
	const Bitmapset *ids;
	bool		any;
} ParamSearch;

static bool
has_other_param(Node *node, void *context)
{
	ParamSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		if (!bms_is_member(((Param *) node)->paramid, search->ids))
			return true;
		search->any = true;
	}
	return expression_tree_walker(node, has_other_param, context);
}

/* Lets the scans of a plan use a LookAhead if they look its values up. */
static void
mark_scans(Plan *node, LoopParams *loop)
{
	if (is_dist_scan(node))
	{
		CustomScan *scan = (CustomScan *) node;
		const DistPlan *plan = dist_plan_peek(scan);
		ParamSearch search = {.ids = loop->ids};

		if (plan->batch_qual > 0 && plan->look_ahead == 0)
		{
			const OpExpr *op = list_nth(scan->custom_exprs, plan->batch_qual);

			if (!has_other_param((Node *) op->args, &search) && search.any)
			{
				dist_plan_look_ahead(scan, loop->param);
				loop->used = true;
			}
		}
	}
	foreach_ptr(Plan, child, plan_children(node))
		mark_scans(child, loop);
}

/* A LookAhead above a plan, which returns the same rows. */
static Plan *
make_look_ahead(Plan *child, const LoopParams *loop)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;

	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->parallel_safe = child->parallel_safe;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	outerPlan(plan) = child;
	foreach_node(TargetEntry, entry, child->targetlist)
	{
		TargetEntry *below = flatCopyTargetEntry(entry);
		TargetEntry *own = flatCopyTargetEntry(entry);
		Node	   *expr = (Node *) entry->expr;

		below->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		own->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, below);
		plan->targetlist = lappend(plan->targetlist, own);
	}
	scan->custom_exprs = loop->exprs;
	scan->custom_private = list_make2(makeInteger(loop->param - 1), loop->targets);
	scan->methods = &look_ahead_methods;
	return (Plan *) scan;
}

static void
add_loop_value(LoopParams *loop, int id, Node *expr)
{
	loop->ids = bms_add_member(loop->ids, id);
	loop->targets = lappend_int(loop->targets, id);
	loop->exprs = lappend(loop->exprs, expr);
}

/* Finds what can't be computed from one row of the input. */
static bool
needs_more_than_row(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno != OUTER_VAR;
	if (IsA(node, Param) || IsA(node, Aggref) || IsA(node, WindowFunc) || IsA(node, GroupingFunc) || IsA(node, SubPlan))
		return true;
	return expression_tree_walker(node, needs_more_than_row, context);
}

/* Adds the arguments of correlated subqueries to a loop's values. */
static bool
add_subquery_values(Node *node, void *context)
{
	LoopParams *loop = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
	{
		const SubPlan *subplan = (const SubPlan *) node;
		const ListCell *id;
		const ListCell *arg;

		forboth(id, subplan->parParam, arg, subplan->args)
		{
			if (!needs_more_than_row(lfirst(arg), NULL) && !bms_is_member(lfirst_int(id), loop->ids))
				add_loop_value(loop, lfirst_int(id), lfirst(arg));
		}
	}
	return expression_tree_walker(node, add_subquery_values, context);
}

/* Marks the scans of the subqueries that an expression calls. */
static bool
mark_subqueries(Node *node, void *context)
{
	LoopParams *loop = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
		mark_scans(list_nth(loop->statement->subplans, ((const SubPlan *) node)->plan_id - 1), loop);
	return expression_tree_walker(node, mark_subqueries, context);
}

/* Puts a LookAhead below a node if that is of use. */
static void
add_to_node(PlannedStmt *statement, Plan *node)
{
	LoopParams	loop = {.statement = statement,.param = list_length(statement->paramExecTypes) + 1};
	List	   *exprs = list_make2(node->targetlist, node->qual);

	if (IsA(node, NestLoop))
	{
		foreach_node(NestLoopParam, param, ((NestLoop *) node)->nestParams)
			add_loop_value(&loop, param->paramno, (Node *) param->paramval);
	}
	else if (innerPlan(node) == NULL && !IsA(node, Gather) && !IsA(node, GatherMerge))	/* workers run what is below */
		(void) add_subquery_values((Node *) exprs, &loop);
	if (loop.targets == NIL || !may_read_ahead(outerPlan(node)))
		return;
	if (IsA(node, NestLoop))
		mark_scans(innerPlan(node), &loop);
	else
		(void) mark_subqueries((Node *) exprs, &loop);
	if (!loop.used)
		return;
	outerPlan(node) = make_look_ahead(outerPlan(node), &loop);
	statement->paramExecTypes = lappend_oid(statement->paramExecTypes, InvalidOid);
}

/* Puts LookAheads into a plan. */
static void
add_below(PlannedStmt *statement, Plan *node)
{
	const Plan *marked = IsA(node, MergeJoin) ? innerPlan(node) : NULL;

	foreach_ptr(Plan, child, plan_children(node))
	{
		/* a Result marks its place in its own input */
		if (child != marked || !IsA(child, Result))
			add_below(statement, child);
	}
	if (outerPlan(node) != NULL)
		add_to_node(statement, node);
}

void
look_ahead_add(PlannedStmt *statement, const Query *query, int cursor_options)
{
	bool		backward = (cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0 &&
		(cursor_options & CURSOR_OPT_NO_SCROLL) == 0;

	if (backward || statement->hasModifyingCTE || statement->rowMarks != NIL || contain_volatile_functions((Node *) query))
		return;
	add_below(statement, statement->planTree);
	foreach_ptr(Plan, subplan, statement->subplans)
	{
		if (subplan != NULL)
			add_below(statement, subplan);
	}
}

int
look_ahead_param(const CustomScan *node)
{
	return intVal(linitial(node->custom_private));
}

const List *
look_ahead_targets(const CustomScan *node)
{
	return lsecond(node->custom_private);
}
