/*-------------------------------------------------------------------------
 *
 * plan_input.c
 *	  The input of a rebalance plan of this cluster: nodes, shard groups, and
 *	  their costs and capacities by the strategy.
 *
 * Placements are those of the current metadata; nothing is locked.  A later
 * move checks whether it is still possible.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "cluster/members.h"
#include "conversion/convert.h"
#include "rebalance/plan_input.h"
#include "rebalance/shard_loads.h"
#include "rebalance/shard_sizes.h"
#include "rebalance/strategy.h"
#include "sharding/hash.h"

static bool
allowed_by_strategy(RebalancePlan *plan, const PlanShard *shard, const PlanNode *node)
{
	return strategy_shard_allowed(plan->arg, shard->shardid, node->node->nodeid);
}

static void
set_nodes(RebalancePlan *plan)
{
	List	   *members = node_active_primaries();
	ListCell   *cell;

	plan->nodes = palloc0(list_length(members) * sizeof(PlanNode));
	foreach(cell, members)
	{
		PlanNode   *node = &plan->nodes[plan->nnodes++];

		node->node = lfirst(cell);
		if (node->node->should_have_shards)
			node->capacity = strategy_node_capacity(plan->arg, node->node->nodeid);
	}
}

/* Position of a group's node in the plan, or -1: it is not active. */
static int
position_of_group(const RebalancePlan *plan, int32 groupid)
{
	for (int i = 0; i < plan->nnodes; i++)
	{
		if (plan->nodes[i].node->groupid == groupid)
			return i;
	}
	return -1;
}

/* Tables (Oids) of a plan, one for each colocation group. */
static List *
tables_of_plan(Oid relid)
{
	List	   *colocations = NIL;
	List	   *tables = NIL;
	List	   *all;
	ListCell   *cell;

	if (OidIsValid(relid))
	{
		if (metadata_require(relid)->kind == DIST_REFERENCE)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("reference tables cannot be rebalanced"),
					 errdetail("They are on all nodes.")));
		return list_make1_oid(relid);
	}
	all = metadata_tables(0);
	list_sort(all, list_oid_cmp);
	foreach(cell, all)
	{
		const DistTable *table = metadata_require(lfirst_oid(cell));

		if (table->kind == DIST_REFERENCE || list_member_int(colocations, table->colocation_id) ||
			group_stays_on_node(table->colocation_id))
			continue;
		if (table->colocation_id != 0)
			colocations = lappend_int(colocations, table->colocation_id);
		tables = lappend_oid(tables, table->relid);
	}
	return tables;
}

/* Adds the shard groups of a table; room for them is there. */
static void
add_planned_shards(RebalancePlan *plan, const DistTable *table, int colocation)
{
	for (int i = 0; i < table->nshards; i++)
	{
		const ShardInfo *info = &table->shards[i];
		PlanShard  *shard = &plan->shards[plan->nshards];
		int			home = position_of_group(plan, info->groupid);

		if (home < 0)
			continue;
		plan->nshards++;
		shard->shardid = info->shardid;
		shard->relid = table->relid;
		shard->colocation = colocation;
		shard->home = home;
		shard->movable = info->others == NIL;	/* else it is being moved */
		shard->cost = strategy_shard_cost(plan->arg, info->shardid);
		shard->bytes = shard_group_size(info->shardid);
	}
}

static void
set_shards(RebalancePlan *plan, Oid relid)
{
	List	   *tables = tables_of_plan(relid);
	int			total = 0;

	foreach_oid(table, tables)
		total += metadata_require(table)->nshards;
	plan->shards = palloc0(Max(total, 1) * sizeof(PlanShard));
	foreach_oid(table, tables)
		add_planned_shards(plan, metadata_require(table), plan->ncolocations++);
}

/* Removes the shard group of a shard from the plan. */
static void
exclude_shard(RebalancePlan *plan, int64 shardid)
{
	int64	   *colocated;
	int			n;

	if (!OidIsValid(metadata_shard_relid(shardid)))
		return;
	colocated = colocated_shardids(shardid, &n);
	for (int i = 0; i < plan->nshards; i++)
		for (int j = 0; j < n; j++)
			if (plan->shards[i].shardid == colocated[j])
				plan->shards[i].movable = false;
}

/*
 * The threshold of a plan: the user's, or the strategy's minimum if that is
 * larger.
 */
static double
threshold_of(const PlanRequest *request, const RebalanceStrategy *strategy)
{
	if (request->threshold < 0)
		return strategy->default_threshold;
	if (request->threshold >= strategy->minimum_threshold)
		return request->threshold;
	ereport(WARNING,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the given threshold is lower than the minimum threshold allowed by the rebalance strategy, "
					"using the minimum allowed threshold instead"),
			 errdetail("Using threshold of %.2f.", strategy->minimum_threshold)));
	return strategy->minimum_threshold;
}

RebalancePlan *
plan_of_cluster(const PlanRequest *request)
{
	RebalanceStrategy *strategy = strategy_find(request->strategy);
	RebalancePlan *plan = palloc0(sizeof(RebalancePlan));
	ListCell   *cell;

	require_coordinator();
	plan->threshold = threshold_of(request, strategy);
	plan->improvement_threshold = request->improvement_threshold < 0 ? strategy->improvement_threshold :
		request->improvement_threshold;
	plan->max_moves = request->max_moves;
	plan->drain_only = request->drain_only;
	plan->allowed = allowed_by_strategy;
	plan->arg = strategy;

	set_nodes(plan);
	shard_sizes_fetch();
	shard_loads_begin();
	PG_TRY();
	{
		set_shards(plan, request->relid);
	}
	PG_FINALLY();
	{
		shard_sizes_forget();
		shard_loads_end();
	}
	PG_END_TRY();
	foreach(cell, request->excluded)
		exclude_shard(plan, *(int64 *) lfirst(cell));
	plan_compute(plan);
	return plan;
}
