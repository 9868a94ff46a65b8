/*-------------------------------------------------------------------------
 *
 * group_subquery_mark.c
 *	  Finds the subqueries of a query that shard groups can evaluate for their
 *	  own rows, and replaces them by calls, before the query is planned.
 *	  There are no equivalence classes yet, so this file follows equalities
 *	  itself: a table is tied to a column of the outer row if WHERE, or the ON
 *	  of an inner join, equates its distribution column with it.  Later,
 *	  group_subquery.c checks whether the columns of the outer row determine a
 *	  shard group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "planner/dist_cost.h"
#include "planner/group_subquery.h"
#include "planner/moved_rows.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "sharding/prune.h"

/* The function that is called. */
static Oid
mark_function(void)
{
	static const Oid args[] = {INT4OID, ANYOID};

	return moved_rows_function("group_subquery", lengthof(args), args);
}

/*
 * The columns of the outer query in a subquery (at a depth of 1 in it), for
 * outer_columns_walker.
 */
typedef struct OuterColumns
{
	int			depth;
	List	   *vars;			/* with varlevelsup 0 */
	bool		others;			/* something else of outer queries is used */
} OuterColumns;

static bool
outer_columns_walker(Node *node, void *context)
{
	OuterColumns *outer = context;
	int			levels = 0;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		bool		stop;

		outer->depth++;
		stop = query_tree_walker((Query *) node, outer_columns_walker, context, QTW_EXAMINE_RTES_BEFORE);
		outer->depth--;
		return stop;
	}
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if ((int) var->varlevelsup < outer->depth)
			return false;
		outer->others = outer->others || (int) var->varlevelsup > outer->depth || var->varattno <= 0;
		var->varlevelsup = 0;
		outer->vars = list_append_unique(outer->vars, var);
		return outer->others;
	}
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (RangeTblEntry *) node;

		outer->others = outer->others || rte->securityQuals != NIL ||
			(rte->rtekind == RTE_CTE && (int) rte->ctelevelsup >= outer->depth);
		return outer->others;
	}
	if (IsA(node, Aggref))
		levels = (int) ((Aggref *) node)->agglevelsup;
	else if (IsA(node, GroupingFunc))
		levels = (int) ((GroupingFunc *) node)->agglevelsup;
	if (levels > 0 && levels >= outer->depth)
		return outer->others = true;
	return expression_tree_walker(node, outer_columns_walker, context);
}

/* An expression without casts that keep its value. */
static Node *
without_relabels(Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr;
}

/* Whether a Var is in the list, whatever name it was written by. */
static bool
is_known_var(const List *known, Node *node)
{
	const Var  *var = (Var *) node;

	if (node == NULL || !IsA(node, Var))
		return false;
	foreach_ptr(const Var, other, known)
	{
		if (other->varno == var->varno && other->varattno == var->varattno && other->varlevelsup == var->varlevelsup)
			return true;
	}
	return false;
}

/*
 * Adds to known the columns of relations (varnos) that conditions equate with
 * known ones.
 */
static void
spread_equalities(const DistTable *table, Node *quals, const Bitmapset *varnos, List **known)
{
	foreach_ptr(const OpExpr, op, make_ands_implicit((Expr *) quals))
	{
		if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !prune_is_equality(table, op->opno, op->inputcollid))
			continue;
		for (int i = 0; i < 2; i++)
		{
			Node	   *expr = without_relabels(list_nth(op->args, i));
			Node	   *other = without_relabels(list_nth(op->args, 1 - i));

			if (IsA(expr, Var) && ((Var *) expr)->varlevelsup == 0 && bms_is_member(((Var *) expr)->varno, varnos) &&
				is_known_var(*known, other) && !is_known_var(*known, expr))
				*known = lappend(*known, expr);
		}
	}
}

/*
 * The same for an item of FROM: the condition of an outer join holds for rows
 * of its nullable side only.  Returns the item's relations.
 */
static Bitmapset *
spread_from(const DistTable *table, Node *item, List **known)
{
	Bitmapset  *varnos = NULL;
	ListCell   *cell;

	if (IsA(item, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) item)->rtindex);
	if (IsA(item, FromExpr))
	{
		foreach(cell, ((FromExpr *) item)->fromlist)
			varnos = bms_join(varnos, spread_from(table, lfirst(cell), known));
		spread_equalities(table, ((FromExpr *) item)->quals, varnos, known);
	}
	else
	{
		const JoinExpr *join = castNode(JoinExpr, item);
		Bitmapset  *left = spread_from(table, join->larg, known);
		Bitmapset  *right = spread_from(table, join->rarg, known);

		varnos = bms_union(left, right);
		if (join->jointype != JOIN_FULL)
			spread_equalities(table, join->quals,
							  join->jointype == JOIN_LEFT ? right : join->jointype == JOIN_RIGHT ? left : varnos, known);
	}
	return varnos;
}

/* Context for unpinned_walker. */
typedef struct PinSearch
{
	const DistTable *table;
	List	   *known;			/* columns that have the shard group's value,
								 * as in the query's own expressions */
} PinSearch;

static bool tables_are_pinned(Query *query, const PinSearch *outer);

/* Stops at a subquery with a table that isn't pinned. */
static bool
unpinned_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return !tables_are_pinned((Query *) node, context);
	return expression_tree_walker(node, unpinned_walker, context);
}

/*
 * Whether all distributed tables of a query, at all levels, are read for one
 * value of their distribution column: that of columns known outside.  Samples
 * are taken, and rows are locked, of each shard, and not of the shards of a
 * node together.
 */
static bool
tables_are_pinned(Query *query, const PinSearch *outer)
{
	PinSearch	search = {.table = outer->table};
	int			count = -1;
	ListCell   *cell;

	if (query->rowMarks != NIL)
		return false;
	search.known = copyObject(outer->known);
	foreach(cell, search.known)
		lfirst_node(Var, cell)->varlevelsup++;
	while (list_length(search.known) > count)
	{
		count = list_length(search.known);
		(void) spread_from(search.table, (Node *) query->jointree, &search.known);
	}
	foreach(cell, query->rtable)
	{
		const RangeTblEntry *rte = lfirst(cell);
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;
		Var		   *var;

		if (table == NULL || table->kind == DIST_REFERENCE)
			continue;
		if (table->colocation_id != search.table->colocation_id || table->colocation_id == 0 || rte->tablesample != NULL)
			return false;
		if (table->kind == DIST_SINGLE)
			continue;
		var = makeVar(foreach_current_index(cell) + 1, table->dist_attno, table->dist_type, table->dist_typmod,
					  table->dist_collation, 0);
		if (table->kind != DIST_HASH || !is_known_var(search.known, (Node *) var))
			return false;
	}
	return !query_tree_walker(query, unpinned_walker, &search, 0);
}

/* The first distributed table at any level of a query, for table_walker. */
static bool
table_walker(Node *node, void *context)
{
	const DistTable **table = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (RangeTblEntry *) node;

		*table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;
		return *table != NULL && (*table)->kind != DIST_REFERENCE;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, table_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, table_walker, context);
}

/* Sets the subquery's table and pins; false if it needs several groups. */
static bool
find_pins(GroupSubquery *subquery)
{
	ListCell   *cell;

	if (!table_walker((Node *) subquery->query, (void *) &subquery->table))
	{
		subquery->table = NULL;
		return true;
	}
	foreach(cell, subquery->vars)
	{
		PinSearch	search = {.table = subquery->table,.known = list_make1(lfirst(cell))};

		if (tables_are_pinned(subquery->query, &search))
			subquery->pins = bms_add_member(subquery->pins, foreach_current_index(cell));
	}
	return subquery->pins != NULL;
}

/*
 * The columns of a query's relation that its WHERE equates with a value that
 * is the same for all rows.
 */
static Bitmapset *
equated_columns(const Query *query, Index varno)
{
	Bitmapset  *attnos = NULL;

	foreach_ptr(const OpExpr, op, make_ands_implicit((Expr *) query->jointree->quals))
	{
		if (!IsA(op, OpExpr) || list_length(op->args) != 2)
			continue;
		for (int i = 0; i < 2; i++)
		{
			Node	   *expr = without_relabels(list_nth(op->args, i));

			if (IsA(expr, Var) && ((Var *) expr)->varno == (int) varno && ((Var *) expr)->varlevelsup == 0 &&
				op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
				!contain_vars_of_level(list_nth(op->args, 1 - i), 0))
				attnos = bms_add_member(attnos, ((Var *) expr)->varattno);
		}
	}
	return attnos;
}

/*
 * The cost, on a node, of finding the rows of a subquery's relation for one
 * outer row in one shard: by an index, or by a scan.
 */
static double
find_cost(const Query *query, Index varno, const DistTable *table)
{
	Relation	relation = table_open(table->relid, NoLock);
	Bitmapset  *attnos = equated_columns(query, varno);
	double		cost = (Max(relation->rd_rel->reltuples, 1000) * cpu_tuple_cost +
						Max(relation->rd_rel->relpages, 10) * seq_page_cost) / table->nshards;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (bms_is_member(index->rd_index->indkey.values[0], attnos))
			cost = Min(cost, dist_lookup_cost);
		index_close(index, AccessShareLock);
	}
	table_close(relation, NoLock);
	return cost;
}

/* The cost, on a node, of running a subquery for one row. */
static double
run_cost(const Query *query)
{
	double		cost = dist_lookup_cost;
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		const RangeTblEntry *rte = lfirst(cell);
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

		if (table != NULL && table->kind != DIST_REFERENCE)
			cost = Max(cost, find_cost(query, foreach_current_index(cell) + 1, table));
	}
	return cost;
}

/* How many rows a subquery returns, about. */
static double
estimate_rows(const Query *query)
{
	const Const *limit = (Const *) query->limitCount;

	if (limit != NULL && IsA(limit, Const) && !limit->constisnull)
		return clamp_row_est(DatumGetInt64(limit->constvalue));
	return query->hasAggs && query->groupClause == NIL ? 1 : 10;
}

/* Whether other nodes can run the query as it is. */
static bool
is_runnable_elsewhere(Query *query)
{
	List	   *exprs = NIL;

	return query->commandType == CMD_SELECT && query->rowMarks == NIL && !query->hasModifyingCTE &&
		shippable_query((Query *) task_params_extract((Node *) query, 0, false, &exprs)) == NULL &&
		shippable_columns(query->targetList) == NULL;
}

/*
 * Describes a subquery, if the nodes can run it for their own rows; else NULL.
 */
static GroupSubquery *
make_group_subquery(SubLink *link, Query *query)
{
	GroupSubquery *subquery = palloc0(sizeof(GroupSubquery));
	OuterColumns outer = {0};
	List	   *exprs = NIL;

	if (outer_columns_walker((Node *) query, &outer) || outer.vars == NIL || !is_runnable_elsewhere(query) ||
		!query_check_as(query, &subquery->check_as))
		return NULL;
	subquery->link = link;
	subquery->query = query;
	subquery->vars = outer.vars;
	if (!find_pins(subquery))
		return NULL;
	outer.depth = 0;
	if (link != NULL)
	{
		(void) outer_columns_walker(link->testexpr, &outer);
		if (shippable_expression(task_params_extract(link->testexpr, 0, false, &exprs)) != NULL)
			return NULL;
	}
	subquery->vars = outer.vars;
	subquery->rows = link != NULL ? 1 : estimate_rows(query);
	subquery->cost = run_cost(query);
	return outer.others ? NULL : subquery;
}

/* The call for the last subquery of the list. */
static FuncExpr *
make_mark(const List *subqueries, Oid type, Oid collation)
{
	const GroupSubquery *subquery = llast(subqueries);
	Const	   *number = makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(list_length(subqueries) - 1), false, true);
	FuncExpr   *call = makeFuncExpr(mark_function(), type, lcons(number, copyObject(subquery->vars)), collation,
									InvalidOid, COERCE_EXPLICIT_CALL);

	call->location = GROUP_SUBQUERY_LOCATION;
	return call;
}

/* Whether PostgreSQL's planner converts EXISTS (query) in WHERE to a join. */
static bool
becomes_join(const SubLink *link)
{
	const Query *query = (Query *) link->subselect;

	return link->subLinkType == EXISTS_SUBLINK && query->setOperations == NULL && !query->hasAggs &&
		query->groupingSets == NIL && !query->hasWindowFuncs && !query->hasTargetSRFs && query->havingQual == NULL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->cteList == NIL;
}

static Node *mark_mutator(Node *node, void *context);

/*
 * The call for a subquery in an expression; NULL if it needs several shard
 * groups.
 */
static Node *
mark_sublink(SubLink *link, List **subqueries)
{
	GroupSubquery *subquery;

	if (link->subLinkType == ROWCOMPARE_SUBLINK || link->subLinkType == MULTIEXPR_SUBLINK ||
		link->subLinkType == CTE_SUBLINK || checkExprHasSubLink(link->testexpr) ||
		contain_agg_clause(link->testexpr) || contain_windowfuncs(link->testexpr) ||
		get_typtype(exprType((Node *) link)) == TYPTYPE_PSEUDO)
		return NULL;
	subquery = make_group_subquery(link, (Query *) link->subselect);
	if (subquery == NULL)
		return NULL;
	*subqueries = lappend(*subqueries, subquery);
	return applyRelabelType((Node *) make_mark(*subqueries, exprType((Node *) link), exprCollation((Node *) link)),
							exprType((Node *) link), exprTypmod((Node *) link), exprCollation((Node *) link),
							COERCE_IMPLICIT_CAST, -1, false);
}

/* Whether PostgreSQL's planner pulls up a subquery in FROM. */
static bool
is_pulled_up(const Query *query)
{
	return query->setOperations == NULL && !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && !query->hasWindowFuncs && !query->hasTargetSRFs && query->sortClause == NIL &&
		query->distinctClause == NIL && query->limitCount == NULL && query->limitOffset == NULL && query->cteList == NIL;
}

/* Makes a LATERAL subquery a function in FROM; in place. */
static void
mark_lateral(RangeTblEntry *rte, List **subqueries)
{
	RangeTblFunction *function;
	GroupSubquery *subquery;
	FuncExpr   *mark;

	if (rte->rtekind != RTE_SUBQUERY || !rte->lateral || OidIsValid(rte->relid) || rte->security_barrier || rte->securityQuals != NIL ||
		is_pulled_up(rte->subquery) || (subquery = make_group_subquery(NULL, rte->subquery)) == NULL)
		return;
	*subqueries = lappend(*subqueries, subquery);
	mark = make_mark(*subqueries, RECORDOID, InvalidOid);
	mark->funcretset = true;
	function = makeNode(RangeTblFunction);
	function->funcexpr = (Node *) mark;
	foreach_ptr(const TargetEntry, entry, rte->subquery->targetList)
	{
		Node	   *expr = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		function->funccolnames = lappend(function->funccolnames, makeString(pstrdup(entry->resname)));
		function->funccoltypes = lappend_oid(function->funccoltypes, exprType(expr));
		function->funccoltypmods = lappend_int(function->funccoltypmods, exprTypmod(expr));
		function->funccolcollations = lappend_oid(function->funccolcollations, exprCollation(expr));
		function->funccolcount++;
	}
	rte->rtekind = RTE_FUNCTION;
	rte->subquery = NULL;
	rte->functions = list_make1(function);
}

/*
 * A condition of WHERE or ON.  A sublink that PostgreSQL converts to a join
 * stays; only subqueries inside it are replaced.
 */
static Node *
mark_condition(Node *clause, List **subqueries)
{
	SubLink    *link = (SubLink *) (is_notclause(clause) ? (Node *) get_notclausearg(clause) : clause);

	if (link == NULL || !IsA(link, SubLink) || !becomes_join(link))
		return mark_mutator(clause, subqueries);
	link = copyObject(link);
	link->subselect = mark_mutator(link->subselect, subqueries);
	return is_notclause(clause) ? (Node *) make_notclause((Expr *) link) : (Node *) link;
}

/* Conditions of WHERE or ON; NULL if there are none. */
static Node *
mark_conditions(Node *quals, List **subqueries)
{
	List	   *marked = NIL;
	ListCell   *cell;

	if (quals == NULL)
		return NULL;
	foreach(cell, make_ands_implicit((Expr *) quals))
		marked = lappend(marked, mark_condition(lfirst(cell), subqueries));
	return (Node *) make_ands_explicit(marked);
}

/*
 * One query level.  Policies stay: their conditions come with the table.  In a
 * write, only the conditions and new values can be sent.
 */
static Query *
mark_query(Query *query, List **subqueries)
{
	Query	   *rest = palloc(sizeof(Query));
	Query	   *marked;
	ListCell   *cell;
	ListCell   *original;

	if (query->rowMarks != NIL || query->commandType == CMD_MERGE || query->commandType == CMD_UTILITY)
		return query;
	*rest = *query;
	rest->returningList = rest->withCheckOptions = NIL;
	rest->onConflict = NULL;
	rest->rtable = NIL;
	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = palloc(sizeof(RangeTblEntry));

		*rte = *lfirst_node(RangeTblEntry, cell);
		rte->securityQuals = NIL;
		mark_lateral(rte, subqueries);
		rest->rtable = lappend(rest->rtable, rte);
	}
	marked = query_tree_mutator(rest, mark_mutator, subqueries, 0);
	marked->returningList = query->returningList;
	marked->withCheckOptions = query->withCheckOptions;
	marked->onConflict = query->onConflict;
	forboth(cell, marked->rtable, original, query->rtable)
		lfirst_node(RangeTblEntry, cell)->securityQuals = lfirst_node(RangeTblEntry, original)->securityQuals;
	return marked;
}

static Node *
mark_mutator(Node *node, void *context)
{
	Node	   *mark = NULL;
	JoinExpr   *join;
	FromExpr   *from;

	if (node == NULL)
		return NULL;
	switch (nodeTag(node))
	{
		case T_Query:
			return (Node *) mark_query((Query *) node, context);
		case T_FromExpr:
			from = makeFromExpr(NIL, mark_conditions(((FromExpr *) node)->quals, context));
			from->fromlist = (List *) mark_mutator((Node *) ((FromExpr *) node)->fromlist, context);
			return (Node *) from;
		case T_JoinExpr:
			join = makeNode(JoinExpr);
			*join = *(JoinExpr *) node;
			join->larg = mark_mutator(join->larg, context);
			join->rarg = mark_mutator(join->rarg, context);
			join->quals = mark_conditions(join->quals, context);
			return (Node *) join;
		case T_SubLink:
			mark = mark_sublink((SubLink *) node, context);
			break;
		default:
			break;
	}
	return mark != NULL ? mark : expression_tree_mutator(node, mark_mutator, context);
}

/* At any level. */
bool
group_subqueries_apply(const Query *query)
{
	ListCell   *cell;

	if (query->hasSubLinks)
		return true;
	foreach_ptr(const RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY && (rte->lateral || group_subqueries_apply(rte->subquery)))
			return true;
	}
	foreach(cell, query->cteList)
	{
		if (group_subqueries_apply((Query *) lfirst_node(CommonTableExpr, cell)->ctequery))
			return true;
	}
	return false;
}

Query *
group_subqueries_mark(Query *query, PlanningContext *context)
{
	query = mark_query(query, &context->group_subqueries);
	if (context->group_subqueries == NIL)
		return NULL;
	context->group_subquery_function = mark_function();
	return copyObject(query);
}
