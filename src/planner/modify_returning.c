/*-------------------------------------------------------------------------
 *
 * modify_returning.c
 *	  The scan tuple of a DistributedModify: the columns that RETURNING uses.
 *
 * For setrefs.c, an expression that uses a column is what tells where the
 * column is in the scan tuple.  MERGE's actions use the target's columns as
 * they were, and RETURNING as they are after the write: there the latter are
 * wrapped in a RelabelType that changes nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "compat/merge.h"
#include "compat/returning.h"
#include "planner/modify_plan.h"

static Node *
wrap_returned_mutator(Node *node, void *data)
{
	const Index *varno = data;
	Var		   *var = (Var *) node;
	bool		old;

	if (node == NULL)
		return NULL;
	if (returning_wrapped(node, &old) != NULL)
		return copyObject(node);
	if (IsA(node, Var) && var->varno == *varno && var->varlevelsup == 0)
		return (Node *) makeRelabelType(copyObject((Expr *) var), var->vartype, var->vartypmod, var->varcollid,
										COERCE_IMPLICIT_CAST);
	return expression_tree_mutator(node, wrap_returned_mutator, data);
}

List *
modify_wrap_returned(List *exprs, Index varno)
{
	return (List *) wrap_returned_mutator((Node *) exprs, &varno);
}

/* The column that modify_wrap_returned has wrapped, or NULL. */
static const Var *
unwrap_returned(const Node *node)
{
	const RelabelType *relabel = (const RelabelType *) node;
	const Var  *var;

	if (!IsA(node, RelabelType) || !IsA(relabel->arg, Var))
		return NULL;
	var = (const Var *) relabel->arg;
	return var->vartype == relabel->resulttype && var->vartypmod == relabel->resulttypmod &&
		var->varcollid == relabel->resultcollid ? var : NULL;
}

static bool
returned_columns_walker(Node *node, void *columns)
{
	List	  **result = columns;
	bool		old;

	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || merge_is_action(node) || unwrap_returned(node) != NULL ||
		returning_wrapped(node, &old) != NULL)
	{
		*result = lappend(*result, node);
		return false;
	}
	return expression_tree_walker(node, returned_columns_walker, columns);
}

List *
modify_columns_in(Node *exprs)
{
	List	   *result = NIL;

	(void) returned_columns_walker(exprs, &result);
	return result;
}

/* Position in the child's result of an expression. */
static int
child_resno(List *child_tlist, Expr *expr)
{
	TargetEntry *entry = tlist_member(expr, child_tlist);

	if (entry == NULL)
		elog(ERROR, "variable not found in the rows to write");
	return entry->resno;
}

/* Notes what the scan tuple's next column is. */
static void
add_scan_column(ModifyPlan *plan, AttrNumber attno, int resno)
{
	plan->column_attnos = lappend_int(plan->column_attnos, attno);
	plan->column_resnos = lappend_int(plan->column_resnos, resno);
}

/* Nodes don't return the partition that a row has been written to. */
static void
check_returned_tableoid(const ModifyPlan *plan)
{
	if (get_rel_relkind(plan->relid) == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot return column \"tableoid\" of distributed partitioned table \"%s\"",
						get_rel_name(plan->relid)),
				 errhint("Return the columns that it is partitioned by.")));
}

/*
 * Adds a column of OLD.  The child of an UPDATE or MERGE has computed it; for
 * ON CONFLICT DO UPDATE nodes return it.
 */
static void
add_old_column(ModifyPlan *plan, const Var *column, List *child_tlist)
{
	if (plan->command != CMD_INSERT)
	{
		add_scan_column(plan, 0, child_resno(child_tlist, (Expr *) column));
		return;
	}
	if (plan->resolves)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot return OLD of rows that ON CONFLICT DO UPDATE changes in table \"%s\"",
						get_rel_name(plan->relid)),
				 errdetail("The table has row triggers, or DO UPDATE can't be executed by the nodes with the rows."),
				 errhint("Use separate UPDATE and INSERT statements.")));
	if (column->varattno == TableOidAttributeNumber)
		check_returned_tableoid(plan);
	add_scan_column(plan, column->varattno, COLUMN_OLD);
	plan->old_attnos = list_append_unique_int(plan->old_attnos, column->varattno);
}

/* Adds a column of the written row. */
static void
add_written_column(ModifyPlan *plan, AttrNumber attno, bool null_if_deleted)
{
	add_scan_column(plan, attno, null_if_deleted ? COLUMN_NEW : 0);
	if (attno == TableOidAttributeNumber)
		check_returned_tableoid(plan);
	else
		plan->attnos = list_append_unique_int(plan->attnos, attno);
}

/* Adds what a column in RETURNING stands for. */
static void
add_returned_column(ModifyPlan *plan, const Node *column, Index varno, List *child_tlist)
{
	bool		old;
	const Var  *var = returning_wrapped(column, &old);

	if (var != NULL && old)
		add_old_column(plan, var, child_tlist);
	else if (var != NULL)
		add_written_column(plan, var->varattno, true);
	else if (merge_is_action(column))
		add_scan_column(plan, 0, COLUMN_ACTION);
	else if (unwrap_returned(column) != NULL)
		add_written_column(plan, unwrap_returned(column)->varattno, false);
	else if (IsA(column, Var) && ((const Var *) column)->varno == varno)
		add_written_column(plan, ((const Var *) column)->varattno, false);
	else
		add_scan_column(plan, 0, child_resno(child_tlist, (Expr *) column));
}

void
modify_returned_columns(ModifyPlan *plan, List *exprs, Index varno, List *child_tlist, List **scan_tlist)
{
	for (int i = 0; i < list_length(*scan_tlist); i++)
		add_scan_column(plan, 0, COLUMN_EXCLUDED);
	foreach_ptr(Expr, column, modify_columns_in((Node *) exprs))
	{
		TargetEntry *entry = tlist_member(column, *scan_tlist);

		if (entry == NULL)
		{
			*scan_tlist = lappend(*scan_tlist, makeTargetEntry(copyObject(column), list_length(*scan_tlist) + 1, NULL, false));
			add_returned_column(plan, (Node *) column, varno, child_tlist);
		}
		else if (list_nth_int(plan->column_resnos, entry->resno - 1) == COLUMN_EXCLUDED)
			list_nth_cell(plan->column_resnos, entry->resno - 1)->int_value = entry->resno;
	}
	if (exprs != NIL && plan->attnos == NIL)
		plan->attnos = list_make1_int(SelfItemPointerAttributeNumber);	/* to see which rows there are */
}
