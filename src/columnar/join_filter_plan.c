/*-------------------------------------------------------------------------
 *
 * join_filter_plan.c
 *	  Puts filters of hash joins' keys into columnar scans of finished plans.
 *
 * A hash join that isn't a left, full or anti join returns no row of its outer
 * side without a match.  So what gives it such a row needn't.  A key that is a
 * column of a ColumnarScan is followed down to it, through nodes for which a
 * row less of the scan means only that rows with this key are missing.
 *
 * Some of these nodes keep what they have read when they are rescanned.  So
 * the inner side must be the same each time that it is read: it depends on
 * nothing that is outside of it, and isn't below an UPDATE or a row lock,
 * which read rows again that have changed.
 *
 * The join reads its inner side first then: PostgreSQL looks first whether the
 * outer side has rows only if that has started for less than the inner side
 * costs.  A scan that waits for the keys hasn't.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "columnar/join_filter.h"
#include "columnar/options.h"
#include "columnar/scan_node.h"
#include "compat/foreach.h"
#include "lib/plan_fields.h"

/* The numbers of nodes that are added: beyond those of the planner. */
#define FIRST_ADDED_NODE 1000000

/* A filter on its way to the scans. */
typedef struct FilterPush
{
	int			param;
	Cost		startup_cost;	/* when all keys are known */
} FilterPush;

static bool push_filter(Plan *plan, AttrNumber attno, const FilterPush *push);

/* The column that an output column of a plan is, or NULL. */
static Var *
output_var(const Plan *plan, AttrNumber attno)
{
	Node	   *expr = (Node *) list_nth_node(TargetEntry, plan->targetlist, attno - 1)->expr;

	if (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return IsA(expr, Var) ? (Var *) expr : NULL;
}

static bool
push_to_scan(CustomScan *scan, const Var *var, const FilterPush *push)
{
	JoinFilterUse use = {.param = push->param, .column = var->varattno - 1};

	if (!is_columnar_scan(&scan->scan.plan) || var->varno != (int) scan->scan.scanrelid || var->varattno <= 0)
		return false;
	scan->custom_private = lappend(scan->custom_private, plan_struct_pack(&use, sizeof(use)));
	return true;
}

static bool
push_to_all(List *plans, AttrNumber attno, const FilterPush *push)
{
	bool		pushed = false;

	foreach_ptr(Plan, plan, plans)
		pushed |= push_filter(plan, attno, push);
	return pushed;
}

static bool
push_to_join(Join *join, const Var *var, const FilterPush *push)
{
	Plan	   *inner = innerPlan(join);

	if (var->varno == OUTER_VAR && (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT ||
									join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI))
		return push_filter(outerPlan(join), var->varattno, push);
	if (var->varno == INNER_VAR && join->jointype == JOIN_INNER && IsA(inner, Hash) && !inner->parallel_aware)
		return push_filter(inner, var->varattno, push);
	return false;
}

static bool
is_group_key(const Agg *agg, const Var *var)
{
	for (int i = 0; i < agg->numCols && agg->groupingSets == NIL && agg->chain == NIL; i++)
	{
		if (agg->grpColIdx[i] == var->varattno)
			return true;
	}
	return false;
}

/* By node: whether a scan below it has got the filter. */
static bool
push_below(Plan *plan, AttrNumber attno, const FilterPush *push)
{
	Var		   *var = output_var(plan, attno);

	if (var == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return push_to_scan((CustomScan *) plan, var, push);
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			return push_to_join((Join *) plan, var, push);
		case T_Append:
			return push_to_all(((Append *) plan)->appendplans, var->varattno, push);
		case T_SubqueryScan:
			return push_filter(((SubqueryScan *) plan)->subplan, var->varattno, push);
		case T_Agg:
			return is_group_key((Agg *) plan, var) && push_filter(outerPlan(plan), var->varattno, push);
		case T_Hash:
		case T_Material:
		case T_Sort:
			return push_filter(outerPlan(plan), var->varattno, push);
		default:
			return false;
	}
}

/* Follows an output column of a plan; true if a scan has got the filter. */
static bool
push_filter(Plan *plan, AttrNumber attno, const FilterPush *push)
{
	check_stack_depth();
	if (!push_below(plan, attno, push))
		return false;
	plan->startup_cost = Max(plan->startup_cost, push->startup_cost);
	plan->total_cost = Max(plan->total_cost, push->startup_cost);
	return true;
}

/* The node that makes filters, above an inner side, which it passes on. */
static CustomScan *
make_join_keys(Plan *inner, int number)
{
	CustomScan *node = makeNode(CustomScan);

	foreach_node(TargetEntry, entry, inner->targetlist)
	{
		Node	   *expr = (Node *) entry->expr;
		TargetEntry *column = flatCopyTargetEntry(entry);
		TargetEntry *passed = flatCopyTargetEntry(entry);

		column->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		passed->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
		node->custom_scan_tlist = lappend(node->custom_scan_tlist, column);
		node->scan.plan.targetlist = lappend(node->scan.plan.targetlist, passed);
	}
	node->methods = &join_filter_methods;
	node->scan.plan.startup_cost = inner->startup_cost;
	node->scan.plan.total_cost = inner->total_cost;
	node->scan.plan.plan_rows = inner->plan_rows;
	node->scan.plan.plan_width = inner->plan_width;
	node->scan.plan.parallel_safe = inner->parallel_safe;
	node->scan.plan.plan_node_id = FIRST_ADDED_NODE + number;
	node->scan.plan.extParam = bms_copy(inner->extParam);
	node->scan.plan.allParam = bms_copy(inner->allParam);
	node->scan.plan.lefttree = inner;
	return node;
}

/*
 * Whether scans on the outer side may leave out rows without a match, and
 * these may be many.
 */
static bool
join_needs_matches(const HashJoin *join)
{
	const Plan *hash = innerPlan(join);

	return join->join.jointype != JOIN_LEFT && join->join.jointype != JOIN_FULL && join->join.jointype != JOIN_ANTI &&
		hash->plan_rows <= outerPlan(join)->plan_rows && !hash->parallel_aware && bms_is_empty(hash->extParam) &&
		hash->initPlan == NIL;
}

void
join_filter_plan(PlannedStmt *statement, HashJoin *join)
{
	Hash	   *hash = (Hash *) innerPlan(join);
	CustomScan *keys = NULL;
	ListCell   *outer;
	ListCell   *inner;
	ListCell   *operator;
	ListCell   *collation;

	if (!join_needs_matches(join))
		return;
	forfour(outer, join->hashkeys, inner, hash->hashkeys, operator, join->hashoperators, collation, join->hashcollations)
	{
		Node	   *key = lfirst(outer);
		Node	   *column = IsA(key, RelabelType) ? (Node *) ((RelabelType *) key)->arg : key;
		FilterPush	push = {.startup_cost = hash->plan.total_cost};
		JoinFilterSource source;

		push.param = list_length(statement->paramExecTypes);
		if (!IsA(column, Var) || ((Var *) column)->varno != OUTER_VAR || !key_filter_can(lfirst_oid(operator)) ||
			!push_filter(outerPlan(join), ((Var *) column)->varattno, &push))
			continue;
		if (keys == NULL)
			keys = make_join_keys(outerPlan(hash), push.param);
		source = (JoinFilterSource) {
			.param = push.param,.operator = lfirst_oid(operator),.collation = lfirst_oid(collation),.outer_type = exprType(key)
		};
		keys->custom_private = lappend(keys->custom_private, plan_struct_pack(&source, sizeof(source)));
		keys->custom_exprs = lappend(keys->custom_exprs, copyObject(lfirst(inner)));
		statement->paramExecTypes = lappend_oid(statement->paramExecTypes, InvalidOid);
	}
	if (keys != NULL)
		outerPlan(hash) = &keys->scan.plan;
}
