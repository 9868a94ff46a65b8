/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  MERGE's actions.
 *
 * Since version 17 there are three kinds of them; before, two, and a boolean
 * to tell them apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_MERGE_H
#define CITUS_COMPAT_MERGE_H

#include "postgres.h"

#include "nodes/primnodes.h"

#if PG_VERSION_NUM < 170000
#include "nodes/parsenodes.h"

typedef enum MergeMatchKind
{
	MERGE_WHEN_MATCHED,
	MERGE_WHEN_NOT_MATCHED_BY_SOURCE,
	MERGE_WHEN_NOT_MATCHED_BY_TARGET
} MergeMatchKind;

#endif

static inline MergeMatchKind
merge_action_kind(const MergeAction *action)
{
#if PG_VERSION_NUM >= 170000
	return action->matchKind;
#else
	return action->matched ? MERGE_WHEN_MATCHED : MERGE_WHEN_NOT_MATCHED_BY_TARGET;
#endif
}

#endif							/* CITUS_COMPAT_MERGE_H */
