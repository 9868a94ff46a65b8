/*-------------------------------------------------------------------------
 *
 * group_entry.h
 *	  The range table's entry for GROUP BY (RTE_GROUP).
 *
 * Since version 18 a query with GROUP BY has one more entry, the last of those
 * that its text gives; expressions refer to it where they are grouped by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_GROUP_ENTRY_H
#define CITUS_COMPAT_GROUP_ENTRY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#if PG_VERSION_NUM >= 180000
#define query_has_group_entry(query) ((query)->hasGroupRTE)
#else
#define query_has_group_entry(query) false
#endif

/* The expressions of that entry. */
static inline List *
query_group_exprs(const Query *query)
{
#if PG_VERSION_NUM >= 180000
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_GROUP)
			return lfirst_node(RangeTblEntry, cell)->groupexprs;
	}
#endif
	return NIL;
}

#endif							/* CITUS_COMPAT_GROUP_ENTRY_H */
