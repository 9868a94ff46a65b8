/*-------------------------------------------------------------------------
 *
 * late_constraint.h
 *	  Constraints of shards on a column that is filled after it was added.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_LATE_CONSTRAINT_H
#define CITUS_DDL_LATE_CONSTRAINT_H

#include "postgres.h"

#include "access/attnum.h"
#include "catalog/dist_table.h"
#include "ddl/utility_call.h"

/* Whether a constraint is about a column. */
extern bool constraint_has_column(Oid constraint, AttrNumber attno);

/*
 * Adds a constraint to the table's shards on this node; with ONLY, unless
 * inherited: partitions get theirs by separate statements.
 */
extern void add_shard_constraint(const DistTable *table, Oid constraint, bool inherited);

/* The same for constraints (List of Oids), on all nodes. */
extern void add_late_constraints(UtilityCall *call, const DistTable *table, List *constraints, bool inherited);

#endif							/* CITUS_DDL_LATE_CONSTRAINT_H */
