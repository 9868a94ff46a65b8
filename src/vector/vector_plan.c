/*-------------------------------------------------------------------------
 *
 * vector_plan.c
 *	  Puts ColumnarAggregate nodes into finished plans.
 *
 * The server's planner chooses where to aggregate: an Agg node, which may be
 * the partial one below a Gather or of a task for several shards, whose input
 * is a ColumnarScan, or an Append of these.  That part of the finished plan is
 * replaced by a node that does the same with vectors.  The scans stay, as its
 * children; an Append goes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "columnar/column_chunk.h"
#include "columnar/join_filter.h"
#include "columnar/late_fetch.h"
#include "columnar/options.h"
#include "columnar/scan_node.h"
#include "compat/append_prune.h"
#include "compat/foreach.h"
#include "lib/plan_fields.h"
#include "vector/vector_distinct.h"
#include "vector/vector_plan.h"
#include "vector/vector_transition.h"

/* More first groups aren't looked for. */
#define MOST_TOP_GROUPS 10000

static const PlanField vector_plan_fields[] = {
	PLAN_FIELD(PLAN_LIST, VectorAggregatePlan, operators),
	PLAN_FIELD(PLAN_LIST, VectorAggregatePlan, collations),
	PLAN_FIELD(PLAN_LIST, VectorAggregatePlan, top_columns),
	PLAN_FIELD(PLAN_LIST, VectorAggregatePlan, top_descending),
};

void
vector_plan_unpack(const CustomScan *node, VectorAggregatePlan *plan)
{
	plan_fields_unpack(vector_plan_fields, lengthof(vector_plan_fields), node->custom_private, plan,
					   sizeof(VectorAggregatePlan));
}

/*
 * The scans that an Agg reads, NIL if it reads anything else, or columns that
 * vectors don't have.
 */
static List *
columnar_scans_below(Plan *plan)
{
	List	   *scans;

	if (plan == NULL)
		return NIL;
	if (!IsA(plan, Append))
		scans = list_make1(plan);
	else if (plan->parallel_aware || plan->initPlan != NIL || append_prunes_when_run((Append *) plan))
		return NIL;
	else
		scans = ((Append *) plan)->appendplans;
	foreach_ptr(Plan, scan, scans)
	{
		Bitmapset  *attnos = NULL;

		if (!is_columnar_scan(scan))
			return NIL;
		pull_varattnos((Node *) scan->targetlist, ((Scan *) scan)->scanrelid, &attnos);
		if (!bms_is_empty(attnos) && bms_next_member(attnos, -1) <= -FirstLowInvalidHeapAttributeNumber)
			return NIL;
		if (contain_volatile_functions((Node *) scan->targetlist) || contain_subplans((Node *) scan->targetlist))
			return NIL;
	}
	return scans;
}

/* Whether something other than an aggregate of the server's is in a node. */
static bool
unfit_walker(Node *node, void *context)
{
	Aggref	   *aggref = (Aggref *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) &&
		(aggref->aggfnoid >= FirstNormalObjectId || aggref->aggorder != NIL || aggref->aggkind != AGGKIND_NORMAL ||
		 aggref->aggtransno < 0 || (aggref->aggdistinct != NIL && !vector_distinct_can(aggref))))
		return true;
	return expression_tree_walker(node, unfit_walker, context);
}

/*
 * The Sort below an Agg, which has put equal keys, or the values of aggregates
 * with DISTINCT, side by side, or NULL.  The node needs no order; what is
 * above the Agg may.
 */
static Sort *
sort_below(const Agg *agg)
{
	if (outerPlan(agg) == NULL || !IsA(outerPlan(agg), Sort) || agg->aggstrategy == AGG_HASHED)
		return NULL;
	return (Sort *) outerPlan(agg);
}

static bool
order_matters_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return transition_order_matters((Aggref *) node);
	return expression_tree_walker(node, order_matters_walker, context);
}

/* Whether all keys can be hashed: types that can't are sorted. */
static bool
keys_are_hashable(const Agg *agg)
{
	for (int i = 0; i < agg->numCols; i++)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, outerPlan(agg)->targetlist, agg->grpColIdx[i] - 1);

		if (!op_hashjoinable(agg->grpOperators[i], exprType((Node *) entry->expr)))
			return false;
	}
	return true;
}

static bool
agg_is_fit(const Agg *agg)
{
	Node	   *tlist = (Node *) agg->plan.targetlist;
	Node	   *qual = (Node *) agg->plan.qual;

	Sort	   *sort = sort_below(agg);

	if ((agg->aggstrategy == AGG_SORTED && sort == NULL) || agg->aggstrategy == AGG_MIXED || agg->groupingSets != NIL ||
		agg->chain != NIL || (agg->aggsplit != AGGSPLIT_SIMPLE && agg->aggsplit != AGGSPLIT_INITIAL_SERIAL))
		return false;
	if (contain_volatile_functions(tlist) || contain_volatile_functions(qual) || contain_subplans(tlist) ||
		contain_subplans(qual))
		return false;
	/* A Sort by the keys alone says nothing of the order in a group. */
	if (sort != NULL && sort->numCols > agg->numCols &&
		(order_matters_walker(tlist, NULL) || order_matters_walker(qual, NULL)))
		return false;
	return keys_are_hashable(agg) && !unfit_walker(tlist, NULL) && !unfit_walker(qual, NULL);
}

/* The columns of the node below its projection, while they are collected. */
typedef struct OutputColumns
{
	List	   *exprs;
	bool		aggregates;		/* which ones: these, or the others */
} OutputColumns;

/* The column that an expression of an Agg is, from 1; 0 if it is none. */
static int
output_column(const List *exprs, Node *node)
{
	int			number = 0;

	foreach_ptr(Node, expr, exprs)
	{
		number++;
		if (IsA(node, Var) && IsA(expr, Var) ? ((Var *) node)->varattno == ((Var *) expr)->varattno :
			equal(node, expr))
			return number;
	}
	return 0;
}

static bool
output_column_walker(Node *node, void *context)
{
	OutputColumns *columns = context;

	if (node == NULL)
		return false;
	if ((IsA(node, Aggref) && columns->aggregates) || (IsA(node, Var) && !columns->aggregates))
	{
		if (output_column(columns->exprs, node) == 0)
			columns->exprs = lappend(columns->exprs, node);
		return false;
	}
	if (IsA(node, Aggref) || IsA(node, GroupingFunc))
		return false;
	return expression_tree_walker(node, output_column_walker, context);
}

/*
 * Replaces columns of an Agg by those of the node, and GROUPING() by 0, which
 * it is without grouping sets.
 */
static Node *
use_output_mutator(Node *node, void *context)
{
	const List *exprs = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) || IsA(node, Var))
		return (Node *) makeVar(INDEX_VAR, output_column(exprs, node), exprType(node), exprTypmod(node),
								exprCollation(node), 0);
	if (IsA(node, GroupingFunc))
		return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true);
	return expression_tree_mutator(node, use_output_mutator, context);
}

/* Replaces what a scan returns by the expressions that it is. */
static Node *
use_table_mutator(Node *node, void *context)
{
	const Plan *scan = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
		return copyObject((Node *) list_nth_node(TargetEntry, scan->targetlist, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, use_table_mutator, context);
}

/* The keys of an Agg, as columns of its input. */
static List *
group_key_columns(const Agg *agg)
{
	List	   *keys = NIL;

	for (int i = 0; i < agg->numCols; i++)
	{
		AttrNumber	attno = agg->grpColIdx[i];
		TargetEntry *entry = list_nth_node(TargetEntry, outerPlan(agg)->targetlist, attno - 1);
		Node	   *expr = (Node *) entry->expr;

		keys = lappend(keys, makeVar(OUTER_VAR, attno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0));
	}
	return keys;
}

static List *
as_target_list(const List *exprs)
{
	List	   *tlist = NIL;

	foreach_ptr(Expr, expr, exprs)
		tlist = lappend(tlist, makeTargetEntry(expr, list_length(tlist) + 1, NULL, false));
	return tlist;
}

/* Takes the place of a plan that a finished plan contains. */
static void
take_place(Plan *node, const Plan *old)
{
	node->startup_cost = old->startup_cost;
	node->total_cost = old->total_cost;
	node->plan_rows = old->plan_rows;
	node->plan_width = old->plan_width;
	node->parallel_safe = old->parallel_safe;
	node->plan_node_id = old->plan_node_id;
	node->initPlan = old->initPlan;
	node->extParam = bms_copy(old->extParam);
	node->allParam = bms_copy(old->allParam);
}

static Plan *
make_vector_aggregate(Agg *agg, List *scans)
{
	CustomScan *node = makeNode(CustomScan);
	VectorAggregatePlan plan = {.nkeys = agg->numCols, .grouped = agg->numCols > 0};
	OutputColumns columns = {.exprs = group_key_columns(agg)};

	(void) output_column_walker((Node *) agg->plan.targetlist, &columns);
	(void) output_column_walker((Node *) agg->plan.qual, &columns);
	plan.ncarried = list_length(columns.exprs);
	columns.aggregates = true;
	(void) output_column_walker((Node *) agg->plan.targetlist, &columns);
	(void) output_column_walker((Node *) agg->plan.qual, &columns);
	plan.ngroups = agg->numGroups;
	for (int i = 0; i < agg->numCols; i++)
	{
		plan.operators = lappend_oid(plan.operators, agg->grpOperators[i]);
		plan.collations = lappend_oid(plan.collations, agg->grpCollations[i]);
	}
	foreach_ptr(Plan, scan, scans)
		node->custom_exprs = lappend(node->custom_exprs, use_table_mutator((Node *) columns.exprs, scan));
	node->custom_scan_tlist = as_target_list(copyObject(linitial(node->custom_exprs)));
	node->custom_plans = scans;
	node->custom_private = plan_fields_pack(vector_plan_fields, lengthof(vector_plan_fields), &plan,
											sizeof(VectorAggregatePlan));
	node->scan.plan.targetlist = (List *) use_output_mutator((Node *) agg->plan.targetlist, columns.exprs);
	node->scan.plan.qual = (List *) use_output_mutator((Node *) agg->plan.qual, columns.exprs);
	node->methods = GetCustomScanMethods("ColumnarAggregate", false);
	take_place(&node->scan.plan, &agg->plan);
	return &node->scan.plan;
}

/*
 * The groups in the order in which an Agg has returned them, as far as its
 * target list shows it: that is what a plan above can rely on.
 */
static Plan *
sort_groups(Plan *groups, const Agg *agg, Sort *sort)
{
	int			count = 0;
	List	   *tlist = NIL;

	foreach_node(TargetEntry, entry, groups->targetlist)
	{
		Expr	   *expr = entry->expr;
		Var		   *column = makeVar(OUTER_VAR, entry->resno, exprType((Node *) expr), exprTypmod((Node *) expr),
									 exprCollation((Node *) expr), 0);

		tlist = lappend(tlist, flatCopyTargetEntry(entry));
		((TargetEntry *) llast(tlist))->expr = (Expr *) column;
	}
	for (; count < sort->numCols; count++)
	{
		AttrNumber	found = 0;

		foreach_node(TargetEntry, entry, agg->plan.targetlist)
		{
			if (IsA(entry->expr, Var) && ((Var *) entry->expr)->varattno == sort->sortColIdx[count])
				found = entry->resno;
		}
		if (found == 0)
			break;
		sort->sortColIdx[count] = found;
	}
	if (count == 0)
		return groups;
	sort->numCols = count;
	sort->plan.targetlist = tlist;
	sort->plan.lefttree = groups;
	sort->plan.startup_cost = groups->total_cost;
	sort->plan.total_cost = groups->total_cost;
	sort->plan.plan_rows = groups->plan_rows;
	sort->plan.plan_width = groups->plan_width;
	return &sort->plan;
}

/* What an Agg's place is taken by, or the Agg. */
static Plan *
vectorize_agg(Agg *agg)
{
	Sort	   *sort = sort_below(agg);
	List	   *scans;
	Plan	   *groups;

	if (!agg_is_fit(agg) || (sort != NULL && sort->plan.initPlan != NIL) ||
		(scans = columnar_scans_below(sort != NULL ? outerPlan(sort) : outerPlan(agg))) == NIL)
		return &agg->plan;
	groups = make_vector_aggregate(agg, scans);
	return sort != NULL && agg->numCols > 0 ? sort_groups(groups, agg, sort) : groups;
}

static bool
is_vector_aggregate(const Plan *plan)
{
	return plan != NULL && IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == GetCustomScanMethods("ColumnarAggregate", false);
}

/*
 * Tells a node below a Sort and a Limit how many groups are needed, and by
 * which order: its leading columns that are integers.
 */
static void
tell_top(const Limit *limit)
{
	Sort	   *sort = (Sort *) outerPlan(limit);
	int64		rows = late_fetch_rows_of_limit(limit);
	CustomScan *node;
	VectorAggregatePlan plan;

	if (rows < 0 || rows > MOST_TOP_GROUPS || sort == NULL || !IsA(sort, Sort) || !is_vector_aggregate(outerPlan(sort)))
		return;
	node = (CustomScan *) outerPlan(sort);
	vector_plan_unpack(node, &plan);
	plan.top_limit = rows;
	for (int i = 0; i < sort->numCols; i++)
	{
		Var		   *column = (Var *) list_nth_node(TargetEntry, node->scan.plan.targetlist, sort->sortColIdx[i] - 1)->expr;
		TypeCacheEntry *type;

		if (!IsA(column, Var) || !column_is_ordered_as_integer(column->vartype))
			break;
		type = lookup_type_cache(column->vartype, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
		if (sort->sortOperators[i] != type->lt_opr && sort->sortOperators[i] != type->gt_opr)
			break;
		plan.top_columns = lappend_int(plan.top_columns, column->varattno - 1);
		plan.top_descending = lappend_int(plan.top_descending, sort->sortOperators[i] == type->gt_opr);
	}
	node->custom_private = plan_fields_pack(vector_plan_fields, lengthof(vector_plan_fields), &plan,
											sizeof(VectorAggregatePlan));
}

/* A Limit's place is taken by what fetches rows late, or stays. */
static Plan *
vectorize_limit(Limit *limit)
{
	tell_top(limit);
	return late_fetch_plan(limit);
}

static Plan *vectorize_plan(PlannedStmt *statement, Plan *plan);

static void
vectorize_plans(PlannedStmt *statement, List *plans)
{
	ListCell   *cell;

	foreach(cell, plans)
		lfirst(cell) = vectorize_plan(statement, lfirst(cell));
}

/* A plan with nodes of ours in it. */
static Plan *
vectorize_plan(PlannedStmt *statement, Plan *plan)
{
	bool		was_agg;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	was_agg = outerPlan(plan) != NULL && IsA(outerPlan(plan), Agg);
	/* Aggs below are still there: filters find their way through them. */
	if (IsA(plan, HashJoin) && columnar_enable_join_filters)
		join_filter_plan(statement, (HashJoin *) plan);
	outerPlan(plan) = vectorize_plan(statement, outerPlan(plan));
	innerPlan(plan) = vectorize_plan(statement, innerPlan(plan));
	switch (nodeTag(plan))
	{
		case T_Append:
			vectorize_plans(statement, ((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			vectorize_plans(statement, ((MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan = vectorize_plan(statement, ((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			vectorize_plans(statement, ((CustomScan *) plan)->custom_plans);
			break;
		case T_Sort:
			if (was_agg && IsA(outerPlan(plan), Sort))
				outerPlan(plan) = outerPlan(outerPlan(plan));	/* its order is of no use */
			break;
		case T_Limit:
			return vectorize_limit((Limit *) plan);
		case T_Agg:
			return vectorize_agg((Agg *) plan);
		default:
			break;
	}
	return plan;
}

void
vector_plan_make(PlannedStmt *statement)
{
	if (!columnar_enable_vectorization || statement->commandType == CMD_UTILITY)
		return;
	statement->planTree = vectorize_plan(statement, statement->planTree);
	vectorize_plans(statement, statement->subplans);
}
