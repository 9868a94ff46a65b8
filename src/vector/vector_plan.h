/*-------------------------------------------------------------------------
 *
 * vector_plan.h
 *	  Puts ColumnarAggregate nodes into finished plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_PLAN_H
#define CITUS_VECTOR_VECTOR_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * What a ColumnarAggregate node is told, packed in custom_private.  Columns of
 * custom_scan_tlist are first the keys, then other columns that are the same
 * for all rows of a group, then the aggregates.
 *
 * custom_exprs has for each child a list of the expressions of these columns,
 * over the columns of the child's table.
 */
typedef struct VectorAggregatePlan
{
	int			nkeys;
	int			ncarried;		/* keys and other columns */
	bool		grouped;		/* otherwise all rows are one group */
	long		ngroups;		/* estimated */
	List	   *operators;		/* of equality, of the keys */
	List	   *collations;
	List	   *top_columns;	/* integers by whose order only the top_limit
								 * first groups are needed, from 0; NIL: all
								 * groups are */
	List	   *top_descending; /* 1 for those that are in descending order */
	int64		top_limit;
} VectorAggregatePlan;

/* Reads what the plan node carries. */
extern void vector_plan_unpack(const CustomScan *node, VectorAggregatePlan *plan);

/*
 * Changes a finished plan, in place: a ColumnarAggregate in the place of each
 * Agg node whose input is columnar scans, if it can do the same.
 */
extern void vector_plan_make(PlannedStmt *statement);

#endif							/* CITUS_VECTOR_VECTOR_PLAN_H */
