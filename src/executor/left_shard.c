/*-------------------------------------------------------------------------
 *
 * left_shard.c
 *	  Foreign keys of shards that have left this node.
 *
 * A shard that was moved or split stays on its old node, with its rows and its
 * foreign keys to reference tables, as long as a snapshot may need it.  When
 * rows of a reference table are deleted or updated there, the server's
 * statements for these keys would find rows that are long deleted where the
 * shard is now, report them as references, and act on them.  So they run
 * without reading anything.
 *
 * No reference is missed.  The switch that moves a shard makes its keys on the
 * new node, whose lock on the reference table waits for transactions that have
 * written that node's copy, and holds off others until the switch has
 * committed there, which is last of all nodes.  So a transaction that finds
 * the shard gone from here has yet to write the copy there, and the key will
 * be checked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "executor/executor.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "compat/executor_run.h"
#include "executor/left_shard.h"
#include "lib/debug_point.h"

/* A relation, and whether it was a shard that has left, as of a generation. */
typedef struct LeftShard
{
	Oid			relid;
	uint64		generation;		/* metadata_generation() */
	bool		left;
} LeftShard;

static HTAB *left_shards = NULL;

/* The statement that is to run without reading anything. */
static const QueryDesc *left_query = NULL;

static ExecutorRun_hook_type run_left_next = NULL;
static bool run_is_hooked = false;

/* Whether a relation is a shard that isn't on this node (any more). */
static bool
shard_has_left(Oid relid)
{
	char	   *name = get_rel_name(relid);
	const char *number = name == NULL ? NULL : strrchr(name, '_');
	const DistTable *table;
	int64		shardid;
	Oid			logical;

	if (number == NULL || get_rel_namespace(relid) != get_namespace_oid(SHARD_SCHEMA, true))
		return false;
	shardid = strtoi64(number + 1, NULL, 10);
	logical = metadata_shard_relid(shardid);
	table = OidIsValid(logical) ? metadata_lookup(logical) : NULL;
	for (int i = 0; table != NULL && i < table->nshards; i++)
	{
		if (table->shards[i].shardid == shardid)
			return !shard_is_here(&table->shards[i]);
	}
	return true;				/* it was split */
}

static bool
is_left_shard(Oid relid)
{
	LeftShard  *entry;
	bool		left;

	if (left_shards == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(LeftShard),.hcxt = TopMemoryContext};

		left_shards = hash_create("citus left shards", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(left_shards, &relid, HASH_FIND, NULL);
	if (entry != NULL && entry->generation == metadata_generation())
		return entry->left;
	left = shard_has_left(relid);
	entry = hash_search(left_shards, &relid, HASH_ENTER, NULL);
	entry->left = left;
	entry->generation = metadata_generation();
	return left;
}

/* ExecutorRun_hook, once there was such a statement. */
static void
run_without_left_shards(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	if (query_desc == left_query)
	{
		left_query = NULL;
		direction = NoMovementScanDirection;
	}
	if (run_left_next)
		run_left_next(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else
		standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
}

void
left_shard_start(const QueryDesc *query_desc, bool checks_key)
{
	/* one whose run never came, by an error, may have had this address */
	left_query = NULL;
	if (!checks_key)
		return;
	foreach_node(RangeTblEntry, rte, query_desc->plannedstmt->rtable)
	{
		if (rte->rtekind != RTE_RELATION)
			continue;
		if (!is_left_shard(rte->relid))
			return;
		left_query = query_desc;
		if (!run_is_hooked)
		{
			run_left_next = ExecutorRun_hook;
			ExecutorRun_hook = run_without_left_shards;
			run_is_hooked = true;
		}
		DEBUG_POINT("left-shard-marked");
		return;
	}
}
