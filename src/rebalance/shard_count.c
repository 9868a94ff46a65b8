/*-------------------------------------------------------------------------
 *
 * shard_count.c
 *	  Changes the number of shards of a colocation group while it is written.
 *
 * This is a sequence of existing operations: the old shard groups are split at
 * the boundaries of the new ones, with the parts created on their final nodes
 * (reshape.c), or moved there as a whole (move.c); then the parts of each new
 * shard group are merged.  If the new number is a multiple of the old one,
 * there is nothing to merge, and rows leave their node only if the nodes would
 * have unequal numbers of shards.
 *
 * Each operation commits by itself.  If one fails, some shards are smaller or
 * larger than others, and the same call continues from there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "cluster/members.h"
#include "compat/sql_function.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "rebalance/reshape.h"
#include "sharding/hash.h"
#include "table/lock_everywhere.h"
#include "txn/transaction.h"

SQL_FUNCTION(citus_internal_change_shard_count);

/* The new shard groups of a table and those colocated with it. */
typedef struct Layout
{
	Oid			relid;
	int			count;
	HashRange  *ranges;			/* count of them, ascending */
	int32	   *groups;			/* node of each */
} Layout;

/* The new shard group that has a hash value. */
static int
layout_index(const Layout *layout, int32 hash)
{
	return hash_position(&layout->ranges[0].min, sizeof(HashRange), layout->count, hash);
}

/* How many of a range's hash values a node has now. */
static int64
layout_overlap(const DistTable *table, HashRange range, int32 groupid)
{
	int64		overlap = 0;

	for (int i = shard_index_of_hash(table, range.min); i < table->nshards && table->shards[i].range.min <= range.max; i++)
	{
		HashRange	common = range;

		if (table->shards[i].groupid == groupid && hash_range_intersect(&common, table->shards[i].range))
			overlap += (int64) common.max - common.min + 1;
	}
	return overlap;
}

/*
 * Chooses the nodes: each gets about the same number of new shard groups,
 * preferably those of which it has the largest part.
 */
static void
choose_layout_nodes(Layout *layout)
{
	const DistTable *table = metadata_require(layout->relid);
	List	   *targets = node_shard_targets();
	int			ntargets = list_length(targets);
	int			least = layout->count / ntargets;
	int			more = layout->count % ntargets;	/* nodes that may have one
													 * more */
	int		   *counts = palloc0(sizeof(int) * ntargets);

	for (int i = 0; i < layout->count; i++)
	{
		int			best = -1;
		int64		best_overlap = 0;

		for (int j = 0; j < ntargets; j++)
		{
			int64		overlap = layout_overlap(table, layout->ranges[i],
												 ((ClusterNode *) list_nth(targets, j))->groupid);

			if (counts[j] >= least + (more > 0 ? 1 : 0))
				continue;
			if (best < 0 || overlap > best_overlap || (overlap == best_overlap && counts[j] < counts[best]))
			{
				best = j;
				best_overlap = overlap;
			}
		}
		if (counts[best]++ == least)
			more--;
		layout->groups[i] = ((ClusterNode *) list_nth(targets, best))->groupid;
	}
}

static Layout
make_layout(const DistTable *table, int count)
{
	Layout		layout = {.relid = table->relid, .count = count};

	layout.ranges = palloc(sizeof(HashRange) * count);
	layout.groups = palloc(sizeof(int32) * count);
	for (int i = 0; i < count; i++)
		shard_hash_range(count, i, &layout.ranges[i].min, &layout.ranges[i].max);
	choose_layout_nodes(&layout);
	return layout;
}

static ReshapePlan
layout_plan(const Layout *layout, const ShardInfo *shard)
{
	ReshapePlan plan = {.relid = layout->relid, .shardid = shard->shardid, .range = shard->range};

	plan.node = drive_require_node(node_of_group(shard->groupid), "replace shards of");
	return plan;
}

/*
 * Splits a shard group whose rows belong into several new ones, or moves one
 * that belongs into a single one on another node; returns its last hash value.
 */
static int32
distribute_parts(const Layout *layout, const ShardInfo *shard)
{
	int			first = layout_index(layout, shard->range.min);
	int			last = layout_index(layout, shard->range.max);
	ReshapePlan plan = layout_plan(layout, shard);

	for (int i = first; i <= last; i++)
	{
		plan.last = lappend_int(plan.last, Min(layout->ranges[i].max, plan.range.max));
		plan.groups = lappend_int(plan.groups, layout->groups[i]);
	}
	if (first < last)
		reshape_run(&plan);
	else if (layout->groups[first] != plan.node->groupid)
		move_run(plan.shardid, plan.node, node_of_group(layout->groups[first]), "auto");
	return plan.range.max;
}

/*
 * Merges the parts of a new shard group, of which one is given; returns its
 * last hash value.
 */
static int32
merge_parts(const Layout *layout, const ShardInfo *shard)
{
	int			index = layout_index(layout, shard->range.min);
	HashRange	range = layout->ranges[index];
	ReshapePlan plan = layout_plan(layout, shard);

	if (plan.range.max != range.max)
	{
		plan.range = range;
		plan.last = list_make1_int(range.max);
		plan.groups = list_make1_int(layout->groups[index]);
		reshape_run(&plan);
	}
	return range.max;
}

/* Calls a function that changes shard groups for all of them, in order. */
static void
change_groups(const Layout *layout, int32 (*change) (const Layout *layout, const ShardInfo *shard))
{
	int64		next = PG_INT32_MIN;

	while (next <= PG_INT32_MAX)
	{
		const DistTable *table;

		AcceptInvalidationMessages();
		table = metadata_require(layout->relid);
		next = (int64) change(layout, &table->shards[shard_index_of_hash(table, (int32) next)]) + 1;
	}
}

/*
 * citus_internal.change_shard_count(relation regclass, shard_count integer):
 * false, without effect, if it can't be done online: for users without the
 * rights, and in a transaction that has already done something.
 */
Datum
citus_internal_change_shard_count(PG_FUNCTION_ARGS)
{
	const DistTable *table = metadata_require(PG_GETARG_OID(0));
	int			colocation_id = table->colocation_id;
	int			count = PG_GETARG_INT32(1);
	Layout		layout;

	if (!superuser() || IsTransactionBlock() || txn_reads_in_xact() ||
		TransactionIdIsValid(GetTopTransactionIdIfAny()))
		PG_RETURN_BOOL(false);
	if (table->kind != DIST_HASH)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is not distributed by a column", get_rel_name(table->relid))));
	if (count < 1 || count > MAX_SHARD_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d is outside the valid range for parameter \"shard_count\" (1 .. %d)", count, MAX_SHARD_COUNT)));
	drive_check_caller("change the number of shards");
	layout = make_layout(table, count);
	change_groups(&layout, distribute_parts);
	change_groups(&layout, merge_parts);
	node_share_set_for_ddl();
	members_exec(psprintf("UPDATE pg_catalog.pg_dist_colocation SET shardcount = %d WHERE colocationid = %d",
						  count, colocation_id), NIL);
	PG_RETURN_BOOL(true);
}
