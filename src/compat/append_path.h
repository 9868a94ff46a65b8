/*-------------------------------------------------------------------------
 *
 * append_path.h
 *	  Making an Append: what it appends is a struct since version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_APPEND_PATH_H
#define CITUS_COMPAT_APPEND_PATH_H

#include "postgres.h"

#include "optimizer/pathnode.h"

/* An Append of one path. */
static inline AppendPath *
compat_append_of_one(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = {.subpaths = list_make1(path)};

	return create_append_path(root, rel, input, NIL, NULL, 0, false, -1);
#else
	return create_append_path(root, rel, list_make1(path), NIL, NIL, NULL, 0, false, -1);
#endif
}

#endif							/* CITUS_COMPAT_APPEND_PATH_H */
