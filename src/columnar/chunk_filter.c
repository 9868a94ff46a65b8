/*-------------------------------------------------------------------------
 *
 * chunk_filter.c
 *	  Chunk groups that cannot have a row that passes a scan's conditions.
 *
 * The bounds of a group's chunks are given to the server's theorem prover, as
 * conditions that all its rows fulfil where the column isn't NULL.  So
 * whatever the prover knows (IN lists, AND, OR, comparisons between types of
 * an operator family) skips groups.
 *
 * That a row's column may be NULL must not matter.  It doesn't for conditions
 * that are AND and OR of strict comparisons: NULL makes these not true, as if
 * they were refuted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "columnar/chunk_filter.h"
#include "compat/foreach.h"

/* Whether a condition is an AND and OR of strict comparisons. */
static bool
is_refutable(Node *condition)
{
	if (is_andclause(condition) || is_orclause(condition))
	{
		foreach_ptr(Node, arm, ((BoolExpr *) condition)->args)
		{
			if (!is_refutable(arm))
				return false;
		}
		return true;
	}
	return (IsA(condition, OpExpr) || IsA(condition, ScalarArrayOpExpr)) &&
		!contain_nonstrict_functions(condition) && !contain_volatile_functions(condition) &&
		!contain_subplans(condition);
}

List *
chunk_filter_conditions(List *quals, Index varno)
{
	List	   *conditions = NIL;

	foreach_ptr(Node, qual, quals)
	{
		Bitmapset  *columns = NULL;

		pull_varattnos(qual, varno, &columns);
		if (!bms_is_empty(columns) && bms_next_member(columns, -1) > -FirstLowInvalidHeapAttributeNumber &&
			is_refutable(qual))
			conditions = lappend(conditions, qual);
	}
	return conditions;
}

/* Replaces each part that has no column by its value. */
static Node *
evaluate_mutator(Node *node, void *context)
{
	PlanState  *planstate = context;
	ExprContext *econtext = planstate->ps_ExprContext;
	ExprState  *state;
	Datum		value;
	bool		isnull;
	int16		typlen;
	bool		typbyval;

	if (node == NULL)
		return NULL;
	if (IsA(node, Const) || IsA(node, Var) || IsA(node, List) || contain_var_clause(node))
		return expression_tree_mutator(node, evaluate_mutator, context);
	state = ExecInitExpr((Expr *) node, planstate);
	value = ExecEvalExprSwitchContext(state, econtext, &isnull);
	get_typlenbyval(exprType(node), &typlen, &typbyval);
	if (!isnull)
	{
		if (typlen == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
		else
			value = datumCopy(value, typbyval, typlen);
	}
	return (Node *) makeConst(exprType(node), exprTypmod(node), exprCollation(node), typlen, value, isnull, typbyval);
}

ChunkFilter *
chunk_filter_make(List *conditions, Index varno, PlanState *planstate)
{
	ChunkFilter *filter = palloc0(sizeof(ChunkFilter));
	Bitmapset  *attnos = NULL;
	int			attno = -1;

	filter->varno = varno;
	filter->conditions = (List *) evaluate_mutator((Node *) conditions, planstate);
	filter->scratch = AllocSetContextCreate(CurrentMemoryContext, "columnar filter", ALLOCSET_DEFAULT_SIZES);
	pull_varattnos((Node *) filter->conditions, varno, &attnos);
	while ((attno = bms_next_member(attnos, attno)) >= 0)
		filter->columns = bms_add_member(filter->columns, attno + FirstLowInvalidHeapAttributeNumber - 1);
	return filter;
}

/* The condition "column operator bound", or NULL if the type has no order. */
static Node *
bound_condition(Var *var, Form_pg_attribute att, int16 strategy, Datum bound)
{
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY);
	Oid			operator;
	Node	   *left = (Node *) var;
	Const	   *value;

	if (!OidIsValid(type->btree_opf))
		return NULL;
	operator = get_opfamily_member(type->btree_opf, type->btree_opintype, type->btree_opintype, strategy);
	if (!OidIsValid(operator))
		return NULL;
	if (type->btree_opintype != att->atttypid && !IsPolymorphicType(type->btree_opintype))
		left = (Node *) makeRelabelType((Expr *) left, type->btree_opintype, -1, att->attcollation,
										COERCE_IMPLICIT_CAST);
	value = makeConst(IsPolymorphicType(type->btree_opintype) ? att->atttypid : type->btree_opintype, -1,
					  att->attcollation, att->attlen, bound, false, att->attbyval);
	return (Node *) make_opclause(operator, BOOLOID, false, (Expr *) left, (Expr *) value, InvalidOid,
								  att->attcollation);
}

/* What is true of a column's values in a chunk group. */
static List *
conditions_of_bounds(ChunkFilter *filter, const StripeReader *reader, int column, int group)
{
	Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
	Var		   *var = makeVar(filter->varno, column + 1, att->atttypid, att->atttypmod, att->attcollation, 0);
	ChunkBounds bounds;
	List	   *conditions = NIL;
	Node	   *condition;

	stripe_reader_bounds(reader, column, group, &bounds);
	if (!bounds.has_values)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = (Expr *) var;
		test->nulltesttype = IS_NULL;
		test->location = -1;
		return list_make1(test);
	}
	if (!bounds.known)
		return NIL;
	condition = bound_condition(var, att, BTGreaterEqualStrategyNumber, bounds.min);
	if (condition != NULL)
		conditions = lappend(conditions, condition);
	condition = bound_condition(var, att, BTLessEqualStrategyNumber, bounds.max);
	if (condition != NULL)
		conditions = lappend(conditions, condition);
	return conditions;
}

bool
chunk_filter_test(void *arg, const StripeReader *reader, int group)
{
	ChunkFilter *filter = arg;
	MemoryContext old = MemoryContextSwitchTo(filter->scratch);
	List	   *known = NIL;
	int			column = -1;
	bool		wanted;

	while ((column = bms_next_member(filter->columns, column)) >= 0)
		known = list_concat(known, conditions_of_bounds(filter, reader, column, group));
	wanted = known == NIL || !predicate_refuted_by(filter->conditions, known, true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(filter->scratch);
	return wanted;
}
