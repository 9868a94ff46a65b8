/*-------------------------------------------------------------------------
 *
 * row_triggers.h
 *	  Calling row-level triggers for rows that are in memory.  Version 16 added
 *	  arguments, and moved the columns that a statement assigns from the range
 *	  table entry to a node of their own, where they are the partitioned table's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_ROW_TRIGGERS_H
#define CITUS_COMPAT_ROW_TRIGGERS_H

#include "postgres.h"

#include "commands/trigger.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"

/* BEFORE ROW triggers of UPDATE; false if they have the row skipped. */
static inline bool
compat_before_update(EState *estate, ResultRelInfo *info, HeapTuple old, TupleTableSlot *slot)
{
#if PG_VERSION_NUM >= 180000
	return ExecBRUpdateTriggers(estate, NULL, info, NULL, old, slot, NULL, NULL, false);
#elif PG_VERSION_NUM >= 160000
	return ExecBRUpdateTriggers(estate, NULL, info, NULL, old, slot, NULL, NULL);
#else
	return ExecBRUpdateTriggers(estate, NULL, info, NULL, old, slot, NULL);
#endif
}

/* BEFORE ROW triggers of DELETE; false if they have the row skipped. */
static inline bool
compat_before_delete(EState *estate, ResultRelInfo *info, HeapTuple old)
{
#if PG_VERSION_NUM >= 180000
	return ExecBRDeleteTriggers(estate, NULL, info, NULL, old, NULL, NULL, NULL, false);
#elif PG_VERSION_NUM >= 160000
	return ExecBRDeleteTriggers(estate, NULL, info, NULL, old, NULL, NULL, NULL);
#else
	return ExecBRDeleteTriggers(estate, NULL, info, NULL, old, NULL);
#endif
}

/*
 * Whether the server maps the columns that a statement assigns (updatedCols)
 * from the partitioned table's to those of the partition whose triggers fire.
 */
#define COMPAT_MAPS_UPDATED_COLUMNS (PG_VERSION_NUM >= 160000)

/*
 * Gives the state a range table of one relation, of which the statement
 * assigns these columns (see updatedCols).
 */
static inline void
compat_set_target(EState *estate, Oid relid, Bitmapset *updated_columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = relid;
	rte->relkind = RELKIND_RELATION;
	rte->rellockmode = RowExclusiveLock;
#if PG_VERSION_NUM >= 160000
	{
		RTEPermissionInfo *info = makeNode(RTEPermissionInfo);

		info->relid = relid;
		info->updatedCols = updated_columns;
		rte->perminfoindex = 1;
		estate->es_rteperminfos = list_make1(info);
	}
#else
	rte->updatedCols = updated_columns;
#endif
	estate->es_range_table = list_make1(rte);
	estate->es_range_table_size = 1;
}

#endif							/* CITUS_COMPAT_ROW_TRIGGERS_H */
