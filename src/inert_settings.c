/*-------------------------------------------------------------------------
 *
 * inert_settings.c
 *	  Settings of the Citus SQL interface that have no effect here.
 *
 * Applications and tools set them, so they are accepted, with a warning when
 * the value is not the default.  All other names with the prefix citus are
 * errors, as unknown names without a prefix are in the server.
 *
 * A module that implements a setting removes it from here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "inert_settings.h"

#define PREFIX "citus"

/* Name and default */
#define BOOL_SETTINGS(S) \
	S(all_modifications_commutative, false) \
	S(allow_aggregate_worker_combine_on_internal_types, false) \
	S(allow_modifications_from_workers_to_replicated_tables, true) \
	S(allow_nested_distributed_execution, false) \
	S(allow_unsafe_constraints, false) \
	S(check_available_space_before_move, true) \
	S(enable_binary_protocol, true) \
	S(enable_cluster_clock, true) \
	S(enable_cost_based_connection_establishment, true) \
	S(enable_create_database_propagation, false) \
	S(enable_deadlock_prevention, true) \
	S(enable_local_execution, true) \
	S(enable_local_fast_path_query_optimization, true) \
	S(enable_local_reference_table_foreign_keys, true) \
	S(enable_non_colocated_router_query_pushdown, true) \
	S(enable_procedure_transaction_skip, false) \
	S(enable_recurring_outer_join_pushdown, true) \
	S(enable_repartitioned_insert_select, true) \
	S(enable_single_hash_repartition_joins, false) \
	S(enable_unique_job_ids, true) \
	S(enable_unsafe_triggers, false) \
	S(enable_version_checks, true) \
	S(enforce_foreign_key_restrictions, true) \
	S(enforce_object_restrictions_for_local_objects, false) \
	S(explain_distributed_queries, true) \
	S(force_max_query_parallelization, false) \
	S(function_opens_transaction_block, true) \
	S(log_intermediate_results, false) \
	S(log_multi_join_order, false) \
	S(prevent_incomplete_connection_establishment, true) \
	S(select_opens_transaction_block, true) \
	S(skip_constraint_validation, false) \
	S(skip_jsonb_validation_in_copy, true) \
	S(sort_returning, false) \
	S(subquery_pushdown, true) \
	S(use_citus_managed_tables, false) \
	S(writable_standby_coordinator, false)

/* Name, default and unit */
#define INT_SETTINGS(S) \
	S(copy_switchover_threshold, 4 * 1024 * 1024, GUC_UNIT_BYTE) \
	S(cpu_priority, 0, 0) \
	S(cpu_priority_for_logical_replication_senders, 0, 0) \
	S(limit_clause_row_fetch_count, -1, 0) \
	S(local_copy_flush_threshold, 512 * 1024, GUC_UNIT_BYTE) \
	S(local_shared_pool_size, 0, 0) \
	S(max_client_connections, -1, 0) \
	S(max_high_priority_background_processes, 2, 0) \
	S(max_matview_size_to_auto_recreate, 1024, GUC_UNIT_MB) \
	S(max_rebalancer_logged_ignored_moves, 5, 0) \
	S(metadata_sync_retry_interval, 5000, GUC_UNIT_MS) \
	S(remote_copy_flush_threshold, 8 * 1024 * 1024, GUC_UNIT_BYTE) \
	S(repartition_join_bucket_count_per_node, 4, 0) \
	S(shard_replication_factor, 1, 0) \
	S(stat_statements_purge_interval, 10, GUC_UNIT_S) \
	S(values_materialization_threshold, 100, 0)

/* Name and default */
#define REAL_SETTINGS(S) \
	S(count_distinct_error_rate, 0) \
	S(desired_percent_disk_available_after_move, 10)

/* Name and default; also those that are lists of words in Citus */
#define TEXT_SETTINGS(S) \
	S(coordinator_aggregation_strategy, "row-gather") \
	S(create_object_propagation, "immediate") \
	S(enable_manual_metadata_changes_for_user, "") \
	S(explain_analyze_sort_method, "execution-time") \
	S(local_table_join_policy, "auto") \
	S(metadata_sync_mode, "transactional") \
	S(multi_shard_modify_mode, "parallel") \
	S(propagate_set_commands, "none") \
	S(show_shards_for_app_name_prefixes, "") \
	S(stat_tenants_log_level, "off") \
	S(superuser, "") \
	S(task_assignment_policy, "greedy") \
	S(task_executor_type, "adaptive")

/* Warns the client that sets it; for configuration files, the server's log. */
static void
warn_inert(const char *name, GucSource source)
{
	if (source >= PGC_S_INTERACTIVE || (source == PGC_S_FILE && !IsUnderPostmaster))
		ereport(WARNING,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("parameter \"" PREFIX ".%s\" has no effect", name)));
}

#define BOOL_CODE(name, value) \
	static bool inert_##name = value; \
	static bool check_##name(bool *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, source); \
		return true; \
	}
#define INT_CODE(name, value, unit) \
	static int	inert_##name = value; \
	static bool check_##name(int *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, source); \
		return true; \
	}
#define REAL_CODE(name, value) \
	static double inert_##name = value; \
	static bool check_##name(double *newval, void **extra, GucSource source) \
	{ \
		if (*newval != value) \
			warn_inert(#name, source); \
		return true; \
	}
#define TEXT_CODE(name, value) \
	static char *inert_##name; \
	static bool check_##name(char **newval, void **extra, GucSource source) \
	{ \
		if (strcmp(*newval, value) != 0) \
			warn_inert(#name, source); \
		return true; \
	}

BOOL_SETTINGS(BOOL_CODE)
INT_SETTINGS(INT_CODE)
REAL_SETTINGS(REAL_CODE)
TEXT_SETTINGS(TEXT_CODE)

#define DESCRIPTION "Has no effect."
#define DEFINE_BOOL(name, value) \
	DefineCustomBoolVariable(PREFIX "." #name, DESCRIPTION, NULL, &inert_##name, value, PGC_USERSET, \
							 GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_INT(name, value, unit) \
	DefineCustomIntVariable(PREFIX "." #name, DESCRIPTION, NULL, &inert_##name, value, -20, INT_MAX, \
							PGC_USERSET, (unit) | GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_REAL(name, value) \
	DefineCustomRealVariable(PREFIX "." #name, DESCRIPTION, NULL, &inert_##name, value, 0, 100, PGC_USERSET, \
							 GUC_NO_SHOW_ALL, check_##name, NULL, NULL);
#define DEFINE_TEXT(name, value) \
	DefineCustomStringVariable(PREFIX "." #name, DESCRIPTION, NULL, &inert_##name, value, PGC_USERSET, \
							   GUC_NO_SHOW_ALL, check_##name, NULL, NULL);

void
inert_settings_init(void)
{
	BOOL_SETTINGS(DEFINE_BOOL)
	INT_SETTINGS(DEFINE_INT)
	REAL_SETTINGS(DEFINE_REAL)
	TEXT_SETTINGS(DEFINE_TEXT)
	MarkGUCPrefixReserved(PREFIX);
}
