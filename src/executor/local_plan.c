/*-------------------------------------------------------------------------
 *
 * local_plan.c
 *	  Cached plans for tasks on this node's own shards.
 *
 * These correspond to named prepared statements on other nodes: a text that is
 * used a second time on a shard becomes a saved entry of the server's plan
 * cache, so it is analysed once, and planned when the plan cache decides so.
 * The plan cache handles invalidation; lib/statement_cache.c handles lookup
 * and eviction, as for prepared statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

#include "executor/local_plan.h"
#include "lib/exact_text.h"
#include "lib/statement_cache.h"
#include "resolve/tag.h"

typedef struct LocalPlan
{
	KeptStatement kept;			/* must be first; its scope is a PlanScope */
	CachedPlanSource *source;
} LocalPlan;

/* A shard group; without padding. */
typedef struct PlanScope
{
	int			colocation_id;
	HashRange	range;
} PlanScope;

static StatementCache *local_plans = NULL;

/*
 * A CachedPlanSource for a tagged text, whose result columns may change their
 * types; not saved yet.
 */
static CachedPlanSource *
analyse_text(const char *tagged, const Oid *types, int ntypes)
{
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(tagged));
	CachedPlanSource *source = CreateCachedPlan(raw, tagged, CreateCommandTag(raw->stmt));
	int			nest = exact_text_read_begin();
	const char *outer = task_tag_begin_own(tagged);
	List	   *volatile queries = NIL;

	PG_TRY();
	{
		queries = pg_analyze_and_rewrite_fixedparams(raw, tagged, types, ntypes, NULL);
	}
	PG_FINALLY();
	{
		task_tag_end_own(outer);
	}
	PG_END_TRY();
	exact_text_read_end(nest);
	CompleteCachedPlan(source, queries, NULL, unconstify(Oid *, types), ntypes, NULL, NULL,
					   CURSOR_OPT_PARALLEL_OK, false);
	return source;
}

CachedPlan *
local_plan_get(CachedPlanSource *source, ParamListInfo params)
{
	const char *outer = task_tag_begin_own(source->query_string);
	CachedPlan *volatile plan = NULL;

	PG_TRY();
	{
		plan = GetCachedPlan(source, params, NULL, NULL);
	}
	PG_FINALLY();
	{
		task_tag_end_own(outer);
	}
	PG_END_TRY();
	return plan;
}

CachedPlanSource *
local_plan_source(const DistTable *table, int shard_index, const char *text, const Oid *types, int ntypes)
{
	PlanScope	scope = {table->colocation_id, table->shards[shard_index].range};
	StatementKey key = {.scope = &scope, .scope_size = sizeof(scope), .text = text, .types = types, .ntypes = ntypes};
	CachedPlanSource *source;
	LocalPlan  *plan;
	uint64		hash;

	if (local_plans == NULL)
		local_plans = statement_cache_create(CacheMemoryContext, "plans for own shards", sizeof(LocalPlan));
	plan = statement_cache_find(local_plans, &key, false, &hash);
	if (plan != NULL || hash == 0)
		return plan == NULL ? NULL : plan->source;

	source = analyse_text(psprintf("%s%s", task_tag_shard(scope.colocation_id, scope.range), text), types, ntypes);
	while ((plan = statement_cache_superfluous(local_plans)) != NULL)
	{
		CachedPlanSource *old = plan->source;

		statement_cache_remove(local_plans, plan);
		DropCachedPlan(old);
	}
	SaveCachedPlan(source);
	plan = statement_cache_add(local_plans, &key, hash);
	plan->source = source;
	return source;
}
