/*-------------------------------------------------------------------------
 *
 * group_subquery.c
 *	  Correlated subqueries that each shard group evaluates for its own rows.
 *
 *	  SELECT a.id, (SELECT b.y FROM b WHERE b.id = a.id ORDER BY b.y LIMIT 1) FROM a
 *
 * PostgreSQL plans such a subquery separately, and runs it for each row of a,
 * which takes a round trip each if b is distributed.  If the distribution
 * column of each distributed table in the subquery is equal to one of the
 * outer row, the subquery reads only rows in the outer row's shard group.  So
 * the node that computes the outer row can compute the subquery, whatever it
 * does.
 *
 * For planning, the subquery is replaced by a *call*:
 * citus_internal.group_subquery(number, columns of the outer row ..).  The
 * text for the nodes contains the subquery again.  The call can't be executed,
 * so its cost on the initiator is prohibitive; if a finished plan still
 * contains one, the original statement is planned.
 *
 * LATERAL subqueries are handled in the same way, as functions in FROM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "compat/sql_function.h"
#include "planner/dist_rel.h"
#include "planner/group_subquery.h"
#include "planner/planner.h"

/* The cost of executing a call on the initiator, which is impossible. */
#define COST_OF_CALL_HERE 1e12

/* The subquery that a node is the call for; NULL if it isn't a call. */
static GroupSubquery *
marked_subquery(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;
	const Const *number;

	if (planning_context == NULL || planning_context->group_subqueries == NIL || node == NULL || !IsA(node, FuncExpr) ||
		call->funcid != planning_context->group_subquery_function || call->location != GROUP_SUBQUERY_LOCATION)
		return NULL;
	number = linitial(call->args);
	return list_nth(planning_context->group_subqueries, DatumGetInt32(number->constvalue));
}

/*
 * Calls in the descriptions of the nodes' result columns don't count.  There
 * is no walker for the expressions of plan nodes, but all can be written out;
 * so are texts of writes, which have the call's name.
 */
bool
group_subqueries_are_gone(PlannedStmt *plan, const PlanningContext *context)
{
	List	   *descriptions = NIL;
	char	   *written;
	ListCell   *cell;
	ListCell   *description;

	foreach(cell, context->scans)
	{
		descriptions = lappend(descriptions, lfirst_node(CustomScan, cell)->custom_scan_tlist);
		lfirst_node(CustomScan, cell)->custom_scan_tlist = NIL;
	}
	written = nodeToString(plan);
	forboth(cell, context->scans, description, descriptions)
		lfirst_node(CustomScan, cell)->custom_scan_tlist = lfirst(description);
	return strstr(written, psprintf(":funcid %u ", context->group_subquery_function)) == NULL &&
		strstr(written, "citus_internal.group_subquery") == NULL;
}

/* For group_subquery_refusal. */
typedef struct RefusalSearch
{
	PlannerInfo *root;
	const DistRel *dist;
	const char *reason;
} RefusalSearch;

/* Why the nodes can't run one call's subquery for rows of their own. */
static const char *
reason_for_subquery(const RefusalSearch *search, const GroupSubquery *subquery, const List *args)
{
	const DistRel *dist = search->dist;
	int			pin = -1;

	if (dist == NULL)
		return "it has a subquery";
	if (subquery->check_as != dist->check_as)
		return "it has a subquery with the rights of another user";
	if (subquery->table == NULL || dist->table == NULL)
		return subquery->table == NULL ? NULL : "it has a subquery on a distributed table";
	if (subquery->table->colocation_id != dist->table->colocation_id)
		return "it has a subquery on a table that is not colocated";
	if (subquery->table->kind == DIST_SINGLE)
		return NULL;
	while ((pin = bms_next_member(subquery->pins, pin)) >= 0)
	{
		if (dist_rel_is_dist_expr(search->root, dist, list_nth(args, pin + 1)))
			return NULL;
	}
	return "it has a subquery that is not tied to its distribution column";
}

static bool
refusal_walker(Node *node, void *context)
{
	RefusalSearch *search = context;
	const GroupSubquery *subquery = marked_subquery(node);

	if (node == NULL)
		return false;
	if (subquery != NULL)
		search->reason = reason_for_subquery(search, subquery, ((FuncExpr *) node)->args);
	return search->reason != NULL || expression_tree_walker(node, refusal_walker, context);
}

const char *
group_subquery_refusal(PlannerInfo *root, const DistRel *dist, List *exprs)
{
	RefusalSearch search = {.root = root,.dist = dist};

	if (planning_context != NULL && planning_context->group_subqueries != NIL)
		(void) refusal_walker((Node *) exprs, &search);
	return search.reason;
}

static Node *
hide_mutator(Node *node, void *context)
{
	CoalesceExpr *hidden;

	if (node == NULL)
		return NULL;
	if (marked_subquery(node) == NULL)
		return expression_tree_mutator(node, hide_mutator, context);
	hidden = makeNode(CoalesceExpr);
	hidden->coalescetype = exprType(node);
	hidden->coalescecollid = exprCollation(node);
	hidden->args = (List *) hide_mutator((Node *) ((FuncExpr *) node)->args, context);
	return (Node *) hidden;
}

List *
group_subqueries_hide(List *exprs)
{
	if (planning_context == NULL || planning_context->group_subqueries == NIL)
		return exprs;
	return (List *) hide_mutator((Node *) exprs, NULL);
}

static bool
stands_walker(Node *node, void *context)
{
	const GroupSubquery *subquery = marked_subquery(node);

	if (subquery != NULL && context != NULL)
		*(Oid *) context = subquery->check_as;
	return node != NULL && (subquery != NULL || expression_tree_walker(node, stands_walker, context));
}

bool
group_subqueries_stand_in(List *exprs, Oid *check_as)
{
	return planning_context != NULL && planning_context->group_subqueries != NIL &&
		stands_walker((Node *) exprs, check_as);
}

static bool
cost_walker(Node *node, void *context)
{
	const GroupSubquery *subquery = marked_subquery(node);

	if (node == NULL)
		return false;
	if (subquery != NULL)
		*(double *) context += subquery->cost;
	return expression_tree_walker(node, cost_walker, context);
}

double
group_subquery_cost(List *exprs)
{
	double		cost = 0;

	if (planning_context != NULL && planning_context->group_subqueries != NIL)
		(void) cost_walker((Node *) exprs, &cost);
	return cost;
}

/*
 * Whether a call tells how columns are stored.  Nodes send values that are
 * neither compressed nor out of line.
 */
static bool
is_storage_call(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	return IsA(node, FuncExpr) && (call->funcid == F_PG_COLUMN_SIZE || call->funcid == F_PG_COLUMN_COMPRESSION) &&
		contain_var_clause(unconstify(Node *, node));
}

/* For group_subquery_columns, and group_subquery_storage. */
typedef struct ColumnSearch
{
	PlannerInfo *root;
	const DistRel *dist;
	List	   *columns;
} ColumnSearch;

static bool
columns_walker(Node *node, void *context)
{
	ColumnSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var) ||
		((marked_subquery(node) != NULL || is_storage_call(node)) &&
		 dist_rel_can_evaluate(search->root, search->dist, list_make1(node))))
	{
		search->columns = list_append_unique(search->columns, node);
		return false;
	}
	return expression_tree_walker(node, columns_walker, context);
}

List *
group_subquery_columns(PlannerInfo *root, const DistRel *dist, List *exprs)
{
	ColumnSearch search = {.root = root,.dist = dist};

	(void) columns_walker((Node *) exprs, &search);
	return search.columns;
}

static bool
storage_walker(Node *node, void *context)
{
	const ColumnSearch *search = context;

	if (node == NULL)
		return false;
	return (is_storage_call(node) && dist_rel_can_evaluate(search->root, search->dist, list_make1(node))) ||
		expression_tree_walker(node, storage_walker, context);
}

bool
group_subquery_storage(PlannerInfo *root, const DistRel *dist, List *exprs)
{
	ColumnSearch search = {.root = root,.dist = dist};

	return storage_walker((Node *) exprs, &search);
}

/* Stops at a call outside of aggregates that has an argument to compute. */
static bool
computed_args_walker(Node *node, void *context)
{
	ListCell   *cell;

	if (node == NULL || IsA(node, Aggref))
		return false;
	if (marked_subquery(node) == NULL)
		return expression_tree_walker(node, computed_args_walker, context);
	foreach(cell, ((FuncExpr *) node)->args)
	{
		if (!IsA(lfirst(cell), Var) && !IsA(lfirst(cell), Const) && !IsA(lfirst(cell), Param))
			return true;
	}
	return false;
}

bool
group_subqueries_need_items(List *exprs)
{
	return planning_context != NULL && planning_context->group_subqueries != NIL &&
		computed_args_walker((Node *) exprs, NULL);
}

/*
 * A subquery's columns of the outer row, and what they are now, for
 * restore_columns_mutator.
 */
typedef struct RestoreColumns
{
	int			depth;
	const List *vars;
	const List *args;			/* of the call: its number, and what vars
								 * are */
} RestoreColumns;

static Node *
restore_columns_mutator(Node *node, void *context)
{
	RestoreColumns *restore = context;
	ListCell   *cell;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Query	   *query;

		restore->depth++;
		query = query_tree_mutator((Query *) node, restore_columns_mutator, context, 0);
		restore->depth--;
		return (Node *) query;
	}
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == restore->depth)
	{
		foreach(cell, restore->vars)
		{
			const Var  *var = lfirst(cell);
			Node	   *arg;

			if (var->varno != ((Var *) node)->varno || var->varattno != ((Var *) node)->varattno)
				continue;
			arg = copyObject(list_nth(restore->args, foreach_current_index(cell) + 1));
			IncrementVarSublevelsUp(arg, restore->depth, 0);
			return arg;
		}
	}
	return expression_tree_mutator(node, restore_columns_mutator, context);
}

/* The subquery (a SubLink, or a Query) that a call stands for. */
static Node *
restore_subquery(const GroupSubquery *subquery, const FuncExpr *call)
{
	RestoreColumns restore = {.vars = subquery->vars,.args = call->args};
	Node	   *original = subquery->link != NULL ? (Node *) subquery->link : (Node *) subquery->query;

	planning_context->hidden = lappend(planning_context->hidden, subquery->query);
	return restore_columns_mutator(original, &restore);
}

static Node *
restore_mutator(Node *node, void *context)
{
	const GroupSubquery *subquery = marked_subquery(node);
	Query	   *query;

	if (node == NULL)
		return NULL;
	if (subquery != NULL)
		return restore_subquery(subquery, (FuncExpr *) node);
	if (!IsA(node, Query))
		return expression_tree_mutator(node, restore_mutator, context);
	query = copyObject((Query *) node);
	foreach_ptr(RangeTblEntry, rte, query->rtable)
	{
		const RangeTblFunction *function = rte->functions != NIL ? linitial(rte->functions) : NULL;

		if (function == NULL || (subquery = marked_subquery(function->funcexpr)) == NULL)
			continue;
		rte->rtekind = RTE_SUBQUERY;
		rte->subquery = (Query *) restore_subquery(subquery, (FuncExpr *) function->funcexpr);
		rte->functions = NIL;
	}
	query = query_tree_mutator(query, restore_mutator, context, 0);
	query->hasSubLinks = true;
	return (Node *) query;
}

Query *
group_subqueries_restore(Query *task)
{
	if (planning_context->group_subqueries == NIL)
		return task;
	return (Query *) restore_mutator((Node *) task, NULL);
}

SQL_FUNCTION(citus_internal_group_subquery_support);

/* A planner support function: what a call costs here, and its rows. */
Datum
citus_internal_group_subquery_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	const GroupSubquery *subquery;

	if (IsA(request, SupportRequestCost))
	{
		((SupportRequestCost *) request)->startup = 0;
		((SupportRequestCost *) request)->per_tuple = COST_OF_CALL_HERE;
		PG_RETURN_POINTER(request);
	}
	if (!IsA(request, SupportRequestRows) || (subquery = marked_subquery(((SupportRequestRows *) request)->node)) == NULL)
		PG_RETURN_POINTER(NULL);
	((SupportRequestRows *) request)->rows = subquery->rows;
	PG_RETURN_POINTER(request);
}

SQL_FUNCTION(citus_internal_group_subquery);

/*
 * The placeholder of a subquery during planning.  When the planner estimates
 * with constants, it returns null.
 */
Datum
citus_internal_group_subquery(PG_FUNCTION_ARGS)
{
	if (planning_context != NULL && planning_context->group_subqueries != NIL)
		PG_RETURN_NULL();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a subquery can only be computed by the nodes of its rows"),
			 errhint("SET citus.enable_query_pushdown = off has it computed here.")));
}
