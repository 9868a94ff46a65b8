/*-------------------------------------------------------------------------
 *
 * decorrelate.c
 *	  Scalar subqueries that aggregate, as joins with grouped subqueries.
 *
 *	  .. WHERE a.x < (SELECT avg(b.y) FROM b WHERE b.k = a.k)
 * becomes
 *	  .. , (SELECT b.k, avg(b.y) FROM b GROUP BY b.k) s WHERE a.x < s.avg AND a.k = s.k
 *
 * PostgreSQL runs such a subquery for each row of a, which takes a round trip
 * each where b is distributed; nodes aggregate all groups at once.  Both are
 * equivalent if the comparison is strict and the aggregate of no rows is null:
 * a row of a without rows of b is left out either way.  A subquery whose value
 * is returned, or used otherwise, becomes a LEFT JOIN in the same way; so do
 * EXISTS (..) and, where an index says that there is one row at most, a
 * subquery that returns a column:
 *	  SELECT (SELECT b.y FROM b WHERE b.k = a.x) FROM a
 * becomes
 *	  SELECT s.y FROM a LEFT JOIN (SELECT b.k, b.y FROM b) s ON s.k = a.x
 *
 * If the query needs few groups, the grouped subquery should read only their
 * rows: it gets WHERE EXISTS (SELECT 1 FROM a WHERE <filters of a> AND b.k =
 * a.k).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat/nulled_by.h"
#include "compat/permissions.h"
#include "planner/planner.h"
#include "planner/shippable.h"

/* One "inner expression = outer expression" of a subquery. */
typedef struct Correlation
{
	Node	   *inner;
	Node	   *outer;			/* as in the outer query */
	OpExpr	   *clause;
	bool		inner_first;
} Correlation;

/*
 * Replaces aggregates that are null for no rows by a Var; sets *other if there
 * are others.
 */
static Node *
replace_aggregates(Node *node, void *context)
{
	static const char *const null_for_none[] = {"sum", "avg", "min", "max", "stddev", "variance", "bool_and", "bool_or"};
	bool	   *other = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		const char *name = get_func_name(((Aggref *) node)->aggfnoid);
		bool		known = false;

		for (int i = 0; i < lengthof(null_for_none); i++)
			known = known || strcmp(name, null_for_none[i]) == 0;
		if (!known || ((Aggref *) node)->aggfnoid >= FirstNormalObjectId || ((Aggref *) node)->agglevelsup > 0)
			*other = true;
		return (Node *) makeVar(1, 1, ((Aggref *) node)->aggtype, -1, ((Aggref *) node)->aggcollid, 0);
	}
	return expression_tree_mutator(node, replace_aggregates, context);
}

/* Whether a subquery's value is null if it has no rows. */
static bool
is_null_for_none(Node *expr)
{
	bool		other = false;
	Node	   *rest = replace_aggregates(expr, &other);

	return !other && contain_var_clause(rest) && !contain_nonstrict_functions(rest) && !contain_vars_of_level(expr, 1);
}

/*
 * Whether a subquery reads distributed tables and does no more than to join,
 * filter, and perhaps aggregate to one row.
 */
static bool
is_simple(Query *sub)
{
	return sub->commandType == CMD_SELECT && sub->groupClause == NIL && sub->groupingSets == NIL &&
		sub->havingQual == NULL && sub->setOperations == NULL && !sub->hasWindowFuncs && !sub->hasTargetSRFs &&
		sub->distinctClause == NIL && sub->limitCount == NULL && sub->limitOffset == NULL && sub->cteList == NIL &&
		sub->rowMarks == NIL && query_has_distributed_table(sub) && !contain_volatile_functions((Node *) sub);
}

/* The expression that a subquery of one column returns. */
static Node *
value_of(const Query *sub)
{
	return (Node *) linitial_node(TargetEntry, sub->targetList)->expr;
}

/* Whether a subquery aggregates to a value that is null if it has no rows. */
static bool
aggregates_to_null(Query *sub)
{
	return is_simple(sub) && sub->hasAggs && list_length(sub->targetList) == 1 && is_null_for_none(value_of(sub));
}

/* Whether rows that an equality operator calls equal make one group. */
static bool
groups_alike(const OpExpr *clause, Node *inner)
{
	Oid			type = exprType(inner);
	Oid			less;
	Oid			equality;
	bool		hashable;

	get_sort_group_operators(type, false, false, false, &less, &equality, NULL, &hashable);
	return OidIsValid(less) && OidIsValid(equality) && op_mergejoinable(clause->opno, exprType(linitial(clause->args))) &&
		equality_ops_are_compatible(clause->opno, equality) &&
		(!OidIsValid(clause->inputcollid) || get_collation_isdeterministic(clause->inputcollid)) &&
		(!OidIsValid(exprCollation(inner)) || get_collation_isdeterministic(exprCollation(inner)));
}

/* Finds a column of a query level above the outer query. */
static bool
farther_column_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varlevelsup > 1;
	return expression_tree_walker(node, farther_column_walker, context);
}

/*
 * Whether a clause of the subquery's WHERE equates one of its expressions with
 * one of the outer row, and which ones.
 */
static bool
is_correlation(Node *clause, Correlation *correlation)
{
	OpExpr	   *op = (OpExpr *) clause;
	Node	   *left;
	Node	   *right;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || contain_subplans(clause))
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	correlation->clause = op;
	correlation->inner_first = contain_vars_of_level(left, 0);
	correlation->inner = correlation->inner_first ? left : right;
	correlation->outer = copyObject(correlation->inner_first ? right : left);
	if (!contain_vars_of_level(correlation->inner, 0) || contain_vars_of_level(correlation->inner, 1) ||
		contain_vars_of_level(correlation->outer, 0) || !contain_vars_of_level(correlation->outer, 1) ||
		farther_column_walker(correlation->outer, NULL) ||
		!groups_alike(op, correlation->inner))
		return false;
	IncrementVarSublevelsUp(correlation->outer, -1, 1);
	return true;
}

/* Has the subquery return the expression, and a row for each of its values. */
static void
group_by(Query *sub, Node *expr, AttrNumber attno)
{
	TargetEntry *entry = makeTargetEntry((Expr *) expr, attno, psprintf("k%d", attno), false);
	SortGroupClause *clause = makeNode(SortGroupClause);

	entry->ressortgroupref = clause->tleSortGroupRef = attno;
	get_sort_group_operators(exprType(expr), true, true, false, &clause->sortop, &clause->eqop, NULL, &clause->hashable);
	sub->targetList = lappend(sub->targetList, entry);
	sub->groupClause = lappend(sub->groupClause, clause);
}

/*
 * The column of an entry of the range table that a subquery's result is now.
 */
static Node *
column_of(const TargetEntry *entry, Index varno)
{
	Node	   *expr = (Node *) entry->expr;

	return (Node *) makeVar(varno, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
}

/*
 * Adds the subquery to the query's range table; returns its index there.
 */
static Index
add_entry(Query *query, Query *sub)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	ListCell   *cell;

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = sub;
	entry->inFromCl = true;
	entry->eref = makeAlias("grouped", NIL);
	foreach(cell, sub->targetList)
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup(lfirst_node(TargetEntry, cell)->resname)));
	entry->alias = copyObject(entry->eref);
	query->rtable = lappend(query->rtable, entry);
	return list_length(query->rtable);
}

/*
 * The items of the query's FROM that the relations are; NIL if one is below a
 * join.
 */
static List *
items_of(Query *query, const Bitmapset *varnos)
{
	List	   *items = NIL;

	foreach_ptr(RangeTblRef, ref, query->jointree->fromlist)
		if (IsA(ref, RangeTblRef) && bms_is_member(ref->rtindex, varnos))
			items = lappend(items, copyObject(ref));
	return list_length(items) == bms_num_members(varnos) ? items : NIL;
}

/* Finds a reference to a CTE, which counts the query levels up to it. */
static bool
cte_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, cte_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, cte_walker, context);
}

/* Restricts the subquery to rows whose groups the query needs. */
static void
ask_for_groups(Query *query, Query *sub, List *correlations, const Node *turned)
{
	Bitmapset  *varnos = NULL;
	Query	   *keys = makeNode(Query);
	SubLink    *link = makeNode(SubLink);
	List	   *quals = NIL;

	foreach_ptr(Correlation, correlation, correlations)
		varnos = bms_add_members(varnos, pull_varnos(NULL, correlation->outer));
	foreach_ptr(Node, clause, make_ands_implicit((Expr *) query->jointree->quals))
		if (clause != turned && !contain_vars_of_level(clause, 1) && !contain_volatile_functions(clause) &&
			bms_is_subset(pull_varnos(NULL, clause), varnos))
		{
			clause = copyObject(clause);
			/* columns of levels above are two more levels away */
			IncrementVarSublevelsUp(clause, 2, 1);
			quals = lappend(quals, clause);
		}
	keys->jointree = makeFromExpr(items_of(query, varnos), NULL);
	if (quals == NIL || keys->jointree->fromlist == NIL)
		return;
	foreach_ptr(Correlation, correlation, correlations)
	{
		OpExpr	   *clause = copyObject(correlation->clause);
		Node	   *inner = copyObject(correlation->inner);
		Node	   *outer = copyObject(correlation->outer);

		IncrementVarSublevelsUp(inner, 1, 0);
		clause->args = correlation->inner_first ? list_make2(inner, outer) : list_make2(outer, inner);
		quals = lappend(quals, clause);
	}
	keys->commandType = CMD_SELECT;
	keys->canSetTag = true;
	keys->rtable = copyObject(query->rtable);
	compat_copy_all_permissions(keys, query);
	keys->jointree->quals = (Node *) make_ands_explicit(quals);
	keys->hasSubLinks = checkExprHasSubLink(keys->jointree->quals);
	if (cte_walker((Node *) keys, NULL))
		return;
	link->subLinkType = EXISTS_SUBLINK;
	link->subselect = (Node *) keys;
	sub->jointree->quals = make_and_qual(sub->jointree->quals, (Node *) link);
	sub->hasSubLinks = true;
}

/*
 * Removes the correlations with the outer row from the subquery's WHERE, and
 * returns them; NIL if there are none, or others remain.
 */
static List *
take_correlations(Query *sub)
{
	List	   *correlations = NIL;
	List	   *rest = NIL;
	ListCell   *cell;

	foreach(cell, make_ands_implicit((Expr *) sub->jointree->quals))
	{
		Correlation *correlation = palloc(sizeof(Correlation));

		if (is_correlation(lfirst(cell), correlation))
			correlations = lappend(correlations, correlation);
		else
			rest = lappend(rest, lfirst(cell));
	}
	sub->jointree->quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
	return contain_vars_of_level((Node *) sub, 1) ? NIL : correlations;
}

/*
 * Adds the subquery's sides of the correlations to its columns, and the
 * subquery to the query's range table; returns the join conditions.
 */
static List *
join_conditions(Query *query, Query *sub, List *correlations, bool grouped, Index *varno)
{
	int			first = list_length(sub->targetList);
	List	   *quals = NIL;
	ListCell   *cell;

	foreach(cell, correlations)
	{
		Node	   *inner = ((Correlation *) lfirst(cell))->inner;
		AttrNumber	attno = list_length(sub->targetList) + 1;

		if (grouped)
			group_by(sub, inner, attno);
		else
			sub->targetList = lappend(sub->targetList, makeTargetEntry((Expr *) inner, attno, psprintf("k%d", attno), false));
	}
	*varno = add_entry(query, sub);
	foreach(cell, correlations)
	{
		Correlation *correlation = lfirst(cell);
		Node	   *inner = column_of(list_nth(sub->targetList, first + foreach_current_index(cell)), *varno);
		OpExpr	   *clause = copyObject(correlation->clause);

		clause->args = correlation->inner_first ? list_make2(inner, correlation->outer) :
			list_make2(correlation->outer, inner);
		quals = lappend(quals, clause);
	}
	return quals;
}

/*
 * Converts a subquery in the query's WHERE to a join; returns the expression
 * that replaces its value, and adds to quals; NULL if impossible.
 */
static Node *
turn_subquery(Query *query, Query *sub, bool few, const Node *turned, List **quals)
{
	List	   *correlations;
	RangeTblRef *ref = makeNode(RangeTblRef);
	Index		varno;

	if (!aggregates_to_null(sub) || (correlations = take_correlations(sub)) == NIL)
		return NULL;
	if (few)
		ask_for_groups(query, sub, correlations, turned);
	linitial_node(TargetEntry, sub->targetList)->resname = "value";
	*quals = list_concat(*quals, join_conditions(query, sub, correlations, true, &varno));
	ref->rtindex = varno;
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	return column_of(linitial(sub->targetList), varno);
}

/* FROM .. LEFT JOIN entry ON quals; returns the join's index. */
static Index
add_left_join(Query *query, Index varno, List *quals)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	JoinExpr   *join = makeNode(JoinExpr);

	entry->rtekind = RTE_JOIN;
	entry->jointype = join->jointype = JOIN_LEFT;
	entry->eref = makeAlias("unnamed_join", NIL);
	entry->inFromCl = true;
	query->rtable = lappend(query->rtable, entry);
	ref->rtindex = varno;
	join->larg = (Node *) makeFromExpr(query->jointree->fromlist, NULL);
	join->rarg = (Node *) ref;
	join->quals = (Node *) make_ands_explicit(quals);
	join->rtindex = list_length(query->rtable);
	query->jointree->fromlist = list_make1(join);
	return join->rtindex;
}

/*
 * Whether a correlation is on a column of an index, and uses the index's own
 * equality: values that another operator calls equal may be different for the
 * index.
 */
static bool
is_tied_by(List *correlations, Relation index, int column)
{
	foreach_ptr(Correlation, correlation, correlations)
	{
		const Var  *inner = (const Var *) correlation->inner;

		if (IsA(inner, Var) && inner->varattno == index->rd_index->indkey.values[column] && inner->varattno > 0 &&
			op_in_opfamily(correlation->clause->opno, index->rd_opfamily[column]))
			return true;
	}
	return false;
}

/*
 * Whether a subquery returns a column of a table with a unique index on its
 * correlation columns.
 */
static bool
finds_one_row(const Query *sub, List *correlations)
{
	const RangeTblEntry *rte = list_length(sub->rtable) == 1 ? linitial(sub->rtable) : NULL;
	Relation	relation;
	bool		unique = false;

	if (rte == NULL || rte->rtekind != RTE_RELATION || rte->tablesample != NULL || list_length(sub->targetList) != 1 ||
		!IsA(value_of(sub), Var))
		return false;
	relation = table_open(rte->relid, NoLock);
	foreach_oid(relid, RelationGetIndexList(relation))
	{
		Relation	index = index_open(relid, AccessShareLock);
		const FormData_pg_index *form = index->rd_index;
		bool		known = form->indisunique && form->indimmediate && form->indisvalid &&
			RelationGetIndexPredicate(index) == NIL;

		for (int i = 0; i < form->indnkeyatts; i++)
			known = known && is_tied_by(correlations, index, i);
		unique = unique || known;
		index_close(index, AccessShareLock);
	}
	table_close(relation, NoLock);
	return unique;
}

/*
 * Converts a subquery whose value the query uses for each row of FROM to a
 * join; returns the expression that replaces the value, or NULL if impossible.
 */
static Node *
join_value(Query *query, const SubLink *link, bool few)
{
	Query	   *sub = copyObject((Query *) link->subselect);
	bool		exists = link->subLinkType == EXISTS_SUBLINK;
	const Aggref *count = !exists && sub->hasAggs ? (const Aggref *) value_of(sub) : NULL;
	bool		counts = count != NULL && IsA(count, Aggref) && count->agglevelsup == 0 &&
		(count->aggfnoid == F_COUNT_ || count->aggfnoid == F_COUNT_ANY);
	List	   *correlations;
	List	   *quals;
	Index		varno;
	Node	   *value;

	if ((!exists && link->subLinkType != EXPR_SUBLINK) || !is_simple(sub) || (exists && sub->hasAggs) ||
		(sub->hasAggs && !counts && !aggregates_to_null(sub)) || (correlations = take_correlations(sub)) == NIL ||
		(!exists && !sub->hasAggs && !finds_one_row(sub, correlations)))
		return NULL;
	if (few)
		ask_for_groups(query, sub, correlations, NULL);
	if (exists)
		sub->targetList = NIL;
	else
		linitial_node(TargetEntry, sub->targetList)->resname = "value";
	quals = join_conditions(query, sub, correlations, exists || sub->hasAggs, &varno);
	value = compat_nulled_by((Var *) column_of(linitial(sub->targetList), varno), add_left_join(query, varno, quals));
	if (exists)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = (Expr *) value;
		test->nulltesttype = IS_NOT_NULL;
		test->location = -1;
		return (Node *) test;
	}
	if (counts)
	{
		CoalesceExpr *none = makeNode(CoalesceExpr);

		none->coalescetype = INT8OID;
		none->args = list_make2(value, makeConst(INT8OID, -1, InvalidOid, 8, Int64GetDatum(0), false, FLOAT8PASSBYVAL));
		none->location = -1;
		return (Node *) none;
	}
	return value;
}

/* For join_values_mutator. */
typedef struct JoinValues
{
	Query	   *query;
	bool		few;
	bool		every_row;		/* expressions are evaluated for each row of
								 * FROM, not of groups */
} JoinValues;

static Node *
join_values_mutator(Node *node, void *context)
{
	JoinValues *join = context;
	Node	   *value;

	if (node == NULL || IsA(node, Query))
		return node;
	if (IsA(node, Aggref) && !join->every_row && ((Aggref *) node)->agglevelsup == 0)
	{
		JoinValues	below = {join->query, join->few, true};

		return expression_tree_mutator(node, join_values_mutator, &below);
	}
	if (IsA(node, SubLink) && join->every_row && (value = join_value(join->query, (SubLink *) node, join->few)) != NULL)
		return value;
	return expression_tree_mutator(node, join_values_mutator, context);
}

/*
 * Converts a clause of the query's WHERE if it compares with such a subquery.
 */
static Node *
turn_clause(Query *query, Node *clause, bool few, List **quals)
{
	OpExpr	   *op = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno))
		return clause;
	foreach_ptr(SubLink, link, op->args)
	{
		Node	   *value;

		if (!IsA(link, SubLink) || link->subLinkType != EXPR_SUBLINK)
			continue;
		value = turn_subquery(query, copyObject((Query *) link->subselect), few, clause, quals);
		if (value == NULL)
			continue;
		op = copyObject(op);
		lfirst(list_nth_cell(op->args, foreach_current_index(link))) = value;
		return (Node *) op;
	}
	return clause;
}

/*
 * Converts all possible subqueries of one query level; returns whether there
 * was one.
 */
static bool
turn_level(Query *query, bool few)
{
	JoinValues	join = {query, few, !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL};
	List	   *quals = NIL;
	int			entries = list_length(query->rtable);
	ListCell   *cell;

	if (query->commandType != CMD_SELECT || !query->hasSubLinks || query->rowMarks != NIL ||
		query->setOperations != NULL || query->jointree->fromlist == NIL)
		return false;
	foreach(cell, make_ands_implicit((Expr *) query->jointree->quals))
	{
		Node	   *clause = turn_clause(query, lfirst(cell), few, &quals);

		quals = lappend(quals, clause);
	}
	query->targetList = (List *) join_values_mutator((Node *) query->targetList, &join);
	if (list_length(query->rtable) == entries)
		return false;
	query->jointree->quals = quals == NIL ? NULL : (Node *) make_ands_explicit(quals);
	return true;
}

typedef struct DecorrelateContext
{
	bool		few;			/* few groups are asked for */
	bool		any;			/* anything was turned */
} DecorrelateContext;

static bool
decorrelate_walker(Node *node, void *context)
{
	DecorrelateContext *turn = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		(void) query_tree_walker((Query *) node, decorrelate_walker, context, 0);
		if (turn_level((Query *) node, turn->few))
			turn->any = true;
		return false;
	}
	return expression_tree_walker(node, decorrelate_walker, context);
}

bool
decorrelate_applies(const Query *query)
{
	return query->hasSubLinks;
}

static Query *
decorrelate_levels(Query *query, bool few)
{
	DecorrelateContext turn = {.few = few};

	(void) decorrelate_walker((Node *) query, &turn);
	return turn.any ? query : NULL;
}

Query *
decorrelate(Query *query, PlanningContext *context)
{
	return decorrelate_levels(query, false);
}

Query *
decorrelate_few(Query *query, PlanningContext *context)
{
	return decorrelate_levels(query, true);
}
