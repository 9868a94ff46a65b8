/*-------------------------------------------------------------------------
 *
 * local_plan.h
 *	  Cached plans for tasks on this node's own shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_LOCAL_PLAN_H
#define CITUS_EXECUTOR_LOCAL_PLAN_H

#include "utils/plancache.h"

#include "catalog/metadata.h"

/*
 * A saved CachedPlanSource for a task on one of this node's shards, valid
 * until the next call.  NULL for a text that is used the first time in this
 * session.  text is without tag, types are those of its parameters.
 */
extern CachedPlanSource *local_plan_source(const DistTable *table, int shard_index, const char *text,
										   const Oid *types, int ntypes);

/* Its plan, with a reference that the caller releases. */
extern CachedPlan *local_plan_get(CachedPlanSource *source, ParamListInfo params);

#endif							/* CITUS_EXECUTOR_LOCAL_PLAN_H */
