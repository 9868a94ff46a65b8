/*-------------------------------------------------------------------------
 *
 * clone_plan.c
 *	  Which shard groups of a node its clone takes over.
 *
 * Both servers have all of them already, so any division costs the same.  The
 * groups are taken in the order of their costs, the most expensive first, and
 * each one goes to the server whose groups have cost less so far, relative to
 * its capacity.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "catalog/metadata_rows.h"
#include "cluster/clone_node.h"
#include "cluster/members.h"
#include "compat/sql_function.h"
#include "conversion/convert.h"
#include "rebalance/clone_plan.h"
#include "rebalance/shard_loads.h"
#include "rebalance/shard_sizes.h"
#include "rebalance/strategy.h"

SQL_FUNCTION(get_snapshot_based_node_split_plan);

/* Adds the groups of a table's shards that are on the node. */
static List *
add_node_groups(List *groups, const DistTable *table, const ClusterNode *primary, RebalanceStrategy *strategy)
{
	for (int i = 0; i < table->nshards; i++)
	{
		const ShardInfo *shard = &table->shards[i];
		CloneGroup *group;

		if (shard->groupid != primary->groupid)
			continue;
		group = palloc0(sizeof(CloneGroup));
		group->relid = table->relid;
		group->shardid = shard->shardid;
		group->colocation_id = table->colocation_id;
		group->range = shard->range;
		group->cost = strategy_shard_cost(strategy, shard->shardid);
		group->bytes = shard_group_size(shard->shardid);
		groups = lappend(groups, group);
	}
	return groups;
}

/* The groups that may leave the node. */
static List *
groups_of_node(const ClusterNode *primary, RebalanceStrategy *strategy)
{
	List	   *tables = metadata_tables(0);
	List	   *colocations = NIL;
	List	   *groups = NIL;

	list_sort(tables, list_oid_cmp);
	foreach_oid(relid, tables)
	{
		const DistTable *table = metadata_require(relid);

		if (get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" is unlogged, so a clone doesn't have its rows", get_rel_name(relid)),
					 errhint("Use ALTER TABLE .. SET LOGGED.")));
		if (table->kind == DIST_REFERENCE || list_member_int(colocations, table->colocation_id) ||
			group_stays_on_node(table->colocation_id))
			continue;
		if (table->colocation_id != 0)
			colocations = lappend_int(colocations, table->colocation_id);
		groups = add_node_groups(groups, table, primary, strategy);
	}
	return groups;
}

/* The most expensive first; else in the order of tables and hash values. */
static int
compare_node_groups(const ListCell *a, const ListCell *b)
{
	const CloneGroup *left = lfirst(a);
	const CloneGroup *right = lfirst(b);

	if (left->cost != right->cost)
		return left->cost > right->cost ? -1 : 1;
	if (left->relid != right->relid)
		return left->relid < right->relid ? -1 : 1;
	return left->range.min < right->range.min ? -1 : left->range.min > right->range.min;
}

static void
divide_groups(List *groups, const ClusterNode *primary, const ClusterNode *clone, RebalanceStrategy *strategy)
{
	const ClusterNode *nodes[2] = {primary, clone};
	double		capacities[2];
	double		loads[2] = {0, 0};

	for (int i = 0; i < 2; i++)
		capacities[i] = strategy_node_capacity(strategy, nodes[i]->nodeid);
	foreach_ptr(CloneGroup, group, groups)
	{
		/* compares the loads that would result, as products */
		int			place = (loads[1] + group->cost) * capacities[0] < (loads[0] + group->cost) * capacities[1];

		if (!strategy_shard_allowed(strategy, group->shardid, nodes[place]->nodeid) &&
			strategy_shard_allowed(strategy, group->shardid, nodes[1 - place]->nodeid))
			place = 1 - place;
		loads[place] += group->cost;
		group->leaves = place == 1;
	}
}

List *
clone_plan(const ClusterNode *primary, const ClusterNode *clone, const char *strategy_name)
{
	RebalanceStrategy *strategy = strategy_find(strategy_name);
	List	   *groups = NIL;

	shard_sizes_fetch();
	shard_loads_begin();
	PG_TRY();
	{
		groups = groups_of_node(primary, strategy);
	}
	PG_FINALLY();
	{
		shard_sizes_forget();
		shard_loads_end();
	}
	PG_END_TRY();
	list_sort(groups, compare_node_groups);
	divide_groups(groups, primary, clone, strategy);
	return groups;
}

/* An argument that must not be null. */
static void
require_argument(FunctionCallInfo fcinfo, int number)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the name and port of a node must not be null")));
}

/*
 * get_snapshot_based_node_split_plan(primary_node_name, primary_node_port,
 * replica_node_name, replica_node_port, rebalance_strategy)
 */
Datum
get_snapshot_based_node_split_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const ClusterNode *nodes[2];

	for (int i = 0; i < 4; i++)
		require_argument(fcinfo, i);
	for (int i = 0; i < 2; i++)
		nodes[i] = members_require(text_to_cstring(PG_GETARG_TEXT_PP(2 * i)), PG_GETARG_INT32(2 * i + 1));
	if (clone_require(nodes[1]->nodeid)->clone_of != nodes[0]->nodeid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("node %s:%d is not a clone of node %s:%d", nodes[1]->host, nodes[1]->port, nodes[0]->host, nodes[0]->port)));
	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(const CloneGroup, group, clone_plan(nodes[0], nodes[1], PG_ARGISNULL(4) ? NULL : NameStr(*PG_GETARG_NAME(4))))
	{
		Datum		values[] = {
			ObjectIdGetDatum(group->relid), Int64GetDatum(group->shardid), Int64GetDatum(group->bytes),
			CStringGetTextDatum(psprintf("%s:%d", nodes[group->leaves]->host, nodes[group->leaves]->port)),
		};
		bool		nulls[lengthof(values)] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
