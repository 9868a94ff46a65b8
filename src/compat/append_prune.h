/*-------------------------------------------------------------------------
 *
 * append_prune.h
 *	  Whether an Append finds out when it runs which children it needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_APPEND_PRUNE_H
#define CITUS_COMPAT_APPEND_PRUNE_H

#include "postgres.h"

#include "nodes/plannodes.h"

static inline bool
append_prunes_when_run(const Append *append)
{
#if PG_VERSION_NUM < 180000
	return append->part_prune_info != NULL;
#else
	return append->part_prune_index >= 0;
#endif
}

#endif							/* CITUS_COMPAT_APPEND_PRUNE_H */
