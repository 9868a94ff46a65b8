/*-------------------------------------------------------------------------
 *
 * strategy.c
 *	  Rebalance strategies: costs of shards and capacities of nodes.
 *
 * A strategy is a row of pg_dist_rebalance_strategy, whose trigger checks the
 * signatures of its functions (sql/rebalance.sql).  They run with the
 * rights of the user who rebalances.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/regproc.h"

#include "catalog/catalog_rows.h"
#include "rebalance/strategy.h"

enum pg_dist_rebalance_strategy_columns
{
	Anum_strategy_name = 1,
	Anum_strategy_default_strategy,
	Anum_strategy_shard_cost_function,
	Anum_strategy_node_capacity_function,
	Anum_strategy_shard_allowed_function,
	Anum_strategy_default_threshold,
	Anum_strategy_minimum_threshold,
	Anum_strategy_improvement_threshold,
};

static RebalanceStrategy *
read_strategy(const CatalogRow *row)
{
	RebalanceStrategy *strategy = palloc0(sizeof(RebalanceStrategy));

	strategy->name = pstrdup(NameStr(*DatumGetName(row->values[Anum_strategy_name - 1])));
	fmgr_info(DatumGetObjectId(row->values[Anum_strategy_shard_cost_function - 1]), &strategy->shard_cost);
	fmgr_info(DatumGetObjectId(row->values[Anum_strategy_node_capacity_function - 1]), &strategy->node_capacity);
	fmgr_info(DatumGetObjectId(row->values[Anum_strategy_shard_allowed_function - 1]), &strategy->shard_allowed);
	strategy->default_threshold = DatumGetFloat4(row->values[Anum_strategy_default_threshold - 1]);
	strategy->minimum_threshold = DatumGetFloat4(row->values[Anum_strategy_minimum_threshold - 1]);
	strategy->improvement_threshold = DatumGetFloat4(row->values[Anum_strategy_improvement_threshold - 1]);
	return strategy;
}

RebalanceStrategy *
strategy_find(const char *name)
{
	foreach_ptr(const CatalogRow, row, catalog_rows("pg_dist_rebalance_strategy", NULL, NULL))
		if (name == NULL ? DatumGetBool(row->values[Anum_strategy_default_strategy - 1]) :
			strcmp(name, NameStr(*DatumGetName(row->values[Anum_strategy_name - 1]))) == 0)
			return read_strategy(row);
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no default rebalance strategy"),
				 errhint("Choose one with citus_set_default_rebalance_strategy.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("could not find rebalance strategy with name %s", name)));
}

/* Calls a function of a strategy; errors if it returns NULL. */
static Datum
call_strategy_function(FmgrInfo *function, Datum first, Datum second)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, function, function->fn_nargs, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = first;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = second;
	fcinfo->args[1].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s of a rebalance strategy returned null", format_procedure(function->fn_oid))));
	return result;
}

/* The number that a function returns, which must not be negative. */
static double
call_weight_function(FmgrInfo *function, Datum argument)
{
	double		weight = DatumGetFloat4(call_strategy_function(function, argument, (Datum) 0));

	if (!(weight >= 0) || isinf(weight))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("function %s of a rebalance strategy returned %g", format_procedure(function->fn_oid), weight),
				 errdetail("Costs and capacities are finite numbers from 0 on.")));
	return weight;
}

double
strategy_shard_cost(RebalanceStrategy *strategy, int64 shardid)
{
	return call_weight_function(&strategy->shard_cost, Int64GetDatum(shardid));
}

double
strategy_node_capacity(RebalanceStrategy *strategy, int32 nodeid)
{
	return call_weight_function(&strategy->node_capacity, Int32GetDatum(nodeid));
}

bool
strategy_shard_allowed(RebalanceStrategy *strategy, int64 shardid, int32 nodeid)
{
	return DatumGetBool(call_strategy_function(&strategy->shard_allowed, Int64GetDatum(shardid), Int32GetDatum(nodeid)));
}
