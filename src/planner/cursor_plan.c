/*-------------------------------------------------------------------------
 *
 * cursor_plan.c
 *	  Cursors that lock rows, and UPDATE and DELETE .. WHERE CURRENT OF.
 *
 * A cursor FOR UPDATE (or SHARE) over distributed tables returns hidden
 * columns that identify each table's row: ctid, xmin and distribution column.
 * A DistributedCursor on top of its plan keeps these values of the row that it
 * returned last.  WHERE CURRENT OF is planned as ctid = parameter, on one
 * shard; the executor finds the shard and the parameter's value
 * (executor/current_row.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "lib/plan_fields.h"
#include "planner/cursor_plan.h"

/* Names of the columns end with their table's number in the query. */
#define CTID_COLUMN "citus_ctid"
#define XMIN_COLUMN "citus_xmin"
#define DIST_COLUMN "citus_dist"

CustomScanMethods dist_cursor_methods = {
	.CustomName = "DistributedCursor",
};

/*
 * The distributed table of a row mark; NULL if there is none, or if the user
 * may not read the columns that would be added.
 */
static const DistTable *
marked_table(Query *query, RowMarkClause *mark)
{
	RangeTblEntry *rte = rt_fetch(mark->rti, query->rtable);
	Oid			user = compat_check_as_user(query, rte);
	const DistTable *table;

	/* a row of a partition is not identified by ctid alone */
	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION)
		return NULL;
	if (!OidIsValid(user))
		user = GetUserId();
	table = metadata_lookup(rte->relid);
	if (table == NULL || table->kind == DIST_REFERENCE ||
		pg_class_aclcheck(rte->relid, user, ACL_SELECT) != ACLCHECK_OK)
		return NULL;
	return table;
}

static void
add_row_column(Query *query, Var *var, const char *name)
{
	query->targetList = lappend(query->targetList,
								makeTargetEntry((Expr *) var, list_length(query->targetList) + 1,
												psprintf("%s_%d", name, (int) var->varno), false));
}

bool
cursor_plan_prepare(Query *query, int cursor_options)
{
	bool		any = false;

	if (query->commandType != CMD_SELECT || (cursor_options & CURSOR_OPT_FAST_PLAN) == 0)
		return false;
	foreach_ptr(RowMarkClause, mark, query->rowMarks)
	{
		const DistTable *table = marked_table(query, mark);

		if (table == NULL)
			continue;
		any = true;
		add_row_column(query, makeVar(mark->rti, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0), CTID_COLUMN);
		add_row_column(query, makeVar(mark->rti, MinTransactionIdAttributeNumber, XIDOID, -1, InvalidOid, 0), XMIN_COLUMN);
		if (table->kind == DIST_HASH)
			add_row_column(query, makeVar(mark->rti, table->dist_attno, table->dist_type, table->dist_typmod,
									  table->dist_collation, 0), DIST_COLUMN);
	}
	return any;
}

bool
cursor_plan_stays_here(Query *query, int cursor_options)
{
	if ((cursor_options & CURSOR_OPT_FAST_PLAN) == 0)
		return false;
	foreach_ptr(RowMarkClause, mark, query->rowMarks)
	{
		const RangeTblEntry *rte = rt_fetch(mark->rti, query->rtable);
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

		if (table != NULL && table->kind == DIST_REFERENCE)
			return true;
	}
	return false;
}

/*
 * The position of one of our columns in what the plan returns, after which it
 * is hidden; 0 if it isn't there.
 */
static int
hide_column(List *target_list, const char *name, Index rti)
{
	char	   *full_name = psprintf("%s_%d", name, (int) rti);

	/* ours come after columns of the client that have such a name */
	for (int i = list_length(target_list) - 1; i >= 0; i--)
	{
		TargetEntry *entry = list_nth(target_list, i);

		if (entry->resname != NULL && strcmp(entry->resname, full_name) == 0)
		{
			entry->resjunk = true;
			return entry->resno;
		}
	}
	return 0;
}

void
cursor_plan_wrap(PlannedStmt *plan, Query *query)
{
	CustomScan *scan = makeNode(CustomScan);

	foreach_ptr(TargetEntry, entry, plan->planTree->targetlist)
	{
		Node	   *expr = (Node *) entry->expr;
		TargetEntry *copy = flatCopyTargetEntry(entry);

		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry((Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr), exprTypmod(expr),
													 exprCollation(expr), 0),
									entry->resno, NULL, false));
		copy->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr), exprTypmod(expr),
									  exprCollation(expr), 0);
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist, copy);
	}
	foreach_ptr(RowMarkClause, mark, query->rowMarks)
	{
		List	   *columns = scan->scan.plan.targetlist;
		int			ctid = hide_column(columns, CTID_COLUMN, mark->rti);

		if (ctid != 0)
		{
			CursorTable table = {
				.relid = rt_fetch(mark->rti, query->rtable)->relid,.ctid = ctid,
				.xmin = hide_column(columns, XMIN_COLUMN, mark->rti),
				.dist = hide_column(columns, DIST_COLUMN, mark->rti),
			};

			scan->custom_private = lappend(scan->custom_private, plan_struct_pack(&table, sizeof(table)));
		}
	}
	scan->methods = &dist_cursor_methods;
	scan->scan.plan.startup_cost = plan->planTree->startup_cost;
	scan->scan.plan.total_cost = plan->planTree->total_cost;
	scan->scan.plan.plan_rows = plan->planTree->plan_rows;
	scan->scan.plan.plan_width = plan->planTree->plan_width;
	scan->scan.plan.lefttree = plan->planTree;
	plan->planTree = (Plan *) scan;
	plan->dependsOnRole = true; /* see marked_table */
}

static bool
find_walker(Node *node, void *context)
{
	CurrentOfExpr **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, CurrentOfExpr))
	{
		*found = (CurrentOfExpr *) node;
		return true;
	}
	return expression_tree_walker(node, find_walker, context);
}

CurrentOfExpr *
current_of_find(Node *quals)
{
	CurrentOfExpr *found = NULL;

	(void) find_walker(quals, &found);
	return found;
}

/* A parameter that no client can have. */
static bool
is_row_param(const Node *node)
{
	return IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN && ((const Param *) node)->paramid == 0;
}

Node *
current_of_replace(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CurrentOfExpr))
	{
		Var		   *ctid = makeVar(((CurrentOfExpr *) node)->cvarno, SelfItemPointerAttributeNumber, TIDOID, -1,
								   InvalidOid, 0);
		Param	   *param = makeNode(Param);
		OpExpr	   *equal;

		param->paramkind = PARAM_EXTERN;
		param->paramtype = TIDOID;
		param->paramtypmod = -1;
		param->location = -1;
		equal = (OpExpr *) make_opclause(TIDEqualOperator, BOOLOID, false, (Expr *) ctid, (Expr *) param,
										 InvalidOid, InvalidOid);
		equal->opfuncid = F_TIDEQ;
		return (Node *) equal;
	}
	return expression_tree_mutator(node, current_of_replace, context);
}

/* The name of the cursor, a constant or a variable. */
static Expr *
cursor_name(const CurrentOfExpr *current_of)
{
	Param	   *param;

	if (current_of->cursor_name != NULL)
		return (Expr *) makeConst(REFCURSOROID, -1, InvalidOid, -1,
								  PointerGetDatum(cstring_to_text(current_of->cursor_name)), false, false);
	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = current_of->cursor_param;
	param->paramtype = REFCURSOROID;
	param->paramtypmod = -1;
	param->location = -1;
	return (Expr *) param;
}

void
current_of_set(DistPlan *plan, const CurrentOfExpr *current_of, List **exprs)
{
	ListCell   *cell;

	foreach(cell, *exprs)
	{
		if (!is_row_param(lfirst(cell)))
			continue;
		lfirst(cell) = makeNullConst(TIDOID, -1, InvalidOid);
		*exprs = lappend(*exprs, cursor_name(current_of));
		plan->current_row = foreach_current_index(cell) + 1;
		plan->current_of = list_length(*exprs);
		return;
	}
}
