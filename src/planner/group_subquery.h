/*-------------------------------------------------------------------------
 *
 * group_subquery.h
 *	  What stands for a subquery that shard groups answer for their own rows;
 *	  for group_subquery_mark.c and group_subquery.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_GROUP_SUBQUERY_H
#define CITUS_PLANNER_GROUP_SUBQUERY_H

#include "nodes/parsenodes.h"

#include "catalog/metadata.h"

/*
 * The location of calls that stand for subqueries.  The parser gives none to a
 * call that is in the statement's text, or in that of a view or function.
 */
#define GROUP_SUBQUERY_LOCATION (-2)

/* What a call stands for. */
typedef struct GroupSubquery
{
	SubLink    *link;			/* NULL: a subquery in FROM */
	Query	   *query;
	List	   *vars;			/* columns of the outer row, as they are in
								 * the subquery's own text: arguments of the
								 * call, behind its number */
	Bitmapset  *pins;			/* which of vars, alone, tells the shard group
								 * that is read */
	const DistTable *table;		/* one of its distributed tables; NULL: none */
	Oid			check_as;		/* as in DistRel */
	double		cost;			/* on a node, of one row */
	double		rows;			/* that it returns */
} GroupSubquery;

#endif							/* CITUS_PLANNER_GROUP_SUBQUERY_H */
