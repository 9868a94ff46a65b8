/*-------------------------------------------------------------------------
 *
 * set_arms.c
 *	  Long ORs and arrays in a task for several shards.
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
 * for indexes.  In the same way, each shard gets its own elements of a long
 * array that the distribution column is compared with (a = ANY (array)).
 *
 * For other columns, a long array is turned into a subquery,
 * b IN (SELECT unnest(array)): the planner would estimate the number of rows
 * for each element and each shard.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "resolve/set_arms.h"
#include "resolve/shard_set.h"
#include "sharding/prune.h"

/* Shorter ORs are left alone, and shorter arrays. */
#define MIN_ARMS 16
#define MIN_ELEMENTS 1000

/* What long conditions are divided by. */
typedef struct SetParts
{
	const DistTable *table;
	Index		varno;			/* of the set in its query */
	const List *parts;			/* ShardPart * */
	ParamListInfo params;		/* of the task; may be NULL */
	Var		   *number;			/* the column that tells a row's part */
} SetParts;

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
parts_of_arm(const SetParts *set, Node *arm, List **numbers)
{
	List	   *disjunctions = prune_from_quals(set->table, set->varno, list_make1(arm));

	*numbers = NIL;
	if (disjunctions == NIL)
		return false;
	foreach_ptr(const PruneTerm, term, (List *) linitial(disjunctions))
	{
		Datum		value;
		bool		isnull;

		if (term->is_array || !OidIsValid(term->type) || !known_value((Node *) term->value, set->params, &value, &isnull))
			return false;
		if (!isnull)
			*numbers = add_parts(*numbers, set->parts, &set->table->shards[prune_value_shard(set->table, term->type, value)]);
	}
	return true;
}

/* The OR of "number = place AND condition" for all places with a condition. */
static Node *
by_part(const SetParts *set, Node *const *conditions, List *others)
{
	for (int i = 0; i < list_length(set->parts); i++)
	{
		Const	   *place = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(i), false, true);
		Node	   *test = (Node *) make_opclause(Int4EqualOperator, BOOLOID, false, copyObject((Expr *) set->number),
												  (Expr *) place, InvalidOid, InvalidOid);

		set_opfuncid((OpExpr *) test);
		if (conditions[i] != NULL)
			others = lappend(others, makeBoolExpr(AND_EXPR, list_make2(test, conditions[i]), -1));
	}
	if (others == NIL)
		return makeBoolConst(false, false);
	return list_length(others) == 1 ? linitial(others) : (Node *) makeBoolExpr(OR_EXPR, others, -1);
}

/* An OR with its arms sorted by part; NULL if nothing is gained by that. */
static Node *
sort_arms(const SetParts *set, const BoolExpr *or)
{
	List	  **arms = palloc0(sizeof(List *) * list_length(set->parts));
	Node	  **conditions = palloc0(sizeof(Node *) * list_length(set->parts));
	List	   *others = NIL;

	foreach_ptr(Node, arm, or->args)
	{
		List	   *numbers;

		if (!parts_of_arm(set, arm, &numbers))
			others = lappend(others, arm);
		foreach_int(number, numbers)
			arms[number] = lappend(arms[number], copyObject(arm));
	}
	if (list_length(or->args) - list_length(others) < MIN_ARMS)
		return NULL;
	for (int i = 0; i < list_length(set->parts); i++)
	{
		if (list_length(arms[i]) == 1)
			conditions[i] = linitial(arms[i]);
		else if (arms[i] != NIL)
			conditions[i] = (Node *) makeBoolExpr(OR_EXPR, arms[i], -1);
	}
	return by_part(set, conditions, others);
}

/* A comparison with an array, with another value of the array. */
static Node *
with_array(const ScalarArrayOpExpr *op, ArrayType *array)
{
	ScalarArrayOpExpr *copy = makeNode(ScalarArrayOpExpr);
	Node	   *old = lsecond(op->args);

	*copy = *op;
	copy->args = list_make2(copyObject(linitial(op->args)),
							makeConst(exprType(old), -1, exprCollation(old), -1, PointerGetDatum(array), false, false));
	return (Node *) copy;
}

/*
 * A comparison of the distribution column with an array, with the elements
 * sorted by part.
 */
static Node *
sort_elements(const SetParts *set, const ScalarArrayOpExpr *op, Oid type, ArrayType *array)
{
	int			nparts = list_length(set->parts);
	Datum	  **elements = palloc0(sizeof(Datum *) * nparts);
	int		   *counts = palloc0(sizeof(int) * nparts);
	Node	  **conditions = palloc0(sizeof(Node *) * nparts);
	List	  **of_shard = palloc0(sizeof(List *) * set->table->nshards);
	const TypeCacheEntry *element = lookup_type_cache(ARR_ELEMTYPE(array), 0);
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;

	deconstruct_array(array, element->type_id, element->typlen, element->typbyval, element->typalign, &values, &nulls, &nvalues);
	for (int i = 0; i < set->table->nshards; i++)
		of_shard[i] = add_parts(NIL, set->parts, &set->table->shards[i]);
	for (int i = 0; i < nvalues; i++)
	{
		if (nulls[i])
			continue;
		foreach_int(number, of_shard[prune_value_shard(set->table, type, values[i])])
		{
			if (elements[number] == NULL)
				elements[number] = palloc(sizeof(Datum) * nvalues);
			elements[number][counts[number]++] = values[i];
		}
	}
	for (int i = 0; i < nparts; i++)
	{
		if (counts[i] > 0)
			conditions[i] = with_array(op, construct_array(elements[i], counts[i], element->type_id, element->typlen,
														   element->typbyval, element->typalign));
	}
	return by_part(set, conditions, NIL);
}

/* "expression IN (SELECT unnest(array))" */
static Node *
as_subquery(const ScalarArrayOpExpr *op)
{
	Node	   *array = lsecond(op->args);
	Oid			type = get_base_element_type(exprType(array));
	FuncExpr   *elements = makeFuncExpr(F_UNNEST_ANYARRAY, type, list_make1(array), exprCollation(array), InvalidOid,
										COERCE_EXPLICIT_CALL);
	Param	   *element = makeNode(Param);
	Query	   *query = makeNode(Query);
	SubLink    *link = makeNode(SubLink);

	elements->funcretset = true;
	element->paramkind = PARAM_SUBLINK;
	element->paramid = 1;
	element->paramtype = type;
	element->paramtypmod = -1;
	element->paramcollid = exprCollation(array);
	element->location = -1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->hasTargetSRFs = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->targetList = list_make1(makeTargetEntry((Expr *) elements, 1, "unnest", false));
	link->subLinkType = ANY_SUBLINK;
	link->testexpr = (Node *) make_opclause(op->opno, BOOLOID, false, linitial(op->args), (Expr *) element, InvalidOid,
											op->inputcollid);
	set_opfuncid((OpExpr *) link->testexpr);
	link->subselect = (Node *) query;
	link->location = -1;
	return (Node *) link;
}

/*
 * A comparison with a long array, so that it isn't planned for each element
 * and shard; NULL if it is short or not an equality.
 */
static Node *
divide_array(const SetParts *set, Query *query, ScalarArrayOpExpr *op)
{
	List	   *disjunctions;
	const PruneTerm *term;
	Datum		value;
	bool		isnull;
	ArrayType  *array;

	if (!op->useOr || !known_value(lsecond(op->args), set->params, &value, &isnull) || isnull ||
		!op_hashjoinable(op->opno, exprType(linitial(op->args))) ||
		!OidIsValid(get_base_element_type(exprType(lsecond(op->args)))) ||
		bms_membership(pull_varnos(NULL, linitial(op->args))) != BMS_SINGLETON ||
		!bms_is_member(set->varno, pull_varnos(NULL, linitial(op->args))))
		return NULL;
	array = DatumGetArrayTypeP(value);
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) < MIN_ELEMENTS)
		return NULL;
	disjunctions = prune_from_quals(set->table, set->varno, list_make1(op));
	term = disjunctions != NIL && linitial(disjunctions) != NIL ? linitial(linitial(disjunctions)) : NULL;
	if (term != NULL && term->is_array)
		return sort_elements(set, op, term->type, array);
	if (contain_volatile_functions((Node *) op))
		return NULL;
	query->hasSubLinks = true;
	return as_subquery(op);
}

/* A condition in a form that takes less time to plan, or NULL. */
static Node *
divide_condition(const SetParts *set, Query *query, Node *condition)
{
	if (IsA(condition, ScalarArrayOpExpr))
		return divide_array(set, query, (ScalarArrayOpExpr *) condition);
	if (IsA(condition, BoolExpr) && ((BoolExpr *) condition)->boolop == OR_EXPR &&
		list_length(((BoolExpr *) condition)->args) >= MIN_ARMS)
		return sort_arms(set, (BoolExpr *) condition);
	return NULL;
}

bool
set_arms_assign(Query *query, RangeTblEntry *rte, List *parts, ParamListInfo params)
{
	SetParts	set = {metadata_require(rte->relid), 1, parts, params};
	List	   *quals = query->jointree != NULL ? make_ands_implicit((Expr *) query->jointree->quals) : NIL;
	WholeRow	row = {0};
	bool		any = false;
	ListCell   *cell;

	while (list_nth(query->rtable, set.varno - 1) != rte)
		set.varno++;
	row.varno = set.varno;
	if (set.table->kind != DIST_HASH)
		return false;
	set.number = makeVar(set.varno, list_length(rte->eref->colnames) + 1, INT4OID, -1, InvalidOid, 0);
	foreach(cell, quals)
	{
		Node	   *divided = divide_condition(&set, query, lfirst(cell));

		if (divided == NULL)
			continue;
		if (!any && query_tree_walker(query, whole_row_walker, &row, 0))
			return false;
		lfirst(cell) = divided;
		any = true;
	}
	if (any)
		query->jointree->quals = (Node *) make_ands_explicit(quals);
	return any;
}
