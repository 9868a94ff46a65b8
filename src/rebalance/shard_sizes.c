/*-------------------------------------------------------------------------
 *
 * shard_sizes.c
 *	  Disk space of shards, of all nodes at once.
 *
 * While a plan is made, the sizes are in memory, so that a strategy's cost
 * function that is or calls citus_shard_cost_by_disk_size asks no node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "cluster/node_query.h"
#include "rebalance/shard_sizes.h"
#include "sharding/hash.h"

SQL_FUNCTION(citus_shard_cost_by_disk_size);

typedef struct ShardSize
{
	int64		shardid;		/* hash key */
	int64		bytes;			/* of its largest placement */
} ShardSize;

static int	base_cost = 100 * 1024 * 1024;
static HTAB *shard_sizes = NULL;	/* while a plan is made */

static void
put_size(int32 groupid, int ncolumns, char **values, void *arg)
{
	int64		shardid = pg_strtoint64(values[0]);
	int64		bytes = values[1] == NULL ? 0 : pg_strtoint64(values[1]);
	bool		found;
	ShardSize  *size = hash_search(arg, &shardid, HASH_ENTER, &found);

	size->bytes = found ? Max(size->bytes, bytes) : bytes;
}

void
shard_sizes_fetch(void)
{
	HASHCTL		control = {.keysize = sizeof(int64), .entrysize = sizeof(ShardSize), .hcxt = CurrentMemoryContext};
	HTAB	   *sizes = hash_create("citus shard sizes", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	if (!node_query_all("SELECT shardid, size FROM citus_internal.local_shard_sizes()", put_size, sizes))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not ask all nodes for the sizes of their shards"),
				 errhint("Try again when all nodes can be reached, or disable those that can't with citus_disable_node.")));
	shard_sizes = sizes;
}

void
shard_sizes_forget(void)
{
	shard_sizes = NULL;
}

/* Bytes of a shard of one table; 0 if no node has it. */
static int64
shard_size(int64 shardid)
{
	ShardSize  *size = hash_search(shard_sizes, &shardid, HASH_FIND, NULL);

	return size == NULL ? 0 : size->bytes;
}

int64
shard_group_size(int64 shardid)
{
	int			n;
	int64	   *shardids = colocated_shardids(shardid, &n);
	int64		bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += shard_size(shardids[i]);
	return bytes;
}

/*
 * citus_shard_cost_by_disk_size(shardid bigint): the disk space of a shard and
 * those colocated with it, and citus.rebalancer_by_disk_size_base_cost, so
 * that empty shards are spread too.
 */
Datum
citus_shard_cost_by_disk_size(PG_FUNCTION_ARGS)
{
	bool		on_its_own = shard_sizes == NULL;
	int64		bytes;

	if (on_its_own)
		shard_sizes_fetch();
	PG_TRY();
	{
		bytes = shard_group_size(PG_GETARG_INT64(0));
	}
	PG_FINALLY();
	{
		if (on_its_own)
			shard_sizes_forget();
	}
	PG_END_TRY();
	PG_RETURN_FLOAT4((float4) bytes + base_cost);
}

void
shard_sizes_init(void)
{
	DefineCustomIntVariable("citus.rebalancer_by_disk_size_base_cost",
							"Sets what the strategy by_disk_size adds to the size of each shard and those colocated with it.",
							"With it, shards that are almost empty are spread over the nodes as well.",
							&base_cost, 100 * 1024 * 1024, 0, INT_MAX, PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
}
