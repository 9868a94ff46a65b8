/*-------------------------------------------------------------------------
 *
 * group_clause.h
 *	  GROUP BY and DISTINCT of a query that is being planned.  Version 16
 *	  keeps the items that are left when redundant ones are removed in
 *	  PlannerInfo.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_GROUP_CLAUSE_H
#define CITUS_COMPAT_GROUP_CLAUSE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#if PG_VERSION_NUM >= 160000
#define compat_group_clause(root) ((root)->processed_groupClause)
#define compat_distinct_clause(root) ((root)->processed_distinctClause)
#else
#define compat_group_clause(root) ((root)->parse->groupClause)
#define compat_distinct_clause(root) ((root)->parse->distinctClause)
#endif

#endif							/* CITUS_COMPAT_GROUP_CLAUSE_H */
