/*-------------------------------------------------------------------------
 *
 * rel_hook.h
 *	  The hook that adjusts what the planner knows of a table: another one since
 *	  version 19, which is called for other members of FROM, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_REL_HOOK_H
#define CITUS_COMPAT_REL_HOOK_H

#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"

#if PG_VERSION_NUM >= 190000
#define RelHook build_simple_rel_hook_type
#define rel_hook build_simple_rel_hook
#define REL_HOOK_PARAMS PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define REL_HOOK_ARGS root, rel, rte
#else
#define RelHook get_relation_info_hook_type
#define rel_hook get_relation_info_hook
#define REL_HOOK_PARAMS PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define REL_HOOK_ARGS root, relid, inhparent, rel
#endif

#endif							/* CITUS_COMPAT_REL_HOOK_H */
