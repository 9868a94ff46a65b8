/*-------------------------------------------------------------------------
 *
 * shard_loads.c
 *	  The CPU time that shard groups use.
 *
 * The load of a shard group is that of its busiest tenants in the last period
 * and the current one (src/tenants): statements about many values load all
 * shards equally.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "cluster/node_query.h"
#include "compat/sql_function.h"
#include "rebalance/shard_loads.h"
#include "sharding/hash.h"

SQL_FUNCTION(citus_shard_cost_by_load);

/*
 * A base load, so that shard groups without load are spread too; in s.  Far
 * less than a hot one's, so that they aren't moved in its place.
 */
#define BASE_COST 0.0001

typedef struct ShardLoad
{
	int64		shardid;		/* hash key; of the group's first table */
	double		cpu;			/* s */
} ShardLoad;

static MemoryContext plan_context = NULL;	/* while a plan is made */
static HTAB *shard_loads = NULL;

/* A NodeRowCallback: adds a tenant's load to that of its shard. */
static void
add_load(int32 groupid, int ncolumns, char **values, void *arg)
{
	List	   *tables = metadata_tables(pg_strtoint32(values[0]));
	const DistTable *table = tables == NIL ? NULL : metadata_require(linitial_oid(tables));
	int			index = table == NULL || table->nshards == 0 ? -1 : shard_index_of_hash(table, pg_strtoint32(values[1]));
	ShardLoad  *load;
	bool		found;

	if (index < 0)
		return;
	load = hash_search(arg, &table->shards[index].shardid, HASH_ENTER, &found);
	if (!found)
		load->cpu = 0;
	load->cpu += DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(values[2])));
}

/* The loads of all shards, in the context. */
static HTAB *
fetch_loads(MemoryContext context)
{
	HASHCTL		control = {.keysize = sizeof(int64), .entrysize = sizeof(ShardLoad), .hcxt = context};
	HTAB	   *loads = hash_create("citus shard loads", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	if (!node_query_all("SELECT colocation_id, hash, sum(cpu_usage_in_this_period + cpu_usage_in_last_period) "
						"FROM citus_internal.stat_tenants(true) GROUP BY 1, 2", add_load, loads))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not ask all nodes for the load of their shards"),
				 errhint("Try again when all nodes can be reached, or disable those that can't with citus_disable_node.")));
	return loads;
}

/*
 * citus_shard_cost_by_load(shardid bigint)
 */
Datum
citus_shard_cost_by_load(PG_FUNCTION_ARGS)
{
	int			n;
	int64	   *shardids = colocated_shardids(PG_GETARG_INT64(0), &n);
	HTAB	   *loads = shard_loads ? shard_loads : fetch_loads(plan_context ? plan_context : CurrentMemoryContext);
	double		cpu = BASE_COST;

	for (int i = 0; i < n; i++)
	{
		const ShardLoad *load = hash_search(loads, &shardids[i], HASH_FIND, NULL);

		cpu += load == NULL ? 0 : load->cpu;
	}
	if (plan_context != NULL)
		shard_loads = loads;
	PG_RETURN_FLOAT4((float4) cpu);
}

void
shard_loads_begin(void)
{
	plan_context = CurrentMemoryContext;
	shard_loads = NULL;
}

void
shard_loads_end(void)
{
	plan_context = NULL;
	shard_loads = NULL;
}
