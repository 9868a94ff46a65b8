/*-------------------------------------------------------------------------
 *
 * rebalance_job.c
 *	  Making a background job of a rebalance plan.
 *
 * Each move is a task that involves two nodes: so moves between different
 * nodes run in parallel, and moves with a common node as
 * citus.max_background_task_executors_per_node allows.  A move depends only on
 * earlier moves that make room on its target, so a failed move, whose table
 * was dropped for instance, doesn't stop others.
 *
 * pg_dist_rebalance_history records the moves of the job and their reasons;
 * those of automatic jobs are also logged.  A lock on the catalog keeps two
 * sessions from making jobs at the same time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat/acl.h"
#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "cluster/members.h"
#include "jobs/job.h"
#include "rebalance/drive.h"
#include "rebalance/plan_function.h"
#include "rebalance/rebalance_job.h"
#include "remote/node_call.h"

#define JOB_TYPE "rebalance"

SQL_FUNCTION(citus_internal_rebalance_job);
SQL_FUNCTION(citus_internal_retire_job);
SQL_FUNCTION(citus_internal_refuse_transaction_block);

/*
 * Keeps other sessions from making such a job until the end of the
 * transaction; errors if there is one.
 */
static void
check_no_other_job(void)
{
	int64		running;

	LockRelationOid(get_relname_relid("pg_dist_rebalance_history", PG_CATALOG_NAMESPACE), ShareUpdateExclusiveLock);
	running = job_unfinished(JOB_TYPE);
	if (running != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("a rebalance is already running as job " INT64_FORMAT, running),
				 errhint("To monitor progress, run: SELECT * FROM citus_rebalance_status();")));
}

/*
 * Tasks (NewTask) of the earlier moves that make room for a move; moves and
 * tasks are parallel lists.
 */
static List *
dependencies_of(const PlanMove *move, List *moves, List *tasks)
{
	List	   *depends_on = NIL;
	ListCell   *move_cell;
	ListCell   *task_cell;

	forboth(move_cell, moves, task_cell, tasks)
	{
		if (((const PlanMove *) lfirst(move_cell))->from == move->to)
			depends_on = lappend(depends_on, lfirst(task_cell));
	}
	return depends_on;
}

/* Records a move of a job, and its reason. */
static void
note_move(int64 job_id, const NewTask *task, const PlanMove *move, bool automatic)
{
	const ClusterNode *from = move->from->node;
	const ClusterNode *to = move->to->node;
	char	   *reason = plan_move_reason(move);
	Oid			types[] = {INT8OID, INT8OID, BOOLOID, OIDOID, INT8OID, INT8OID, INT4OID, TEXTOID, INT4OID, INT4OID, TEXTOID,
	INT4OID, TEXTOID};
	Datum		values[] = {Int64GetDatum(job_id), Int64GetDatum(task->task_id), BoolGetDatum(automatic),
		ObjectIdGetDatum(move->shard->relid), Int64GetDatum(move->shard->shardid), Int64GetDatum(move->shard->bytes),
		Int32GetDatum(from->nodeid), CStringGetTextDatum(from->host), Int32GetDatum(from->port),
	Int32GetDatum(to->nodeid), CStringGetTextDatum(to->host), Int32GetDatum(to->port), CStringGetTextDatum(reason)};

	(void) jobs_call("INSERT INTO pg_dist_rebalance_history (job_id, task_id, automatic, table_name, shardid, shard_size, "
					 "source_nodeid, sourcename, sourceport, target_nodeid, targetname, targetport, reason) "
					 "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)", lengthof(values), types, values);
	if (automatic)
		ereport(LOG,
				(errmsg("automatic rebalance: job " INT64_FORMAT " moves shard " INT64_FORMAT " from %s:%d to %s:%d",
						job_id, move->shard->shardid, from->host, from->port, to->host, to->port),
				 errdetail_internal("%s", reason)));
}

/* Records the removal of a node. */
static void
note_removal(int64 job_id, const NewTask *task, const ClusterNode *node)
{
	Oid			types[] = {INT8OID, INT8OID, INT4OID, TEXTOID, INT4OID, TEXTOID};
	Datum		values[] = {Int64GetDatum(job_id), Int64GetDatum(task->task_id), Int32GetDatum(node->nodeid),
		CStringGetTextDatum(node->host), Int32GetDatum(node->port),
	CStringGetTextDatum(psprintf("Node %s:%d is to leave.", node->host, node->port))};

	(void) jobs_call("INSERT INTO pg_dist_rebalance_history (job_id, task_id, automatic, source_nodeid, sourcename, sourceport, "
					 "reason) VALUES ($1, $2, false, $3, $4, $5, $6)", lengthof(values), types, values);
}

/* Adds the removal of a node, which depends on the moves of its shards. */
static void
add_removal(int64 job_id, const ClusterNode *node, List *moves, List *tasks)
{
	NewTask    *task = palloc0(sizeof(NewTask));
	ListCell   *move_cell;
	ListCell   *task_cell;

	task->owner = GetUserId();
	task->command = psprintf("SELECT pg_catalog.citus_remove_node(%s,%d)", quote_literal_cstr(node->host), node->port);
	task->nodes = list_make1_int(node->nodeid);
	forboth(move_cell, moves, task_cell, tasks)
	{
		if (((const PlanMove *) lfirst(move_cell))->from->node->nodeid == node->nodeid)
			task->depends_on = lappend(task->depends_on, lfirst(task_cell));
	}
	job_add_task(job_id, task);
	note_removal(job_id, task, node);
}

/* The description of a job. */
static char *
job_description(const PlanRequest *request, const RebalanceJob *how)
{
	if (how->leaving != NULL)
		return psprintf("Move all shards off node %s:%d and remove it", how->leaving->host, how->leaving->port);
	if (OidIsValid(request->relid))
		return psprintf("Rebalance colocation group of table %s", get_rel_name(request->relid));
	return "Rebalance all colocation groups";
}

int64
rebalance_job_create(const PlanRequest *request, const RebalanceJob *how)
{
	RebalancePlan *plan;
	List	   *moves = NIL;
	List	   *tasks = NIL;
	int64		job_id;

	check_no_other_job();
	plan = plan_of_cluster(request);
	if (plan->moves == NIL && how->leaving == NULL)
		return 0;
	foreach_ptr(const PlanMove, move, plan->moves)
		drive_check_owner(metadata_require(move->shard->relid));

	job_id = job_create(JOB_TYPE, job_description(request, how));
	foreach_ptr(const PlanMove, move, plan->moves)
	{
		NewTask    *task = palloc0(sizeof(NewTask));

		task->owner = GetUserId();
		task->command = psprintf("SELECT pg_catalog.citus_move_shard_placement(" INT64_FORMAT ",%d,%d,%s)",
								 move->shard->shardid, move->from->node->nodeid, move->to->node->nodeid,
								 quote_literal_cstr(how->transfer_mode));
		task->nodes = list_make2_int(move->from->node->nodeid, move->to->node->nodeid);
		task->depends_on = dependencies_of(move, moves, tasks);
		job_add_task(job_id, task);
		note_move(job_id, task, move, how->automatic);
		moves = lappend(moves, (void *) move);
		tasks = lappend(tasks, task);
	}
	if (how->leaving != NULL)
		add_removal(job_id, how->leaving, moves, tasks);
	return job_id;
}

/* Whether a shard group can be split: it has more than one hash value. */
static bool
can_be_split(const PlanShard *planned)
{
	const DistTable *table = metadata_require(planned->relid);
	const ShardInfo *shard = drive_find_shard(table, planned->shardid);

	return planned->movable && table->kind == DIST_HASH && shard != NULL && shard->range.min < shard->range.max;
}

/* Records a split of a job, and logs it. */
static void
note_split(int64 job_id, const NewTask *task, const PlanShard *shard, const ClusterNode *node)
{
	char	   *reason = psprintf("The shard and those colocated with it have " INT64_FORMAT
								  " MB, more than citus.split_shard_size.", shard->bytes / (1024 * 1024));
	Oid			types[] = {INT8OID, INT8OID, OIDOID, INT8OID, INT8OID, INT4OID, TEXTOID, INT4OID, TEXTOID};
	Datum		values[] = {Int64GetDatum(job_id), Int64GetDatum(task->task_id), ObjectIdGetDatum(shard->relid),
		Int64GetDatum(shard->shardid), Int64GetDatum(shard->bytes), Int32GetDatum(node->nodeid),
	CStringGetTextDatum(node->host), Int32GetDatum(node->port), CStringGetTextDatum(reason)};

	(void) jobs_call("INSERT INTO pg_dist_rebalance_history (job_id, task_id, automatic, table_name, shardid, shard_size, "
					 "source_nodeid, sourcename, sourceport, reason) VALUES ($1, $2, true, $3, $4, $5, $6, $7, $8, $9)",
					 lengthof(values), types, values);
	ereport(LOG,
			(errmsg("automatic rebalance: job " INT64_FORMAT " splits shard " INT64_FORMAT " on %s:%d",
					job_id, shard->shardid, node->host, node->port),
			 errdetail_internal("%s", reason)));
}

void
rebalance_job_split(const RebalancePlan *plan, int64 limit)
{
	int64		job_id = 0;

	for (int i = 0; i < plan->nshards; i++)
	{
		const PlanShard *shard = &plan->shards[i];
		const ClusterNode *node = plan->nodes[shard->home].node;
		NewTask    *task;

		if (shard->bytes <= limit || !can_be_split(shard))
			continue;
		if (job_id == 0)
		{
			check_no_other_job();
			job_id = job_create(JOB_TYPE, "Split large shards");
		}
		task = palloc0(sizeof(NewTask));
		task->owner = GetUserId();
		task->command = node_call(NODE_split_large_shard, node_bigint(shard->shardid));
		task->nodes = list_make1_int(node->nodeid);
		job_add_task(job_id, task);
		note_split(job_id, task, shard, node);
	}
}

/*
 * citus_internal.rebalance_job(.., shard_transfer_mode): makes a job of the
 * plan described by the first arguments; NULL, with a notice, if it has no
 * moves.
 */
Datum
citus_internal_rebalance_job(PG_FUNCTION_ARGS)
{
	PlanRequest request = plan_request_of(fcinfo);
	RebalanceJob how = {0};
	int64		job_id;

	how.transfer_mode = DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(PLAN_REQUEST_ARGUMENTS)));
	job_id = rebalance_job_create(&request, &how);
	if (job_id == 0)
	{
		ereport(NOTICE, (errmsg("No moves available for rebalancing")));
		PG_RETURN_NULL();
	}
	PG_RETURN_INT64(job_id);
}

/*
 * citus_internal.retire_job(nodename, nodeport, shard_transfer_mode,
 * rebalance_strategy): makes a job that moves the shards off a node, which
 * should have none, and then removes it.
 */
Datum
citus_internal_retire_job(PG_FUNCTION_ARGS)
{
	PlanRequest request = {.threshold = -1, .improvement_threshold = -1, .max_moves = INT_MAX, .drain_only = true};
	RebalanceJob how = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the node and the shard transfer mode cannot be NULL")));
	how.leaving = members_require(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	how.transfer_mode = DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(2)));
	request.strategy = PG_ARGISNULL(3) ? NULL : NameStr(*PG_GETARG_NAME(3));
	PG_RETURN_INT64(rebalance_job_create(&request, &how));
}

/*
 * Refuses a function that waits for other transactions in a transaction block.
 */
Datum
citus_internal_refuse_transaction_block(PG_FUNCTION_ARGS)
{
	PreventInTransactionBlock(true, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
