/*-------------------------------------------------------------------------
 *
 * modify_path.c
 *	  DistributedModify in the place of ModifyTable.
 *
 * PostgreSQL plans a write of a logical table as usual, with a ModifyTable
 * path on top; create_upper_paths_hook replaces it by ours, with the same
 * child.  So writes in CTEs need no special handling, and RETURNING may
 * contain any expression.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "compat/merge.h"
#include "compat/nulling.h"
#include "compat/permissions.h"
#include "compat/returning.h"
#include "planner/base_rel.h"
#include "planner/dist_query.h"
#include "planner/dist_plan.h"
#include "planner/foreign_key.h"
#include "lib/plan_fields.h"
#include "planner/lock_path.h"
#include "planner/modify_plan.h"
#include "planner/planner.h"
#include "planner/reference_lock_path.h"
#include "planner/replaced_function.h"
#include "planner/shippable.h"
#include "planner/write_query.h"
#include "resolve/tag.h"

static create_upper_paths_hook_type prev_create_upper_paths = NULL;

static Plan *plan_modify(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist,
						 List *clauses, List *custom_plans);

static const CustomPathMethods modify_path_methods = {
	.CustomName = "DistributedModify",
	.PlanCustomPath = plan_modify,
};

/* The distributed or reference table that a query writes, or NULL. */
static const DistTable *
written_table(Query *query)
{
	if (query->commandType == CMD_SELECT || query->resultRelation == 0 || !metadata_available())
		return NULL;
	return metadata_lookup(rt_fetch(query->resultRelation, query->rtable)->relid);
}

static void
add_junk(Query *query, Var *var, const char *name)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry((Expr *) var, list_length(query->targetList) + 1,
												pstrdup(name), true));
}

/*
 * MERGE's actions, and the condition for a match, may use any column of the
 * target: the child must return them.
 */
static void
add_action_columns(Query *query)
{
	List	   *vars = pull_vars_of_level(merge_condition(query), 0);
	List	   *seen = NIL;
	ListCell   *cell;

	foreach_ptr(MergeAction, action, query->mergeActionList)
	{
		vars = list_concat(vars, pull_vars_of_level(action->qual, 0));
		vars = list_concat(vars, pull_vars_of_level((Node *) action->targetList, 0));
	}
	foreach(cell, vars)
	{
		Var		   *var = copyObject(lfirst_node(Var, cell));

		/* of those in subqueries, too */
		var->varlevelsup = 0;
		if (var->varno == query->resultRelation && !list_member(seen, var))
		{
			seen = lappend(seen, var);
			add_junk(query, var, "citus_target");
		}
	}
}

/*
 * Columns that the target list of an UPDATE, or of an UPDATE clause of MERGE,
 * assigns.
 */
static Bitmapset *
listed_columns(List *target_list)
{
	Bitmapset  *columns = NULL;

	foreach_ptr(TargetEntry, entry, target_list)
		if (!entry->resjunk)
			columns = bms_add_member(columns, entry->resno);
	return columns;
}

/*
 * Whether a policy for new rows of a query reads distributed tables, so that
 * the table's nodes can't evaluate it.
 */
static bool
has_foreign_check(Query *query)
{
	foreach_ptr(WithCheckOption, option, query->withCheckOptions)
		if (option->kind != WCO_VIEW_CHECK && count_distributed_tables(option->qual) > 0)
			return true;
	return false;
}

/*
 * Whether the whole old row is needed: to identify it, to move it, to complete
 * a new one (all clauses of MERGE share a text, which assigns the columns of
 * all), for triggers, to check the new row here, or because the row is deleted
 * after RETURNING (executor/modify_late.c).
 */
static bool
needs_old_row(Query *query, const DistTable *table, const PlanningContext *context)
{
	Bitmapset  *columns = NULL;
	bool		updates = query->commandType == CMD_UPDATE;
	int			attno = -1;

	if (table->kind == DIST_REFERENCE || (table->row_triggers & write_query_fires(query, table)) ||
		has_foreign_check(query) ||
		(context->modifying_cte && query->returningList != NIL && query->commandType == CMD_DELETE &&
		 OidIsValid(foreign_key_acts_on_delete(table->relid))))
		return true;
	if (updates)
		columns = listed_columns(query->targetList);
	foreach_ptr(MergeAction, action, query->mergeActionList)
	{
		Bitmapset  *own = listed_columns(action->targetList);

		if (action->commandType != CMD_UPDATE)
			continue;
		if (updates && !bms_equal(own, columns))
			return true;
		columns = own;
		updates = true;
	}
	while ((attno = bms_next_member(columns, attno)) >= 0)
	{
		if (attno == table->dist_attno || write_is_identity_column(table->relid, attno))
			return true;
	}
	return false;
}

/* For check_functions_in_node. */
static bool
is_users_function(Oid funcid, void *context)
{
	return (funcid >= FirstNormalObjectId || func_volatile(funcid) == PROVOLATILE_VOLATILE) &&
		!replaced_function_is(funcid, F_NEXTVAL);
}

/* Whether a query runs code of users, also in a domain's constraint. */
static bool
users_code_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, CoerceToDomain) || check_functions_in_node(node, is_users_function, NULL))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, users_code_walker, context, 0);
	return expression_tree_walker(node, users_code_walker, context);
}

static void
note_write(Query *query, PlanningContext *context)
{
	Oid			relid = rt_fetch(query->resultRelation, query->rtable)->relid;

	context->written = lappend_oid(context->written, relid);
	if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
		context->upserted = lappend_oid(context->upserted, relid);
}

/* Adds the columns that identify rows for DistributedModify to one query. */
static void
prepare_query(Query *query, PlanningContext *context)
{
	const DistTable *table = written_table(query);
	RangeTblEntry *target;
	List	   *old;

	lock_path_prepare(query);
	if (query->resultRelation != 0)
		note_write(query, context);
	if (table == NULL)
		return;
	if (has_foreign_check(query))
		context->checked_here = lappend_oid(context->checked_here, table->relid);
	old = returning_wrap(query);
	if (query->commandType == CMD_INSERT)
	{
		context->runs_code = context->runs_code || users_code_walker((Node *) query, NULL);
		return;
	}
	target = rt_fetch(query->resultRelation, query->rtable);
	if (needs_old_row(query, table, context))
		add_junk(query, makeWholeRowVar(target, query->resultRelation, 0, false), JUNK_OLD_ROW);
	if (table->kind == DIST_HASH)
		add_junk(query, makeVar(query->resultRelation, table->dist_attno, table->dist_type,
								table->dist_typmod, table->dist_collation, 0), JUNK_DIST_COLUMN);
	foreach_node(Var, column, old)
		add_junk(query, column, "citus_old");
	if (query->commandType == CMD_MERGE)
		add_action_columns(query);
}

static bool
simplify_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->returningList != NIL && written_table(query) != NULL)
			returning_simplify(query);
		return query_tree_walker(query, simplify_walker, context, 0);
	}
	return expression_tree_walker(node, simplify_walker, context);
}

void
modify_simplify_returning(Query *query)
{
	simplify_walker((Node *) query, NULL);
}

static bool
prepare_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		prepare_query((Query *) node, context);
		return query_tree_walker((Query *) node, prepare_walker, context, 0);
	}
	return expression_tree_walker(node, prepare_walker, context);
}

void
modify_prepare(Query *query, PlanningContext *context)
{
	context->modifying_cte = query->hasModifyingCTE;
	prepare_walker((Node *) query, context);
}

/* The path that takes the place of a ModifyTable path. */
static Path *
make_modify_path(PlannerInfo *root, ModifyTablePath *modify)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = modify->path.parent;
	path->path.pathtarget = create_empty_pathtarget();
	if (root->parse->returningList != NIL)
	{
		path->path.pathtarget = make_pathtarget_from_tlist(root->parse->returningList);
		set_pathtarget_cost_width(root, path->path.pathtarget);
	}
	path->path.rows = modify->path.rows;
	path->path.startup_cost = modify->subpath->total_cost;
	path->path.total_cost = modify->path.total_cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(modify->subpath);
	path->custom_private = list_make1(modify);
	path->methods = &modify_path_methods;
	return (Path *) path;
}

/* Whether a row mark is for a distributed table, whose rows its scan locks. */
static bool
is_distributed_mark(PlannerInfo *root, PlanRowMark *mark)
{
	RangeTblEntry *rte = planner_rt_fetch(mark->rti, root);
	const DistTable *table;

	if (rte->rtekind != RTE_RELATION)
		return false;
	table = metadata_lookup(rte->relid);
	return table != NULL && table->kind != DIST_REFERENCE;
}

/* Whether a row mark locks rows of a reference table. */
static bool
is_reference_lock(PlannerInfo *root, PlanRowMark *mark)
{
	RangeTblEntry *rte = planner_rt_fetch(mark->rti, root);
	const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

	return RowMarkRequiresRowShareLock(mark->markType) && table != NULL && table->kind == DIST_REFERENCE;
}

/*
 * Takes the marks of distributed tables out of LockRows; drops LockRows when
 * none is left.  Rows of reference tables are locked on other nodes before.
 */
static Path *
strip_row_marks(PlannerInfo *root, LockRowsPath *path)
{
	List	   *marks = NIL;
	bool		locks = false;
	bool		skips = false;	/* has rows of a distributed table locked
								 * here */

	foreach_ptr(PlanRowMark, mark, path->rowMarks)
	{
		skips = skips || lock_path_is_due(root, mark->rti);
		if (is_distributed_mark(root, mark))
			continue;
		marks = lappend(marks, mark);
		locks = locks || RowMarkRequiresRowShareLock(mark->markType);
	}
	if (skips)
		return lock_path_make(root, path->subpath);
	if (!locks)
		return path->subpath;
	foreach_ptr(PlanRowMark, mark, marks)
	{
		if (is_reference_lock(root, mark) && !(planning_context && planning_context->node_task))
			path->subpath = reference_lock_path_make(root, path->subpath, mark);
	}
	path->rowMarks = marks;
	return (Path *) path;
}

/* Replaces LockRows below a Limit or at the top. */
static Path *
adjust_path(PlannerInfo *root, Path *path)
{
	if (IsA(path, LimitPath))
	{
		LimitPath  *limit = (LimitPath *) path;

		limit->subpath = adjust_path(root, limit->subpath);
		return path;
	}
	if (IsA(path, LockRowsPath))
		return strip_row_marks(root, (LockRowsPath *) path);
	if (IsA(path, ModifyTablePath))
	{
		const DistTable *table = written_table(root->parse);

		if (table != NULL && !(planning_context && planning_context->node_task))
			return make_modify_path(root, (ModifyTablePath *) path);
		((ModifyTablePath *) path)->subpath =
			adjust_path(root, ((ModifyTablePath *) path)->subpath);
	}
	return path;
}

static void
adjust_final_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
				   RelOptInfo *output_rel, void *extra)
{
	ListCell   *cell;

	if (prev_create_upper_paths)
		prev_create_upper_paths(root, stage, input_rel, output_rel, extra);
	upper_paths_add(root, stage, input_rel, output_rel, extra);
	if (stage != UPPERREL_FINAL || !metadata_available() ||
		(root->parse->commandType == CMD_SELECT && root->rowMarks == NIL))
		return;
	foreach(cell, output_rel->pathlist)
		lfirst(cell) = adjust_path(root, lfirst(cell));
}

/*
 * Position in the child's result of a junk column by name; 0 if it isn't
 * there.  The row identity of a partition's row is a ROWID_VAR; the planner
 * makes the row of a table with virtual columns an expression.
 */
static int
junk_resno(List *child_tlist, const char *name, int varno)
{
	foreach_ptr(TargetEntry, entry, child_tlist)
	{
		if (entry->resjunk && entry->resname && strcmp(entry->resname, name) == 0 &&
			(!IsA(entry->expr, Var) || ((Var *) entry->expr)->varno == varno ||
			 ((Var *) entry->expr)->varno == ROWID_VAR))
			return entry->resno;
	}
	return 0;
}

/* Packs MERGE's actions; their expressions refer to the child's columns. */
static List *
make_actions(ModifyPlan *plan, List *actions)
{
	List	   *exprs = NIL;

	foreach_ptr(MergeAction, source, actions)
	{
		ModifyAction action = {merge_action_kind(source), source->commandType, -1, 0, NIL};

		if (source->qual != NULL)
		{
			action.qual = list_length(exprs);
			exprs = lappend(exprs, make_ands_explicit((List *) source->qual));
		}
		action.first_target = list_length(exprs);
		foreach_ptr(TargetEntry, entry, source->targetList)
		{
			if (entry->resjunk)
				continue;
			action.colnos = lappend_int(action.colnos,
										source->commandType == CMD_UPDATE ?
										list_nth_int(source->updateColnos,
													 list_length(action.colnos)) :
										entry->resno);
			exprs = lappend(exprs, entry->expr);
		}
		plan->actions = lappend(plan->actions, modify_action_pack(&action));
	}
	return exprs;
}

/*
 * A condition for rows that MERGE has written: merge_action() = 'DELETE' OR
 * the condition.  Before version 17 there are none.
 */
static Expr *
merge_unless_deleted(Expr *condition)
{
	Expr	   *action = merge_make_action();
	Expr	   *name = (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum("DELETE"), false, false);
	Expr	   *deleted;

	if (action == NULL)
		return condition;
	deleted = make_opclause(TextEqualOperator, BOOLOID, false, action, name, InvalidOid, DEFAULT_COLLATION_OID);
	set_opfuncid((OpExpr *) deleted);
	return makeBoolExpr(OR_EXPR, list_make2(deleted, condition), -1);
}

/*
 * Conditions that the initiator evaluates: policies that the nodes can't
 * evaluate, over new rows, and check options of views, over the rows that
 * nodes return.  Sets the error messages.
 */
static List *
make_checks(ModifyPlan *plan, List *options)
{
	List	   *checks = NIL;

	foreach_ptr(WithCheckOption, option, options)
	{
		Expr	   *check;

		if (option->kind != WCO_VIEW_CHECK && (plan->traits.flags & TASK_UNCHECKED) == 0)
			continue;
		check = make_ands_explicit((List *) option->qual);
		checks = lappend(checks, plan->command == CMD_MERGE ? merge_unless_deleted(check) : check);
		plan->checks = lappend(plan->checks,
							   list_make3(makeInteger(option->kind), makeString(pstrdup(option->relname)),
										  plan_string_pack(option->polname)));
	}
	return checks;
}

/* Appends the condition for a match to MERGE's expressions, if it has one. */
static List *
add_merge_condition(ModifyPlan *plan, List *exprs, Node *condition)
{
	plan->condition = -1;
	if (condition == NULL)
		return exprs;
	plan->condition = list_length(exprs);
	return lappend(exprs, make_ands_explicit((List *) condition));
}

/* Columns that any of an UPDATE's or MERGE's clauses assigns. */
static List *
assigned_columns(ModifyPlan *plan)
{
	List	   *colnos = list_copy(plan->update_colnos);
	ListCell   *cell;

	foreach(cell, plan->actions)
	{
		ModifyAction action;

		modify_action_unpack(lfirst(cell), &action);
		if (action.command == CMD_UPDATE)
			colnos = list_concat_unique_int(colnos, action.colnos);
	}
	return colnos;
}

/*
 * Whether triggers of these commands may change the new rows of an UPDATE: of
 * INSERT, if it moves them to another partition.
 */
static bool
has_before_update(Oid relid, int triggers)
{
	Relation	relation = table_open(relid, NoLock);
	TriggerDesc *desc = relation->trigdesc;
	bool		result = desc != NULL &&
		(((triggers & COMMAND_BIT(CMD_UPDATE)) && desc->trig_update_before_row) ||
		 ((triggers & COMMAND_BIT(CMD_INSERT)) && desc->trig_insert_before_row));

	table_close(relation, NoLock);
	return result;
}

/*
 * Whether an UPDATE's rows may have BEFORE triggers: those of a partitioned
 * table may be their partitions'.
 */
static bool
may_fire_before_update(const DistTable *table)
{
	return get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE ? (table->row_triggers & COMMAND_BIT(CMD_UPDATE)) != 0 :
		has_before_update(table->relid, COMMAND_BIT(CMD_UPDATE));
}

/* Whether rows of a table may refer to each other. */
static bool
references_itself(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	bool		result = false;

	foreach_ptr(ForeignKeyCacheInfo, key, RelationGetFKeyList(relation))
		result = result || key->confrelid == relid;
	table_close(relation, NoLock);
	return result;
}

/*
 * Whether the rows of an INSERT can be sent by COPY, since they only have to
 * be stored.  Not for a reference table, where COPY blocks other writers, and
 * not for rows that may refer to each other, since COPY checks foreign keys
 * for each frame.
 */
static bool
only_stores(const ModifyPlan *plan, const DistTable *table, const OnConflictExpr *conflict)
{
	return plan->command == CMD_INSERT && conflict == NULL && plan->triggers == 0 && !plan->has_returning &&
		!plan->notes_written && !plan->row_texts && table->kind != DIST_REFERENCE && !references_itself(table->relid);
}

/* Columns that a text can assign. */
static List *
updatable_columns(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	List	   *columns = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped && !attribute->attgenerated &&
			attribute->attidentity != ATTRIBUTE_IDENTITY_ALWAYS)
			columns = lappend_int(columns, attribute->attnum);
	}
	table_close(relation, NoLock);
	return columns;
}

/*
 * Which rights and policies the initiator has checked, for the tasks' tags:
 * the child's scan has found the rows that UPDATE and DELETE may change, and
 * policies for INSERT don't apply to a row that moves.
 */
static int
task_flags(const ModifyPlan *plan, Query *query)
{
	bool		changes = plan->command == CMD_UPDATE || plan->command == CMD_DELETE;
	int			flags = changes ? TASK_FILTERED : 0;

	if (!compat_asks_reading(query, rt_fetch(query->resultRelation, query->rtable)))
		flags |= TASK_BLIND;
	if (planning_context && list_member_oid(planning_context->checked_here, plan->relid))
	{
		if (plan->command == CMD_MERGE || plan->do_update)
		{
			planning_context->unwritable =
				plan->command == CMD_MERGE ? "MERGE" : "INSERT with ON CONFLICT DO UPDATE";
			planning_context->unwritable_table = plan->relid;
		}
		flags |= TASK_UNCHECKED;
	}
	if (plan->command == CMD_UPDATE && plan->moves_rows)
		flags |= TASK_UNCHECKED;
	return flags;
}

/*
 * Columns that the text of an UPDATE assigns, including those that triggers
 * may change.
 */
static List *
written_columns(const ModifyPlan *plan, const DistTable *table)
{
	int			triggers = plan->command == CMD_INSERT ? plan->triggers & COMMAND_BIT(CMD_UPDATE) : plan->triggers;

	if (triggers != 0 && has_before_update(table->relid, triggers))
		return list_concat_unique_int(list_copy(plan->assigned), updatable_columns(table->relid));
	return plan->assigned;
}

/*
 * Notes whether an UPDATE, or an UPDATE clause of MERGE, may move rows to
 * other shards.
 */
static void
note_moves(ModifyPlan *plan, const DistTable *table)
{
	foreach_int(attno, plan->assigned)
	{
		if (write_is_identity_column(table->relid, attno))
			plan->replaces_rows = true;
	}
	plan->moves_rows = plan->replaces_rows ||
		(table->kind == DIST_HASH && list_member_int(written_columns(plan, table), table->dist_attno));
}

/* The texts that the commands in the statement need. */
static void
make_texts(ModifyPlan *plan, const DistTable *table, PlannerInfo *root, List **exprs)
{
	bool		merge = plan->command == CMD_MERGE;
	bool		updates = (plan->commands & COMMAND_BIT(CMD_UPDATE)) != 0;

	note_moves(plan, table);
	if (plan->resolves)
		plan->upsert_text = modify_upsert_text(table, plan->attnos, root, exprs);
	if ((plan->command == CMD_INSERT && !plan->resolves) || plan->moves_rows || merge)
		plan->insert_text = modify_insert_text(table, plan->attnos, plan->old_attnos,
											   plan->command == CMD_INSERT && !plan->resolves ? root : NULL,
											   false, exprs);
	if (plan->do_update && !plan->resolves)
	{
		List	   *same_exprs = NIL;

		plan->again_text = modify_insert_text(table, plan->attnos, plan->old_attnos, root, true, &same_exprs);
	}
	if (updates && (plan->command != CMD_INSERT || plan->resolves))
		plan->update_text = modify_update_text(table, written_columns(plan, table), plan->key_attnos, plan->attnos);
	if (plan->command == CMD_DELETE || merge)
		plan->delete_text = modify_delete_text(table, plan->key_attnos, plan->attnos);
	if (plan->moves_rows)
		plan->move_text = modify_delete_text(table, plan->key_attnos, NIL);
}

/*
 * The child's columns, which MERGE's expressions use, as the first ones of its
 * scan tuple.  They don't use the columns that identify rows of partitions,
 * which setrefs.c would reject here.
 */
static List *
make_merge_columns(PlannerInfo *root, List *child_tlist)
{
	List	   *columns = copyObject(child_tlist);

	foreach_ptr(TargetEntry, entry, columns)
		if (IsA(entry->expr, Var) && ((Var *) entry->expr)->varno == ROWID_VAR)
			entry->expr = (Expr *) makeNullConst(exprType((Node *) entry->expr), -1, InvalidOid);
	return (List *) without_nulling(root, (Node *) columns);
}

/*
 * Refuses to resolve conflicts with rows of partitions that another part of
 * the statement may have written, maybe by another table's name.
 */
static void
check_partitioned_conflict(const ModifyPlan *plan)
{
	if (get_rel_relkind(plan->relid) == RELKIND_PARTITIONED_TABLE || get_rel_relispartition(plan->relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot compute what ON CONFLICT does to rows of distributed partitioned table \"%s\"",
						get_rel_name(plan->relid)),
				 errdetail("Another part of the statement writes the table, too."),
				 errhint("Use separate statements.")));
}

/*
 * Refuses ON CONFLICT DO SELECT (of version 19) unless the nodes with the rows
 * do it all: what resolves conflicts here, and writes entries of global
 * indexes, knows DO NOTHING and DO UPDATE.
 */
static void
check_conflict_action(const ModifyPlan *plan, const OnConflictExpr *conflict, const DistTable *table)
{
	if (conflict->action == ONCONFLICT_NOTHING || conflict->action == ONCONFLICT_UPDATE ||
		(!plan->resolves && plan->arbiters == NIL && bms_is_empty(table->global_columns)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot compute ON CONFLICT DO SELECT of distributed or reference table \"%s\"",
					get_rel_name(plan->relid)),
			 errdetail("The table has row triggers or global indexes, or the statement reads other tables."),
			 errhint("Use ON CONFLICT DO NOTHING, and read the rows by another statement.")));
}

/* Who resolves conflicts, and whether nodes return what they have written. */
static void
note_conflict(PlannerInfo *root, ModifyPlan *plan, OnConflictExpr *conflict, const DistTable *table)
{
	bool		meets_written = conflict_meets_written(table->relid);

	if (conflict != NULL)
	{
		plan->do_update = conflict->action == ONCONFLICT_UPDATE;
		plan->resolves = (table->row_triggers & plan->commands) != 0 ||
			(plan->do_update && meets_written) || !conflict_is_shippable(conflict, table);
		plan->may_skip = !plan->resolves;
		plan->arbiters = conflict_global_arbiters(root, table);
		plan->row_by_row = plan->arbiters != NIL ||
			(plan->resolves && plan->do_update && may_fire_before_update(table));
		check_conflict_action(plan, conflict, table);
		if (plan->resolves && meets_written)
			check_partitioned_conflict(plan);
	}
	plan->notes_written = plan->resolves || (meets_written && plan->command != CMD_DELETE);
	if (plan->notes_written)
		plan->attnos = list_make1_int(SelfItemPointerAttributeNumber);
}

static Plan *
plan_modify(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
			List *custom_plans)
{
	ModifyTablePath *modify = linitial(best_path->custom_private);
	const DistTable *table = written_table(root->parse);
	Index		varno = root->parse->resultRelation;
	Plan	   *child = linitial(custom_plans);
	List	   *child_tlist = root->processed_tlist;
	List	   *returning = root->parse->returningList;
	OnConflictExpr *conflict = modify->onconflict;
	CustomScan *scan = makeNode(CustomScan);
	ModifyPlan	plan = {0};
	List	   *exprs = NIL;
	List	   *output;			/* what is computed over written rows:
								 * RETURNING, and checks */

	apply_tlist_labeling(child->targetlist, child_tlist);

	plan.relid = table->relid;
	plan.traits.check_as = base_rel_check_as(root, varno);
	plan.command = modify->operation;
	plan.can_set_tag = root->parse->canSetTag;
	plan.commands = write_commands(root->parse);
	if (table->kind == DIST_REFERENCE)
		plan.key_attnos = row_key_columns(table->relid);
	plan.update_colnos = plan.command == CMD_UPDATE ? root->update_colnos : NIL;
	plan.ctid_resno = junk_resno(child_tlist, "ctid", varno);
	plan.dist_resno = junk_resno(child_tlist, JUNK_DIST_COLUMN, varno);
	plan.row_resno = junk_resno(child_tlist, JUNK_OLD_ROW, varno);
	plan.row_texts = modify_sends_texts(table->relid);
	plan.partition_resno = junk_resno(child_tlist, "tableoid", varno);
	note_conflict(root, &plan, conflict, table);

	if (plan.command == CMD_MERGE)
	{
		/*
		 * the actions use the target's columns from before the join with the
		 * source
		 */
		exprs = make_actions(&plan, root->parse->mergeActionList);
		exprs = add_merge_condition(&plan, exprs, merge_condition(root->parse));
		exprs = (List *) without_nulling(root, (Node *) exprs);
		child_tlist = make_merge_columns(root, child_tlist);
		scan->custom_scan_tlist = list_copy(child_tlist);
	}
	plan.assigned = assigned_columns(&plan);
	plan.triggers = write_fires(plan.commands, table, plan.assigned);
	note_moves(&plan, table);
	plan.traits.flags = task_flags(&plan, root->parse);
	output = list_concat(list_copy(returning), make_checks(&plan, root->parse->withCheckOptions));
	plan.has_returning = output != NIL;
	if (plan.command == CMD_MERGE)
		output = modify_wrap_returned((List *) without_nulling(root, (Node *) output), varno);
	modify_returned_columns(&plan, output, varno, child_tlist, &scan->custom_scan_tlist);
	if (plan.resolves)
		conflict_prepare(&plan, conflict, varno, &scan->custom_scan_tlist);
	make_texts(&plan, table, root, &exprs);
	if (plan.command != CMD_MERGE)
		plan.nconflict_params = list_length(exprs);
	plan.first_check = list_length(exprs);
	exprs = list_concat(exprs, list_copy_tail(output, list_length(returning)));
	if (plan.resolves)
		exprs = conflict_add_action(&plan, conflict, exprs);
	plan.streams = only_stores(&plan, table, conflict);
	plan.reads_first = planning_context == NULL || planning_context->scans != NIL ||
		planning_context->modifying_cte || planning_context->runs_code;

	scan->scan.plan.targetlist = copyObject(list_truncate(output, list_length(returning)));
	scan->flags = best_path->flags;
	scan->methods = &dist_modify_methods;
	scan->custom_plans = custom_plans;
	scan->custom_exprs = exprs;
	scan->custom_private = modify_plan_pack(&plan);
	if (planning_context)
		planning_context->modifies = true;

	/*
	 * create_plan labels the topmost plan's columns from here: they are those
	 * of RETURNING
	 */
	root->processed_tlist = returning;
	return (Plan *) scan;
}

void
modify_path_init(void)
{
	prev_create_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = adjust_final_paths;
}
