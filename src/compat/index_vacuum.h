/*-------------------------------------------------------------------------
 *
 * index_vacuum.h
 *	  Since version 16 the vacuum of an index knows the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_INDEX_VACUUM_H
#define CITUS_COMPAT_INDEX_VACUUM_H

#include "postgres.h"

#include "access/genam.h"
#include "utils/rel.h"

/* Says which index is vacuumed; the rest is zero. */
static inline void
compat_index_vacuum_info(IndexVacuumInfo *info, Relation table, Relation index)
{
	memset(info, 0, sizeof(IndexVacuumInfo));
	info->index = index;
#if PG_VERSION_NUM >= 160000
	info->heaprel = table;
#endif
}

#endif							/* CITUS_COMPAT_INDEX_VACUUM_H */
