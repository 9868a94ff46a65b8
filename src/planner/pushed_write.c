/*-------------------------------------------------------------------------
 *
 * pushed_write.c
 *	  A write whose rows stay in the shard group that they are computed from:
 *	  each group runs the statement.
 *
 * As for the router, the decision is based on the result of PostgreSQL's
 * planner.  If the relation below the write is a DistRel, its rows are the
 * union of those that the same query returns on the tables of each shard
 * group.  The target of an UPDATE or DELETE is part of that relation, so a
 * group changes only its own rows.  Each shard's node joins first, and locks
 * the matching rows.  For an INSERT .. SELECT, the target must be in the same
 * colocation group, and its distribution column must get an expression that
 * determines the shard group of a row (DistRel.dist_exprs).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "planner/dist_query.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "planner/write_query.h"
#include "sharding/prune.h"

/*
 * Whether the rows of a relation are stored in the shard groups that they come
 * from.
 */
static bool
rows_stay(PlannerInfo *root, const DistRel *rel, const DistTable *target)
{
	List	   *exprs = NIL;
	bool		stays = target->kind == DIST_SINGLE;

	if (target->kind == DIST_REFERENCE || target->colocation_id != rel->table->colocation_id)
		return false;
	foreach_ptr(TargetEntry, entry, root->processed_tlist)
	{
		exprs = lappend(exprs, entry->expr);
		if (target->kind == DIST_HASH && entry->resno == target->dist_attno)
			stays = dist_rel_is_dist_expr(root, rel, (Node *) entry->expr);
	}
	return stays && dist_rel_can_evaluate(root, rel, exprs);
}

/*
 * Whether the nodes can compute what an UPDATE of a relation's rows assigns.
 */
static bool
values_are_shippable(PlannerInfo *root, const DistRel *rel)
{
	List	   *exprs = NIL;

	foreach_ptr(TargetEntry, entry, root->processed_tlist)
		if (!entry->resjunk)
			exprs = lappend(exprs, entry->expr);
	return dist_rel_can_evaluate(root, rel, exprs);
}

/*
 * The relation by which an UPDATE or DELETE finds its rows, if each shard
 * group can compute it; the router handles a single group.
 */
static const DistRel *
joined_source(PlannerInfo *root, const DistTable *target)
{
	const DistRel *rel = dist_query_input(root);

	if (rel == NULL || target->kind == DIST_REFERENCE || rel->table->kind == DIST_SINGLE ||
		(root->parent_root == NULL && rel->broadcasts == NIL && prune_single_value(rel->disjunctions) != NULL) ||
		!values_are_shippable(root, rel))
		return NULL;
	return rel;
}

void
pushed_write_note(PlannerInfo *root, RelOptInfo *final_rel)
{
	Query	   *query = root->parse;
	const DistTable *target;
	const DistQuery *source;
	const DistRel *rel = NULL;

	if (query->resultRelation == 0 || root->init_plans != NIL || bms_is_empty(root->all_baserels) ||
		(target = metadata_lookup(rt_fetch(query->resultRelation, query->rtable)->relid)) == NULL)
		return;
	if (dist_rel_finds_writes(root))
		rel = joined_source(root, target);
	else if (query->commandType == CMD_INSERT && root->parent_root == NULL &&
			 (source = dist_query_before_limit(root)) != NULL && rows_stay(root, source->rel, target))
		rel = source->rel;
	if (rel == NULL)
		return;
	if (root->parent_root == NULL && rel->broadcasts == NIL)
		planning_context->write_source = rel;
	else if (dist_rel_finds_writes(root) && (root->parent_root == NULL || list_length(planning_context->written) == 1))
		pushed_join_path_add(root, final_rel, target, rel);
}

/*
 * The deparser prints the SELECT as it is, under the columns of the target
 * list.  So another one is put around it, which has these columns in their
 * order, with the defaults that only the target list has.  The INSERT coerces
 * them to the column's type: in the SELECT, this would be a cast, and a cast
 * to varchar(n) truncates values.
 */
static void
arrange_select(Query *task, RangeTblEntry *source, Index varno)
{
	Query	   *select = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);
	RangeTblEntry *inner = copyObject(source);

	ref->rtindex = 1;
	inner->inFromCl = true;
	select->commandType = CMD_SELECT;
	select->canSetTag = true;
	select->rtable = list_make1(inner);
	select->jointree = makeFromExpr(list_make1(ref), NULL);
	source->eref->colnames = NIL;
	foreach_ptr(TargetEntry, entry, task->targetList)
	{
		Node	   *value = strip_implicit_coercions((Node *) entry->expr);
		int			number = foreach_current_index(entry) + 1;
		char	   *name = psprintf("c%d", number);

		ChangeVarNodes(value, varno, 1, 0);
		select->targetList = lappend(select->targetList, makeTargetEntry((Expr *) value, number, name, false));
		source->eref->colnames = lappend(source->eref->colnames, makeString(name));
		entry->expr = (Expr *) makeVar(varno, number, exprType(value), exprTypmod(value), exprCollation(value), 0);
	}
	source->subquery = select;
}

/*
 * The range table index of the SELECT, if the statement has no more than that;
 * else 0.
 */
static Index
find_select(Query *query)
{
	Node	   *item;

	if (query->cteList != NIL || query->hasSubLinks || query->jointree->quals != NULL ||
		list_length(query->jointree->fromlist) != 1)
		return 0;
	item = linitial(query->jointree->fromlist);
	if (!IsA(item, RangeTblRef) ||
		rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable)->rtekind != RTE_SUBQUERY ||
		write_assigns_parts((Node *) query->targetList))
		return 0;
	return ((RangeTblRef *) item)->rtindex;
}

/*
 * The statement as the nodes get it, its parameters extracted; NULL if it
 * can't be sent as a whole.
 */
static Query *
make_pushed_write(Query *original, Oid target, List **exprs)
{
	Index		varno = original->commandType == CMD_INSERT ? find_select(original) : 0;
	Query	   *task;

	if (original->hasModifyingCTE || checkExprHasSubLink((Node *) original->returningList) ||
		(original->commandType == CMD_INSERT && varno == 0))
		return NULL;
	task = (Query *) task_params_extract((Node *) original, 0, false, exprs);
	if (varno != 0)
	{
		arrange_select(task, rt_fetch(varno, task->rtable), varno);
		write_override_identity(task, target);
	}
	return task;
}

PlannedStmt *
pushed_write_plan(Query *original, const PlanningContext *context, const char **reason)
{
	DistPlan	plan = {.kind = DIST_PLAN_PUSHED_WRITE,.dist_param = -1,.tableoid_position = -1,.writes = true,
	.reads = true};
	const DistTable *target = metadata_require(rt_fetch(original->resultRelation, original->rtable)->relid);
	List	   *exprs = NIL;
	Query	   *task;

	*reason = "a policy of its target reads distributed tables";
	if (context->checked_here != NIL)
		return NULL;
	*reason = "its tables are used with the rights of different users";
	if (!query_check_as(original, &plan.traits.check_as))
		return NULL;
	if ((*reason = write_stays_in_shard(original, target)) != NULL ||
		(*reason = write_depends_on_order(original)) != NULL ||
		(*reason = shippable_columns(original->returningList)) != NULL)
		return NULL;

	*reason = "its parts can't be sent together";
	task = make_pushed_write(original, target->relid, &exprs);
	if (task == NULL)
		return NULL;
	plan.relid = target->relid;
	plan.nparams = list_length(exprs);
	*reason = "it has too many parameters";
	if (plan.nparams > TASK_MAX_PARAMS)
		return NULL;
	plan.text = task_query_text(task, reason);
	if (plan.text == NULL)
		return NULL;
	plan.prune = prune_pack(context->write_source->disjunctions, &exprs);
	return make_dist_statement(original, &plan, exprs);
}
