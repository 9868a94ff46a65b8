/*-------------------------------------------------------------------------
 *
 * scan_path.c
 *	  The floor of the ladder: a path that scans a distributed table.
 *
 * set_rel_pathlist_hook replaces all paths of a distributed table by one
 * DistributedScan, whose text fetches the needed columns of the rows that pass
 * those filters that other nodes can evaluate.  The remaining filters, and
 * everything above, are PostgreSQL's.  This works wherever the planner
 * encounters a distributed table, also in inlined functions and CTEs.
 *
 * Sizes come from pg_class of the logical table, which ANALYZE fills.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"

#include "columnar/scan_path.h"
#include "compat/permissions.h"
#include "compat/rel_hook.h"
#include "planner/base_rel.h"
#include "planner/cursor_plan.h"
#include "planner/dist_cost.h"
#include "planner/dist_rel.h"
#include "planner/lock_path.h"
#include "planner/look_ahead.h"
#include "planner/planner.h"
#include "planner/shard_append.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "planner/write_query.h"
#include "resolve/tag.h"
#include "sharding/prune.h"

/* Rows assumed for a table that was never analysed. */
#define DEFAULT_TABLE_ROWS 100000.0

/* Parameters of a task's filters; the arguments of TABLESAMPLE come on top. */
#define MAX_FILTER_PARAMS (TASK_MAX_PARAMS - 16)

static set_rel_pathlist_hook_type prev_set_rel_pathlist = NULL;
static RelHook prev_rel_hook = NULL;

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
					   List *clauses, List *custom_plans);

static const CustomPathMethods scan_path_methods = {
	.CustomName = "DistributedScan",
	.PlanCustomPath = plan_scan,
};

/*
 * The distributed table of a base relation, or NULL; reference tables are read
 * as they are.
 */
static const DistTable *
scanned_table(RangeTblEntry *rte)
{
	const DistTable *table;

	if (rte->rtekind != RTE_RELATION || !metadata_available() ||
		(planning_context && planning_context->node_task))
		return NULL;
	table = metadata_lookup(rte->relid);
	return table != NULL && table->kind != DIST_REFERENCE ? table : NULL;
}

/*
 * Splits filters (RestrictInfos) into those for the nodes and those for the
 * initiator.  A filter may become shippable by evaluating parts of it here;
 * these become parameters of the task, whose number is limited.
 * Pseudoconstants are left out.  A filter that isn't leakproof comes after the
 * policies (security_level), so if the initiator evaluates one of these, it
 * also evaluates the filter.
 */
static void
split_clauses(List *clauses, Index varno, List **remote, List **local)
{
	Index		local_level = UINT_MAX;
	int			nparams = 0;

	foreach_node(RestrictInfo, member, clauses)
	{
		Node	   *clause = (Node *) member->clause;
		List	   *exprs = NIL;

		if (member->pseudoconstant)
			continue;
		if (IsA(clause, CurrentOfExpr))
			*remote = lappend(*remote, member);
		else if ((member->security_level <= local_level || member->leakproof) && !contain_subplans(clause) &&
				 shippable_expression(task_params_extract(clause, varno, false, &exprs)) == NULL &&
				 nparams + list_length(exprs) <= MAX_FILTER_PARAMS)
		{
			*remote = lappend(*remote, member);
			nparams += list_length(exprs);
		}
		else
		{
			*local = lappend(*local, member);
			local_level = Min(local_level, member->security_level);
		}
	}
}

/*
 * How many of a scan's filters, from the first on, are policies or precede
 * one.
 */
static int
count_policies(PlannerInfo *root, List *clauses)
{
	int			count = 0;

	foreach_node(RestrictInfo, clause, clauses)
	{
		if (clause->security_level < root->qual_security_level)
			count = foreach_current_index(clause) + 1;
	}
	return count;
}

/* Whether a clause names the first column of an index. */
static bool
may_use_index(RelOptInfo *rel, List *clauses)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) extract_actual_clauses(clauses, false), rel->relid, &columns);
	foreach_node(IndexOptInfo, index, rel->indexlist)
	{
		if (bms_is_member(index->indexkeys[0] - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	}
	return false;
}

/*
 * The cost for each row of the table, divided among the nodes.  The server may
 * expect that a scan in a correlated subquery runs only once or twice,
 * although it will run often.  So such a scan gets the same low cost only if
 * an index finds its rows.
 */
static double
tuple_cost(RelOptInfo *rel, const DistTable *table, List *remote)
{
	if (needs_exec_params((Node *) extract_actual_clauses(remote, false), NULL) && !may_use_index(rel, remote))
		return (cpu_tuple_cost + cpu_operator_cost) / dist_rel_count_nodes(table);
	return cpu_tuple_cost / 4;
}

/*
 * The path, in a form that joins by partitions don't take for the partitions
 * of another table, if arguments of TABLESAMPLE use that table: they stay in
 * the table's entry, with columns of the whole other table.
 */
static Path *
for_one_join(PlannerInfo *root, Path *path)
{
	RelOptInfo *rel = path->parent;
	ProjectionPath *wrapped;

	if (planner_rt_fetch(rel->relid, root)->tablesample == NULL || bms_is_empty(rel->lateral_relids))
		return path;
	wrapped = create_projection_path(root, rel, path, path->pathtarget);
	wrapped->path.param_info = path->param_info;
	return (Path *) wrapped;
}

/*
 * Adds a scan that needs the values of the given relations (none: an ordinary
 * one).
 */
static void
add_path_for(PlannerInfo *root, RelOptInfo *rel, const DistTable *table, Relids required_outer,
			 bool one_shard)
{
	CustomPath *path = makeNode(CustomPath);
	int			nshards = one_shard ? 1 : table->nshards;
	int			ntasks = one_shard ? 1 : dist_rel_count_nodes(table);
	List	   *remote = NIL;
	List	   *local = NIL;
	double		fetched;
	QualCost	local_cost;

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = get_baserel_parampathinfo(root, rel, required_outer);
	path->path.rows = path->path.param_info ? path->path.param_info->ppi_rows : rel->rows;

	split_clauses(rel->baserestrictinfo, rel->relid, &remote, &local);
	if (path->path.param_info)
		fetched = path->path.rows;
	else
		fetched = clamp_row_est(rel->tuples *
								clauselist_selectivity(root, remote, 0, JOIN_INNER, NULL));
	cost_qual_eval(&local_cost, local, root);

	path->path.startup_cost = dist_round_trip_cost + dist_task_cost * ntasks + dist_shard_cost * nshards + local_cost.startup;
	path->path.total_cost = path->path.startup_cost +
		rel->tuples * tuple_cost(rel, table, remote) * nshards / table->nshards +
		fetched * (cpu_tuple_cost + dist_tuple_cost + local_cost.per_tuple);
	if (rel->relid == root->parse->resultRelation)
		path->path.total_cost += fetched * dist_lock_cost;
	path->methods = &scan_path_methods;
	add_path(rel, for_one_join(root, (Path *) path));
}

/* Whether the clauses pin the table to one shard. */
static bool
pins_shard(RelOptInfo *rel, const DistTable *table, List *clauses)
{
	return table->kind == DIST_SINGLE ||
		prune_single_value(prune_from_quals(table, rel->relid,
											extract_actual_clauses(clauses, false))) != NULL;
}

/*
 * For generate_implied_equalities_for_column: the member that is the
 * distribution column.
 */
static bool
is_dist_column_var(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
			   void *arg)
{
	const DistTable *table = arg;
	Node	   *expr = (Node *) em->em_expr;

	while (expr && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr && IsA(expr, Var) && ((Var *) expr)->varno == rel->relid &&
		((Var *) expr)->varattno == table->dist_attno;
}

/* Whether a list of Relids has an equal one. */
static bool
has_relids(List *seen, Relids relids)
{
	ListCell   *cell;

	foreach(cell, seen)
	{
		if (bms_equal(lfirst(cell), relids))
			return true;
	}
	return false;
}

/*
 * Adds scans whose distribution value comes from another relation's row: a
 * lookup in one shard for each outer row.
 */
static void
add_lookup_paths(PlannerInfo *root, RelOptInfo *rel, const DistTable *table)
{
	List	   *clauses = list_copy(rel->joininfo);
	List	   *seen = NIL;

	if (rel->has_eclass_joins)
		clauses = list_concat(clauses,
							  generate_implied_equalities_for_column(root, rel, is_dist_column_var,
																	 (void *) table,
																	 rel->lateral_referencers));
	foreach_ptr(RestrictInfo, clause, clauses)
	{
		Relids		required_outer;

		if (!join_clause_is_movable_to(clause, rel) ||
			!pins_shard(rel, table, list_make1(clause)))
			continue;
		required_outer = bms_union(clause->clause_relids, rel->lateral_relids);
		required_outer = bms_del_member(required_outer, rel->relid);
		if (bms_is_empty(required_outer) || has_relids(seen, required_outer))
			continue;
		seen = lappend(seen, required_outer);
		add_path_for(root, rel, table, required_outer, true);
	}
}

/* Makes the DistRel of a relation, if the nodes can compute it. */
static void
note_rel(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	const DistTable *table;

	if (planning_context == NULL)
		return;
	if ((rte->rtekind == RTE_SUBQUERY && rel->subroot != NULL) || rte->rtekind == RTE_FUNCTION ||
		rte->rtekind == RTE_TABLEFUNC || rte->rtekind == RTE_VALUES)
		base_rel_note(root, rel, rte, NULL);
	else if (rte->rtekind == RTE_SUBQUERY && rte->inh)
		base_rel_note_union(root, rel, rte);
	else if (rte->rtekind == RTE_RELATION && (table = metadata_lookup(rte->relid)) != NULL)
		base_rel_note(root, rel, rte, table);
}

/* Finds tableoid, or the row identity columns of a write. */
static bool
partition_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		node = (Node *) ((RestrictInfo *) node)->clause;
	if (IsA(node, Var))
		return ((Var *) node)->varno == ROWID_VAR ||
			(((Var *) node)->varno == *(int *) context && ((Var *) node)->varattno == TableOidAttributeNumber);
	return expression_tree_walker(node, partition_walker, context);
}

/*
 * Whether the statement needs the partition of a row, so that each partition
 * is scanned separately.
 */
static bool
asks_for_partitions(RelOptInfo *rel, RangeTblEntry *rte)
{
	int			varno = rel->relid;

	return rte->inh && rte->relkind == RELKIND_PARTITIONED_TABLE &&
		(partition_walker((Node *) rel->reltarget->exprs, &varno) ||
		 partition_walker((Node *) rel->baserestrictinfo, &varno));
}

/*
 * Replaces the paths of a distributed table by scans on its nodes.  For a
 * partition with partitions, the server has noted parameterizations without
 * clauses, since its Append leaves these to the partitions.
 */
static void
replace_paths(PlannerInfo *root, RelOptInfo *rel, const DistTable *table)
{
	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	rel->ppilist = NIL;
	rel->consider_parallel = false;
	add_path_for(root, rel, table, rel->lateral_relids,
				 pins_shard(rel, table, rel->baserestrictinfo));
	/*
	 * a write in a CTE must not be seen by scans of the same statement, so
	 * they read ahead of it
	 */
	if (table->kind == DIST_HASH && !(planning_context && planning_context->modifying_cte))
		add_lookup_paths(root, rel, table);
}

static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	const DistTable *table;

	if (prev_set_rel_pathlist)
		prev_set_rel_pathlist(root, rel, rti, rte);
	if (IS_DUMMY_REL(rel))
		return;
	columnar_add_paths(root, rel, rte);
	if (!metadata_available())
		return;
	note_rel(root, rel, rte);
	shard_append_add_paths(root, rel, rte);
	table = scanned_table(rte);
	if (table != NULL && !asks_for_partitions(rel, rte))
		replace_paths(root, rel, table);
	base_rel_add_path(root, rel);
}

/* The logical table is empty; its pg_class row speaks for the shards. */
static void
set_table_size(REL_HOOK_PARAMS)
{
	Relation	relation;
	bool		measured;

	if (prev_rel_hook)
		prev_rel_hook(REL_HOOK_ARGS);
	if (scanned_table(planner_rt_fetch(rel->relid, root)) == NULL)
		return;

	relation = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	measured = relation->rd_rel->reltuples >= 0 && relation->rd_rel->relpages > 0;
	rel->tuples = measured ? relation->rd_rel->reltuples : DEFAULT_TABLE_ROWS;
	if (!measured && planning_context)
		planning_context->guesses = true;
	rel->pages = Max(relation->rd_rel->relpages, 1);
	table_close(relation, NoLock);
}

/*
 * Attribute numbers (offset by FirstLowInvalidHeapAttributeNumber) that must
 * be fetched.
 */
static Bitmapset *
needed_columns(RelOptInfo *rel, List *tlist, List *local)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &columns);
	pull_varattnos((Node *) tlist, rel->relid, &columns);
	pull_varattnos((Node *) local, rel->relid, &columns);
	return columns;
}

static bool
needs_column(Bitmapset *columns, AttrNumber attno)
{
	return bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, columns);
}

/* Adds a column to the task's result and to the plan's description of it. */
static void
add_column(Query *task, DistPlan *plan, AttrNumber attno, Oid type, int32 typmod, Oid collation,
		   AttrNumber position, const char *name)
{
	Var		   *var = makeVar(1, attno, type, typmod, collation, 0);

	task->targetList = lappend(task->targetList,
							   makeTargetEntry((Expr *) var, list_length(task->targetList) + 1,
											   pstrdup(name), false));
	plan->positions = lappend_int(plan->positions, position);
	plan->types = lappend_int(plan->types, (int) type);
	plan->typmods = lappend_int(plan->typmods, typmod);
}

/* Columns of the table's row that are needed, each at its own position. */
static void
add_table_columns(Query *task, DistPlan *plan, Relation relation, Bitmapset *columns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	bool		whole_row = needs_column(columns, InvalidAttrNumber);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped && (whole_row || needs_column(columns, attribute->attnum)))
			add_column(task, plan, attribute->attnum, attribute->atttypid, attribute->atttypmod,
					   attribute->attcollation, attribute->attnum - 1,
					   NameStr(attribute->attname));
	}
	if (needs_column(columns, SelfItemPointerAttributeNumber))
	{
		const FormData_pg_attribute *attribute =
			SystemAttributeDefinition(SelfItemPointerAttributeNumber);

		add_column(task, plan, attribute->attnum, attribute->atttypid, -1, InvalidOid,
				   SelfItemPointerAttributeNumber, NameStr(attribute->attname));
	}
}

/*
 * With system columns that a virtual row can't hold (xmin and the like), the
 * scan's row consists of just the columns that are needed.
 */
static List *
add_listed_columns(Query *task, DistPlan *plan, Relation relation, Index varno, List *exprs)
{
	List	   *scan_tlist = NIL;
	List	   *vars = pull_var_clause((Node *) exprs, PVC_RECURSE_AGGREGATES |
									   PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);

	foreach_ptr(Var, var, vars)
	{
		AttrNumber	position = list_length(scan_tlist);

		if (var->varno != varno || tlist_member((Expr *) var, scan_tlist) != NULL)
			continue;
		if (var->varattno == TableOidAttributeNumber)
			plan->tableoid_position = position;
		else
			add_column(task, plan, var->varattno, var->vartype, var->vartypmod, var->varcollid,
				   position, psprintf("c%d", position + 1));
		scan_tlist = lappend(scan_tlist,
							 makeTargetEntry((Expr *) copyObject(var), position + 1, NULL, false));
	}
	return scan_tlist;
}

/* Whether a system column other than ctid and tableoid is needed. */
static bool
needs_rare_system_column(Bitmapset *columns)
{
	for (AttrNumber attno = FirstLowInvalidHeapAttributeNumber + 1; attno < 0; attno++)
	{
		if (attno != SelfItemPointerAttributeNumber && attno != TableOidAttributeNumber &&
			needs_column(columns, attno))
			return true;
	}
	return false;
}

/* Whether a system column is needed that the nodes have to return. */
static bool
needs_remote_system_column(Bitmapset *columns)
{
	return needs_column(columns, SelfItemPointerAttributeNumber) || needs_rare_system_column(columns);
}

/*
 * Whether the rows of a table are locked because the statement may delete
 * them: by a tag, since FOR UPDATE would leave out those that policies don't
 * let the user update.
 */
static bool
locks_target(PlannerInfo *root, Index varno)
{
	const int	deletes = COMMAND_BIT(CMD_UPDATE) | COMMAND_BIT(CMD_DELETE);

	return bms_is_member(varno, root->all_result_relids) && root->parse->commandType != CMD_UPDATE &&
		(write_commands(root->parse) & deletes) != 0;
}

/*
 * How the text locks the rows of a table: as the target of an UPDATE, or by
 * FOR UPDATE and the like.
 */
static RowMarkClause *
make_row_mark(PlannerInfo *root, Index varno)
{
	RowMarkClause *mark = makeNode(RowMarkClause);

	mark->rti = 1;
	mark->waitPolicy = LockWaitBlock;
	if (bms_is_member(varno, root->all_result_relids))
	{
		if (root->parse->commandType != CMD_UPDATE)
			return NULL;
		mark->strength = LCS_FORNOKEYUPDATE;
		return mark;
	}
	foreach_ptr(PlanRowMark, plan_mark, root->rowMarks)
	{
		if (plan_mark->rti == varno && plan_mark->strength != LCS_NONE && !lock_path_is_due(root, varno))
		{
			mark->strength = plan_mark->strength;
			mark->waitPolicy = plan_mark->waitPolicy;
			return mark;
		}
	}
	return NULL;
}

/*
 * The query that a task runs: SELECT .. FROM table [WHERE remote] [FOR
 * UPDATE].
 */
static Query *
make_scan_query(PlannerInfo *root, Index varno, List *remote, List **exprs)
{
	Query	   *task = makeNode(Query);
	RangeTblEntry *rte = copyObject(planner_rt_fetch(varno, root));
	RangeTblRef *ref = makeNode(RangeTblRef);
	RowMarkClause *mark = make_row_mark(root, varno);
	Node	   *quals = (Node *) make_ands_explicit(remote);

	rte->securityQuals = NIL;
	rte->inFromCl = true;		/* a target isn't, but is here */
	rte->lateral = false;		/* the arguments of TABLESAMPLE are
								 * parameters */
	rte->inh = true;
	if (rte->tablesample)
		rte->tablesample = (TableSampleClause *)
			task_params_extract((Node *) rte->tablesample, varno, true, exprs);
	ref->rtindex = 1;
	task->commandType = CMD_SELECT;
	task->canSetTag = true;
	task->rtable = list_make1(rte);
	if (remote != NIL)
	{
		quals = task_filter_extract(current_of_replace(quals, NULL), varno, exprs);
		ChangeVarNodes(quals, varno, 1, 0);
	}
	else
		quals = NULL;
	task->jointree = makeFromExpr(list_make1(ref), quals);
	if (mark != NULL)
	{
		task->rowMarks = list_make1(mark);
		task->hasForUpdate = true;
	}
	return task;
}

/* Whether a filter's value for a row may change from run to run. */
static bool
filter_changes(PlannerInfo *root, Index varno, Node *clause)
{
	return needs_exec_params(clause, NULL) ||
		!bms_is_subset(pull_varnos(root, clause), bms_make_singleton(varno));
}

/*
 * The nodes' filters that the initiator applies to rows that are kept for all
 * rescans: those that change between rescans, and those that may raise an
 * error for, or leak, a row that the former would have removed.
 */
static List *
filters_of_kept(PlannerInfo *root, Index varno, List *remote)
{
	List	   *here = NIL;
	bool		any = false;

	foreach_ptr(Node, clause, remote)
	{
		bool		varies = filter_changes(root, varno, clause);

		any = any || varies;
		if (varies || contain_leaked_vars(clause))
			here = lappend(here, clause);
	}
	return any ? here : NIL;
}

/*
 * The first filter by which a run looks up a value, for many values, whose
 * array is parameter number; sets its place in the list.  NULL if there is
 * none.
 */
static Node *
find_lookup(List *filters, Index varno, int number, int *place)
{
	foreach_ptr(OpExpr, op, filters)
	{
		bool		column_is_left;

		*place = foreach_current_index(op);
		if (is_lookup(op, varno, &column_is_left))
			return copyObject(lookup_of_batch(op, column_is_left, number));
	}
	return NULL;
}

/*
 * Adds to the plan, and to exprs, the text that reads the rows for all
 * rescans.
 */
static void
add_keep_text(PlannerInfo *root, Index varno, const DistTable *table, Relation relation, Query *task,
			  Bitmapset *columns, List *remote, DistPlan *plan, List **exprs)
{
	List	   *here = filters_of_kept(root, varno, remote);
	List	   *kept = list_difference_ptr(remote, here);
	List	   *own_exprs = NIL;
	Bitmapset  *more = NULL;
	int			lookup = 0;

	pull_varattnos((Node *) here, varno, &more);
	if (needs_rare_system_column(more))
		return;
	plan->by_node = plan->by_node && !needs_remote_system_column(more);
	plan->keep_text = plan->text;
	plan->keep_nparams = plan->nparams;
	plan->keep_npolicies = list_length(list_difference_ptr(list_copy_head(remote, plan->traits.npolicies), here));
	if (here != NIL)
	{
		Query	   *query = make_scan_query(root, varno, kept, &own_exprs);
		Node	   *batch;

		query->targetList = list_copy(task->targetList);
		add_table_columns(query, plan, relation, bms_difference(more, columns));
		batch = find_lookup(here, varno, list_length(own_exprs) + 1, &lookup);
		plan->keep_text = task_query_deparse(copyObject(query));
		if (batch != NULL)
		{
			ChangeVarNodes(batch, varno, 1, 0);
			query->jointree->quals = make_and_qual(query->jointree->quals, batch);
			plan->batch_text = task_query_deparse(query);
		}
		plan->keep_first = list_length(*exprs);
		plan->keep_nparams = list_length(own_exprs);
		*exprs = list_concat(*exprs, own_exprs);
	}
	plan->keep_prune = prune_pack(prune_from_quals(table, varno, kept), exprs);
	plan->keep_quals = list_length(*exprs);
	if (plan->batch_text != NULL)
		plan->batch_qual = plan->keep_quals + lookup;
	*exprs = list_concat(*exprs, copyObject(here));
}

/* Whether a condition that isn't the relation's alone has its ctid. */
static bool
ctid_is_joined(const RelOptInfo *rel)
{
	Relids		needing = bms_del_member(bms_copy(rel->attr_needed[SelfItemPointerAttributeNumber - rel->min_attr]), 0);
	bool		joined = !bms_is_empty(needing);

	bms_free(needing);
	return joined;
}

static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
		  List *custom_plans)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	const DistTable *table = metadata_require(rte->relid);
	Relation	relation = table_open(rte->relid, NoLock);
	DistPlan	plan = {.kind = DIST_PLAN_SCAN,.dist_param = -1,.tableoid_position = -1,.command = CMD_SELECT};
	CustomScan *scan = makeNode(CustomScan);
	List	   *filters = NIL;
	List	   *remote;
	List	   *local = NIL;
	List	   *exprs = NIL;
	Bitmapset  *columns;
	Query	   *task;

	split_clauses(clauses, rel->relid, &filters, &local);
	remote = get_actual_clauses(filters);
	local = get_actual_clauses(local);
	task = make_scan_query(root, rel->relid, remote, &exprs);
	columns = needed_columns(rel, tlist, local);
	if (needs_rare_system_column(columns))
		scan->custom_scan_tlist =
			add_listed_columns(task, &plan, relation, rel->relid,
							   list_make3(rel->reltarget->exprs, tlist, local));
	else
		add_table_columns(task, &plan, relation, columns);
	plan.ncolumns = list_length(plan.types);

	plan.relid = table->relid;
	plan.refusal = dist_rel_refusal(root, rel->relids);
	if (locks_target(root, rel->relid))
		plan.traits.flags |= TASK_LOCKS;
	if (relation->rd_rel->relrowsecurity || rte->securityQuals != NIL)
		plan.traits.flags |= TASK_FILTERED;
	plan.traits.npolicies = count_policies(root, filters);
	plan.writes = (plan.traits.flags & TASK_LOCKS) != 0 || task->rowMarks != NIL;
	plan.joins_ctid = plan.writes && ctid_is_joined(rel);
	plan.by_node = !plan.writes && rte->tablesample == NULL && !needs_remote_system_column(columns);
	plan.traits.check_as = base_rel_check_as(root, rel->relid);
	plan.nparams = list_length(exprs);
	plan.text = task_query_deparse(task);
	plan.prune = prune_pack(prune_from_quals(table, rel->relid, extract_actual_clauses(clauses, false)), &exprs);
	current_of_set(&plan, current_of_find((Node *) remote), &exprs);
	if (!plan.writes && rte->tablesample == NULL && scan->custom_scan_tlist == NIL)
		add_keep_text(root, rel->relid, table, relation, task, columns, remote, &plan, &exprs);
	table_close(relation, NoLock);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = local;
	scan->scan.scanrelid = rel->relid;
	scan->flags = best_path->flags;
	scan->methods = &dist_scan_methods;
	scan->custom_exprs = exprs;
	scan->custom_private = dist_plan_pack(&plan, scan->custom_exprs);
	if (planning_context)
		planning_context->scans = lappend(planning_context->scans, scan);
	return (Plan *) scan;
}

void
scan_path_init(void)
{
	prev_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_scan_path;
	prev_rel_hook = rel_hook;
	rel_hook = set_table_size;
	join_path_init();
}
