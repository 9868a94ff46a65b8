/*-------------------------------------------------------------------------
 *
 * dist_cost.c
 *	  What work on the nodes costs, in the server's units.
 *
 * The defaults were measured on loopback, where a lookup of one row takes
 * about 0.25 ms, each shard that a task covers 10 to 20 us, a row of a few
 * columns 1 to 2 us, and an exchange, which opens connections, 5 ms.  A slower
 * network has dearer round trips and rows: bench/calibrate measures them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "optimizer/optimizer.h"
#include "utils/guc.h"

#include "planner/dist_cost.h"

double		dist_round_trip_cost = 20;
double		dist_task_cost = 15;
double		dist_shard_cost = 0.5;
double		dist_lookup_cost = 2;
double		dist_value_cost = 0.02;
double		dist_tuple_cost = 0.1;
double		dist_lock_cost = 10;
double		dist_exchange_cost = 500;

/* A setting, and what it is the cost of. */
typedef struct CostSetting
{
	const char *name;
	const char *description;
	double	   *value;
} CostSetting;

static const CostSetting cost_settings[] = {
	{"citus.round_trip_cost", "Cost of asking nodes and waiting for their answer.", &dist_round_trip_cost},
	{"citus.task_cost", "Cost of each task that nodes are asked for.", &dist_task_cost},
	{"citus.shard_cost", "Cost of each shard that a task reads.", &dist_shard_cost},
	{"citus.lookup_cost", "Cost of finding the rows that a row joins with by an index of a node.", &dist_lookup_cost},
	{"citus.value_cost", "Cost of sending a value of a join's small side to a node.", &dist_value_cost},
	{"citus.row_lock_cost", "Cost of locking a row before it is known whether it is written.", &dist_lock_cost},
	{"citus.exchange_cost", "Cost of opening an exchange of rows between nodes.", &dist_exchange_cost},
	{"citus.tuple_transfer_cost", "Cost of fetching a row from a node.", &dist_tuple_cost},
};

double
dist_cost_rows_of_run(int ntasks)
{
	return (dist_round_trip_cost + dist_task_cost * ntasks) / (cpu_tuple_cost + cpu_operator_cost);
}

void
dist_cost_init(void)
{
	for (int i = 0; i < lengthof(cost_settings); i++)
		DefineCustomRealVariable(cost_settings[i].name, cost_settings[i].description,
								 "In units of the planner's cost estimates, as seq_page_cost.",
								 cost_settings[i].value, *cost_settings[i].value, 0, DBL_MAX, PGC_USERSET, GUC_EXPLAIN,
								 NULL, NULL, NULL);
}
