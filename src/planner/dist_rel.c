/*-------------------------------------------------------------------------
 *
 * dist_rel.c
 *	  Relations whose rows the nodes can compute independently.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat/known_equal.h"
#include "planner/dist_cost.h"
#include "planner/dist_plan.h"
#include "planner/dist_rel.h"
#include "planner/planning_context.h"
#include "planner/row_order.h"
#include "planner/shippable.h"
#include "planner/task_query.h"

#define DIST_REL_MAGIC 0x44524c31

bool		citus_enable_query_pushdown = true;
bool		citus_enable_broadcast = true;
bool		citus_enable_repartition = true;
int			citus_max_broadcast_size = 1024 * 1024;

/*
 * A relation is broadcast if it is estimated at no more than this part of
 * citus.max_intermediate_result_size, since the statement fails where it turns
 * out to be larger than that.
 */
#define BROADCAST_SAFETY 16

/*
 * The size of a row besides its columns' data: a Datum and a null flag for
 * each column.
 */
#define BROADCAST_COLUMN_BYTES (sizeof(Datum) + sizeof(bool))

/*
 * The number of copies of broadcast rows that are in memory at most: while
 * they are collected, as arrays, and in the messages to the nodes.  Measured
 * for 1,500,000 rows of one and two columns.
 */
#define BROADCAST_COPIES 4

DistRel *
dist_rel_of(const RelOptInfo *rel)
{
	DistRel    *dist = rel->fdwroutine == NULL ? rel->fdw_private : NULL;

	return dist != NULL && dist->magic == DIST_REL_MAGIC ? dist : NULL;
}

/*
 * Whether a query is run for rows of an outer query, and may use their values.
 */
static bool
depends_on_outer_row(PlannerInfo *root)
{
	for (PlannerInfo *outer = root->parent_root; outer != NULL; outer = outer->parent_root)
	{
		if (outer->plan_params != NIL)
			return true;
	}
	return false;
}

DistRel *
dist_rel_make(Relids relids, double rows)
{
	DistRel    *dist = palloc0(sizeof(DistRel));

	dist->magic = DIST_REL_MAGIC;
	dist->relids = relids;
	dist->rows = rows;
	return dist;
}

const char *
dist_rel_keeps_here(PlannerInfo *root, const DistRel *dist, List *exprs)
{
	List	   *params = NIL;
	const char *reason = group_subquery_refusal(root, dist, exprs);

	if (reason != NULL)
		return reason;
	exprs = group_subqueries_hide(exprs);
	if (contain_subplans((Node *) exprs))
		return "it has a subquery";
	if (depends_on_outer_row(root) && needs_exec_params((Node *) exprs, NULL))
		return "it needs values of an outer query's row";
	return shippable_expression(task_params_extract((Node *) exprs, 0, false, &params));
}

bool
dist_rel_can_evaluate(PlannerInfo *root, const DistRel *dist, List *exprs)
{
	return dist_rel_keeps_here(root, dist, exprs) == NULL;
}

/* Something that the nodes don't compute. */
typedef struct Refusal
{
	PlannerInfo *root;
	Relids		relids;
	const char *text;			/* what, and why */
} Refusal;

/* The most refusals that are noted for a statement. */
#define MAX_REFUSALS 200

void
dist_rel_refuse(PlannerInfo *root, Relids relids, const char *what, const char *reason)
{
	Refusal    *refusal;
	MemoryContext old_context;

	if (planning_context == NULL || list_length(planning_context->refusals) >= MAX_REFUSALS)
		return;
	/* GEQO frees what is allocated for the joins that it tries */
	old_context = MemoryContextSwitchTo(root->planner_cxt);
	refusal = palloc(sizeof(Refusal));
	*refusal = (Refusal) {root, bms_copy(relids), psprintf("%s (%s)", what, reason)};
	planning_context->refusals = lappend(planning_context->refusals, refusal);
	MemoryContextSwitchTo(old_context);
}

/*
 * Whether a refusal says why a relation isn't part of a larger one, and that
 * larger one isn't computed by the nodes in another way.
 */
static bool
refusal_explains(const Refusal *refusal, PlannerInfo *root, Relids relids)
{
	const RelOptInfo *joinrel;

	if (refusal->root != root || !bms_is_subset(relids, refusal->relids))
		return false;
	joinrel = bms_equal(relids, refusal->relids) ? NULL : find_join_rel(root, refusal->relids);
	return joinrel == NULL || dist_rel_of(joinrel) == NULL;
}

/* Whether a query does more than to return rows of one relation. */
static bool
query_computes(PlannerInfo *root)
{
	const Query *query = root->parse;

	return bms_membership(root->all_baserels) == BMS_MULTIPLE || query->hasAggs || query->groupClause != NIL ||
		query->hasWindowFuncs || query->distinctClause != NIL;
}

const char *
dist_rel_refusal(PlannerInfo *root, Relids relids)
{
	const Refusal *nearest = NULL;

	if (planning_context == NULL || !query_computes(root))
		return NULL;
	foreach_ptr(const Refusal, refusal, planning_context->refusals)
		if (refusal_explains(refusal, root, relids) &&
			(nearest == NULL || bms_num_members(refusal->relids) < bms_num_members(nearest->relids)))
			nearest = refusal;
	return nearest != NULL ? nearest->text : NULL;
}

/*
 * Whether an expression maps different values to different values: COLLATE may
 * name a collation in which they are equal.
 */
static bool
keeps_values_apart(const RelabelType *relabel)
{
	return relabel->resultcollid == exprCollation((Node *) relabel->arg) || !OidIsValid(relabel->resultcollid) ||
		get_collation_isdeterministic(relabel->resultcollid);
}

bool
dist_rel_is_dist_expr(PlannerInfo *root, const DistRel *dist, Node *expr)
{
	for (;;)
	{
		ListCell   *cell;

		foreach(cell, dist->dist_exprs)
		{
			if (equal(lfirst(cell), expr) || compat_known_equal(root, lfirst(cell), expr))
				return true;
		}
		if (expr == NULL || !IsA(expr, RelabelType) || !keeps_values_apart((RelabelType *) expr))
			return false;
		expr = (Node *) ((RelabelType *) expr)->arg;
	}
}

int
dist_rel_count_nodes(const DistTable *table)
{
	Bitmapset  *groups = NULL;
	int			count;

	for (int i = 0; i < table->nshards; i++)
		groups = bms_add_member(groups, Max(table->shards[i].groupid, 0));
	count = bms_num_members(groups);
	bms_free(groups);
	return Max(count, 1);
}

double
dist_rel_cost(const DistRel *dist)
{
	return dist->preparation + (dist->table != NULL ? dist->work / dist_rel_count_nodes(dist->table) : 0);
}

bool
dist_rel_finds_writes(PlannerInfo *root)
{
	return root->parse->commandType == CMD_UPDATE || root->parse->commandType == CMD_DELETE;
}

/*
 * A path without the row identity columns of other relations than the target,
 * which only the plan of a write has.
 */
static Path *
without_row_identity(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *cell;

	foreach(cell, path->pathtarget->exprs)
	{
		if (!IsA(lfirst(cell), Var) || lfirst_node(Var, cell)->varattno > 0)
			add_column_to_pathtarget(target, lfirst(cell), 0);
	}
	return (Path *) create_projection_path(root, rel, path, set_pathtarget_cost_width(root, target));
}

bool
dist_rel_can_travel(const List *exprs)
{
	if (exprs == NIL)
		return false;
	foreach_ptr(Var, var, exprs)
	{
		Oid			array_type = IsA(var, Var) ? get_array_type(var->vartype) : InvalidOid;

		/* types of users have other oids elsewhere */
		if (!OidIsValid(array_type) || get_typtype(var->vartype) == TYPTYPE_PSEUDO || var->vartype >= FirstNormalObjectId || var->varattno <= 0)
			return false;
	}
	return true;
}

/*
 * Whether a path's rows are few enough to be held here and sent to each node.
 */
static bool
is_small(const Path *path)
{
	double		row = path->pathtarget->width + list_length(path->pathtarget->exprs) * BROADCAST_COLUMN_BYTES;

	return citus_max_broadcast_size < 0 ||
		path->rows * row * BROADCAST_COPIES <= citus_max_broadcast_size * 1024.0 / BROADCAST_SAFETY;
}

bool
dist_rel_can_prepare(PlannerInfo *root, const RelOptInfo *rel)
{
	/*
	 * before a write in a CTE, all scans of its statement read their rows,
	 * while these may wait for the write's own rows; a single write has no
	 * such problem
	 */
	return !depends_on_outer_row(root) &&
		(!planning_context->modifying_cte || (dist_rel_finds_writes(root) && list_length(planning_context->written) == 1)) &&
		bms_is_empty(rel->lateral_relids);
}

DistRel *
dist_rel_broadcast(PlannerInfo *root, RelOptInfo *rel, Path *path, const DistTable *table)
{
	int			ntasks = dist_rel_count_nodes(table);
	Broadcast  *broadcast;
	DistRel    *dist;
	RangeTblRef *ref;

	if (!citus_enable_broadcast || path == NULL || path->param_info != NULL || !dist_rel_can_prepare(root, rel))
		return NULL;
	if (dist_rel_finds_writes(root))
	{
		if (bms_is_member(root->parse->resultRelation, rel->relids))
			return NULL;
		path = without_row_identity(root, rel, path);
		ntasks = table->nshards;
	}
	if (!is_small(path) || !dist_rel_can_travel(path->pathtarget->exprs) || row_order_decides(root, rel))
		return NULL;
	broadcast = palloc0(sizeof(Broadcast));
	broadcast->relids = rel->relids;
	broadcast->varno = bms_next_member(rel->relids, -1);
	broadcast->columns = path->pathtarget->exprs;
	broadcast->path = path;
	ref = makeNode(RangeTblRef);
	ref->rtindex = broadcast->varno;
	dist = dist_rel_make(rel->relids, rel->rows);
	dist->fromlist = list_make1(ref);
	dist->broadcasts = list_make1(broadcast);
	dist->preparation = path->total_cost +
		rel->rows * list_length(path->pathtarget->exprs) * dist_value_cost * ntasks;
	return dist;
}

void
dist_rel_init(void)
{
	DefineCustomBoolVariable("citus.enable_query_pushdown",
							 "Has the nodes compute joins, aggregates and limits where they can.",
							 "When off, rows of several shards are joined and aggregated where the statement runs.",
							 &citus_enable_query_pushdown, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_broadcast_joins",
							 "Sends the small side of a join to the nodes of the other side.",
							 NULL, &citus_enable_broadcast, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_repartition_joins",
							 "Moves rows between nodes to join tables by other columns than their distribution columns.",
							 NULL, &citus_enable_repartition, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_intermediate_result_size",
							"Most memory that the rows of a join's small side may take to be sent to nodes.",
							"-1 is no limit.",
							&citus_max_broadcast_size, 1024 * 1024, -1, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}
