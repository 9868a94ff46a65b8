/*-------------------------------------------------------------------------
 *
 * dist_rel.c
 *	  Relations whose rows the nodes can compute without each other: base
 *	  relations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat/known_equal.h"
#include "compat/permissions.h"
#include "planner/dist_cost.h"
#include "planner/dist_query.h"
#include "planner/dist_rel.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "sharding/prune.h"

#define DIST_REL_MAGIC 0x44524c31

bool		citus_enable_query_pushdown = true;
bool		citus_enable_broadcast = true;

DistRel *
dist_rel_of(const RelOptInfo *rel)
{
	DistRel    *dist = rel->fdwroutine == NULL ? rel->fdw_private : NULL;

	return dist != NULL && dist->magic == DIST_REL_MAGIC ? dist : NULL;
}

/* Whether a query is run for rows of an outer one, and may get values of them. */
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

bool
dist_rel_can_evaluate(PlannerInfo *root, List *exprs)
{
	List	   *params = NIL;

	return !contain_subplans((Node *) exprs) &&
		shippable_expression(task_params_extract((Node *) exprs, 0, false, &params)) == NULL &&
		!(depends_on_outer_row(root) && needs_exec_params((Node *) exprs, NULL));
}

bool
dist_rel_is_dist_expr(PlannerInfo *root, const DistRel *dist, Node *expr)
{
	ListCell   *cell;

	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	foreach(cell, dist->dist_exprs)
	{
		if (equal(lfirst(cell), expr) || compat_known_equal(root, lfirst(cell), expr))
			return true;
	}
	return false;
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

/* Whether rows can travel as arrays of their columns. */
static bool
is_array_material(const PathTarget *target)
{
	ListCell   *cell;

	if (target->exprs == NIL)
		return false;
	foreach(cell, target->exprs)
	{
		Var		   *var = lfirst(cell);
		Oid			array_type = IsA(var, Var) ? get_array_type(var->vartype) : InvalidOid;

		/* types of users have other oids elsewhere */
		if (!OidIsValid(array_type) || get_typtype(var->vartype) == TYPTYPE_PSEUDO || var->vartype >= FirstNormalObjectId || var->varattno <= 0)
			return false;
	}
	return true;
}

DistRel *
dist_rel_broadcast(PlannerInfo *root, const RelOptInfo *rel, const DistTable *table)
{
	Path	   *path = rel->cheapest_total_path;
	Broadcast  *broadcast;
	DistRel    *dist;
	RangeTblRef *ref;

	/* a write in a CTE has all scans of its statement read their rows before it, while they may wait for its own */
	if (!citus_enable_broadcast || path == NULL || planning_context->modifying_cte || depends_on_outer_row(root) || path->param_info != NULL || !bms_is_empty(rel->lateral_relids) ||
		rel->rows > BROADCAST_MAX_ROWS || rel->rows * path->pathtarget->width > BROADCAST_MAX_BYTES ||
		!is_array_material(path->pathtarget))
		return NULL;
	broadcast = palloc(sizeof(Broadcast));
	broadcast->relids = rel->relids;
	broadcast->varno = bms_next_member(rel->relids, -1);
	broadcast->path = path;
	ref = makeNode(RangeTblRef);
	ref->rtindex = broadcast->varno;
	dist = palloc0(sizeof(DistRel));
	dist->magic = DIST_REL_MAGIC;
	dist->relids = rel->relids;
	dist->fromlist = list_make1(ref);
	dist->broadcasts = list_make1(broadcast);
	dist->rows = rel->rows;
	dist->preparation = path->total_cost +
		rel->rows * list_length(path->pathtarget->exprs) * DIST_ARRAY_COST * dist_rel_count_nodes(table);
	return dist;
}

/* Whether a system column of a relation, or its row as a whole, is needed. */
static bool
needs_more_than_columns(const RelOptInfo *rel)
{
	for (int attno = rel->min_attr; attno <= 0; attno++)
	{
		if (!bms_is_empty(rel->attr_needed[attno - rel->min_attr]))
			return true;
	}
	return false;
}

/* Whether the statement writes the relation or locks its rows. */
static bool
is_written(PlannerInfo *root, Index varno)
{
	ListCell   *cell;

	foreach(cell, root->rowMarks)
	{
		if (((PlanRowMark *) lfirst(cell))->rti == varno)
			return true;
	}
	return varno == root->parse->resultRelation;
}

/* Whether a filter is to be checked once, not for each row. */
static bool
any_pseudoconstant(List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		if (((RestrictInfo *) lfirst(cell))->pseudoconstant)
			return true;
	}
	return false;
}

/* A subquery that the nodes can compute: its entry, and which of its columns say to which shard group a row belongs. */
static bool
take_subquery(DistRel *dist, RelOptInfo *rel, RangeTblEntry *rte)
{
	DistQuery  *subquery = dist_query_whole(rel->subroot);
	RangeTblEntry *entry;

	if (subquery == NULL || subquery->rel->broadcasts != NIL || rte->securityQuals != NIL)
		return false;
	dist->table = subquery->rel->table;
	dist->check_as = subquery->rel->check_as;
	dist->disjunctions = subquery->rel->disjunctions;
	dist->work = subquery->rel->work;
	dist->preparation = subquery->rel->preparation;
	dist->dist_exprs = dist_query_dist_columns(rel->subroot, subquery, rel->relid);
	entry = copyObject(rte);
	entry->subquery = dist_query_build_subquery(rel->subroot, subquery, rte->eref->colnames);
	entry->inFromCl = true;
	entry->security_barrier = false;
	if (entry->alias == NULL)
		entry->alias = makeAlias(entry->eref->aliasname, NIL);
	dist->entries = list_make1(entry);
	dist->hidden = list_make1(rte->subquery);
	dist->entry_numbers = list_make1_int(rel->relid);
	return true;
}

/* A table. */
static bool
take_table(PlannerInfo *root, DistRel *dist, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table)
{
	if (rte->tablesample != NULL)
		return false;
	dist->check_as = compat_check_as_user(root->parse, rte);
	dist->work = rel->pages * 0.1 + rel->tuples * cpu_tuple_cost;
	if (table->kind == DIST_REFERENCE)
		return true;
	dist->table = table;
	dist->disjunctions = prune_from_quals(table, rel->relid, dist->quals);
	if (table->kind == DIST_HASH)
		dist->dist_exprs = list_make1(makeVar(rel->relid, table->dist_attno, table->dist_type, table->dist_typmod,
											  table->dist_collation, 0));
	return true;
}

void
dist_rel_note_base(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table)
{
	DistRel    *dist;
	RangeTblRef *ref;

	if (!citus_enable_query_pushdown || planning_context == NULL || planning_context->node_task ||
		rel->reloptkind != RELOPT_BASEREL || rel->fdwroutine != NULL || rel->fdw_private != NULL ||
		!bms_is_empty(rel->lateral_relids) || rte->lateral || is_written(root, rel->relid) || needs_more_than_columns(rel) ||
		any_pseudoconstant(rel->baserestrictinfo))
		return;
	dist = palloc0(sizeof(DistRel));
	dist->magic = DIST_REL_MAGIC;
	dist->relids = rel->relids;
	dist->rows = rel->rows;
	dist->quals = extract_actual_clauses(rel->baserestrictinfo, false);
	if (!dist_rel_can_evaluate(root, dist->quals) ||
		!(table != NULL ? take_table(root, dist, rel, rte, table) : take_subquery(dist, rel, rte)))
		return;
	ref = makeNode(RangeTblRef);
	ref->rtindex = rel->relid;
	dist->fromlist = list_make1(ref);
	rel->fdw_private = dist;
}
