/*-------------------------------------------------------------------------
 *
 * hash_condition.h
 *	  Expressions for a value's hash value, and for a condition on a row's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_SHARDING_HASH_CONDITION_H
#define CITUS_SHARDING_HASH_CONDITION_H

#include "nodes/primnodes.h"

#include "catalog/metadata.h"

/*
 * The hash value of a value of the distribution column's type, or of another
 * one (as it stands in an operator) in its hash family; null if it is null.
 */
extern Expr *hash_of_value(const DistTable *table, Expr *value, Oid type);

/*
 * The condition that a row of the entry of a range table, which is for a
 * hash-distributed table or one of its shards, belongs into a range.
 */
extern Node *hash_condition(const DistTable *table, Index varno, HashRange range);

#endif							/* CITUS_SHARDING_HASH_CONDITION_H */
