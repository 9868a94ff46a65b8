/*-------------------------------------------------------------------------
 *
 * set_arms.c
 *	  Long ORs in a task for several shards.
 *
 * (a, b) IN ((1, 2), (3, 4), ..) is an OR with one arm for each pair.  The
 * server plans a condition of a set of shards once for each shard, which takes
 * long if it has hundreds of arms.  But if an arm says which value the
 * distribution column has, it can hold for rows of one shard only.  So the
 * arms are sorted by shard:
 *
 *	  (shard = 0 AND (arm OR arm ..)) OR (shard = 1 AND (arm ..)) OR ..
 *
 * where shard is a column of the set, a different constant in each of its
 * members: the planner leaves out what is false in a member, before it looks
 * for indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "resolve/set_arms.h"
#include "resolve/shard_set.h"
#include "sharding/prune.h"

/* Shorter ORs are left alone. */
#define MIN_ARMS 16

/* Finds the row as a whole of a relation, at the level of its query. */
typedef struct WholeRow
{
	Index		varno;
	Index		level;
} WholeRow;

static bool
whole_row_walker(Node *node, void *context)
{
	WholeRow   *row = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == (int) row->varno && ((Var *) node)->varattno == InvalidAttrNumber &&
			((Var *) node)->varlevelsup == row->level;
	if (IsA(node, Query))
	{
		bool		found;

		row->level++;
		found = query_tree_walker((Query *) node, whole_row_walker, context, 0);
		row->level--;
		return found;
	}
	return expression_tree_walker(node, whole_row_walker, context);
}

/*
 * The value that an expression has whenever the plan runs; false if it isn't
 * known.
 */
static bool
known_value(Node *expr, ParamListInfo params, Datum *value, bool *isnull)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (expr != NULL && IsA(expr, Const))
	{
		*value = ((Const *) expr)->constvalue;
		*isnull = ((Const *) expr)->constisnull;
		return true;
	}
	if (expr != NULL && IsA(expr, Param) && params != NULL)
	{
		const Param *param = (Param *) expr;
		ParamExternData workspace;
		const ParamExternData *given;

		if (param->paramkind != PARAM_EXTERN || param->paramid <= 0 || param->paramid > params->numParams)
			return false;
		given = params->paramFetch != NULL ? params->paramFetch(params, param->paramid, true, &workspace) :
			&params->params[param->paramid - 1];
		*value = given->value;
		*isnull = given->isnull;
		return given->ptype == param->paramtype && (given->pflags & PARAM_FLAG_CONST) != 0;
	}
	return false;
}

/* Adds the places of the parts that may have rows of a shard. */
static List *
add_parts(List *numbers, const List *parts, const ShardInfo *shard)
{
	foreach_ptr(const ShardPart, part, parts)
		if (part->range.min <= shard->range.max && shard->range.min <= part->range.max)
			numbers = list_append_unique_int(numbers, foreach_current_index(part));
	return numbers;
}

/*
 * The parts (IntList) with rows for which an arm can hold; false if that isn't
 * known.
 */
static bool
parts_of_arm(const DistTable *table, Index varno, Node *arm, const List *parts, ParamListInfo params, List **numbers)
{
	List	   *disjunctions = prune_from_quals(table, varno, list_make1(arm));

	*numbers = NIL;
	if (disjunctions == NIL)
		return false;
	foreach_ptr(const PruneTerm, term, (List *) linitial(disjunctions))
	{
		Datum		value;
		bool		isnull;

		if (term->is_array || !OidIsValid(term->type) || !known_value((Node *) term->value, params, &value, &isnull))
			return false;
		if (!isnull)
			*numbers = add_parts(*numbers, parts, &table->shards[prune_value_shard(table, term->type, value)]);
	}
	return true;
}

/* "shard = number AND (arms)" */
static Node *
make_arms_of_part(Var *shard, int number, List *arms)
{
	Node	   *test = (Node *) makeFuncExpr(F_INT4EQ, BOOLOID,
											 list_make2(copyObject(shard), makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
																					 Int32GetDatum(number), false, true)),
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	return (Node *) makeBoolExpr(AND_EXPR, list_make2(test, make_orclause(arms)), -1);
}

/* An OR with its arms sorted by part; NULL if nothing is gained by that. */
static Node *
sort_arms(const DistTable *table, Index varno, const BoolExpr *or, const List *parts, ParamListInfo params, Var *shard)
{
	List	  **arms = palloc0(sizeof(List *) * list_length(parts));
	List	   *sorted = NIL;
	int			count = 0;

	foreach_ptr(Node, arm, or->args)
	{
		List	   *numbers;

		if (!parts_of_arm(table, varno, arm, parts, params, &numbers))
		{
			sorted = lappend(sorted, arm);
			continue;
		}
		count++;
		foreach_int(number, numbers)
			arms[number] = lappend(arms[number], copyObject(arm));
	}
	if (count < MIN_ARMS)
		return NULL;
	for (int i = 0; i < list_length(parts); i++)
	{
		if (arms[i] != NIL)
			sorted = lappend(sorted, make_arms_of_part(shard, i, arms[i]));
	}
	return sorted == NIL ? makeBoolConst(false, false) : (Node *) make_orclause(sorted);
}

bool
set_arms_assign(Query *query, RangeTblEntry *rte, List *parts, ParamListInfo params)
{
	const DistTable *table = metadata_require(rte->relid);
	WholeRow	row = {.varno = 1};
	List	   *quals = query->jointree != NULL ? make_ands_implicit((Expr *) query->jointree->quals) : NIL;
	Var		   *shard;
	bool		any = false;
	ListCell   *cell;

	while (row.varno <= (Index) list_length(query->rtable) && list_nth(query->rtable, row.varno - 1) != rte)
		row.varno++;
	if (table->kind != DIST_HASH)
		return false;
	shard = makeVar(row.varno, list_length(rte->eref->colnames) + 1, INT4OID, -1, InvalidOid, 0);
	foreach(cell, quals)
	{
		const BoolExpr *or = lfirst(cell);
		Node	   *sorted;

		if (!IsA(or, BoolExpr) || or->boolop != OR_EXPR || list_length(or->args) < MIN_ARMS ||
			(!any && query_tree_walker(query, whole_row_walker, &row, 0)) ||
			(sorted = sort_arms(table, row.varno, or, parts, params, shard)) == NULL)
			continue;
		lfirst(cell) = sorted;
		any = true;
	}
	if (any)
		query->jointree->quals = (Node *) make_ands_explicit(quals);
	return any;
}
