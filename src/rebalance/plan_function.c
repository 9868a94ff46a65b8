/*-------------------------------------------------------------------------
 *
 * plan_function.c
 *	  get_rebalance_table_shards_plan: what a rebalance would move.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "rebalance/plan_function.h"

SQL_FUNCTION(get_rebalance_table_shards_plan);

/* A number from 0 on, or -1 for NULL. */
static double
threshold_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	double		threshold = -1;

	if (PG_ARGISNULL(argument))
		return threshold;
	threshold = PG_GETARG_FLOAT4(argument);
	if (!(threshold >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	return threshold;
}

/* The elements of an array of numbers of shards (List of int64 *). */
static List *
shard_list(ArrayType *array)
{
	List	   *shards = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			nelements;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements, &nulls, &nelements);
	for (int i = 0; i < nelements; i++)
	{
		int64	   *shardid = palloc(sizeof(int64));

		*shardid = nulls[i] ? 0 : DatumGetInt64(elements[i]);
		shards = lappend(shards, shardid);
	}
	return shards;
}

PlanRequest
plan_request_of(FunctionCallInfo fcinfo)
{
	PlanRequest request = {0};

	request.relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	request.threshold = threshold_argument(fcinfo, 1, "threshold");
	request.max_moves = PG_ARGISNULL(2) ? INT_MAX : PG_GETARG_INT32(2);
	request.excluded = PG_ARGISNULL(3) ? NIL : shard_list(PG_GETARG_ARRAYTYPE_P(3));
	request.drain_only = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	request.strategy = PG_ARGISNULL(5) ? NULL : NameStr(*PG_GETARG_NAME(5));
	request.improvement_threshold = threshold_argument(fcinfo, 6, "improvement_threshold");
	return request;
}

Datum
get_rebalance_table_shards_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	PlanRequest request = plan_request_of(fcinfo);
	RebalancePlan *plan = plan_of_cluster(&request);

	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(const PlanMove, move, plan->moves)
	{
		Datum		values[7];
		bool		nulls[7] = {false};

		values[0] = ObjectIdGetDatum(move->shard->relid);
		values[1] = Int64GetDatum(move->shard->shardid);
		values[2] = Int64GetDatum(move->shard->bytes);
		values[3] = CStringGetTextDatum(move->from->node->host);
		values[4] = Int32GetDatum(move->from->node->port);
		values[5] = CStringGetTextDatum(move->to->node->host);
		values[6] = Int32GetDatum(move->to->node->port);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
