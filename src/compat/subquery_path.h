/*-------------------------------------------------------------------------
 *
 * subquery_path.h
 *	  Making the path that scans a subquery.  Version 16 wants to be told
 *	  whether the scan returns the subquery's rows unchanged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SUBQUERY_PATH_H
#define CITUS_COMPAT_SUBQUERY_PATH_H

#include "postgres.h"

#include "optimizer/pathnode.h"

/* A scan of a subquery that depends on no other relation's rows. */
static inline Path *
compat_subqueryscan_path(PlannerInfo *root, RelOptInfo *rel, Path *subpath, List *pathkeys)
{
#if PG_VERSION_NUM >= 160000
	return (Path *) create_subqueryscan_path(root, rel, subpath, false, pathkeys, NULL);
#else
	return (Path *) create_subqueryscan_path(root, rel, subpath, pathkeys, NULL);
#endif
}

#endif							/* CITUS_COMPAT_SUBQUERY_PATH_H */
