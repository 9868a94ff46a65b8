/*-------------------------------------------------------------------------
 *
 * group_clause.h
 *	  The members of GROUP BY that divide rows into groups.
 *
 * Since version 16 the planner leaves out those that are the same for all
 * rows, and doesn't mark their columns in the input of the aggregation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_GROUP_CLAUSE_H
#define CITUS_COMPAT_GROUP_CLAUSE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

static inline List *
dividing_group_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_groupClause;
#else
	return root->parse->groupClause;
#endif
}

#endif							/* CITUS_COMPAT_GROUP_CLAUSE_H */
