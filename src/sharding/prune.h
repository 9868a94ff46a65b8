/*-------------------------------------------------------------------------
 *
 * prune.h
 *	  Which shards can hold rows that satisfy a filter.
 *
 * Planning derives from the filter a conjunction of disjunctions: a row can
 * only qualify if, for each disjunction, its distribution column equals one
 * of the terms.  Execution evaluates the terms and gets a set of shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_SHARDING_PRUNE_H
#define CITUS_SHARDING_PRUNE_H

#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "catalog/metadata.h"
#include "lib/expr_values.h"
#include "lib/plan_fields.h"

/* "distribution column = value", or "= ANY (value)", or "IS NULL" */
typedef struct PruneTerm
{
	Expr	   *value;			/* no Vars of the table; may be a Param */
	bool		is_array;
	Oid			type;			/* type of the value, or of the elements;
								 * InvalidOid: IS NULL */
} PruneTerm;

/* The same in a plan, as a node that PRUNE_PLAN_TERM reads. */
typedef struct PrunePlanTerm
{
	int			expr;			/* the value's index into the plan's
								 * expressions */
	bool		is_array;
	Oid			type;
} PrunePlanTerm;

#define PRUNE_PLAN_TERM(node) ((const PrunePlanTerm *) plan_struct_peek(node))

/*
 * Disjunctions (List of List of PruneTerm) that the implicitly ANDed quals
 * imply for the table at varno.  A disjunction without terms means that no row
 * can qualify; NIL means that nothing is known.  Values share nodes with the
 * quals.
 */
extern List *prune_from_quals(const DistTable *table, Index varno, List *quals);

/*
 * Whether an operator means that values of the distribution columns belong to
 * the same shard group.
 */
extern bool prune_is_equality(const DistTable *table, Oid opno, Oid collation);

/*
 * The value of the distribution column if exactly one term without array pins
 * it; else NULL.
 */
extern PruneTerm *prune_single_value(List *disjunctions);

/*
 * Disjunctions for a plan: List of List of PrunePlanTerm.  Appends the values
 * to expressions.
 */
extern List *prune_pack(List *disjunctions, List **expressions);

/*
 * The term of a plan's disjunction if it is one value without array, or NULL.
 */
extern const PrunePlanTerm *prune_plan_value(const List *terms);

/* The same of a plan's only disjunction; NULL if it has none, or several. */
extern const PrunePlanTerm *prune_plan_only_value(const List *packed);

/*
 * The index of the shard of a value, of the table's type or another one in its
 * hash family.
 */
extern int	prune_value_shard(const DistTable *table, Oid type, Datum value);

/*
 * Evaluates packed disjunctions: the indexes of the shards that remain.
 * exprs: the values that the terms refer to.
 */
extern Bitmapset *prune_evaluate(const DistTable *table, List *packed, const ExprValues *exprs,
								 ExprContext *econtext);

#endif							/* CITUS_SHARDING_PRUNE_H */
