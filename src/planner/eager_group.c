/*-------------------------------------------------------------------------
 *
 * eager_group.c
 *	  Computes aggregates of an outer join's inner side before the join.
 *
 *	  SELECT a.x, count(b.y) FROM a LEFT JOIN b ON b.k = a.k AND b.z > 3 GROUP BY a.x
 * becomes
 *	  SELECT a.x, sum(coalesce(s.v, 0)) FROM a LEFT JOIN
 *	  (SELECT b.k, count(b.y) AS v FROM b WHERE b.z > 3 GROUP BY b.k) s ON s.k = a.k GROUP BY a.x
 *
 * If a isn't distributed, or is distributed otherwise than b, nodes can't
 * compute the join, and all rows of b would be sent to the initiator.  With
 * groups, only one row per group and node is sent.  Both are equivalent: a row
 * of a joins all rows of b with its value, which are one group, or none.  All
 * aggregates must be of b's columns, and combinable from those of groups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat/group_entry.h"
#include "compat/nulled_by.h"
#include "compat/permissions.h"
#include "planner/planner.h"
#include "planner/shippable.h"

/* What combines the values of an aggregate. */
typedef struct Combination
{
	Oid			aggregate;
	Oid			combines;
	Oid			type;			/* that it returns */
	int			none;			/* the value for no rows; -1: null */
} Combination;

static const Combination eager_combinations[] = {
	{F_COUNT_, F_SUM_INT8, NUMERICOID, 1},	/* a null-extended row of an outer
											 * join */
	{F_COUNT_ANY, F_SUM_INT8, NUMERICOID, 0},
	{F_SUM_INT2, F_SUM_INT8, NUMERICOID, -1},
	{F_SUM_INT4, F_SUM_INT8, NUMERICOID, -1},
	{F_SUM_INT8, F_SUM_NUMERIC, NUMERICOID, -1},
	{F_SUM_NUMERIC, F_SUM_NUMERIC, NUMERICOID, -1},
};

/* A query level that is being converted. */
typedef struct EagerGroup
{
	Query	   *query;
	Query	   *sub;			/* the groups */
	Index		varno;			/* of the inner side */
	Index		join;			/* of the outer join */
	int			aggregates;		/* that were turned */
	bool		refused;		/* something can't be */
} EagerGroup;

/* Finds a Var of an outer query. */
static bool
farther_var_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varlevelsup > 0;
	return expression_tree_walker(node, farther_var_walker, context);
}

/* A plain column of the inner side; NULL for anything else. */
static const Var *
inner_column(const EagerGroup *eager, const Node *expr)
{
	const Var  *var = (const Var *) expr;

	return IsA(expr, Var) && var->varlevelsup == 0 && var->varno == (int) eager->varno && var->varattno > 0 ? var : NULL;
}

/* Has the groups return an expression of theirs; returns its column. */
static TargetEntry *
add_group_column(EagerGroup *eager, Expr *expr)
{
	AttrNumber	attno = list_length(eager->sub->targetList) + 1;
	TargetEntry *entry = makeTargetEntry(expr, attno, psprintf("c%d", attno), false);

	eager->sub->targetList = lappend(eager->sub->targetList, entry);
	return entry;
}

/* A column of the groups in the query. */
static Var *
column_of_groups(const EagerGroup *eager, const TargetEntry *entry)
{
	const Node *expr = (const Node *) entry->expr;

	return makeVar(eager->varno, entry->resno, exprType(expr), exprTypmod(expr), exprCollation(expr), 0);
}

/* The same column of the table that is grouped. */
static Var *
column_of_table(const Var *var)
{
	return makeVar(1, var->varattno, var->vartype, var->vartypmod, var->varcollid, 0);
}

/*
 * What combines the values of an aggregate; false if nothing does.  min() and
 * max() are their own combinations.
 */
static bool
find_combination(const Aggref *aggref, Combination *combination)
{
	const char *name;

	for (int i = 0; i < lengthof(eager_combinations); i++)
	{
		*combination = eager_combinations[i];
		if (combination->aggregate == aggref->aggfnoid)
			return true;
	}
	*combination = (Combination) {aggref->aggfnoid, aggref->aggfnoid, aggref->aggtype, -1};
	name = aggref->aggfnoid < FirstNormalObjectId ? get_func_name(aggref->aggfnoid) : NULL;
	return name != NULL && (strcmp(name, "min") == 0 || strcmp(name, "max") == 0) && list_length(aggref->args) == 1 &&
		aggref->aggtype == exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
}

/*
 * Has the groups return an aggregate of theirs; NULL if it isn't one of a
 * plain column, or of rows.
 */
static TargetEntry *
add_group_aggregate(EagerGroup *eager, const Aggref *aggref)
{
	Aggref	   *part;
	const Var  *column;

	if (aggref->agglevelsup > 0 || aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL ||
		aggref->aggorder != NIL || aggref->aggfilter != NULL || list_length(aggref->args) > 1)
		return NULL;
	part = copyObject(unconstify(Aggref *, aggref));
	if (part->args != NIL)
	{
		TargetEntry *arg = linitial_node(TargetEntry, part->args);

		column = inner_column(eager, (Node *) arg->expr);
		if (column == NULL)
			return NULL;
		arg->expr = (Expr *) column_of_table(column);
	}
	else if (aggref->aggfnoid != F_COUNT_)
		return NULL;
	return add_group_column(eager, (Expr *) part);
}

/* The aggregate of a value of each row. */
static Aggref *
make_combining(const Aggref *aggref, const Combination *combination, Node *value)
{
	Aggref	   *all = makeNode(Aggref);

	all->aggfnoid = combination->combines;
	all->aggtype = combination->type;
	all->aggcollid = aggref->aggcollid;
	all->inputcollid = aggref->inputcollid;
	all->aggtranstype = InvalidOid;
	all->aggargtypes = list_make1_oid(exprType(value));
	all->args = list_make1(makeTargetEntry((Expr *) value, 1, NULL, false));
	all->aggkind = AGGKIND_NORMAL;
	all->aggsplit = AGGSPLIT_SIMPLE;
	all->aggno = all->aggtransno = -1;
	all->location = -1;
	return all;
}

/*
 * The expression that replaces an aggregate above the join; NULL if there is
 * none.
 */
static Node *
combine_aggregate(EagerGroup *eager, const Aggref *aggref)
{
	Combination combination;
	TargetEntry *part;
	Node	   *value;
	Aggref	   *all;

	if (!find_combination(aggref, &combination) || (part = add_group_aggregate(eager, aggref)) == NULL)
		return NULL;
	value = compat_nulled_by(column_of_groups(eager, part), eager->join);
	if (combination.none >= 0)
	{
		CoalesceExpr *coalesce = makeNode(CoalesceExpr);

		coalesce->coalescetype = INT8OID;
		coalesce->args = list_make2(value, makeConst(INT8OID, -1, InvalidOid, 8, Int64GetDatum(combination.none),
													 false, FLOAT8PASSBYVAL));
		coalesce->location = -1;
		value = (Node *) coalesce;
	}
	all = make_combining(aggref, &combination, value);
	if (combination.type == aggref->aggtype)
		return (Node *) all;
	return (Node *) makeFuncExpr(F_INT8_NUMERIC, INT8OID, list_make1(all), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CAST);
}

/*
 * Combines aggregates; refuses other uses of the inner side, or of the join's
 * own columns.
 */
static Node *
combine_mutator(Node *node, void *context)
{
	EagerGroup *eager = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		Node	   *combined = combine_aggregate(eager, (Aggref *) node);

		eager->aggregates++;
		eager->refused = eager->refused || combined == NULL;
		return combined != NULL ? combined : node;
	}
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varlevelsup == 0 && (var->varno == (int) eager->varno || var->varno == (int) eager->join))
			eager->refused = true;
		return node;
	}
	return expression_tree_mutator(node, combine_mutator, context);
}

/* Whether an expression uses the inner side or the join's own columns. */
static bool
uses_inner_side(const EagerGroup *eager, Node *expr)
{
	Relids		varnos = pull_varnos(NULL, expr);

	return bms_is_member(eager->varno, varnos) || bms_is_member(eager->join, varnos);
}

/* Whether values that an operator calls equal are one group. */
static bool
is_group_equality(const OpExpr *op, const Var *column)
{
	Oid			equality;
	bool		hashable;

	get_sort_group_operators(column->vartype, false, false, false, NULL, &equality, NULL, &hashable);
	return OidIsValid(equality) && op_strict(op->opno) && op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
		equality_ops_are_compatible(op->opno, equality) &&
		(!OidIsValid(op->inputcollid) || get_collation_isdeterministic(op->inputcollid)) &&
		(!OidIsValid(column->varcollid) || get_collation_isdeterministic(column->varcollid));
}

/*
 * Groups the rows by a column, and makes the join compare the column of the
 * groups.
 */
static void
group_by_column(EagerGroup *eager, OpExpr *op, int side)
{
	const Var  *column = list_nth(op->args, side);
	TargetEntry *entry = add_group_column(eager, (Expr *) column_of_table(column));
	SortGroupClause *clause = makeNode(SortGroupClause);

	entry->ressortgroupref = clause->tleSortGroupRef = entry->resno;
	get_sort_group_operators(column->vartype, false, true, false, &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	eager->sub->groupClause = lappend(eager->sub->groupClause, clause);
	lfirst(list_nth_cell(op->args, side)) = column_of_groups(eager, entry);
}

/* Converts an equality of the join; false if it doesn't compare both sides. */
static bool
turn_equality(EagerGroup *eager, OpExpr *op)
{
	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	for (int side = 0; side < 2; side++)
	{
		const Var  *column = inner_column(eager, list_nth(op->args, side));

		if (column == NULL || uses_inner_side(eager, list_nth(op->args, 1 - side)) || !is_group_equality(op, column))
			continue;
		group_by_column(eager, op, side);
		return true;
	}
	return false;
}

/*
 * Splits the join's condition, a copy: equalities stay, filters of the inner
 * side go below the groups.  False for any other condition.
 */
static bool
turn_condition(EagerGroup *eager, JoinExpr *join)
{
	List	   *equalities = NIL;
	List	   *filters = NIL;

	if (contain_subplans(join->quals) || farther_var_walker(join->quals, NULL))
		return false;
	foreach_ptr(Node, clause, make_ands_implicit((Expr *) join->quals))
	{
		Relids		varnos = pull_varnos(NULL, clause);
		int			varno;

		if (bms_get_singleton_member(varnos, &varno) && varno == (int) eager->varno)
		{
			ChangeVarNodes(clause, varno, 1, 0);
			filters = lappend(filters, clause);
		}
		else if (turn_equality(eager, (OpExpr *) clause))
			equalities = lappend(equalities, clause);
		else
			return false;
	}
	join->quals = (Node *) make_ands_explicit(equalities);
	eager->sub->jointree->quals = filters == NIL ? NULL : (Node *) make_ands_explicit(filters);
	return equalities != NIL;
}

/* The query that groups a table; it has no columns yet. */
static Query *
make_groups(Query *query, const RangeTblEntry *rte)
{
	Query	   *sub = makeNode(Query);
	RangeTblEntry *entry = copyObject(unconstify(RangeTblEntry *, rte));
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	compat_copy_permissions(&compat_permissions(sub), entry, query);
	sub->commandType = CMD_SELECT;
	sub->canSetTag = true;
	sub->rtable = list_make1(entry);
	sub->jointree = makeFromExpr(list_make1(ref), NULL);
	sub->hasAggs = true;
	return sub;
}

/* The entry of the groups in the query's range table. */
static RangeTblEntry *
make_groups_entry(Query *sub)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = sub;
	entry->inFromCl = true;
	entry->eref = makeAlias("grouped", NIL);
	foreach_ptr(const TargetEntry, column, sub->targetList)
		entry->eref->colnames = lappend(entry->eref->colnames, makeString(pstrdup(column->resname)));
	entry->alias = copyObject(entry->eref);
	return entry;
}

/*
 * The outer join that a query level is, if it does no more than to group its
 * rows by columns; else NULL.
 */
static JoinExpr *
grouped_join(const Query *query)
{
	JoinExpr   *join;
	const RangeTblEntry *rte;

	if (query->commandType != CMD_SELECT || !query->hasAggs || query->groupClause == NIL || query->groupingSets != NIL ||
		query->hasSubLinks || query->hasWindowFuncs || query->hasTargetSRFs || query->setOperations != NULL ||
		query->distinctClause != NIL || query->rowMarks != NIL || list_length(query->jointree->fromlist) != 1)
		return NULL;
	join = linitial(query->jointree->fromlist);
	if (!IsA(join, JoinExpr) || join->jointype != JOIN_LEFT || !IsA(join->rarg, RangeTblRef) || join->alias != NULL)
		return NULL;
	rte = rt_fetch(((RangeTblRef *) join->rarg)->rtindex, query->rtable);
	if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL || rte->securityQuals != NIL)
		return NULL;
	return join;
}

/*
 * Converts one query level, in place; false if that is impossible or needless.
 */
static bool
turn_grouped_join(Query *query)
{
	JoinExpr   *join = grouped_join(query);
	EagerGroup	eager = {.query = query};
	const RangeTblEntry *rte;
	List	   *columns;
	Node	   *having;

	if (join == NULL || contain_volatile_functions((Node *) query))
		return false;
	join = copyObject(join);
	eager.varno = ((RangeTblRef *) join->rarg)->rtindex;
	eager.join = join->rtindex;
	rte = rt_fetch(eager.varno, query->rtable);
	eager.sub = make_groups(query, rte);
	if (!query_has_distributed_table(eager.sub) || uses_inner_side(&eager, query->jointree->quals) ||
		uses_inner_side(&eager, (Node *) query_group_exprs(query)) || !turn_condition(&eager, join))
		return false;
	columns = (List *) combine_mutator((Node *) query->targetList, &eager);
	having = combine_mutator(query->havingQual, &eager);
	if (eager.refused || eager.aggregates == 0)
		return false;
	query->targetList = columns;
	query->havingQual = having;
	linitial(query->jointree->fromlist) = join;
	lfirst(list_nth_cell(query->rtable, eager.varno - 1)) = make_groups_entry(eager.sub);
	return true;
}

/* Finds a query level that may be converted. */
static bool
grouped_join_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return grouped_join((Query *) node) != NULL || query_tree_walker((Query *) node, grouped_join_walker, context, 0);
	return expression_tree_walker(node, grouped_join_walker, context);
}

static bool
eager_group_walker(Node *node, void *context)
{
	bool	   *any = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		(void) query_tree_walker((Query *) node, eager_group_walker, context, 0);
		if (turn_grouped_join((Query *) node))
			*any = true;
		return false;
	}
	return expression_tree_walker(node, eager_group_walker, context);
}

bool
eager_group_applies(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasModifyingCTE &&
		grouped_join_walker((Node *) unconstify(Query *, query), NULL);
}

Query *
eager_group(Query *query, PlanningContext *context)
{
	bool		any = false;

	(void) eager_group_walker((Node *) query, &any);
	return any ? query : NULL;
}
