/*-------------------------------------------------------------------------
 *
 * prune.c
 *	  Which shards can hold rows that satisfy a filter.
 *
 * Only operators of the default hash operator family of the distribution
 * column count, so that a value of another type (int8 column = int4 value)
 * is hashed with the family's function for its own type: members of one
 * hash family agree on equal values.  Rows with NULL in the distribution
 * column are all in one shard; a comparison never finds them, IS NULL does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "sharding/hash.h"
#include "sharding/prune.h"

typedef struct PruneContext
{
	const DistTable *table;
	Index		varno;
} PruneContext;

static List *prune_qual(PruneContext *context, Node *qual);

/*
 * Whether node is the distribution column, perhaps under a binary-compatible
 * cast.
 */
static bool
is_dist_column(PruneContext *context, Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return false;
	return ((Var *) node)->varno == context->varno && ((Var *) node)->varlevelsup == 0 &&
		((Var *) node)->varattno == context->table->dist_attno;
}

/*
 * Whether the value is known when the scan starts, and the same for all rows.
 */
static bool
is_scan_constant(PruneContext *context, Node *node)
{
	Relids		varnos = pull_varnos(NULL, node);
	bool		uses_table = bms_is_member(context->varno, varnos);

	bms_free(varnos);
	return !uses_table && !contain_subplans(node) && !contain_volatile_functions(node) &&
		!contain_aggs_of_level(node, 0) && !contain_windowfuncs(node);
}

/*
 * Equal under the comparison's collation means: same hash under the column's.
 */
static bool
collation_fits(const DistTable *table, Oid collation)
{
	if (!OidIsValid(table->dist_collation) || collation == table->dist_collation)
		return true;
	return get_collation_isdeterministic(table->dist_collation) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

bool
prune_is_equality(const DistTable *table, Oid opno, Oid collation)
{
	return table->kind == DIST_HASH &&
		get_op_opfamily_strategy(opno, table->hash_opfamily) == HTEqualStrategyNumber && collation_fits(table, collation);
}

static List *
one_term(Expr *value, bool is_array, Oid type)
{
	PruneTerm  *term = palloc(sizeof(PruneTerm));

	term->value = value;
	term->is_array = is_array;
	term->type = type;
	return list_make1(list_make1(term));
}

/* The disjunction that nothing satisfies. */
static List *
no_rows(void)
{
	return list_make1(NIL);
}

/*
 * Disjunctions for "left op right", where op is an operator of the hash
 * family's equality and one side is the distribution column.
 */
static List *
prune_comparison(PruneContext *context, Oid opno, Oid collation, Node *left, Node *right, bool is_array)
{
	Oid			opfamily = context->table->hash_opfamily;
	Oid			left_type;
	Oid			right_type;
	int			strategy;

	if (!is_array && !is_dist_column(context, left))
	{
		Node	   *swap = left;

		opno = get_commutator(opno);
		left = right;
		right = swap;
	}
	if (!OidIsValid(opno) || !is_dist_column(context, left) || !is_scan_constant(context, right) ||
		!op_in_opfamily(opno, opfamily) || !collation_fits(context->table, collation))
		return NIL;

	get_op_opfamily_properties(opno, opfamily, false, &strategy, &left_type, &right_type);
	if (strategy != HTEqualStrategyNumber ||
		!OidIsValid(get_opfamily_proc(opfamily, right_type, right_type, HASHSTANDARD_PROC)))
		return NIL;
	if (IsA(right, Const) && ((Const *) right)->constisnull)
		return no_rows();
	return one_term((Expr *) right, is_array, right_type);
}

/*
 * OR: the union of one disjunction of each arm; NIL if nothing is known for an
 * arm.
 */
static List *
prune_or(PruneContext *context, List *arms)
{
	List	   *terms = NIL;
	ListCell   *cell;

	foreach(cell, arms)
	{
		List	   *disjunctions = prune_qual(context, lfirst(cell));

		if (disjunctions == NIL)
			return NIL;
		terms = list_concat(terms, linitial(disjunctions));
	}
	return list_make1(terms);
}

/* The disjunctions for a boolean distribution column alone, or negated. */
static List *
prune_boolean(PruneContext *context, Node *column, bool value)
{
	if (context->table->dist_type != BOOLOID || !is_dist_column(context, column))
		return NIL;
	return one_term((Expr *) makeBoolConst(value, false), false, BOOLOID);
}

static List *
prune_qual(PruneContext *context, Node *qual)
{
	switch (nodeTag(qual))
	{
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) qual;

				if (list_length(op->args) != 2)
					return NIL;
				return prune_comparison(context, op->opno, op->inputcollid,
										linitial(op->args), lsecond(op->args), false);
			}
		case T_ScalarArrayOpExpr:
			{
				ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) qual;

				if (!op->useOr)
					return NIL;
				return prune_comparison(context, op->opno, op->inputcollid,
										linitial(op->args), lsecond(op->args), true);
			}
		case T_BoolExpr:
			{
				BoolExpr   *expr = (BoolExpr *) qual;

				if (expr->boolop == AND_EXPR)
					return prune_from_quals(context->table, context->varno, expr->args);
				if (expr->boolop == OR_EXPR)
					return prune_or(context, expr->args);
				return prune_boolean(context, linitial(expr->args), false);
			}
		case T_NullTest:
			if (((NullTest *) qual)->nulltesttype == IS_NULL &&
				is_dist_column(context, (Node *) ((NullTest *) qual)->arg))
				return one_term((Expr *) makeNullConst(context->table->dist_type, context->table->dist_typmod,
													   context->table->dist_collation), false, InvalidOid);
			return NIL;
		case T_Const:
			if (((Const *) qual)->constisnull || !DatumGetBool(((Const *) qual)->constvalue))
				return no_rows();
			return NIL;
		case T_Var:
			return prune_boolean(context, qual, true);
		default:
			return NIL;
	}
}

List *
prune_from_quals(const DistTable *table, Index varno, List *quals)
{
	PruneContext context = {table, varno};
	List	   *disjunctions = NIL;

	if (table->kind != DIST_HASH)
		return NIL;
	foreach_ptr(Node, qual, quals)
	{
		if (IsA(qual, List))
			disjunctions = list_concat(disjunctions, prune_from_quals(table, varno, (List *) qual));
		else
			disjunctions = list_concat(disjunctions, prune_qual(&context, qual));
	}
	return disjunctions;
}

PruneTerm *
prune_single_value(List *disjunctions)
{
	foreach_ptr(List, terms, disjunctions)
		if (list_length(terms) == 1 && !((PruneTerm *) linitial(terms))->is_array)
			return linitial(terms);
	return NULL;
}

List *
prune_pack(List *disjunctions, List **expressions)
{
	List	   *packed = NIL;
	ListCell   *cell;

	foreach(cell, disjunctions)
	{
		List	   *terms = NIL;

		foreach_ptr(PruneTerm, term, (List *) lfirst(cell))
		{
			PrunePlanTerm kept = {list_length(*expressions), term->is_array, term->type};

			terms = lappend(terms, plan_struct_pack(&kept, sizeof(kept)));
			*expressions = lappend(*expressions, term->value);
		}
		packed = lappend(packed, terms);
	}
	return packed;
}

const PrunePlanTerm *
prune_plan_value(const List *terms)
{
	const PrunePlanTerm *term = list_length(terms) == 1 ? PRUNE_PLAN_TERM(linitial(terms)) : NULL;

	return term != NULL && !term->is_array ? term : NULL;
}

const PrunePlanTerm *
prune_plan_only_value(const List *packed)
{
	return list_length(packed) == 1 ? prune_plan_value(linitial(packed)) : NULL;
}

int
prune_value_shard(const DistTable *table, Oid type, Datum value)
{
	OtherHash  *other = table->other_hash;

	if (type == table->hash_opcintype)
		return shard_index_of_value(table, value);

	if (other->type != type)
	{
		other->type = InvalidOid;
		fmgr_info_cxt(get_opfamily_proc(table->hash_opfamily, type, type, HASHSTANDARD_PROC), &other->fn,
					  GetMemoryChunkContext(other));
		other->type = type;
	}
	return shard_index_of_hash(table, DatumGetInt32(FunctionCall1Coll(&other->fn, table->dist_collation, value)));
}

/* Adds the shards of an array's elements. */
static Bitmapset *
add_elements(Bitmapset *shards, const DistTable *table, Oid type, Datum array)
{
	ArrayType  *elements = DatumGetArrayTypeP(array);
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(ARR_ELEMTYPE(elements), &typlen, &typbyval, &typalign);
	deconstruct_array(elements, ARR_ELEMTYPE(elements), typlen, typbyval, typalign,
					  &values, &nulls, &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (!nulls[i])
			shards = bms_add_member(shards, prune_value_shard(table, type, values[i]));
	}
	return shards;
}

/* The shards that one packed disjunction leaves. */
static Bitmapset *
evaluate_disjunction(const DistTable *table, List *terms, const ExprValues *exprs, ExprContext *econtext)
{
	Bitmapset  *shards = NULL;

	foreach_ptr(Node, node, terms)
	{
		const PrunePlanTerm *term = PRUNE_PLAN_TERM(node);
		bool		isnull;
		Datum		value = expr_value(exprs, term->expr, econtext, &isnull);

		if (!OidIsValid(term->type))
			shards = bms_add_member(shards, shard_index_of_null(table));
		else if (isnull)
			continue;
		else if (term->is_array)
			shards = add_elements(shards, table, term->type, value);
		else
			shards = bms_add_member(shards, prune_value_shard(table, term->type, value));
	}
	return shards;
}

Bitmapset *
prune_evaluate(const DistTable *table, List *packed, const ExprValues *exprs, ExprContext *econtext)
{
	Bitmapset  *shards = bms_add_range(NULL, 0, table->nshards - 1);
	ListCell   *cell;

	foreach(cell, packed)
		shards = bms_int_members(shards,
								 evaluate_disjunction(table, lfirst(cell), exprs, econtext));
	return shards;
}
