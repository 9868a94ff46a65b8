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

/* "distribution column = value", or "= ANY (value)", or "IS NULL" */
typedef struct PruneTerm
{
	Expr	   *value;			/* no Vars of the table; may be a Param */
	bool		is_array;
	Oid			type;			/* type of the value, or of the elements;
								 * InvalidOid: IS NULL */
} PruneTerm;

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
 * A disjunction as it is kept in a plan: triples of (index into expressions,
 * is_array, type).
 */
extern List *prune_pack(List *disjunctions, List **expressions);

/*
 * The index of the shard of a value, of the table's type or another one in its
 * hash family.
 */
extern int	prune_value_shard(const DistTable *table, Oid type, Datum value);

/*
 * Evaluates packed disjunctions: the indexes of the shards that remain.
 * exprs: what the triples refer to.
 */
extern Bitmapset *prune_evaluate(const DistTable *table, List *packed, const ExprValues *exprs,
								 ExprContext *econtext);

#endif							/* CITUS_SHARDING_PRUNE_H */
