/*-------------------------------------------------------------------------
 *
 * local_plan.c
 *	  Plans that are kept for tasks on this node's own shards.
 *
 * What named prepared statements are for other nodes, saved members of the
 * server's plan cache are here: a text on a shard that comes a second time is
 * analysed once, and planned as often as the server finds useful.  The plan
 * cache sees to invalidation; we look plans up and let go of the least
 * recently used ones (citus.max_prepared_tasks_per_connection).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "executor/local_plan.h"
#include "lib/seen_hashes.h"
#include "lib/exact_text.h"
#include "remote/prepared.h"
#include "resolve/tag.h"

typedef struct LocalPlan
{
	uint64		hash;			/* hash key: of text, shard and types */
	int			colocation_id;
	HashRange	range;			/* of the shard */
	char	   *text;			/* without tag; in the plan cache's memory */
	CachedPlanSource *source;
	dlist_node	link;			/* in uses, most recent first */
} LocalPlan;

static HTAB *plans = NULL;
static dlist_head uses;
static SeenHashes seen;		/* of texts */

static uint64
hash_task(const DistTable *table, HashRange range, const char *text, const Oid *types, int ntypes)
{
	uint64		hash = DatumGetUInt64(hash_any_extended((const unsigned char *) text, strlen(text), 0));

	hash = hash_combine64(hash, ((uint64) table->colocation_id << 32) | (uint32) range.min);
	for (int i = 0; i < ntypes; i++)
		hash = hash_combine64(hash, types[i]);
	return hash;
}

static void
create_cache(void)
{
	HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(LocalPlan), .hcxt = CacheMemoryContext};

	plans = hash_create("citus local plans", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	dlist_init(&uses);
}

/* A member of the plan cache for a tagged text, whose columns may get other types; not saved yet. */
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

static void
remove_plan(LocalPlan *plan)
{
	CachedPlanSource *source = plan->source;

	dlist_delete(&plan->link);
	(void) hash_search(plans, &plan->hash, HASH_REMOVE, NULL);
	DropCachedPlan(source);
}

/* Analyses a task's text and keeps it. */
static LocalPlan *
add_plan(uint64 hash, const DistTable *table, HashRange range, const char *text,
		 const Oid *types, int ntypes)
{
	char	   *tag = task_tag_shard(table->colocation_id, range);
	CachedPlanSource *source = analyse_text(psprintf("%s%s", tag, text), types, ntypes);
	LocalPlan  *plan;
	char	   *copy;

	SaveCachedPlan(source);
	copy = MemoryContextStrdup(source->context, text);
	while (hash_get_num_entries(plans) >= prepared_limit())
		remove_plan(dlist_container(LocalPlan, link, dlist_tail_node(&uses)));
	plan = hash_search(plans, &hash, HASH_ENTER, NULL);
	plan->colocation_id = table->colocation_id;
	plan->range = range;
	plan->text = copy;
	plan->source = source;
	dlist_push_head(&uses, &plan->link);
	return plan;
}

CachedPlanSource *
local_plan_source(const DistTable *table, int shard_index, const char *text, const Oid *types, int ntypes)
{
	HashRange	range = table->shards[shard_index].range;
	uint64		hash = hash_task(table, range, text, types, ntypes);
	LocalPlan  *plan;

	if (prepared_limit() == 0)
		return NULL;
	if (plans == NULL)
		create_cache();
	plan = hash_search(plans, &hash, HASH_FIND, NULL);
	if (plan == NULL)
		return seen_before(&seen, hash) ?
			add_plan(hash, table, range, text, types, ntypes)->source : NULL;
	if (plan->colocation_id != table->colocation_id || plan->range.min != range.min || plan->range.max != range.max ||
		strcmp(plan->text, text) != 0)
		return NULL;
	dlist_move_head(&uses, &plan->link);
	return plan->source;
}
