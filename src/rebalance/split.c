/*-------------------------------------------------------------------------
 *
 * split.c
 *	  Splits a shard group, gives a tenant one of its own, merges neighbours.
 *
 * The caller's session drives one on the node that has the groups (reshape.c),
 * as for a move.  The shard transfer mode makes no difference: writers always
 * continue while the rows are copied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "rebalance/drive.h"
#include "rebalance/reshape.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "sharding/hash.h"

SQL_FUNCTION(citus_split_shard_by_split_points);
SQL_FUNCTION(isolate_tenant_to_new_shard);
SQL_FUNCTION(citus_merge_shards);

static void
drive_plan(const ReshapePlan *plan, RemoteConn *conn)
{
	drive_clear_remains(conn, drive_require_table(plan->relid), plan->range);
	(void) drive_ask(conn, psprintf("SET LOCAL lock_timeout TO %d; %s", drive_switch_timeout,
									node_call(NODE_reshape_begin, node_bigint(plan->shardid), node_int(plan->range.min),
											  node_int(plan->range.max), node_ints(plan->last), node_ints(plan->groups))));
	DEBUG_POINT("reshape-begun");
	DEBUG_POINT("reshape-before-switch");
	(void) remote_plain_exec(conn, psprintf("SET citus.move_pause_limit TO %d; SET citus.move_switch_timeout TO %d; "
											 "SET citus.move_rate_limit TO %d",
											 drive_pause_limit, drive_switch_timeout, drive_rate_limit), ERROR);
	drive_pause(DRIVE_BETWEEN_MS);	/* for statements that don't know yet that
									 * the shards may move */
	(void) drive_ask(conn, "SELECT citus_internal.reshape_switch()");
	DEBUG_POINT("reshape-switched");
}

/* Makes the node clean up; its daemon will remove the rest. */
static void
end_plan(RemoteConn *conn)
{
	if (conn->state == REMOTE_IDLE &&
		remote_plain_exec(conn, "SELECT citus_internal.reshape_end()", WARNING) != NULL)
		(void) remote_plain_exec(conn, "SELECT citus_internal.cleanup()", WARNING);
	remote_plain_close(conn);
}

void
reshape_run(const ReshapePlan *plan)
{
	const CatchPoint point = catch_point();
	const DistTable *table = drive_require_table(plan->relid);
	RemoteConn *conn;

	for (int i = 0; i < table->nshards; i++)
	{
		HashRange	common = plan->range;

		if (hash_range_intersect(&common, table->shards[i].range))
			drive_await_former(plan->relid, table->shards[i].shardid);
	}
	conn = drive_open(plan->node);
	PG_TRY();
	{
		drive_plan(plan, conn);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		remote_plain_stop(conn, remote_connection_timeout());
		end_plan(conn);
		catch_rethrow(error);
	}
	PG_END_TRY();
	end_plan(conn);
	AcceptInvalidationMessages();
}

/* Finds the shard, and begins the plan with it. */
static const ShardInfo *
begin_plan(ReshapePlan *plan, int64 shardid, const char *what)
{
	const DistTable *table;
	const ShardInfo *shard;

	drive_check_caller(what);
	memset(plan, 0, sizeof(ReshapePlan));
	plan->relid = metadata_require_shard(shardid);
	table = drive_require_table(plan->relid);
	shard = drive_require_shard(table, shardid);
	if (table->kind != DIST_HASH)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot %s of table \"%s\", which is not hash-distributed", what, get_rel_name(plan->relid))));
	drive_check_owner(table);
	plan->shardid = shardid;
	plan->range = shard->range;
	plan->node = drive_require_node(node_of_group(shard->groupid), "replace shards of");
	return shard;
}

/* The integers in an array of their texts. */
static List *
parse_points(ArrayType *array)
{
	Datum	   *values;
	bool	   *nulls;
	int			count;
	List	   *points = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a split point cannot be NULL")));
		points = lappend_int(points, pg_strtoint32(TextDatumGetCString(values[i])));
	}
	return points;
}

/* Errors unless the points cut the shard into parts. */
static void
check_points(const ShardInfo *shard, List *points)
{
	int64		last = (int64) shard->range.min - 1;

	if (points == NIL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no split points are given")));
	foreach_int(point, points)
	{
		if (point < shard->range.min || point >= shard->range.max)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("split point %d is not within the hash values of shard " INT64_FORMAT, point, shard->shardid),
					 errdetail("It must be at least %d and less than %d: each split point is the last hash value of a new shard.",
							   shard->range.min, shard->range.max)));
		if (point <= last)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("split points must be in ascending order")));
		last = point;
	}
}

/*
 * citus_split_shard_by_split_points(shard_id bigint, split_points text[],
 *		node_ids integer[], shard_transfer_mode citus.shard_transfer_mode)
 */
Datum
citus_split_shard_by_split_points(PG_FUNCTION_ARGS)
{
	ReshapePlan plan;
	const ShardInfo *shard = begin_plan(&plan, PG_GETARG_INT64(0), "split a shard");
	ArrayType  *nodes = PG_GETARG_ARRAYTYPE_P(2);
	int			count = ArrayGetNItems(ARR_NDIM(nodes), ARR_DIMS(nodes));

	plan.last = parse_points(PG_GETARG_ARRAYTYPE_P(1));
	check_points(shard, plan.last);
	plan.last = lappend_int(plan.last, shard->range.max);
	if (array_contains_nulls(nodes) || count != list_length(plan.last))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as many nodes are needed as there are new shards: one more than split points")));
	for (int i = 0; i < count; i++)
	{
		const ClusterNode *node = node_require_id(((int32 *) ARR_DATA_PTR(nodes))[i]);

		plan.groups = lappend_int(plan.groups, drive_require_node(node, "place shards on")->groupid);
	}
	reshape_run(&plan);
	PG_RETURN_VOID();
}

/*
 * Errors if other tables would be split as well, unless the caller requests
 * CASCADE.
 */
static void
check_cascade(const DistTable *table, const char *option)
{
	if (pg_strcasecmp(option, "CASCADE") == 0 || list_length(metadata_tables(table->colocation_id)) == 1)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot isolate tenant because \"%s\" has colocated tables", get_rel_name(table->relid)),
			 errhint("Use the CASCADE option to isolate the tenant's rows of those tables as well.")));
}

/*
 * isolate_tenant_to_new_shard(table_name regclass, tenant_id "any",
 *		cascade_option text, shard_transfer_mode citus.shard_transfer_mode)
 */
Datum
isolate_tenant_to_new_shard(PG_FUNCTION_ARGS)
{
	const DistTable *table;
	const ShardInfo *shard;
	int32		hash;
	ReshapePlan plan;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("arguments cannot be NULL")));
	drive_check_caller("isolate a tenant");
	table = metadata_require(PG_GETARG_OID(0));
	if (table->kind != DIST_HASH || table->nshards == 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot isolate a tenant of table \"%s\", which is not hash-distributed", get_rel_name(table->relid))));
	drive_check_owner(table);
	check_cascade(table, text_to_cstring(PG_GETARG_TEXT_PP(2)));
	hash = shard_hash_of_value(table, shard_value(table, PG_GETARG_DATUM(1), get_fn_expr_argtype(fcinfo->flinfo, 1)));
	shard = begin_plan(&plan, table->shards[shard_index_of_hash(table, hash)].shardid, "isolate a tenant");
	if (shard->range.min == shard->range.max)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("table \"%s\" has already been isolated for the given value", get_rel_name(table->relid))));
	if (hash > shard->range.min)
		plan.last = lappend_int(plan.last, hash - 1);
	plan.last = lappend_int(plan.last, hash);
	if (hash < shard->range.max)
		plan.last = lappend_int(plan.last, shard->range.max);
	for (int i = 0; i < list_length(plan.last); i++)
		plan.groups = lappend_int(plan.groups, shard->groupid);
	reshape_run(&plan);
	table = drive_require_table(plan.relid);
	PG_RETURN_INT64(table->shards[shard_index_of_hash(table, hash)].shardid);
}

/*
 * citus_merge_shards(shard_id bigint, other_shard_id bigint,
 *		shard_transfer_mode citus.shard_transfer_mode)
 */
Datum
citus_merge_shards(PG_FUNCTION_ARGS)
{
	ReshapePlan plan;
	const ShardInfo *shard = begin_plan(&plan, PG_GETARG_INT64(0), "merge shards");
	const DistTable *table = drive_require_table(plan.relid);
	const ShardInfo *other = drive_find_shard(table, PG_GETARG_INT64(1));

	if (other == NULL ||
		((int64) other->range.max + 1 != shard->range.min && (int64) shard->range.max + 1 != other->range.min))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard " INT64_FORMAT " is not a neighbour of shard " INT64_FORMAT, PG_GETARG_INT64(1), shard->shardid),
				 errhint("pg_dist_shard has the hash values of the shards of a table.")));
	if (other->groupid != shard->groupid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shards " INT64_FORMAT " and " INT64_FORMAT " are on different nodes", shard->shardid, other->shardid),
				 errhint("Move one of them with citus_move_shard_placement.")));
	plan.range.min = Min(shard->range.min, other->range.min);
	plan.range.max = Max(shard->range.max, other->range.max);
	plan.last = list_make1_int(plan.range.max);
	plan.groups = list_make1_int(shard->groupid);
	reshape_run(&plan);
	table = drive_require_table(plan.relid);
	PG_RETURN_INT64(table->shards[shard_index_of_hash(table, plan.range.min)].shardid);
}
