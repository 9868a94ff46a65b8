/*-------------------------------------------------------------------------
 *
 * init.c
 *	  Entry point of the library: calls each module's init.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "catalog/cache_limit.h"
#include "catalog/extension_version.h"
#include "catalog/follower.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "catalog/standby_writes.h"
#include "catalog/stat_counters.h"
#include "cluster/member_sync.h"
#include "cluster/node_info.h"
#include "columnar/columnar.h"
#include "conversion/convert.h"
#include "conversion/distribute_schema.h"
#include "copy/copy.h"
#include "daemon/daemon.h"
#include "decoding/decoder.h"
#include "ddl/object.h"
#include "ddl/object_access.h"
#include "ddl/truncate_triggers.h"
#include "ddl/utility_hook.h"
#include "executor/cursor.h"
#include "executor/delegated_call_run.h"
#include "executor/executor_start.h"
#include "executor/lock_rows.h"
#include "executor/explain.h"
#include "executor/modify.h"
#include "executor/read_ahead.h"
#include "executor/reference_lock_rows.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "global_index/lookup.h"
#include "gateway/server/gateway.h"
#include "executor/scan.h"
#include "executor/task_set.h"
#include "executor/shard_append_run.h"
#include "executor/look_ahead_run.h"
#include "executor/shared_rows_run.h"
#include "executor/task_settings.h"
#include "jobs/job.h"
#include "lib/debug_point.h"
#include "lib/statement_cache.h"
#include "lib/trace.h"
#include "monitor/table_statistics.h"
#include "objects/sequence_values.h"
#include "planner/planner.h"
#include "planner/shippable_function.h"
#include "planner/sort_returning.h"
#include "rebalance/automatic.h"
#include "rebalance/cpu_priority.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "rebalance/move_space.h"
#include "rebalance/shard_sizes.h"
#include "remote/command_log.h"
#include "remote/follower_probe.h"
#include "remote/connection.h"
#include "remote/wire_type.h"
#include "resolve/analysis.h"
#include "resolve/manual_change.h"
#include "resolve/shard_set.h"
#include "tenants/tenant.h"
#include "txn/transaction.h"
#include "vector/vector_node.h"
#include "inert_settings.h"

/*
 * The daemon's launcher, one daemon, and the server's own launcher for
 * subscriptions.
 */
#define MIN_WORKER_PROCESSES 3

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/*
 * Refuses to load other than by shared_preload_libraries: shared memory,
 * hooks and the daemon need it.
 */
static void
check_preload(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("citus can only be loaded via shared_preload_libraries"),
				 errhint("Add citus to shared_preload_libraries in postgresql.conf, in front of other "
						 "libraries, and restart the server.")));
}

/*
 * Refuses to start a server whose settings would make the first transaction
 * over several nodes, or the daemon, fail much later.
 */
static void
check_settings(void)
{
	if (max_prepared_xacts == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("citus needs max_prepared_transactions to be greater than zero"),
				 errdetail("Transactions that write on several nodes are prepared on each of them."),
				 errhint("Set max_prepared_transactions to twice max_connections (%d) in postgresql.conf, "
						 "and restart the server.", 2 * MaxConnections)));

	if (max_worker_processes < MIN_WORKER_PROCESSES)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("citus needs max_worker_processes to be at least %d", MIN_WORKER_PROCESSES),
				 errdetail("It is %d. A maintenance process runs in each database with the extension.",
						   max_worker_processes),
				 errhint("Increase max_worker_processes in postgresql.conf, and restart the server.")));
}

void
_PG_init(void)
{
	check_preload();
	check_settings();

	debug_point_init();
	wire_type_init();
	statement_cache_init();
	trace_init();
	columnar_init();
	vector_node_init();
	relations_init();
	metadata_init();
	cache_limit_init();
	extension_version_init();
	node_init();
	follower_init();
	standby_writes_init();
	node_session_init();
	stat_counters_init();
	remote_init();
	follower_probe_init();
	command_log_init();
	txn_init();
	analysis_init();
	tenant_init();
	shard_set_init();
	manual_change_init();
	planner_init();
	sort_returning_init();
	shippable_function_init();
	scan_init();
	task_time_init();
	read_ahead_init();
	cursor_init();
	lock_rows_init();
	reference_lock_rows_init();
	delegated_call_init();
	shard_append_init();
	shared_rows_init();
	look_ahead_init();
	executor_start_init();
	task_settings_init();
	modify_init();
	explain_init();
	copy_init();
	global_index_init();
	global_key_init();
	global_lookup_init();
	convert_init();
	distribute_schema_init();
	object_access_init();
	truncate_triggers_init();
	utility_hook_init();
	object_init();
	sequence_values_init();
	member_sync_init();
	node_info_init();
	drive_init();
	move_init();
	move_space_init();
	cpu_priority_init();
	jobs_init();
	shard_sizes_init();
	automatic_rebalance_init();
	decoder_init();
	daemon_init();
	table_statistics_init();
	gateway_init();
	inert_settings_init();
}
