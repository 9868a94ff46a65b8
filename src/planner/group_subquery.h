/*-------------------------------------------------------------------------
 *
 * group_subquery.h
 *	  Calls that replace subqueries during planning; for group_subquery_mark.c
 *	  and group_subquery.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_GROUP_SUBQUERY_H
#define CITUS_PLANNER_GROUP_SUBQUERY_H

#include "nodes/parsenodes.h"

#include "catalog/metadata.h"

/*
 * The location of calls that replace subqueries.  The parser gives it to no
 * call in the text of a statement, view or function.
 */
#define GROUP_SUBQUERY_LOCATION (-2)

/* The subquery that a call replaces. */
typedef struct GroupSubquery
{
	SubLink    *link;			/* NULL: a subquery in FROM */
	Query	   *query;
	List	   *vars;			/* columns of the outer row, as in the
								 * subquery: the arguments of the call, after
								 * its number */
	Bitmapset  *pins;			/* the members of vars that determine, each
								 * alone, the shard group that is read */
	const DistTable *table;		/* one of its distributed tables; NULL: none */
	Oid			check_as;		/* as in DistRel */
	double		cost;			/* on a node, of one row */
	double		rows;			/* that it returns */
} GroupSubquery;

#endif							/* CITUS_PLANNER_GROUP_SUBQUERY_H */
