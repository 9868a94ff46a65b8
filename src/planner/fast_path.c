/*-------------------------------------------------------------------------
 *
 * fast_path.c
 *	  Statements that are sent to shards unchanged, without standard_planner.
 *
 * A SELECT of one table whose filter pins the distribution column; an INSERT
 * of one row, or of VALUES lists into a table with one shard or a reference
 * table; an UPDATE or DELETE that besides its own table reads reference tables
 * at most, on all shards that its filter leaves; a write of a reference table
 * that reads no other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"

#include "compat/group_entry.h"
#include "planner/cursor_plan.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "planner/write_query.h"
#include "sharding/prune.h"

/*
 * The most values of an INSERT that are evaluated here; rows with more are
 * sent as arrays.
 */
#define MAX_INSERT_VALUES 10000

/* Whether the only entry of the range table, and of FROM, is a relation. */
static bool
is_single_relation(Query *query)
{
	RangeTblEntry *rte;

	if (list_length(query->rtable) != (query_has_group_entry(query) ? 2 : 1) || query->cteList != NIL || query->setOperations != NULL ||
		query->hasSubLinks || list_length(query->jointree->fromlist) != 1)
		return false;
	rte = linitial(query->rtable);
	return rte->rtekind == RTE_RELATION && IsA(linitial(query->jointree->fromlist), RangeTblRef);
}

/*
 * Sets text and parameters from the query, a write of a table or (NULL) a
 * SELECT; returns NULL, or why it can't be shipped.
 */
static const char *
set_text(DistPlan *plan, Query *query, const DistTable *written, List **exprs)
{
	const char *reason;
	Query	   *task = task_query_extract(query, exprs);

	if (written != NULL && (reason = write_is_same_everywhere(task, query, written)) != NULL)
		return reason;
	plan->text = task_query_text(task, &reason);
	plan->nparams = list_length(*exprs);
	if (plan->nparams > TASK_MAX_PARAMS)
		return "it has too many parameters";
	return reason;
}

/*
 * Whether a term compares with a column of another relation, by which the
 * initiator can't prune.
 */
static bool
compares_columns(List *terms)
{
	ListCell   *cell;

	foreach(cell, terms)
	{
		if (contain_var_clause((Node *) ((PruneTerm *) lfirst(cell))->value))
			return true;
	}
	return false;
}

/* What the statement's filter, or the pin, says of the distribution column. */
static List *
query_disjunctions(const DistTable *table, Index varno, Query *query, Param *pin)
{
	List	   *disjunctions = NIL;
	ListCell   *cell;

	if (pin != NULL)
	{
		PruneTerm  *term = palloc0(sizeof(PruneTerm));

		term->value = (Expr *) pin;
		term->type = table->hash_opcintype; /* it is a row's own value */
		return list_make1(list_make1(term));
	}
	if (query->jointree->quals == NULL)
		return NIL;
	foreach(cell, prune_from_quals(table, varno, list_make1(query->jointree->quals)))
	{
		if (!compares_columns(lfirst(cell)))
			disjunctions = lappend(disjunctions, lfirst(cell));
	}
	return disjunctions;
}

static PlannedStmt *
plan_select(Query *query, Param *pin, Oid check_as, const char **reason)
{
	DistPlan	plan = {.kind = DIST_PLAN_FAST_PATH,.dist_param = -1,.tableoid_position = -1,.traits.check_as = check_as};
	const DistTable *table;
	List	   *disjunctions = NIL;
	List	   *exprs = NIL;

	*reason = "it is not a query of one table";
	if (!is_single_relation(query))
		return NULL;
	table = metadata_lookup(((RangeTblEntry *) linitial(query->rtable))->relid);
	if (table == NULL || table->kind == DIST_REFERENCE)
		return NULL;
	if (table->kind == DIST_HASH)
	{
		disjunctions = query_disjunctions(table, 1, query, pin);
		*reason = "no single value of the distribution column is given";
		if (prune_single_value(disjunctions) == NULL)
			return NULL;
	}
	if ((*reason = shippable_columns(query->targetList)) != NULL ||
		(*reason = set_text(&plan, query, NULL, &exprs)) != NULL)
		return NULL;

	plan.relid = table->relid;
	plan.writes = query->rowMarks != NIL;
	plan.prune = prune_pack(disjunctions, &exprs);
	return make_dist_statement(query, &plan, exprs);
}

static PlannedStmt *
plan_update_delete(Query *query, Param *pin, Oid check_as, const char **reason)
{
	DistPlan	plan = {.kind = DIST_PLAN_PUSHED_WRITE,.dist_param = -1,.tableoid_position = -1,.traits.check_as = check_as,
	.writes = true};
	RangeTblEntry *target = rt_fetch(query->resultRelation, query->rtable);
	const DistTable *table = metadata_lookup(target->relid);
	CurrentOfExpr *current_of = NULL;
	List	   *disjunctions;
	List	   *exprs = NIL;

	*reason = "its target is a local table";
	if (table == NULL)
		return NULL;
	*reason = "it writes in a CTE";
	if (query->hasModifyingCTE)
		return NULL;
	if (table->kind != DIST_REFERENCE)
		current_of = current_of_find(query->jointree->quals);
	if (current_of != NULL)
	{
		query = copyObject(query);
		query->jointree->quals = current_of_replace(query->jointree->quals, NULL);
	}
	if ((*reason = write_stays_in_shard(query, table)) != NULL ||
		(*reason = shippable_columns(query->returningList)) != NULL ||
		(*reason = set_text(&plan, query, table, &exprs)) != NULL)
		return NULL;
	*reason = "it reads another distributed table";
	if (count_distributed_tables((Node *) query) != (table->kind == DIST_REFERENCE ? 0 : 1))
		return NULL;

	plan.relid = table->relid;
	disjunctions = query_disjunctions(table, query->resultRelation, query, pin);
	if (table->kind == DIST_REFERENCE)
	{
		plan.kind = DIST_PLAN_REFERENCE_WRITE;
		plan.exclusive = true;
	}
	else if (current_of == NULL && (table->kind == DIST_SINGLE || prune_single_value(disjunctions) != NULL))
		plan.kind = DIST_PLAN_FAST_PATH;
	if (plan.kind != DIST_PLAN_FAST_PATH && (*reason = write_depends_on_order(query)) != NULL)
		return NULL;

	plan.prune = prune_pack(disjunctions, &exprs);
	current_of_set(&plan, current_of, &exprs);
	return make_dist_statement(query, &plan, exprs);
}

/* Replaces a task's parameters by the initiator's expressions for them. */
static Node *
task_params_undo(Node *node, List *exprs)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return copyObject(list_nth(exprs, ((Param *) node)->paramid - 1));
	return expression_tree_mutator(node, task_params_undo, exprs);
}

/*
 * Makes the distribution value of a one-row INSERT a parameter, so that it is
 * evaluated once.  Returns its position from 0.
 */
static int
extract_dist_value(Query *task, const DistTable *table, List **exprs)
{
	Expr	   *value = NULL;

	foreach_ptr(TargetEntry, entry, task->targetList)
	{
		if (entry->resno == table->dist_attno && !entry->resjunk)
			value = entry->expr;
	}
	while (value && IsA(value, RelabelType))
		value = ((RelabelType *) value)->arg;
	if (value && IsA(value, Param) && ((Param *) value)->paramkind == PARAM_EXTERN)
		return ((Param *) value)->paramid - 1;
	if (value == NULL)
		value = (Expr *) makeNullConst(table->dist_type, table->dist_typmod, table->dist_collation);

	/*
	 * the text keeps its expression; only routing needs the value, and
	 * evaluates it here
	 */
	*exprs = lappend(*exprs, task_params_undo((Node *) value, *exprs));
	return list_length(*exprs) - 1;
}

/*
 * The deparser prints VALUES lists as they are, under the target list's
 * columns. So they get the columns' order, and in it the defaults, which only
 * the target list has.
 */
static void
arrange_lists(Query *task, RangeTblEntry *values, Index varno)
{
	RangeTblEntry old = *values;
	int			nrows = list_length(old.values_lists);
	List	  **rows = palloc0(sizeof(List *) * nrows);
	ListCell   *cell;

	values->values_lists = values->coltypes = values->coltypmods = values->colcollations = NIL;
	values->eref->colnames = NIL;
	foreach(cell, task->targetList)
	{
		TargetEntry *entry = lfirst(cell);
		List	   *vars = pull_var_clause((Node *) entry->expr, 0);
		int			position = foreach_current_index(cell) + 1;
		Node	   *value = vars == NIL ? (Node *) entry->expr : linitial(vars);

		for (int row = 0; row < nrows; row++)
			rows[row] = lappend(rows[row], vars == NIL ? copyObject(value) :
								list_nth(list_nth(old.values_lists, row), ((Var *) value)->varattno - 1));
		values->coltypes = lappend_oid(values->coltypes, exprType(value));
		values->coltypmods = lappend_int(values->coltypmods, exprTypmod(value));
		values->colcollations = lappend_oid(values->colcollations, exprCollation(value));
		values->eref->colnames = lappend(values->eref->colnames, makeString(psprintf("column%d", position)));
		if (vars == NIL)
			entry->expr = (Expr *) makeVar(varno, position, exprType(value), exprTypmod(value),
										   exprCollation(value), 0);
		else
			((Var *) value)->varattno = position;
	}
	for (int row = 0; row < nrows; row++)
		values->values_lists = lappend(values->values_lists, rows[row]);
}

/*
 * Extracts, from the values of an INSERT, what the initiator must evaluate;
 * the copied query is the task's.
 */
static Query *
extract_insert_values(Query *query, List **exprs)
{
	Query	   *task = copyObject(query);
	ListCell   *cell;

	foreach(cell, task->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		if (rte->rtekind == RTE_VALUES)
			arrange_lists(task, rte, foreach_current_index(cell) + 1);
	}
	task->targetList = task_values_extract(task->targetList, exprs);
	foreach_ptr(RangeTblEntry, rte, task->rtable)
	{
		if (rte->rtekind == RTE_VALUES)
			rte->values_lists = task_values_extract(rte->values_lists, exprs);
	}
	task->onConflict =
		(OnConflictExpr *) task_params_extract((Node *) task->onConflict, 0, false, exprs);
	task->returningList =
		(List *) task_params_extract((Node *) task->returningList, 0, false, exprs);
	return task;
}

/*
 * Whether an INSERT's rows are written out in the statement: one row, or
 * VALUES lists.
 */
static bool
has_literal_rows(Query *query, bool one_row)
{
	Node	   *source;
	RangeTblEntry *rte;

	if (query->cteList != NIL || query->hasTargetSRFs || checkExprHasSubLink((Node *) query->targetList) ||
		checkExprHasSubLink((Node *) query->returningList))
		return false;
	if (query->jointree->fromlist == NIL)
		return true;
	source = linitial(query->jointree->fromlist);
	if (one_row || list_length(query->jointree->fromlist) != 1 || !IsA(source, RangeTblRef))
		return false;
	rte = rt_fetch(((RangeTblRef *) source)->rtindex, query->rtable);
	return rte->rtekind == RTE_VALUES && !checkExprHasSubLink((Node *) rte->values_lists);
}

static PlannedStmt *
plan_insert(Query *query, Oid check_as, const char **reason)
{
	DistPlan	plan = {.kind = DIST_PLAN_FAST_PATH,.dist_param = -1,.tableoid_position = -1,.traits.check_as = check_as,
	.writes = true};
	RangeTblEntry *target = rt_fetch(query->resultRelation, query->rtable);
	const DistTable *table = metadata_lookup(target->relid);
	List	   *exprs = NIL;
	Query	   *task;

	*reason = "its target is a local table";
	if (table == NULL)
		return NULL;
	*reason = "its rows are not written out in the statement";
	if (!has_literal_rows(query, table->kind == DIST_HASH))
		return NULL;
	*reason = "it reads another distributed table";
	if (query->hasSubLinks && count_distributed_tables((Node *) query) != (table->kind == DIST_REFERENCE ? 0 : 1))
		return NULL;
	if ((*reason = write_stays_in_shard(query, table)) != NULL)
		return NULL;

	task = extract_insert_values(query, &exprs);
	if ((*reason = write_is_same_everywhere(task, query, table)) != NULL)
		return NULL;
	*reason = "it has too many values to evaluate here";
	if (list_length(exprs) > MAX_INSERT_VALUES)
		return NULL;
	if ((*reason = shippable_columns(query->returningList)) != NULL)
		return NULL;

	plan.relid = table->relid;
	if (table->kind == DIST_REFERENCE)
	{
		plan.kind = DIST_PLAN_REFERENCE_WRITE;
		plan.exclusive = query->onConflict && query->onConflict->action == ONCONFLICT_UPDATE;
	}
	plan.nparams = list_length(exprs);
	if (table->kind == DIST_HASH)
	{
		int			position = extract_dist_value(task, table, &exprs);

		plan.dist_param = position;
	}
	write_override_identity(task, table->relid);
	plan.text = task_query_text(task, reason);
	if (plan.text == NULL)
		return NULL;
	return make_dist_statement(query, &plan, exprs);
}

PlannedStmt *
fast_path_plan(Query *query, Param *pin, const char **reason)
{
	Oid			check_as;

	*reason = "its tables are used with the rights of different users";
	if (!query_check_as(query, &check_as))
		return NULL;
	switch (query->commandType)
	{
		case CMD_SELECT:
			return plan_select(query, pin, check_as, reason);
		case CMD_INSERT:
			return plan_insert(query, check_as, reason);
		case CMD_UPDATE:
		case CMD_DELETE:
			return plan_update_delete(query, pin, check_as, reason);
		default:
			*reason = "MERGE is planned as a join";
			return NULL;
	}
}
