/*-------------------------------------------------------------------------
 *
 * hash_condition.c
 *	  Expressions for a value's hash value, and for a condition on a row's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "sharding/hash_condition.h"

/*
 * worker_hash(anyelement), for types whose hash values by the server differ
 * between nodes.
 */
static Oid
own_hash_function(void)
{
	Oid			args[] = {ANYELEMENTOID};

	return LookupFuncName(list_make2(makeString("pg_catalog"), makeString("worker_hash")), 1, args, false);
}

Expr *
hash_of_value(const DistTable *table, Expr *value, Oid type)
{
	Oid			function = table->hash_fn.fn_oid;

	if (table->hash_opcintype == ANYENUMOID)
		function = own_hash_function();
	else if (type != table->hash_opcintype)
		function = get_opfamily_proc(table->hash_opfamily, type, type, HASHSTANDARD_PROC);
	return (Expr *) makeFuncExpr(function, INT4OID, list_make1(value), InvalidOid, table->dist_collation,
								 COERCE_EXPLICIT_CALL);
}

/*
 * The hash value of a row: that of its distribution column, or 0 if it is
 * null.
 */
static Expr *
row_hash(const DistTable *table, Index varno)
{
	Expr	   *value = (Expr *) makeVar(varno, table->dist_attno, table->dist_type, table->dist_typmod,
										 table->dist_collation, 0);
	CoalesceExpr *coalesce = makeNode(CoalesceExpr);

	if (!IsPolymorphicType(table->hash_opcintype) && table->hash_opcintype != table->dist_type)
		value = (Expr *) makeRelabelType(value, table->hash_opcintype, -1, table->dist_collation, COERCE_IMPLICIT_CAST);
	coalesce->coalescetype = INT4OID;
	coalesce->coalescecollid = InvalidOid;
	coalesce->args = list_make2(hash_of_value(table, value, table->hash_opcintype),
								makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true));
	coalesce->location = -1;
	return (Expr *) coalesce;
}

/* A comparison of a row's hash value with a limit. */
static Expr *
compare_hash(const DistTable *table, Index varno, Oid function, int32 limit)
{
	return (Expr *) makeFuncExpr(function, BOOLOID,
								 list_make2(row_hash(table, varno),
											makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(limit), false,
													  true)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

Node *
hash_condition(const DistTable *table, Index varno, HashRange range)
{
	return (Node *) makeBoolExpr(AND_EXPR, list_make2(compare_hash(table, varno, F_INT4GE, range.min),
													  compare_hash(table, varno, F_INT4LE, range.max)), -1);
}
