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

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/parsenodes.h"

#if PG_VERSION_NUM < 170000
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

/*
 * The condition that tells MATCHED and NOT MATCHED BY SOURCE apart, above the
 * join of target and source; NULL if the statement has no clause for the
 * latter.  Before planning, the condition of ON.
 */
static inline Node *
merge_condition(const Query *query)
{
#if PG_VERSION_NUM >= 170000
	ListCell   *cell;

	foreach(cell, query->mergeActionList)
	{
		if (lfirst_node(MergeAction, cell)->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE)
			return query->mergeJoinCondition;
	}
#endif
	return NULL;
}

/* Whether a node is a call of merge_action(). */
static inline bool
merge_is_action(const Node *node)
{
#if PG_VERSION_NUM >= 170000
	return IsA(node, MergeSupportFunc);
#else
	return false;
#endif
}

/* A call of merge_action(); NULL before version 17. */
static inline Expr *
merge_make_action(void)
{
#if PG_VERSION_NUM >= 170000
	MergeSupportFunc *action = makeNode(MergeSupportFunc);

	action->msftype = TEXTOID;
	action->msfcollid = DEFAULT_COLLATION_OID;
	action->location = -1;
	return (Expr *) action;
#else
	return NULL;
#endif
}

#endif							/* CITUS_COMPAT_MERGE_H */
